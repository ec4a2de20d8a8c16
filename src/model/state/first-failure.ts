import type { Plan, PlanEntry } from '../plan.ts';
import { type PlansView, ticketOf } from '../plans/view.ts';
import type { Hold } from '../ticket.ts';

/** That a ticket which has not begun will not, since another has failed; null where nothing of that kind is the case. */
export function stoppedBy(picture: Pick<PlansView, 'tickets'>, plan: Plan, waiting: PlanEntry): Hold | null {
  const failed = firstFailure(picture, plan);
  return failed === undefined || failed === waiting.ticketId ? null : haltedHold(failed);
}

/** The failure after which nothing of a plan is started any more, of later groups neither. */
export function firstFailure(picture: Pick<PlansView, 'tickets'>, plan: Plan): string | undefined {
  if (!plan.stopOnFailure) return undefined;
  return plan.tickets.find((entry) => {
    const ticket = ticketOf(picture, { planId: plan.id, ticketId: entry.ticketId });
    return (
      ticket?.status === 'failed' || (ticket?.status === 'needs_attention' && ticket.hold?.kind !== 'gate')
    );
  })?.ticketId;
}

/** The same for whoever asks about many tickets of one picture: a plan is looked through once. */
export function failuresIn(picture: Pick<PlansView, 'tickets'>): (plan: Plan) => string | undefined {
  const known = new Map<string, string | undefined>();
  return (plan) => {
    if (!known.has(plan.id)) known.set(plan.id, firstFailure(picture, plan));
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
