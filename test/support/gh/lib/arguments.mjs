/** Ends the command with an exit code and a text for stderr. */
export class Exit extends Error {
  constructor(code, stderr, stdout = '') {
    super(stderr);
    this.code = code;
    this.stdout = stdout;
  }
}

const SHORT = {
  R: 'repo',
  H: 'head',
  B: 'base',
  t: 'title',
  b: 'body',
  F: 'body-file',
  s: 'state',
  L: 'limit',
  d: 'draft',
  i: 'include',
  q: 'jq',
  m: 'merge',
  r: 'rebase',
};
const SWITCHES = new Set([
  'draft',
  'include',
  'merge',
  'squash',
  'rebase',
  'delete-branch',
  'auto',
  'silent',
  'paginate',
]);

/** The first two words name the command; -f and -F of `gh api` become `fields`. */
export function parseArguments(argv) {
  const [group = '', name = '', ...rest] = argv;
  const call = { kind: `${group} ${name}`, words: [], flags: {}, fields: {} };
  for (let at = 0; at < rest.length; at += 1) {
    const word = rest[at];
    if (!word.startsWith('-') || word === '-') {
      call.words.push(word);
      continue;
    }
    const [, long, inline] = /^--([^=]+)(?:=([\s\S]*))?$/.exec(word) ?? [];
    const letter = long === undefined ? word.slice(1) : undefined;
    const field = group === 'api' && (letter === 'f' || letter === 'F' || /field$/.test(long ?? ''));
    const flag = long ?? SHORT[letter] ?? letter;
    if (!field && SWITCHES.has(flag)) {
      call.flags[flag] = true;
      continue;
    }
    at += inline === undefined ? 1 : 0;
    const value = inline ?? rest[at];
    if (value === undefined) throw new Error(`flag needs an argument: ${word}`);
    if (field) Object.assign(call.fields, keyValue(value, letter === 'F' || long === 'field'));
    else call.flags[flag] = value;
  }
  return call;
}

function keyValue(text, typed) {
  const equals = text.indexOf('=');
  const value = text.slice(equals + 1);
  const plain =
    { true: true, false: false, null: null }[value] ?? (/^-?\d+$/.test(value) ? Number(value) : value);
  return { [text.slice(0, equals)]: typed ? plain : value };
}
