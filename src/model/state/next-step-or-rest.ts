import type { Plan } from '../plan.ts';
import { type Attempt, lastAttemptOf, openAttempt, type Ticket, type TicketStatus } from '../ticket.ts';
import { type Phase, phaseOf, type Workflow } from '../workflow.ts';

/** What an engine does with a ticket that it drives. */
export type Step =
  | { do: 'start'; phase: Phase; visit: number; attempt: number }
  /** An attempt is on record as begun: adopt its process, read its exit record, poll again, or close it. */
  | { do: 'continue'; phase: Phase; attempt: Attempt };

const CLOCK_SLACK_MS = 60_000;

/** The next step of a ticket, or null when there is none: it waits, is over, or a person stopped it. */
export function next(workflow: Workflow, ticket: Ticket): Step | null {
  if (ticket.status !== 'running') return null;
  const open = openAttempt(ticket);
  const phase = phaseOf(workflow, open?.phase ?? ticket.currentPhase ?? '');
  if (!phase || phase.type === 'terminal') return null;
  if (open) return { do: 'continue', phase, attempt: open };
  const visit = ticket.visits[phase.id] ?? 1;
  return { do: 'start', phase, visit, attempt: lastAttemptOf(ticket, phase.id, visit) + 1 };
}

/** A command has paused it to move it to another phase. If that command is killed, the ticket stays paused. */
export function isBrieflyPaused({ status, hold, since }: Ticket, now: string): boolean {
  if (status !== 'paused' || !hold?.goesOnBy) return false;
  const time = Date.parse(now);
  return Date.parse(hold.goesOnBy) > time && !(Date.parse(since ?? '') > time + CLOCK_SLACK_MS);
}

/**
 * A hold ends by itself only when it has a time, and that time has come.
 * One that seems to have begun in the future was set before the clock jumped back: it has waited long enough.
 * A time that cannot be read ends the hold, too.
 */
export function isDue(ticket: Ticket, now: string): boolean {
  if (!ticket.hold) return true;
  if (ticket.hold.until === null) return false;
  const time = Date.parse(now);
  return (
    !(Date.parse(ticket.hold.until) > time) ||
    (ticket.since !== null && Date.parse(ticket.since) > time + CLOCK_SLACK_MS)
  );
}

/** Whether a ticket with this status is finished or waits for a person. */
export function isRest(status: TicketStatus): boolean {
  return status === 'complete' || status === 'failed' || status === 'paused' || status === 'needs_attention';
}

/** Whether nothing more will happen to this ticket without a person. A paused one may still wait for its agent to end. */
export function rests(ticket: Ticket, now: string): boolean {
  return (
    isRest(ticket.status) &&
    !(ticket.status === 'paused' && openAttempt(ticket)) &&
    !isBrieflyPaused(ticket, now)
  );
}

/** Only a person moves what is over, paused or needs attention; but a gate with a deadline takes its failure edge. */
export function movesByItself(ticket: Ticket): boolean {
  if (ticket.status === 'needs_attention') return ticket.hold?.kind === 'gate' && ticket.hold.until !== null;
  return ticket.status === 'queued' || ticket.status === 'ready' || ticket.status === 'running';
}

/** Whether nothing in a plan moves before a person does something. */
export function isPlanAtRest(plan: Plan, tickets: readonly Ticket[]): boolean {
  return plan.status !== 'active' || !tickets.some(isMoving);
}

/** Whether a ticket of an active plan may move before a person does something. */
export function isMoving({ status, hold }: Ticket): boolean {
  if (status === 'running' || status === 'ready') return true;
  return status === 'queued' && (hold === null || hold.until !== null || hold.kind === 'memory');
}
