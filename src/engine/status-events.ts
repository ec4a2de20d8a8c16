import type { TicketRef } from '../model/ids.ts';
import type { Ticket } from '../model/ticket.ts';
import { type EngineContext, emit } from './context.ts';

export function refOf(ticket: TicketRef): TicketRef {
  return { planId: ticket.planId, ticketId: ticket.ticketId };
}

/** There is nothing in it that anybody would have to be told. */
export function sameStatus(before: Pick<Ticket, 'status' | 'hold'>, after: Ticket): boolean {
  return (
    before.status === after.status &&
    before.hold?.kind === after.hold?.kind &&
    before.hold?.until === after.hold?.until
  );
}

export function tellStatus(parts: EngineContext, before: Ticket, after: Ticket): void {
  if (sameStatus(before, after)) return;
  const { status, hold: why, error, currentPhase } = after;
  emit(parts, { type: 'ticket:status', status, hold: why, error, phase: currentPhase, ...refOf(after) });
}

/** Names one attempt. */
export type AttemptRef = TicketRef & { phase: string; visit: number; attempt: number };

export function tellEnd(parts: EngineContext, ticket: Ticket, about: AttemptRef): void {
  const closed = ticket.phaseHistory.findLast(
    (entry) => entry.phase === about.phase && entry.visit === about.visit && entry.attempt === about.attempt,
  );
  if (!closed?.completedAt) return;
  const ms = Math.max(0, Date.parse(closed.completedAt) - Date.parse(closed.startedAt));
  const { status, outcome, error, usage, sessionId } = closed;
  emit(parts, { type: 'attempt:end', status, outcome, error, ms, usage, sessionId, ...about });
}
