import { cleanLine } from '../model/text/clean-escape-quote-plural.ts';
import type { Mark } from './task-and-problem-types.ts';

export interface BoxItem {
  indent: string;
  /** The number of an ordered list, which may serve as the id. */
  number: string | null;
  /** The character in the brackets, or empty for `[]`; `column` is its index in the line. */
  text: string;
  column: number;
  rest: string;
}

const ITEM =
  /^(?<indent>[ \t\u00a0\u3000]*)(?:[-*+•]|(?<number>\d{1,9})[.)])[ \t\u00a0]+\[(?<text>[^\][]?)\](?=[\s*\\\d<]|$)(?<rest>.*)$/;
const HEADING = /^ {0,3}#{1,6}[ \t]+(?:[-*+][ \t]+)?\[(?<text>[^\][]?)\](?=[\s*\\\d<]|$)(?<rest>.*)$/;

const MARKS: Readonly<Record<Mark, readonly string[]>> = {
  open: ['', ' ', '\u00a0'],
  queued: ['~'],
  started: ['-', '/'],
  done: ['x', 'X', '✓', '✔', '✅'],
};

/** A list item with a check box. */
export function boxItem(line: string): BoxItem | undefined {
  return boxIn(ITEM.exec(line));
}

/** A heading with a check box. */
export function boxHeading(line: string): BoxItem | undefined {
  return boxIn(HEADING.exec(line));
}

function boxIn(match: RegExpExecArray | null): BoxItem | undefined {
  if (!match?.groups) return undefined;
  const { indent = '', number = null, text = '', rest = '' } = match.groups;
  return { indent, number, text, column: match[0].length - rest.length - 1 - text.length, rest };
}

/** The mark of a box; undefined for an unknown character. */
export function markOf(text: string): Mark | undefined {
  return (Object.keys(MARKS) as Mark[]).find((mark) => MARKS[mark].includes(text));
}

const STATUS =
  /^[\s=:→–—-]*(?:tasks?\s+)?(?:is\s+)?(?:not (?:yet )?started|to ?do|pending|open|queued|in[ -]progress|started|ongoing|completed?|done|finished|optional|blocked|skipped|cancell?ed|未开始|排队中?|进行中|已完成|可选|未着手|待機中|進行中|完了|任意)(?:\s+tasks?)?\s*(?:\([^()]*\))?[.;,]?\s*$/iu;

/** Whether a line belongs to a legend, such as `- [~] Queued`. */
export function isLegend(rest: string): boolean {
  return STATUS.test(rest.replace(/^\\?\*/, '').replace(/[*_`]/g, ''));
}

/** The parts of a task's text or of a heading. */
export interface Title {
  /** Null where there is none. */
  id: string | null;
  /** The id is a whole number without punctuation, which may be the first word of the title: `3 retries`. */
  bare: boolean;
  /** Punctuation is after the id: `1.2: Text`. */
  ended: boolean;
  /** The word "Task" is before the id. */
  worded: boolean;
  title: string;
  optional: boolean;
  parallel: boolean;
  labels: string[];
  /** Ends in a check mark. */
  ticked: boolean;
  checkpoint: boolean;
}

const MAX = 2_000;
const NUMBER = /^\d{1,6}(?:(?:\.\d{1,6}){1,8}[a-z]?)?(?![\p{L}\p{N}])/u;
const CODE = /^(?:T|TASK|TSK)-?\d{1,6}(?:\.\d{1,6}){0,8}[a-z]?(?![\p{L}\p{N}])/u;
const WORD =
  /^(?:tasks?(?![\p{L}])|タスク|任务|任務|작업|tareas?(?![\p{L}])|t[âa]ches?(?![\p{L}])|aufgaben?(?![\p{L}])|tarefas?(?![\p{L}])|задач[аи](?![\p{L}]))[\s#:_-]*/iu;
const ANCHOR = /^(?:<a\b[^<>]{0,500}>\s*(?:<\/a>)?\s*)+/i;
const LINK = /\[([^\][]{0,300})\]\([^()\s]{0,2000}\)/g;
const TICKED = /\s*(?:[✅✔☑✓]\ufe0f?|\([✅✔☑✓]\ufe0f?(?:\s+(?:done|completed?|finished))?\))\s*$/iu;
const CHECKPOINT =
  /^(?:final\s+)?(?:checkpoint|check point|チェックポイント|检查点|檢查點|checkpoints?|punto de control|point de contrôle|prüfpunkt|контрольная точка)/iu;

export function readTitle(rest: string): Title {
  const found = { optional: false, parallel: false, labels: [] as string[] };
  const start = new Cursor(unstruck(rest.slice(0, MAX).trim()));
  if (start.take(/^\\?\*(?!\*)\s*/)) found.optional = true;
  start.take(ANCHOR);
  const bold = start.take(/^(?:\*\*(?=\S)|__(?=\d|task))/i)?.[0];
  const opened = start.text;
  const worded = WORD.exec(opened)?.[0] ?? '';
  const id = readId(CODE.test(opened) ? opened : opened.slice(worded.length), bold);
  const behind = id ? marks(id.rest, found) : opened;
  const text = bold === undefined ? behind : behind.replace(bold, '');
  if (id?.starred) found.optional = true;
  const title = plain(
    text.replace(TICKED, '').replace(/\s*\[optional\]\s*/gi, () => {
      found.optional = true;
      return ' ';
    }),
    found,
  );
  return {
    ...found,
    id: id?.id ?? null,
    bare: id?.bare ?? false,
    ended: id?.ended ?? false,
    worded: worded !== '' && !CODE.test(opened),
    title: title || id?.id || '',
    ticked: TICKED.test(text),
    checkpoint: CHECKPOINT.test(title),
  };
}

/** Text that is read from its beginning. */
class Cursor {
  text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** Removes what matches at the beginning, and returns the match. */
  take(pattern: RegExp): RegExpExecArray | null {
    const match = pattern.exec(this.text);
    if (match) this.text = this.text.slice(match[0].length);
    return match;
  }
}

/** The title of a task whose number turned out to be its first word. */
export function withoutId(rest: string): string {
  return plain(rest.slice(0, MAX).trim(), { optional: false });
}

/** A struck-through task, `~~1.2 Text~~` or `1.2 ~~Text~~`, was given up. */
export function isStruck(rest: string): boolean {
  return /^(?:\\?\*\s*)?~~(?=\S)[^~]+~~|^(?:\p{L}+\s+)?\d[\d.]*[a-z]?[:)]?\s+~~(?=\S)[^~]+~~$/u.test(
    rest.trim(),
  );
}

function unstruck(text: string): string {
  return isStruck(text) ? text.replace('~~', '').replace('~~', '') : text;
}

/** `1`, `1.2.`, `1.2a:`, `7.9*`, `T001`; never the 2 of "2D" or the 10 of "10:30". */
function readId(text: string, bold: string | undefined) {
  const id = (CODE.exec(text) ?? NUMBER.exec(text))?.[0];
  if (id === undefined) return undefined;
  const behind = new Cursor(text.slice(id.length));
  let starred = false;
  let ended = false;
  for (let before = ''; before !== behind.text; ) {
    before = behind.text;
    if (bold && behind.take(bold === '**' ? /^\*\*/ : /^__/)) ended = true;
    if (behind.take(/^\\?\*(?!\*)/)) starred = true;
    if (bold === undefined) behind.take(/^\*\*(?=[\s:.]|$)/);
    if (behind.take(/^[.:)\]、．。：）](?![\d%])|^\s+[-–—:](?=\s)/u)) ended = true;
  }
  const rest = behind.text;
  const closed =
    /[、．。：）]$/u.test(text.slice(0, text.length - rest.length)) || (ended && /^\P{ASCII}/u.test(rest));
  const apart = rest === '' || /^[\s([]/.test(rest) || starred || closed;
  if (!apart) return undefined;
  return { id, ended, bare: !ended && !starred && /^\d+$/.test(id), starred, rest: rest.trimStart() };
}

/** Reads `(P)`, `[P]` and `[US1]` between id and text; returns the text. */
function marks(text: string, found: { parallel: boolean; labels: string[] }): string {
  const rest = new Cursor(text);
  for (let before = ''; before !== rest.text; ) {
    before = rest.text;
    if (rest.take(/^(?:\(P\)|\[P\])\s*/i)) found.parallel = true;
    found.labels.push(...(rest.take(/^\[([A-Z]{1,6}-?\d{1,4})\](?!\()\s*/)?.slice(1) ?? []));
  }
  return rest.text;
}

function plain(text: string, found: { optional: boolean }): string {
  const words = text.replace(LINK, '$1').replace(/^\(optional\)\s+|\s+\(optional\)$/i, () => {
    found.optional = true;
    return '';
  });
  return cleanLine(words);
}

export interface SourceLine {
  text: string;
  /** Offset of its first character in the file. */
  start: number;
}

/** The lines of a file with the offsets where they begin, without line ends and byte order mark. */
export function splitLines(text: string): SourceLine[] {
  const lines: SourceLine[] = [];
  let start = text.startsWith('\ufeff') ? 1 : 0;
  for (const end of text.matchAll(/\r\n|\n|\r/g)) {
    lines.push({ text: text.slice(start, end.index), start });
    start = end.index + end[0].length;
  }
  lines.push({ text: text.slice(start), start });
  return lines;
}

/** Columns of leading space; a tab ends at the next multiple of four. */
export function indentOf(line: string): number {
  let columns = 0;
  for (const char of line) {
    if (char === '\t') columns += 4 - (columns % 4);
    else if (char === ' ' || char === '\u00a0' || char === '\u3000') columns += 1;
    else break;
  }
  return columns;
}

/** A code block without the space that all of its lines begin with. */
export function dedent(lines: readonly string[]): string {
  const least = Math.min(...lines.filter((line) => line.trim() !== '').map(indentOf));
  return lines.map((line) => withoutColumns(line, least).trimEnd()).join('\n');
}

function withoutColumns(line: string, columns: number): string {
  let [cut, at] = [0, 0];
  for (; at < columns && /[ \t]/.test(line[cut] ?? ''); cut += 1) at += line[cut] === '\t' ? 4 - (at % 4) : 1;
  return line.slice(cut);
}

/** The first inline code of a value, else all of it. */
export function firstCode(value: string): string {
  return /`([^`]+)`/.exec(value)?.[1] ?? value;
}
