import type { EngineEvent } from '../../src/model/events.ts';
import type { TicketStatus } from '../../src/model/ticket.ts';

/** The events of an attempt of plan p that starts. */
export function starts(ticketId: string, attempt = 1, phase = 'build'): EngineEvent {
  const at = { planId: 'p', ticketId, phase, visit: 1, attempt };
  return { type: 'attempt:start', ...at, agent: 'agent', kind: 'agent' };
}

export function becomes(ticketId: string, status: TicketStatus): EngineEvent {
  return { type: 'ticket:status', planId: 'p', ticketId, status, hold: null, error: null, phase: null };
}
