import { cleanLine } from '../model/text/clean.ts';
import type { Mark } from './task.ts';

export interface BoxItem {
  indent: string;
  /** The number of an ordered list, which may serve as the id. */
  number: string | null;
  /** The character in the brackets, or empty for `[]`; `column` is its index in the line. */
  text: string;
  column: number;
  rest: string;
}

const ITEM = /^([ \t\u00a0\u3000]*)([-*+•]|(\d{1,9})[.)])[ \t\u00a0]+\[([^\][]?)\](?=[\s*\\\d<]|$)(.*)$/;
const HEADING = /^ {0,3}#{1,6}[ \t]+(?:[-*+][ \t]+)?\[([^\][]?)\](?=[\s*\\\d<]|$)(.*)$/;

const MARKS: Readonly<Record<Mark, readonly string[]>> = {
  open: ['', ' ', '\u00a0'],
  queued: ['~'],
  started: ['-', '/'],
  done: ['x', 'X', '✓', '✔', '✅'],
};

/** A list item with a check box. */
export function boxItem(line: string): BoxItem | undefined {
  const [whole, indent = '', , number, text = '', rest = ''] = ITEM.exec(line) ?? [];
  if (whole === undefined) return undefined;
  return { indent, number: number ?? null, text, column: whole.length - rest.length - 1 - text.length, rest };
}

/** A heading with a check box. */
export function boxHeading(line: string): { text: string; column: number; rest: string } | undefined {
  const [whole, text = '', rest = ''] = HEADING.exec(line) ?? [];
  if (whole === undefined) return undefined;
  return { text, column: whole.length - rest.length - 1 - text.length, rest };
}

/** Undefined for a character without a meaning. */
export function markOf(text: string): Mark | undefined {
  return (Object.keys(MARKS) as Mark[]).find((mark) => MARKS[mark].includes(text));
}

const STATUS =
  /^[\s=:→–—-]*(?:tasks?\s+)?(?:is\s+)?(?:not (?:yet )?started|to ?do|pending|open|queued|in[ -]progress|started|ongoing|completed?|done|finished|optional|blocked|skipped|cancell?ed|未开始|排队中?|进行中|已完成|可选|未着手|待機中|進行中|完了|任意)(?:\s+tasks?)?\s*(?:\([^()]*\))?[.;,]?\s*$/iu;

/** A line of a legend, `- [~] Queued`, is no task. */
export function isLegend(rest: string): boolean {
  return STATUS.test(rest.replace(/^\\?\*/, '').replace(/[*_`]/g, ''));
}

/** What a text behind a check box, or a heading, says. */
export interface Title {
  /** Null where there is none. */
  id: string | null;
  /** A whole number with nothing behind it, which may as well be the first word: `3 retries`. */
  bare: boolean;
  /** The word "Task" is before the id. */
  worded: boolean;
  title: string;
  optional: boolean;
  /** `1.1*`: optional to most, parallel to some. */
  starred: boolean;
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
const TICKED = /\s*(?:[✅✔☑✓]\ufe0f?)\s*$/u;
const CHECKPOINT =
  /^(?:final\s+)?(?:checkpoint|check point|チェックポイント|检查点|檢查點|checkpoints?|punto de control|point de contrôle|prüfpunkt|контрольная точка)/iu;

export function readTitle(rest: string): Title {
  const found = { optional: false, starred: false, parallel: false, labels: [] as string[] };
  let text = unstruck(rest.slice(0, MAX).trim());
  text = take(text, /^\\?\*(?!\*)\s*/, () => {
    found.optional = true;
  });
  text = text.replace(ANCHOR, '');
  const bold = /^(?:\*\*(?=\S)|__(?=\d|task))/i.exec(text)?.[0];
  const opened = bold === undefined ? text : text.slice(2);
  const worded = WORD.exec(opened)?.[0] ?? '';
  const id = readId(CODE.test(opened) ? opened : opened.slice(worded.length), bold);
  const whole = bold === undefined ? opened : opened.replace(bold, '');
  const behind = id ? marks(id.rest, bold, found) : whole;
  if (id?.starred) found.starred = true;
  const ticked = TICKED.test(behind);
  const title = plain(
    behind.replace(TICKED, '').replace(/\s*\[optional\]\s*/gi, () => {
      found.optional = true;
      return ' ';
    }),
    found,
  );
  return {
    ...found,
    id: id?.id ?? null,
    bare: id?.bare ?? false,
    worded: worded !== '' && !CODE.test(opened),
    title: title || id?.id || '',
    ticked,
    checkpoint: CHECKPOINT.test(title),
  };
}

/** The title of something whose number turned out to be its first word. */
export function withoutId(rest: string): string {
  return plain(rest.slice(0, MAX).trim(), { optional: false });
}

/** `~~1.2 Text~~` is a task that was given up. */
export function isStruck(rest: string): boolean {
  return /^(?:\\?\*\s*)?~~(?=\S)[^~]+~~/.test(rest.trim());
}

function unstruck(text: string): string {
  return isStruck(text) ? text.replace('~~', '').replace('~~', '') : text;
}

interface FoundId {
  id: string;
  bare: boolean;
  starred: boolean;
  rest: string;
}

/** `1`, `1.2.`, `1.2a:`, `7.9*`, `T001`; never the 2 of "2D" or the 10 of "10:30". */
function readId(text: string, bold: string | undefined): FoundId | undefined {
  const id = (CODE.exec(text) ?? NUMBER.exec(text))?.[0];
  if (id === undefined) return undefined;
  let rest = text.slice(id.length);
  let starred = false;
  let ended = false;
  for (let before = ''; before !== rest; ) {
    before = rest;
    if (bold && rest.startsWith(bold)) {
      rest = rest.slice(2);
      ended = true;
    }
    rest = take(rest, /^\\?\*(?!\*)/, () => {
      starred = true;
    });
    if (bold === undefined) rest = rest.replace(/^\*\*(?=[\s:.]|$)/, '');
    rest = take(rest, /^[.:)\]、．。：）](?![\d%])|^\s+[-–—:](?=\s)/u, () => {
      ended = true;
    });
  }
  const closed =
    /[、．。：）]$/u.test(text.slice(0, text.length - rest.length)) || (ended && /^\P{ASCII}/u.test(rest));
  const apart = rest === '' || /^[\s([]/.test(rest) || starred || closed;
  if (!apart) return undefined;
  return { id, bare: !ended && !starred && /^\d+$/.test(id), starred, rest: rest.trimStart() };
}

/** `(P)`, `[P]` and `[US1]` between id and text. */
function marks(
  text: string,
  bold: string | undefined,
  found: { parallel: boolean; labels: string[] },
): string {
  let rest = text;
  for (let before = ''; before !== rest; ) {
    before = rest;
    rest = take(rest, /^(?:\(P\)|\[P\])\s*/i, () => {
      found.parallel = true;
    });
    rest = take(rest, /^\[([A-Z]{1,6}-?\d{1,4})\](?!\()\s*/, (label) => found.labels.push(label));
  }
  return bold === undefined ? rest : rest.replace(bold, '');
}

function plain(text: string, found: { optional: boolean }): string {
  const words = text.replace(LINK, '$1').replace(/^\(optional\)\s+|\s+\(optional\)$/i, () => {
    found.optional = true;
    return '';
  });
  return cleanLine(words);
}

function take(text: string, pattern: RegExp, taken: (inner: string) => void): string {
  const match = pattern.exec(text);
  if (!match) return text;
  taken(match[1] ?? '');
  return text.slice(match[0].length);
}
