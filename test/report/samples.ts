import type { EngineEvent } from '../../src/model/events.ts';
import { noUsage } from '../../src/model/limits/usage-cost-and-estimate.ts';
import type { Usage } from '../../src/model/ticket.ts';
import { Ticket } from '../../src/model/ticket-schema.ts';

export const START = Date.parse('2026-03-01T12:00:00.000Z');

export function ticket(ticketId: string, more: Partial<Ticket> = {}): Ticket {
  return Ticket.parse({ planId: 'tea', ticketId, title: ticketId, ...more });
}

export function usage(tokens: number, costUsd: number | null = null): Usage {
  return { ...noUsage(), inputTokens: tokens, costUsd };
}

/** Events of one attempt, with what they have in common filled in. */
export function attemptOf(ticketId: string, phase: string, visit = 1, attempt = 1) {
  const about = { planId: 'tea', ticketId, phase, visit, attempt };
  return {
    start: (agent: string | null = null): EngineEvent => ({
      type: 'attempt:start',
      agent,
      kind: 'agent',
      ...about,
    }),
    adopt: (): EngineEvent => ({ type: 'attempt:adopt', ...about }),
    session: (sessionId: string): EngineEvent => ({
      type: 'attempt:session',
      agent: 'a',
      sessionId,
      ...about,
    }),
    text: (text: string): EngineEvent => ({ type: 'attempt:text', text, ...about }),
    tool: (name: string, summary: string, done = false): EngineEvent => ({
      type: 'attempt:tool',
      name,
      summary,
      done,
      ...about,
    }),
    usage: (used: Usage): EngineEvent => ({ type: 'attempt:usage', usage: used, ...about }),
    end: (more: Partial<Extract<EngineEvent, { type: 'attempt:end' }>> = {}): EngineEvent => ({
      type: 'attempt:end',
      status: 'success',
      outcome: 'success',
      error: null,
      ms: 1200,
      usage: null,
      sessionId: null,
      ...about,
      ...more,
    }),
  };
}

export function status(
  ticketId: string,
  to: Ticket['status'],
  more: { hold?: Ticket['hold']; error?: string; phase?: string } = {},
): EngineEvent {
  const { hold = null, error = null, phase = null } = more;
  return { type: 'ticket:status', planId: 'tea', ticketId, status: to, hold, error, phase };
}
