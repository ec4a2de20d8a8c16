import { IllegalMoveError } from '../errors.ts';
import type { Decided } from '../events.ts';
import { refKey, type TicketRef } from '../ids-and-branch-names.ts';
import { onceEnded } from '../lease-and-claim-messages.ts';
import type { Attempt, Ticket } from '../ticket.ts';
import { attemptKey, isCancelled, legalCommands, noLongerAsks, openAttempt, saysStatus } from '../ticket.ts';
import { decisionsOf, phaseOf, type Workflow } from '../workflow.ts';
import { editOpen, enterAnew, historyEntry, settle, withEntry } from './enter-and-leave-phases.ts';

/** What a person does to a ticket. */
export type TicketCommand =
  /** `goesOnBy`: the pause is a step of another command, which continues before that time. */
  | { type: 'pause'; by: string; goesOnBy?: string }
  | { type: 'stop'; by: string }
  /** `ready`: its blockers are complete. */
  | { type: 'resume'; ready: boolean }
  | { type: 'skip'; phase: string; ready: boolean }
  | { type: 'retry'; ready: boolean }
  /** `attempt`: the gate that is answered, by its attempt; another one is not answered in its place. */
  | { type: 'respond'; decision: string; message: string; attempt?: string | undefined; who?: Decided }
  /** Gives it up. Possible for everything that is not complete, and never listed among what could be done instead. */
  | { type: 'cancel'; by: string };

type CommandOf<T extends TicketCommand['type']> = Extract<TicketCommand, { type: T }>;

/** The state after a person's command; throws IllegalMoveError, naming the legal ones, and then nothing changed. */
export function command(workflow: Workflow, ticket: Ticket, cmd: TicketCommand, now: string): Ticket {
  const legal = legalCommands(ticket);
  if (cmd.type === 'respond') refuseAnswered(ticket, cmd.attempt, legal, now);
  const isLegal = cmd.type === 'cancel' ? ticket.status !== 'complete' : legal.includes(cmd.type);
  if (!isLegal) throw illegal(ticket, cmd.type, legal);
  if (ticket.unseen && (cmd.type === 'skip' || cmd.type === 'cancel'))
    throw new IllegalMoveError('ticket/unseen', `Cannot ${cmd.type} ${refKey(ticket)}: ${ticket.unseen}`, {
      hint: onceEnded(ticket),
      details: { legal: ['retry'], status: ticket.status },
    });
  switch (cmd.type) {
    case 'pause':
    case 'stop': {
      if (ticket.status === 'paused') return ticket;
      const step = cmd.type === 'pause' && cmd.goesOnBy ? { goesOnBy: cmd.goesOnBy } : {};
      const word = cmd.type === 'pause' ? 'paused' : 'stopped';
      const hold = { kind: 'stopped', reason: `${word} by ${cmd.by}`, until: null, ...step } as const;
      return settle(ticket, now, { status: 'paused', hold });
    }
    case 'resume':
      if (ticket.claim && openAttempt(ticket)) throw attemptStillOpen(ticket, 'resume');
      return settle(ticket, now, { status: cmd.ready ? 'ready' : 'queued' });
    case 'retry':
      // Its process has ended during the shortage; the result is read now.
      if (ticket.hold?.kind === 'shortage' && openAttempt(ticket))
        return settle(ticket, now, { status: cmd.ready ? 'ready' : 'queued' });
      if (mayHaveProcess(ticket)) throw attemptStillOpen(ticket, 'retry');
      return retry(workflow, ticket, cmd.ready, now);
    case 'skip':
      if (mayHaveProcess(ticket)) throw attemptStillOpen(ticket, 'skip');
      return skip(workflow, ticket, cmd, now);
    case 'respond':
      return respond(workflow, ticket, cmd, now);
    case 'cancel': {
      if (isCancelled(ticket)) return ticket;
      if (ticket.status === 'running' || mayHaveProcess(ticket)) throw attemptStillOpen(ticket, 'cancel');
      const left = closeOpen(ticket, 'interrupted', now);
      return {
        ...settle(left, now, { status: 'failed', error: `cancelled by ${cmd.by}` }),
        cancelledAt: now,
      };
    }
  }
}

/** The refusal of a command that a ticket does not take now. */
export function illegal(
  ticket: TicketRef & Pick<Ticket, 'status'>,
  name: string,
  legal: readonly string[],
): IllegalMoveError {
  const { status } = ticket;
  const asked = name === 'respond' && status !== 'complete';
  const is = asked ? 'is at no gate that asks for a decision' : saysStatus(ticket);
  const verb = name === 'respond' ? 'respond to' : name;
  return new IllegalMoveError('ticket/illegal', `Cannot ${verb} ${refKey(ticket)}: it ${is}.`, {
    hint: possible(legal),
    details: { legal, status },
  });
}

/** An answer may come a moment after that of another person; it must not be taken for an answer to the next gate. */
const ANSWERED_LATELY_MS = 600_000;

function refuseAnswered(ticket: Ticket, attempt: string | undefined, legal: string[], now: string): void {
  const open = openAttempt(ticket);
  if (attempt === undefined ? legal.includes('respond') : open && attemptKey(open) === attempt) return;
  const isLate = ({ answeredBy, completedAt }: Attempt) =>
    answeredBy !== undefined && Date.parse(now) - Date.parse(completedAt ?? '') < ANSWERED_LATELY_MS;
  const gate = ticket.phaseHistory.findLast((each) =>
    attempt === undefined ? isLate(each) : attemptKey(each) === attempt,
  );
  if (attempt === undefined && !gate) return;
  const { by, door } = gate?.answeredBy ?? {};
  throw new IllegalMoveError('gate/answered', noLongerAsks(ticket, gate, attempt), {
    hint: possible(legal),
    details: { legal, status: ticket.status, decision: gate?.outcome ?? null, by, door },
  });
}

function possible(legal: readonly string[]): string {
  return legal.length > 0 ? `Possible now: ${legal.join(', ')}.` : 'It accepts no more commands.';
}

/** The open attempt may have a process, unless it only waits for the next poll or for an answer. */
function mayHaveProcess(ticket: Ticket): boolean {
  const waits = ticket.claim === null && (ticket.hold?.kind === 'gate' || ticket.hold?.kind === 'poll');
  return openAttempt(ticket) !== undefined && !waits;
}

/** The error for a command that needs the open attempt to be closed first. */
function attemptStillOpen(ticket: Ticket, name: string): IllegalMoveError {
  const phase = openAttempt(ticket)?.phase ?? ticket.currentPhase ?? 'it';
  const legal = legalCommands(ticket).filter((way) => way === 'pause' || way === 'stop');
  return new IllegalMoveError('ticket/busy', `Cannot ${name} ${refKey(ticket)}: ${phase} is still running.`, {
    hint: `Pause it first: signalbox pause ${ticket.planId} ${ticket.ticketId}`,
    details: { legal, status: ticket.status },
  });
}

function closeOpen(ticket: Ticket, status: 'skipped' | 'interrupted', now: string): Ticket {
  return editOpen(ticket, (attempt) => ({ ...attempt, status, completedAt: now }));
}

function fresh(ticket: Ticket, phase: string): Ticket {
  const { tries: _, cancelledAt: __, unseen: ___, ...rest } = ticket;
  return { ...rest, visits: { ...ticket.visits, [phase]: 0 }, retries: { ...ticket.retries, [phase]: 0 } };
}

/** Returns to the failed phase and resets its counters. For a terminal, the phase before it runs again. */
function retry(workflow: Workflow, ticket: Ticket, ready: boolean, now: string): Ticket {
  const here = phaseOf(workflow, ticket.currentPhase ?? '');
  const last = ticket.phaseHistory.findLast(
    (entry) => phaseOf(workflow, entry.phase) && entry.status !== 'skipped',
  );
  const target = here && here.type !== 'terminal' ? here.id : (last?.phase ?? workflow.phases[0]?.id ?? '');
  // A person who retries a ticket under a limit overrides the last report of it.
  const goAhead = ticket.hold?.kind === 'limit' ? { goAhead: now } : {};
  const looked = ticket.hold?.unpriced ? { lookedAt: now } : {};
  const base = { ...closeOpen(ticket, 'interrupted', now), error: null, ...goAhead, ...looked };
  return enterAnew(workflow, fresh(base, target), target, { status: ready ? 'ready' : 'queued', now });
}

function skip(workflow: Workflow, ticket: Ticket, cmd: CommandOf<'skip'>, now: string): Ticket {
  if (!phaseOf(workflow, cmd.phase)) {
    const phases = workflow.phases.map((phase) => phase.id);
    throw new IllegalMoveError('ticket/phase', `Workflow "${workflow.name}" has no phase "${cmd.phase}".`, {
      hint: `Its phases: ${phases.join(', ')}.`,
      details: { legal: phases },
    });
  }
  const left = openAttempt(ticket) ? closeOpen(ticket, 'skipped', now) : noteSkipped(ticket, now);
  const base = fresh({ ...left, error: null }, cmd.phase);
  return enterAnew(workflow, base, cmd.phase, { status: cmd.ready ? 'ready' : 'queued', now });
}

function noteSkipped(ticket: Ticket, now: string): Ticket {
  const { currentPhase } = ticket;
  return currentPhase === null
    ? ticket
    : withEntry(ticket, historyEntry(ticket, currentPhase, 'skipped', now));
}

function respond(workflow: Workflow, ticket: Ticket, cmd: CommandOf<'respond'>, now: string): Ticket {
  const phase = phaseOf(workflow, ticket.currentPhase ?? '');
  const decisions = phase?.type === 'gate' ? decisionsOf(phase) : [];
  const target =
    phase?.type === 'gate' && decisions.includes(cmd.decision) ? phase.on[cmd.decision] : undefined;
  if (!phase || !target) {
    throw new IllegalMoveError(
      'gate/decision',
      `"${cmd.decision}" is not a decision of gate "${ticket.currentPhase}".`,
      { hint: `Decisions: ${decisions.join(', ')}.`, details: { legal: decisions } },
    );
  }
  const decided = editOpen(ticket, (attempt) => ({
    ...attempt,
    status: 'success',
    outcome: cmd.decision,
    output: cmd.message,
    completedAt: now,
    ...(cmd.who ? { answeredBy: cmd.who } : {}),
  }));
  const context = {
    ...decided.context,
    [`${phase.id}_decision`]: cmd.decision,
    [`${phase.id}_message`]: cmd.message,
  };
  return enterAnew(workflow, { ...decided, context, error: null }, target, { now });
}
