import { NO_CHECKS } from '../features/checks/checks.ts';
import type { Ticket } from '../model/ticket.ts';
import { notMerged, reservation } from '../model/verdict.ts';

/** What a tick alone would hide: of a phase of an issue, or of the issue. */
export function remarksOf(ticket: Ticket, phase: string | null): string[] {
  if (phase === null) return [reservation(ticket)].filter(Boolean);
  const last = ticket.phaseHistory.findLast((entry) => entry.phase === phase && entry.completedAt !== null);
  if (last?.output?.trim() === NO_CHECKS) return [NO_CHECKS];
  return [notMerged(last?.output) ?? ''].filter(Boolean);
}
