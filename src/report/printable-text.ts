import { jsonText } from '../model/extra-fields.ts';
import { endOfCharacter, withoutSequences } from '../model/text/clean-escape-quote-plural.ts';
import { inLocalTime, OWN_COLOUR_MARK } from './style-and-phrases.ts';

/** What is printed: a text is one line, a list has several. */
export type Lines = string | readonly string[];

const BREAK = /[\n\v\f\r\u0085\u2028\u2029]/;
/** White space is matched as a whole: a pattern for line ends with spaces around them takes minutes for a megabyte of spaces. */
const SPACES = /[\s\u0085]+/g;
/** Other control characters, and marks that show a text in another order than it is written. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
const CONTROLS = /[\u0000-\u0008\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;
const UNSAFE = new RegExp(`${BREAK.source}|${CONTROLS.source}`);
/** The sequences that `style` makes. */
const COLOURS = new RegExp(`\\u001b\\[(\\d+);${OWN_COLOUR_MARK}m`);

/**
 * One line of text of any origin, fit to be printed: it has no line ends, no control characters but tabs, and nothing that
 * turns text around. With `color` our own colours stay, and only these.
 */
export function printable(line: string, color = false): string {
  if (!UNSAFE.test(line)) return line;
  const clean = (text: string) =>
    withoutSequences(text)
      .replace(SPACES, (spaces) => (BREAK.test(spaces) ? ' ' : spaces))
      .replace(CONTROLS, '');
  return color
    ? line
        .split(COLOURS)
        .map((part, at) => (at % 2 === 1 ? `\u001b[${part}m` : clean(part)))
        .join('')
    : clean(line);
}

/** The same as a part of a line: without tabs, and cut. */
export function oneLine(text: string, max = 160): string {
  const flat = inLocalTime(printable(text).replace(/\t\s*/g, ' ').trim());
  return flat.length > max ? `${flat.slice(0, endOfCharacter(flat, max - 1))}…` : flat;
}

/** JSON in which what `printable` takes out is escaped, so that nothing is lost. */
export function safeJson(value: unknown, indent?: number): string {
  const escaped = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return jsonText(value, indent).replace(/[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, escaped);
}
