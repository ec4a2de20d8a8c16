import { parseRef, refKey } from '../ids-and-branch-names.ts';
import type { Plan, PlanEntry } from '../plan.ts';
import { entryOf, type PlansView, planOf, ticketOf } from '../plans/plans-view.ts';
import { type Hold, isMarkedBlocked, newerRunOf, type Ticket } from '../ticket.ts';

/** Why a ticket's blockers keep it from starting, or null when they are all complete. */
export function blockedBy(view: PlansView, plan: Plan, entry: PlanEntry): Hold | null {
  const reasons: string[] = [];
  let newer: string | undefined;
  for (const text of entry.blockedBy) {
    const ref = parseRef(text, plan.id);
    const blocker = ticketOf(view, ref);
    if (blocker?.status === 'complete') continue;
    newer ??= blocker && newerRunOf(blocker);
    const theirs = ref.planId === plan.id ? plan : planOf(view, ref.planId);
    reasons.push(`${text} (${blocker ? sayBlocker(blocker, theirs) : 'its file cannot be read'})`);
  }
  if (reasons.length === 0) return null;
  const superseded = newer === undefined ? {} : { supersededBy: newer };
  return { kind: 'blocked', reason: `waits for ${reasons.join(', ')}`, until: null, ...superseded };
}

/** Plan statuses in which no ticket starts, with the words for a message. */
const WHY_PLAN_RESTS: Readonly<Partial<Record<Plan['status'], string>>> = {
  draft: 'its plan is a draft',
  paused: 'its plan is paused',
  archived: 'its plan is archived',
};

interface Waiter {
  plan: Plan;
  entry: PlanEntry;
}

export interface StuckBlocker {
  plan: Plan;
  ticket: Ticket;
  waiter: Waiter;
}

/**
 * The first ticket, however far away, for which a person has to do something before this one can begin, and the one
 * that waits for it. Each ticket of the view is searched once: in a long chain all wait for the same one.
 */
export function stuckBlockers(view: PlansView): (plan: Plan, entry: PlanEntry) => StuckBlocker | undefined {
  const known = new Map<string, StuckBlocker | undefined>();
  const keyOf = ({ plan, entry }: Waiter) => refKey({ planId: plan.id, ticketId: entry.ticketId });
  return (plan, entry) => {
    const first = { plan, entry };
    const ahead: { at: Waiter; blockers: Waiter[] | undefined }[] = [{ at: first, blockers: undefined }];
    for (let top = ahead.at(-1); top; top = ahead.at(-1)) {
      const { at } = top;
      const key = keyOf(at);
      const waited = top.blockers;
      if (waited) {
        if (!known.get(key)) known.set(key, waited.map((each) => known.get(keyOf(each))).find(Boolean));
      } else if (!known.has(key)) {
        const found = blockersAhead(view, at);
        known.set(key, found.stuck);
        top.blockers = found.stuck ? [] : found.others;
        for (const each of top.blockers.toReversed()) ahead.push({ at: each, blockers: undefined });
        continue;
      }
      ahead.pop();
    }
    return known.get(keyOf(first));
  };
}

function blockersAhead(view: PlansView, at: Waiter): { stuck: StuckBlocker | undefined; others: Waiter[] } {
  const others: Waiter[] = [];
  for (const ref of at.entry.blockedBy.map((text) => parseRef(text, at.plan.id))) {
    const plan = planOf(view, ref.planId);
    const ticket = ticketOf(view, ref);
    if (!plan || !ticket) continue;
    const stands = ['failed', 'paused', 'needs_attention'].includes(ticket.status);
    const rests = WHY_PLAN_RESTS[plan.status] !== undefined && ticket.status !== 'complete';
    if (stands || rests) return { stuck: { plan, ticket, waiter: at }, others };
    const entry = entryOf(plan, ref);
    if (entry) others.push({ plan, entry });
  }
  return { stuck: undefined, others };
}

/** Only what a person would act on: phases of a running blocker are left out. */
function sayBlocker(blocker: Ticket, plan: Plan | undefined): string {
  const { status } = blocker;
  const newer = newerRunOf(blocker);
  if (newer !== undefined) return `superseded by ${newer}`;
  const rests = plan && WHY_PLAN_RESTS[plan.status];
  if (rests && status !== 'running') return rests;
  if (blocker.status === 'failed' || blocker.status === 'paused') return blocker.status;
  if (blocker.status === 'needs_attention') return 'needs attention';
  return blocker.hold?.kind === 'blocked' ? 'itself blocked' : 'not complete yet';
}

/** The failure after which no further ticket of a plan starts, in any group. */
export function firstFailure(view: PlansView, plan: Plan): string | undefined {
  if (!plan.stopOnFailure) return undefined;
  return plan.tickets.find(({ ticketId }) => isFailure(ticketOf(view, { planId: plan.id, ticketId })))
    ?.ticketId;
}

export function isFailure(ticket: Ticket | undefined): boolean {
  if (ticket?.status !== 'needs_attention') return ticket?.status === 'failed';
  return ticket.hold?.kind !== 'gate' && !isMarkedBlocked(ticket);
}

/** The same for many tickets of one view: each plan is searched once. */
export function failuresIn(view: PlansView): (plan: Plan) => string | undefined {
  const known = new Map<string, string | undefined>();
  return (plan) => {
    if (!known.has(plan.id)) known.set(plan.id, firstFailure(view, plan));
    return known.get(plan.id);
  };
}

export function haltedHold(failed: string): Hold {
  return {
    kind: 'blocked',
    reason: `the plan stops at the first failure, and ${failed} failed`,
    until: null,
  };
}
