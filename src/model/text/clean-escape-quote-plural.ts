import { stripVTControlCharacters } from 'node:util';

const MAX_BODY_CHARS = 200_000;
const MAX_TITLE_CHARS = 300;
const MAX_LABELS = 200;
const MAX_LABEL_CHARS = 100;

// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;
/** Characters that change the displayed order of a line. */
const BIDI = /[\u202a-\u202e\u2066-\u2069]/g;

/** The beginning of a title or link for the terminal that is not ended as one: Node would take a letter of the text with it. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
const OPEN_OSC = /\u001b\]\d*;?(?![-a-zA-Z\d/#&.:=?%@~_;]*(?:\u0007|\u001b\\|\u009c))/g;

/** Takes terminal sequences out of text. */
export function withoutSequences(text: string): string {
  return stripVTControlCharacters(text.replace(OPEN_OSC, ''));
}

/** Text of several lines from outside: LF line ends, no terminal sequences, of a bounded length. */
export function cleanText(text: string, max = MAX_BODY_CHARS): string {
  const clean = withoutSequences(text.replace(/\r\n?/g, '\n')).replace(CONTROL, '');
  if (clean.length <= max) return clean;
  const kept = clean.slice(0, endOfCharacter(clean, max));
  return `${kept}\n\n[${clean.length - kept.length} more characters were left out.]`;
}

/** A title, label or message from outside, as one line. */
export function cleanLine(text: string, max = MAX_TITLE_CHARS): string {
  const clean = withoutSequences(text).replace(BIDI, '').replace(CONTROL, ' ');
  const line = clean.replace(/\s+/g, ' ').trim();
  return line.length <= max ? line : `${line.slice(0, endOfCharacter(line, max - 1)).trimEnd()}…`;
}

export function cleanLabels(labels: readonly string[]): string[] {
  const lines = labels.map((label) => cleanLine(label, MAX_LABEL_CHARS)).filter((label) => label !== '');
  return [...new Set(lines)].slice(0, MAX_LABELS);
}

/** What a person typed, quoted and shortened for a message. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 79)}…` : text);
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The end of a cut that does not split a surrogate pair. */
export function endOfCharacter(text: string, end: number): number {
  const before = text.charCodeAt(end - 1);
  return before >= 0xd800 && before <= 0xdbff ? end - 1 : end;
}

/** Characters that look like the `<` and `/` of a tag. */
const OPENS = '[<\\uff1c\\ufe64\\u2039\\u3008]';
const SLASH = '[/\\\\\\uff0f\\u2044\\u2215\\u29f8]';
/** Invisible characters between them. */
const GAP = '[\\s\\p{Cf}\\p{Cc}]*';

/** Escapes foreign text for use between tags such as `<ticket>` and `</ticket>`, so that it can neither open nor close one. */
export function escapeTags(text: string, marks: readonly string[]): string {
  if (marks.length === 0) return text;
  const literally = (sign: string) => sign.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  const names = marks.map((mark) => [...mark].map(literally).join('[\\p{Cf}\\p{Cc}]*'));
  const tag = new RegExp(`${OPENS}(?=${GAP}(?:${SLASH}${GAP})*(?:${names.join('|')}))`, 'giu');
  return text.replace(tag, '&lt;');
}

/** `a, b and 3 more`. */
export function firstOf(names: readonly string[], most: number): string {
  const more = names.length > most ? ` and ${names.length - most} more` : '';
  return `${names.slice(0, most).join(', ')}${more}`;
}

/** `1 ticket`, `3 tickets`, `2 branches`. */
export function plural(number: number, noun: string, many = `${noun}s`): string {
  return `${number} ${number === 1 ? noun : many}`;
}
