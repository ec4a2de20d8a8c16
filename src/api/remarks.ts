import { NO_CHECKS } from '../engine/checks.ts';
import type { Ticket } from '../model/ticket.ts';

/** What a tick alone would hide: of a phase of an issue, or of the issue. */
export function remarksOf(ticket: Ticket, phase: string | null): string[] {
  const last = ticket.phaseHistory.findLast((entry) => entry.phase === phase && entry.completedAt !== null);
  return last?.output?.trim() === NO_CHECKS ? [NO_CHECKS] : [];
}
