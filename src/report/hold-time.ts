import type { Hold } from '../model/ticket.ts';
import { clock } from './style.ts';

/** Kinds of which `until` is the next check, not the end. */
const LOOKS: ReadonlySet<Hold['kind']> = new Set(['poll', 'memory']);
const NAMES_TIME = / until \S*\d\d:\d\d/;

/** ` until 14:03:00`, if the hold ends by itself and its reason does not name the time. */
export function untilText(hold: Hold | null, now: number): string {
  const end = endOf(hold);
  return end === null ? '' : ` until ${clock(end, now)}`;
}

/** When a hold ends by itself; null for a next check, or if the reason names the time. */
export function endOf(hold: Hold | null): string | null {
  return hold && !looks(hold) && !NAMES_TIME.test(hold.reason) ? hold.until : null;
}

/** The same for a page that is printed once, which also shows the next check. */
export function untilNote(hold: Hold | null, now: number): string {
  const until = untilText(hold, now).trim();
  if (until) return ` (${until})`;
  if (!hold?.until || !looks(hold) || NAMES_TIME.test(hold.reason)) return '';
  return Date.parse(hold.until) > now ? ` (next look ${clock(hold.until, now)})` : '';
}

function looks(hold: Hold): boolean {
  return hold.looks === true || LOOKS.has(hold.kind);
}
