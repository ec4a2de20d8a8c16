import { parseRef, refKey } from '../model/ids.ts';
import type { Attempt, Ticket } from '../model/ticket.ts';
import type { StoreView } from '../store/port.ts';

/** Whether a ticket came to its end because its pull request was merged, and nobody worked on it since. */
export function endedMerged({ status, context, phaseHistory }: Ticket): boolean {
  if (status !== 'complete' || typeof context.pr_url !== 'string') return false;
  const last = phaseHistory.findLastIndex(({ outcome }) => outcome === 'merged');
  const again = ({ agent, error }: Attempt) => agent !== null || error?.class === 'merge';
  return last >= 0 && !phaseHistory.slice(last + 1).some(again);
}

/**
 * Whether its work came into the base that way. A pull request on top of another's branch is merged no further than into
 * that branch, so all that it builds upon must have come there, too.
 */
export function cameIntoBase(
  ticket: Ticket,
  view: Pick<StoreView, 'tickets' | 'plans'>,
  seen = new Set<string>(),
): boolean {
  if (seen.has(refKey(ticket))) return true;
  seen.add(refKey(ticket));
  const plan = view.plans.find(({ id }) => id === ticket.planId);
  const entry = plan?.tickets.find(({ ticketId }) => ticketId === ticket.ticketId);
  return (
    endedMerged(ticket) &&
    (entry?.blockedBy ?? []).every((text) => {
      const blocker = view.tickets.get(refKey(parseRef(text, ticket.planId)));
      return !blocker || cameIntoBase(blocker, view, seen);
    })
  );
}
