import { refKey } from '../model/ids.ts';
import { blockersOf, type PlansView } from '../model/plans/view.ts';
import type { Attempt, Ticket } from '../model/ticket.ts';

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
export function cameIntoBase(ticket: Ticket, view: PlansView, seen = new Set<string>()): boolean {
  if (seen.has(refKey(ticket))) return true;
  seen.add(refKey(ticket));
  return endedMerged(ticket) && blockersOf(view, ticket).every((each) => cameIntoBase(each, view, seen));
}
