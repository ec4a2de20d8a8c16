import { isNode, Lexer, LineCounter, Parser, parseDocument } from 'yaml';

/** Deeper than any of our files, and far below the depth that makes the parser run out of memory. */
export const MAX_YAML_DEPTH = 100;

/** Where YAML is nested deeper than that; undefined for all other text. */
export function tooDeepAt(text: string): number | undefined {
  if (!mayBeDeep(text)) return undefined;
  const parser = new Parser();
  for (const part of new Lexer().lex(text)) {
    Array.from(parser.next(part));
    if (parser.stack.length > MAX_YAML_DEPTH) return parser.offset;
  }
  return undefined;
}

/** A quick check that never misses a deep text: each level needs a bracket, or half a column of indentation. */
function mayBeDeep(text: string): boolean {
  let open = 0;
  let indent = 0;
  for (const [part] of text.matchAll(/[[\]{}]|^[ ?-]+/gm)) {
    if (/^[ ?-]/.test(part)) indent = Math.max(indent, part.length);
    else open = Math.max(0, open + (part === '[' || part === '{' ? 1 : -1));
    if (open + 2 * indent > MAX_YAML_DEPTH - 10) return true;
  }
  return false;
}

/** Parses YAML, or says what is wrong with it. The rehearsal agent loads it only where it is needed: it costs more than the agent. */
export function parseYaml(text: string): { value: unknown } | { problem: string } {
  if (tooDeepAt(text) !== undefined)
    return { problem: `it is nested more than ${MAX_YAML_DEPTH} levels deep` };
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error) return { problem: error.message.split('\n')[0]?.replace(/:$/, '') ?? error.code };
  return { value: document.toJS() };
}

/** The line of the innermost place on a path that the text has. JSON is YAML too. */
export function lineOf(text: string, path: Array<string | number>): number {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter });
  for (let length = path.length; length > 0; length--) {
    const node = document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return lineCounter.linePos(node.range[0]).line;
  }
  return 1;
}
