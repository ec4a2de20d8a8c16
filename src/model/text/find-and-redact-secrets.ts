import { isSecretName } from './allowed-environment.ts';

export const REDACTED = '[redacted]';

/** Keys with a known format: of forges, models, clouds, chats, payments, registries, JSON Web Tokens. */
const KEY_FORMATS = new RegExp(
  [
    'gh[pousr]_[A-Za-z0-9]{30,}',
    'github_pat_[A-Za-z0-9_]{30,}',
    'sk-[A-Za-z0-9_-]{20,}',
    '[sr]k_(?:live|test)_[A-Za-z0-9]{16,}',
    'xox[abeprs]-[A-Za-z0-9-]{10,}',
    'xapp-[A-Za-z0-9-]{20,}',
    'A(?:KIA|SIA)[0-9A-Z]{16}',
    'ya29\\.[A-Za-z0-9_-]{20,}',
    'npm_[A-Za-z0-9]{36}',
    'pypi-[A-Za-z0-9_-]{32,}',
    'hf_[A-Za-z0-9]{30,}',
    'gsk_[A-Za-z0-9]{32,}',
    'AIza[0-9A-Za-z_-]{35}',
    'lin_(?:api|oauth)_[A-Za-z0-9]{20,}',
    'glpat-[A-Za-z0-9_-]{20,}',
    'eyJ[A-Za-z0-9_-]{15,}\\.[A-Za-z0-9_-]{15,}\\.[A-Za-z0-9_-]{10,}',
    'x-access-token:[^\\s@"\']{6,}',
  ]
    .map((shape) => `(?<![A-Za-z0-9])${shape}`)
    .join('|'),
  'g',
);

/** A password in an address. */
const IN_ADDRESS = /(:\/\/[^\s/:@"'<>]*:)[^\s/@"'<>]+(?=@)/g;

/** Private keys; inside JSON their line ends are written as two characters. */
const BEGIN_KEY = /-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----/;
const END_KEY = /-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----/;
const WHOLE_KEY = new RegExp(`${BEGIN_KEY.source}[\\s\\S]*?${END_KEY.source}`, 'g');

/** Shorter values also occur in ordinary words. */
const MIN_CHARS = 6;
const MIN_DIGITS = 8;
/** For a value whose name does not mark it as a secret. */
const MIN_UNNAMED_CHARS = 12;

/** Values that must not be shown: of variables with a secret's name, and configured values that look like a key. */
export function secretValues(
  env: Readonly<Record<string, string | undefined>>,
  configured: readonly Readonly<Record<string, string>>[],
): string[] {
  const values = new Set<string>();
  const all = [env, ...configured].flatMap((each) => Object.entries(each));
  for (const [name, value] of all) {
    if (value === undefined) continue;
    if (isSecretName(name) && isSecretValue(name, value)) add(values, name, value);
    const password = PASSWORD_IN_URL.exec(value)?.[1];
    if (password !== undefined && password.length >= MIN_CHARS) values.add(password);
  }
  for (const each of configured)
    for (const value of Object.values(each)) if (looksLikeKey(value) || isUnusual(value)) values.add(value);
  return [...values];
}

/** Output is redacted line by line, so each line of a secret that is long enough counts as a secret too. */
function add(values: Set<string>, name: string, value: string): void {
  values.add(value);
  const lines = value.split(/\r?\n|\r|\\n/).map((line) => line.trim());
  if (lines.length > 1)
    for (const line of lines) if (isSecretValue(name, line) && !line.startsWith('-----')) values.add(line);
}

const PASSWORD_IN_URL = /:\/\/[^\s/:@]*:([^\s/@]+)@/;
const WORDS = /^(?:disabled|enabled|default|required|optional|undefined|anonymous)$/i;
/** Names that say where a secret is, not what it is. */
const PATH_NAME = /_(?:SOCK|FILE|PATH|DIR|HOME)$/i;
const DIRECTORY = /_PWD$/i;
const HOOK = /WEBHOOK/i;
const ADDRESS = /_(?:URL|URI|ENDPOINT|HOST|ISSUER)$/i;

/** Whether the value of a variable with a secret's name is one: not a path, a short number, a switch or a plain address. */
function isSecretValue(name: string, value: string): boolean {
  if (value.length < MIN_CHARS || WORDS.test(value) || PATH_NAME.test(name)) return false;
  if (DIRECTORY.test(name) && value.startsWith('/')) return false;
  if (/^[\d.]+$/.test(value)) return value.length >= MIN_DIGITS;
  // The path of a webhook is its secret.
  const open = HOOK.test(name) ? /^https?:\/\/[^@?/]*\/?$/ : /^https?:\/\/[^@?]*$/;
  return !(ADDRESS.test(name) && open.test(value));
}

function looksLikeKey(value: string): boolean {
  return !/\s/.test(value) && /\d/.test(value) && /[A-Za-z0-9]{16,}/.test(value) && !/^[~.]?\//.test(value);
}

function isUnusual(value: string): boolean {
  return value.length >= MIN_UNNAMED_CHARS && !isOrdinaryValue(value);
}

/** The text itself, and its forms in JSON, in JSON within JSON, and in JSON with ASCII characters only. */
function spellings(secret: string): string[] {
  const escaped = (text: string) => JSON.stringify(text).slice(1, -1);
  const once = escaped(secret);
  const ascii = once.replace(
    /[\u007f-\uffff]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return [secret, once, escaped(once), ascii];
}

export type Redact = (text: string) => string;

/** Replaces known secrets in a text, and everything that has the format of one. */
export function redactor(secrets: readonly string[]): Redact {
  // The longest first: one secret may be the beginning of another.
  const known = [...new Set(secrets.flatMap(spellings))].sort((a, b) => b.length - a.length);
  return (text) => {
    let clean = text;
    for (const secret of known) if (clean.includes(secret)) clean = clean.replaceAll(secret, REDACTED);
    return clean
      .replace(WHOLE_KEY, REDACTED)
      .replace(KEY_FORMATS, REDACTED)
      .replace(IN_ADDRESS, `$1${REDACTED}`);
  };
}

/** The same for text that is read line by line: a private key has many lines. */
export function lineRedactor(redact: Redact, beginsInside = false): Redact {
  let inside = beginsInside;
  return (line) => {
    let clean = redact(line);
    if (inside) {
      const end = END_KEY.exec(clean);
      inside = end === null && KEY_LINE.test(clean);
      if (inside) return REDACTED;
      if (end) clean = REDACTED + clean.slice(end.index + end[0].length);
    }
    const begin = BEGIN_KEY.exec(clean);
    if (!begin) return clean;
    inside = true;
    return clean.slice(0, begin.index) + REDACTED;
  };
}

/** A line inside a private key: base64, or a header of the older format. */
const KEY_LINE = /^\s*(?:[A-Za-z0-9+/=]*|[A-Za-z-]+: .*|\[redacted\])\s*$/;

/** The same value with every text in it redacted; the same object if nothing changes. */
export function redactAll<T>(value: T, redact: Redact): T {
  if (typeof value === 'string') return redact(value) as T;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((each) => redactAll(each, redact));
    return items.some((each, index) => each !== value[index]) ? (items as T) : value;
  }
  const entries = Object.entries(value).map(([key, each]) => [key, redactAll(each, redact)] as const);
  const same = entries.every(([key, each]) => each === (value as Record<string, unknown>)[key]);
  return same ? value : (Object.fromEntries(entries) as T);
}

/** An address without its path, which may contain a key. */
export function maskedUrl(url: string): string {
  const { protocol, host } = new URL(url);
  return `${protocol}//${host}/***`;
}

/** Separators between the words of a setting: `us-east-1`, `text/plain;charset=utf-8`. */
const SEPARATORS = /[\s\-_.,:;/\\=@+#%&|()[\]{}"'<>!?*~$^]+/;

/** A word, also a name in camel case; anything longer is not a word. */
const WORD = /^(?:\p{Lu}{1,20}|\p{Lu}?[\p{Ll}\p{Lo}\p{M}]{0,19}(?:\p{Lu}+[\p{Ll}\p{M}]{2,19})*)$/u;
/** A number, a date or a size, and names of versions and models: `4o`, `v2`, `qwen3`, `8x7b`, `01T12`. */
const NUMBER = /^(?:\d{1,8}[a-z]{0,3}|[a-z]{1,5}\d{1,3}[a-z]?|\d{1,3}[a-z]{1,2}\d{1,3}[a-z]?)$/i;

const ONE_CASE = /^(?:[^A-Z]*|[^a-z]*|[A-Z][^A-Z]*)$/;

const MODEL =
  /^(?:[a-z-]+[/.])*(?:claude|gpt|gemini|codex|llama|mistral|mixtral|codestral|devstral|qwen|deepseek|grok|kimi|glm|gemma|phi)\d?[-.:\w@/]{0,60}$/i;
const PLAIN_PATH = /^(?:~|\.{0,2}\/|[A-Za-z]:\\|\$\{?[A-Z])/;
const PLAIN_ADDRESS = /^[a-z][a-z0-9+.-]*:\/\/[^\s@]*$/i;
const SECRET_PARAMETER = /[?&][\w-]*(?:token|key|secret|sig|signature|password|auth|code)=/i;

/** Whether a setting is not a secret: a path, an address, a number, a model, or words and short numbers. */
function isOrdinaryValue(value: string): boolean {
  if (/\s/.test(value) || PLAIN_PATH.test(value) || MODEL.test(value) || /^[\d.,+-]+$/.test(value))
    return true;
  if (PLAIN_ADDRESS.test(value)) return !SECRET_PARAMETER.test(value);
  return value
    .split(SEPARATORS)
    .every((piece) => WORD.test(piece) || (NUMBER.test(piece) && ONE_CASE.test(piece)));
}
