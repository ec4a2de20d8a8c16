import { isSecretName } from './environment.ts';

export const REDACTED = '[redacted]';

/** Keys that give themselves away by their form: GitHub, Anthropic, OpenAI, Slack, AWS, Google, Linear, JSON Web Tokens. */
const SHAPES = new RegExp(
  [
    'gh[pousr]_[A-Za-z0-9]{30,}',
    'github_pat_[A-Za-z0-9_]{30,}',
    'sk-[A-Za-z0-9_-]{20,}',
    'xox[abprs]-[A-Za-z0-9-]{10,}',
    'AKIA[0-9A-Z]{16}',
    'AIza[0-9A-Za-z_-]{35}',
    'lin_(?:api|oauth)_[A-Za-z0-9]{20,}',
    'glpat-[A-Za-z0-9_-]{20,}',
    'eyJ[A-Za-z0-9_-]{15,}\\.[A-Za-z0-9_-]{15,}\\.[A-Za-z0-9_-]{10,}',
  ]
    .map((shape) => `(?<![A-Za-z0-9])${shape}`)
    .join('|'),
  'g',
);

/** Shorter ones would be found in ordinary words. */
const LEAST = 8;

/** Values that must not be shown: of variables that are called secret, and of those that a config sets to something like a key. */
export function secretValues(
  env: Readonly<Record<string, string | undefined>>,
  configured: readonly Readonly<Record<string, string>>[],
): string[] {
  const values = new Set<string>();
  const all = [env, ...configured].flatMap((each) => Object.entries(each));
  for (const [name, value] of all)
    if (value !== undefined && isSecretName(name) && isTelling(value)) values.add(value);
  for (const each of configured)
    for (const value of Object.values(each)) if (looksLikeKey(value)) values.add(value);
  return [...values];
}

/** Words and paths are in names such as `SSH_AUTH_SOCK`, too, and hiding them would hide half of every log. */
function isTelling(value: string): boolean {
  return value.length >= LEAST && !/^(?:[a-z]+|[\d.]+|[~.]?\/.*|https?:\/\/[^@]*)$/.test(value);
}

function looksLikeKey(value: string): boolean {
  return !/\s/.test(value) && /\d/.test(value) && /[A-Za-z0-9]{16,}/.test(value) && !/^[~.]?\//.test(value);
}

export type Redact = (text: string) => string;

/** Replaces secrets in a text: those that are known, and whatever has the form of one. */
export function redactor(secrets: readonly string[]): Redact {
  // The longest first: one may begin like another.
  const known = [...secrets].sort((a, b) => b.length - a.length);
  return (text) => {
    let clean = text;
    for (const secret of known) if (clean.includes(secret)) clean = clean.replaceAll(secret, REDACTED);
    return clean.replace(SHAPES, REDACTED);
  };
}

/** The same value with every text in it redacted; the same object where there is nothing to hide. */
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
