import type { Hold } from '../model/ticket.ts';
import { clock } from './style.ts';

/** Kinds of which `until` says when somebody looks again, not when it is over. */
const LOOKS: ReadonlySet<Hold['kind']> = new Set(['poll', 'memory']);
const NAMES_TIME = / until \S*\d\d:\d\d/;

/** ` until 14:03:00`, where a hold ends then. A next look is no end, and a reason that names its time needs no other. */
export function untilText(hold: Hold | null, now: number): string {
  const end = endOf(hold);
  return end === null ? '' : ` until ${clock(end, now)}`;
}

/** When a hold ends by itself; null where it does not, where that is only a look, or where its reason says so. */
export function endOf(hold: Hold | null): string | null {
  return hold && !looks(hold) && !NAMES_TIME.test(hold.reason) ? hold.until : null;
}

/** The same for a page that stands still, which can name the next look as well. */
export function untilNote(hold: Hold | null, now: number): string {
  const until = untilText(hold, now).trim();
  if (until) return ` (${until})`;
  if (!hold?.until || !looks(hold) || NAMES_TIME.test(hold.reason)) return '';
  return Date.parse(hold.until) > now ? ` (next look ${clock(hold.until, now)})` : '';
}

function looks(hold: Hold): boolean {
  return hold.looks === true || LOOKS.has(hold.kind);
}
