import type { Mark } from './task.ts';

export interface BoxItem {
  indent: string;
  /** The number of an ordered list, which may serve as the id. */
  number: string | null;
  /** The character in the brackets, or empty for `[]`. */
  text: string;
  /** Where that character stands. */
  column: number;
  rest: string;
}

const ITEM = /^([ \t\u00a0\u3000]*)([-*+•]|(\d{1,9})[.)])[ \t\u00a0]+\[([^\][]?)\](?=[\s*\\\d<]|$)(.*)$/;
const HEADING = /^ {0,3}#{1,6}[ \t]+(?:[-*+][ \t]+)?\[([^\][]?)\](?=[\s*\\\d<]|$)(.*)$/;

const MARKS: Record<string, Mark> = {
  '': 'open',
  ' ': 'open',
  '\u00a0': 'open',
  x: 'done',
  X: 'done',
  '✓': 'done',
  '✔': 'done',
  '✅': 'done',
  '-': 'started',
  '/': 'started',
  '~': 'queued',
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

/** Undefined for a character that nobody has given a meaning. */
export function markOf(text: string): Mark | undefined {
  return Object.hasOwn(MARKS, text) ? MARKS[text] : undefined;
}

const STATUS =
  /^[\s=:→–—-]*(?:tasks?\s+)?(?:is\s+)?(?:not (?:yet )?started|to ?do|pending|open|queued|in[ -]progress|started|ongoing|completed?|done|finished|optional|blocked|skipped|cancell?ed|未开始|排队中?|进行中|已完成|可选|未着手|待機中|進行中|完了|任意)(?:\s+tasks?)?\s*(?:\([^()]*\))?[.;,]?\s*$/iu;

/** A line of a legend, `- [~] Queued`, is no task. */
export function isLegend(rest: string): boolean {
  return STATUS.test(rest.replace(/^\\?\*/, '').replace(/[*_`]/g, ''));
}
