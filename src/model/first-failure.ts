import { refKey } from './ids.ts';
import type { Plan, PlanEntry } from './plan.ts';
import type { Hold, Ticket } from './ticket.ts';

interface Tickets {
  tickets: ReadonlyMap<string, Ticket>;
}

/** That a ticket which has not begun will not, since another has failed; null where nothing of that kind is the case. */
export function stoppedBy(picture: Tickets, plan: Plan, waiting: PlanEntry): Hold | null {
  const failed = firstFailure(picture, plan, waiting);
  return failed === undefined || failed === waiting.ticketId ? null : haltedHold(failed);
}

/** The failure after which this ticket is not started any more. In a run of issues it stops its own batch alone. */
export function firstFailure(picture: Tickets, plan: Plan, waiting: PlanEntry): string | undefined {
  if (!plan.stopOnFailure) return undefined;
  return plan.tickets.find((entry) => {
    if (plan.kind === 'run' && entry.group !== waiting.group) return false;
    const ticket = picture.tickets.get(refKey({ planId: plan.id, ticketId: entry.ticketId }));
    return (
      ticket?.status === 'failed' || (ticket?.status === 'needs_attention' && ticket.hold?.kind !== 'gate')
    );
  })?.ticketId;
}

/** The same for whoever asks about many tickets of one picture: a plan is looked through once. */
export function failuresIn(picture: Tickets): (plan: Plan, waiting: PlanEntry) => string | undefined {
  const known = new Map<string, string | undefined>();
  return (plan, waiting) => {
    const key = `${plan.id}/${plan.kind === 'run' ? waiting.group : ''}`;
    if (!known.has(key)) known.set(key, firstFailure(picture, plan, waiting));
    return known.get(key);
  };
}

export function haltedHold(failed: string): Hold {
  return {
    kind: 'blocked',
    reason: `the plan stops at the first failure, and ${failed} failed`,
    until: null,
  };
}
