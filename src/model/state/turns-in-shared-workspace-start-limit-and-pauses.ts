import { refKey } from '../ids-and-branch-names.ts';
import { type Plan, sharesWorkspace } from '../plan.ts';
import { type PlansView, ticketsOf } from '../plans/plans-view.ts';
import { plural } from '../text/clean-escape-quote-plural.ts';
import { type Hold, isOver, type Ticket } from '../ticket.ts';

/** Whether a ticket has not started yet, or has to start again because its work was taken out of the tree. */
export function isYetToBegin(plan: Plan, ticket: Ticket): boolean {
  return (
    ticket.phaseHistory.length === 0 || (sharesWorkspace(plan) && ticket.base === null && !isOver(ticket))
  );
}

/** Of a plan that shares its tree, the ticket whose work is in it: begun, and neither complete nor given up. */
export function ticketInTree(picture: PlansView, plan: Plan): Ticket | undefined {
  if (!sharesWorkspace(plan)) return undefined;
  return ticketsOf(picture, plan).find((ticket) => !isYetToBegin(plan, ticket) && !isOver(ticket));
}

/** Of a plan that shares its tree, the ticket that worked in it last. */
export function lastInTree(picture: PlansView, plan: Plan): Ticket | undefined {
  if (!sharesWorkspace(plan)) return undefined;
  const timeOf = ({ phaseHistory }: Ticket) => phaseHistory.at(-1)?.startedAt ?? '';
  return ticketsOf(picture, plan)
    .filter(({ base, dispatch }) => base !== null && dispatch !== undefined)
    .reduce<Ticket | undefined>((a, b) => (a && timeOf(a) >= timeOf(b) ? a : b), undefined);
}

/**
 * Why the next ticket of a plan does not start yet: a hold to report, or `null` if another ticket is running. Undefined when it
 * is its turn. Each plan is searched once, for all of its tickets.
 */
export function turnsOf(
  picture: PlansView,
  now: string,
): (plan: Plan, ticket: Ticket) => Hold | null | undefined {
  const known = new Map<string, ReturnType<typeof turnOf>>();
  return (plan, ticket) => {
    const turn = known.get(plan.id) ?? turnOf(picture, plan, now);
    known.set(plan.id, turn);
    return turn(ticket);
  };
}

function turnOf(picture: PlansView, plan: Plan, now: string): (ticket: Ticket) => Hold | null | undefined {
  const before = ticketInTree(picture, plan);
  const hold = before ? stuck(before) : startLimit(picture, plan);
  if (hold !== undefined) return () => hold;
  const last = plan.delaySeconds ? lastEnd(picture, plan) : undefined;
  const pause = last && pauseBetweenUnits(plan, last, now);
  return () => pause;
}

/** The hold of a ticket that has not started, if the ticket in the tree needs a person. */
export function waitsForTicketInTree(picture: PlansView, plan: Plan, ticket: Ticket): Hold | null {
  const before = isYetToBegin(plan, ticket) ? ticketInTree(picture, plan) : undefined;
  return before ? stuck(before) : null;
}

function stuck({ status, ticketId }: Ticket): Hold | null {
  if (status !== 'needs_attention' && status !== 'paused') return null;
  const why = status === 'paused' ? 'is paused' : 'needs attention';
  return {
    kind: 'blocked',
    reason: `waits for ${ticketId}: it ${why}, and its work is in the worktree`,
    until: null,
  };
}

function startLimit(picture: PlansView, plan: Plan): Hold | undefined {
  const { starts } = plan;
  if (!starts) return undefined;
  const since = Date.parse(starts.since);
  // A ticket that began earlier and continues in this run counts.
  const begun = ticketsOf(picture, plan).filter(({ phaseHistory }) =>
    phaseHistory.some(({ startedAt }) => Date.parse(startedAt) >= since),
  );
  if (begun.length < starts.max) return undefined;
  return {
    kind: 'starts',
    reason: `the limit of ${plural(starts.max, 'ticket')} per run is reached`,
    until: null,
  };
}

/** The ticket that ended last of those that this plan has worked on. */
function lastEnd(picture: PlansView, plan: Plan): Ended | undefined {
  const ends = ticketsOf(picture, plan).flatMap((each) =>
    isOver(each) && each.phaseHistory.length > 0 && each.since
      ? [{ key: refKey(each), at: Date.parse(each.since) }]
      : [],
  );
  return ends.reduce<Ended | undefined>((last, end) => (last && last.at >= end.at ? last : end), undefined);
}

interface Ended {
  key: string;
  at: number;
}

/** The pause depends on the last ticket only, so that all waiting tickets have the same end time. */
function pauseBetweenUnits(plan: Plan, last: Ended, now: string): Hold | undefined {
  if (!plan.delaySeconds) return undefined;
  // Between 0.8 and 1.2, always the same for one ticket: engines that come and go agree on the time.
  const jitter = 0.8 + (0.4 * spread(`${last.key}@${last.at}`)) / 0xffffffff;
  const until = last.at + Math.round(plan.delaySeconds * 1000 * jitter);
  // A wait longer than possible was recorded before the clock was set back.
  const left = until - Date.parse(now);
  if (!(left > 0) || left > plan.delaySeconds * 2000) return undefined;
  const reason = `pause of about ${plan.delaySeconds} s between tickets`;
  return { kind: 'delay', reason, until: new Date(until).toISOString() };
}

/** FNV-1a with a final mix, since without it texts that differ in their last character have nearly the same hash. */
function spread(text: string): number {
  let hash = 0x811c9dc5;
  for (const char of text) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
