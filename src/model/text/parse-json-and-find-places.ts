import { asObject, type JsonObject } from './values-of-unknown-type.ts';

/** Far deeper than anything that people or agents write, and far below the depth at which writing it overflows the stack. */
const MAX_JSON_DEPTH = 1000;
export const TOO_DEEP = `nested more than ${MAX_JSON_DEPTH} levels deep`;

/** Whether lists and objects of a JSON text are nested deeper than that. A short text cannot be. */
export function isTooDeep(text: string): boolean {
  if (text.length < 2 * MAX_JSON_DEPTH) return false;
  let open = 0;
  for (let at = 0; at < text.length && open <= MAX_JSON_DEPTH; at += 1) {
    const sign = text[at];
    if (sign === '"') at = endOfString(text, at);
    else if (sign === '[' || sign === '{') open += 1;
    else if (sign === ']' || sign === '}') open -= 1;
  }
  return open > MAX_JSON_DEPTH;
}

/** Where the string ends that begins at `start`: most of a text is in strings, and nothing in them counts. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end === -1 ? text.length : end;
}

function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text[first - 1] === '\\') first -= 1;
  return (at - first) % 2 === 1;
}

/** The value, or undefined when the text is not JSON or too deep. */
export function parseJson(text: string): unknown {
  try {
    return isTooDeep(text) ? undefined : (JSON.parse(text) as unknown);
  } catch {
    return undefined;
  }
}

/** The object on a line, or undefined for anything else: a stream may contain warnings and incomplete lines. */
export function parseObject(line: string): JsonObject | undefined {
  return line.trimStart().startsWith('{') ? asObject(parseJson(line)) : undefined;
}

const JSON_TOKEN =
  /[ \t\r\n]*(?:([{}[\],:])|("(?:[^"\\\r\n\t]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)/y;

/**
 * The line and column of the value at a path, or of what is nearest to it. Without a path: where the text stops being
 * JSON.
 */
export function placeInJson(text: string, path?: readonly PropertyKey[]): { line: number; column: number } {
  const before = text.slice(0, offsetInJson(text, path)).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

function offsetInJson(text: string, path: readonly PropertyKey[] | undefined): number {
  /** The keys of the containers that are open. */
  const open: (string | number)[] = [];
  let [found, matched] = [0, -1];
  let state: 'value' | 'key' | ':' | 'next' = 'value';
  let isEmpty = false;
  let at = 0;
  for (;;) {
    JSON_TOKEN.lastIndex = at;
    const token = JSON_TOKEN.exec(text);
    const start = text.length - text.slice(at).trimStart().length;
    const [whole = '', sign = '', quoted] = token ?? [];
    const inList = typeof open.at(-1) === 'number';
    const closes = sign === (inList ? ']' : '}') && open.length > 0 && (state === 'next' || isEmpty);
    const isKey = state === 'key' && quoted !== undefined;
    const begins = state === 'value' && (sign === '' || sign === '{' || sign === '[');
    const continues =
      (state === ':' && sign === ':') || (state === 'next' && sign === ',' && open.length > 0);
    if (!token || !(closes || isKey || begins || continues)) return path ? found : start;
    at += whole.length;
    if (closes) {
      open.pop();
      [state, isEmpty] = ['next', false];
    } else if (isKey) {
      open[open.length - 1] = JSON.parse(quoted);
      [state, isEmpty] = [':', false];
    } else if (sign === ':') state = 'value';
    else if (sign === ',') {
      if (inList) open[open.length - 1] = Number(open.at(-1)) + 1;
      state = inList ? 'value' : 'key';
    } else {
      const fits = path && open.length <= path.length && open.every((key, index) => key === path[index]);
      if (fits && open.length > matched) [found, matched] = [start, open.length];
      isEmpty = sign !== '';
      if (sign === '[') open.push(0);
      if (sign === '{') open.push('');
      state = sign === '{' ? 'key' : sign === '[' ? 'value' : 'next';
    }
  }
}
