import { Lexer, Parser } from 'yaml';

/** Deeper than any file of ours, and far less than what makes the parser run out of memory. */
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

/** A quick look that is never wrong about a deep text: each level needs a bracket, or half a column before the text of a line. */
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
