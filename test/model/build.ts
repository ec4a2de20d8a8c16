import type { Claim } from '../../src/model/lease-and-claim-messages.ts';
import { Plan } from '../../src/model/plan-schema.ts';
import { Attempt, Ticket } from '../../src/model/ticket-schema.ts';
import { type Phase, phaseOf, Workflow } from '../../src/model/workflow.ts';

export const NOW = '2026-01-01T12:00:00.000Z';

/** A time this many seconds after NOW. */
export function at(seconds: number): string {
  return new Date(Date.parse(NOW) + seconds * 1000).toISOString();
}

export const CLAIM: Claim = {
  token: 'token',
  host: 'here',
  boot: 'boot',
  pid: 1,
  started: '1',
  by: 'run',
  renewedAt: NOW,
};

export function workflow(...phases: Record<string, unknown>[]): Workflow {
  return Workflow.parse({ name: 'flow', phases });
}

export function phaseIn(flow: Workflow, id: string): Phase {
  const phase = phaseOf(flow, id);
  if (!phase) throw new Error(`no phase ${id}`);
  return phase;
}

export function script(id: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return { id, type: 'script', command: 'x.sh', ...more };
}

export function ticket(fields: Record<string, unknown> = {}): Ticket {
  return Ticket.parse({ planId: 'p', ticketId: 't', title: 'Title', ...fields });
}

/** A ticket that an engine has just claimed, in this phase. */
export function running(currentPhase: string, fields: Record<string, unknown> = {}): Ticket {
  return ticket({ status: 'running', claim: CLAIM, currentPhase, visits: { [currentPhase]: 1 }, ...fields });
}

export function plan(fields: Record<string, unknown> = {}): Plan {
  return Plan.parse({ id: 'p', status: 'active', tickets: [{ ticketId: 't' }], ...fields });
}

export function attempt(
  phase: string,
  status: Attempt['status'],
  more: Record<string, unknown> = {},
): Attempt {
  const completedAt = status === 'running' ? null : NOW;
  return Attempt.parse({ phase, status, startedAt: NOW, completedAt, ...more });
}

/** `phase#visit#attempt status` of every attempt. */
export function history(of: Ticket): string[] {
  return of.phaseHistory.map((entry) => `${entry.phase}#${entry.visit}#${entry.attempt} ${entry.status}`);
}
