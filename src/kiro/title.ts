import { cleanLine } from '../model/text/clean.ts';

/** What stands behind a check box, or in a heading. */
export interface Title {
  /** Null where there is none. */
  id: string | null;
  /** A whole number with nothing behind it, which may as well be the first word: `3 retries`. */
  bare: boolean;
  /** The word "Task" stands before the id. */
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
