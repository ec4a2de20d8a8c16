import { refKey } from './ids.ts';
import type { Plan } from './plan.ts';
import { type Hold, isOver, type Ticket } from './ticket.ts';

/** All tickets of such a plan work in one tree, one after the other. */
export function isShared(plan: Pick<Plan, 'workspace'>): boolean {
  return plan.workspace === 'shared' || plan.workspace === 'checkout';
}

/** Whether a ticket has still to begin; one whose tree was taken from it begins anew. */
export function isYetToBegin(plan: Plan, ticket: Ticket): boolean {
  return ticket.phaseHistory.length === 0 || (isShared(plan) && ticket.base === null && !isOver(ticket));
}

/** Of a plan that shares its tree, the ticket whose work is in it: begun, and neither complete nor given up. */
export function ticketInTree(
  picture: { tickets: ReadonlyMap<string, Ticket> },
  plan: Plan,
): Ticket | undefined {
  if (!isShared(plan)) return undefined;
  return ticketsOf(picture, plan).find((ticket) => !isYetToBegin(plan, ticket) && !isOver(ticket));
}

/**
 * Why the next ticket of a plan does not begin yet: `hold` where it is worth telling, `null` where another one is simply
 * at work. Undefined when it is its turn. A plan is looked through once, however many of its tickets are asked about.
 */
export function turnsOf(
  picture: { tickets: ReadonlyMap<string, Ticket> },
  now: string,
): (plan: Plan, ticket: Ticket) => Hold | null | undefined {
  const known = new Map<string, ReturnType<typeof turnOf>>();
  return (plan, ticket) => {
    const turn = known.get(plan.id) ?? turnOf(picture, plan, now);
    known.set(plan.id, turn);
    return turn(ticket);
  };
}

function turnOf(
  picture: { tickets: ReadonlyMap<string, Ticket> },
  plan: Plan,
  now: string,
): (ticket: Ticket) => Hold | null | undefined {
  const before = ticketInTree(picture, plan);
  const hold = before ? stuck(before) : overBudget(picture, plan);
  if (hold !== undefined) return () => hold;
  const last = plan.delaySeconds ? lastEnd(picture, plan) : undefined;
  return (ticket) => (last === undefined ? undefined : tooSoon(plan, ticket, last, now));
}

/** What a ticket that has still to begin waits for, where that is another one in the tree which a person has to look at. */
export function behind(
  picture: { tickets: ReadonlyMap<string, Ticket> },
  plan: Plan,
  ticket: Ticket,
): Hold | null {
  const before = isYetToBegin(plan, ticket) ? ticketInTree(picture, plan) : undefined;
  return before ? stuck(before) : null;
}

function stuck({ status, ticketId }: Ticket): Hold | null {
  if (status !== 'needs_attention' && status !== 'paused') return null;
  const why = status === 'paused' ? 'is paused' : 'needs attention';
  return {
    kind: 'blocked',
    reason: `waits for ${ticketId}: it ${why}, and the tree has its work`,
    until: null,
  };
}

function overBudget(picture: { tickets: ReadonlyMap<string, Ticket> }, plan: Plan): Hold | undefined {
  const { starts } = plan;
  if (!starts) return undefined;
  const since = Date.parse(starts.since);
  // One that had begun before and goes on in this run is one of those that it works on.
  const begun = ticketsOf(picture, plan).filter(({ phaseHistory }) =>
    phaseHistory.some(({ startedAt }) => Date.parse(startedAt) >= since),
  );
  if (begun.length < starts.max) return undefined;
  return {
    kind: 'starts',
    reason: `${starts.max} ${starts.max === 1 ? 'was' : 'were'} started in this run, which is its limit`,
    until: null,
  };
}

/** When the last ticket ended that this plan has worked on. */
function lastEnd(picture: { tickets: ReadonlyMap<string, Ticket> }, plan: Plan): number | undefined {
  const ends = ticketsOf(picture, plan).flatMap((each) =>
    isOver(each) && each.phaseHistory.length > 0 && each.since ? [Date.parse(each.since)] : [],
  );
  return ends.length === 0 ? undefined : ends.reduce((last, end) => Math.max(last, end));
}

function tooSoon(plan: Plan, ticket: Ticket, last: number, now: string): Hold | undefined {
  if (!plan.delaySeconds) return undefined;
  const until = last + Math.round(plan.delaySeconds * 1000 * jitter(refKey(ticket)));
  // A wait that is longer than it can be was noted before the clock jumped back.
  const left = until - Date.parse(now);
  if (!(left > 0) || left > plan.delaySeconds * 2000) return undefined;
  const reason = `a pause of ${plan.delaySeconds} s after the one before, more or less`;
  return { kind: 'delay', reason, until: new Date(until).toISOString() };
}

/** Between 0.8 and 1.2, always the same for one ticket: engines that come and go agree on the time. */
function jitter(text: string): number {
  let hash = 7;
  for (const char of text) hash = (hash * 31 + (char.codePointAt(0) ?? 0)) % 1009;
  return 0.8 + (0.4 * hash) / 1008;
}

function ticketsOf(picture: { tickets: ReadonlyMap<string, Ticket> }, plan: Plan): Ticket[] {
  return plan.tickets.flatMap(
    ({ ticketId }) => picture.tickets.get(refKey({ planId: plan.id, ticketId })) ?? [],
  );
}
