import { refKey } from '../ids.ts';
import { blockersOf, type PlansView } from '../plans/view.ts';
import type { Attempt, Ticket } from '../ticket.ts';

/** Whether a ticket is complete because its pull request was merged, and no agent has worked on it since. */
export function endedMerged({ status, context, phaseHistory }: Ticket): boolean {
  if (status !== 'complete' || typeof context.pr_url !== 'string') return false;
  const last = phaseHistory.findLastIndex(({ outcome }) => outcome === 'merged');
  const isWork = ({ agent, error }: Attempt) => agent !== null || error?.class === 'merge';
  return last >= 0 && !phaseHistory.slice(last + 1).some(isWork);
}

/**
 * Whether that merge brought the work into the base. The pull request of a stacked ticket is merged into the branch below
 * it, so all tickets that it waits for must have ended merged, too.
 */
export function endedInBase(ticket: Ticket, view: PlansView, seen = new Set<string>()): boolean {
  if (seen.has(refKey(ticket))) return true;
  seen.add(refKey(ticket));
  return endedMerged(ticket) && blockersOf(view, ticket).every((each) => endedInBase(each, view, seen));
}
