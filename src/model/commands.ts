import { IllegalMoveError } from './errors.ts';
import { refKey } from './ids.ts';
import { openAttempt, type Ticket, type TicketStatus } from './ticket.ts';
import { editOpen, enter, settle } from './walk.ts';
import { phaseOf, type Workflow } from './workflow.ts';

/** What a person does to a ticket. */
export type TicketCommand =
  | { type: 'pause'; by: string }
  | { type: 'stop'; by: string }
  /** `ready`: its blockers are complete. */
  | { type: 'resume'; ready: boolean }
  | { type: 'skip'; phase: string; ready: boolean }
  | { type: 'retry'; ready: boolean }
  | { type: 'respond'; decision: string; message: string };

const LEGAL: Record<TicketStatus, readonly TicketCommand['type'][]> = {
  queued: ['pause', 'stop', 'skip'],
  ready: ['pause', 'stop', 'skip', 'retry'],
  running: ['pause', 'stop', 'skip'],
  paused: ['resume', 'skip', 'retry'],
  complete: [],
  failed: ['retry', 'skip'],
  needs_attention: ['respond', 'retry', 'skip', 'pause'],
};

export function legalCommands(ticket: Ticket): TicketCommand['type'][] {
  return LEGAL[ticket.status].filter((name) => name !== 'respond' || ticket.hold?.kind === 'gate');
}

/** The state after a person's command; throws IllegalMoveError, naming the legal ones, and then nothing changed. */
export function command(workflow: Workflow, ticket: Ticket, cmd: TicketCommand, now: string): Ticket {
  const legal = legalCommands(ticket);
  if (!legal.includes(cmd.type)) throw illegal(ticket, cmd.type, legal);
  switch (cmd.type) {
    case 'pause':
    case 'stop': {
      const word = cmd.type === 'pause' ? 'paused' : 'stopped';
      const hold = { kind: 'stopped', reason: `${word} by ${cmd.by}`, until: null } as const;
      return settle(ticket, now, { status: 'paused', hold });
    }
    case 'resume':
      return settle(notRunning(ticket, 'resume'), now, { status: cmd.ready ? 'ready' : 'queued' });
    case 'retry':
      return retry(workflow, notRunning(ticket, 'retry'), cmd.ready, now);
    case 'skip':
      return skip(workflow, notRunning(ticket, 'skip'), cmd, now);
    case 'respond':
      return respond(workflow, ticket, cmd, now);
  }
}

function illegal(ticket: Ticket, name: string, legal: string[]): IllegalMoveError {
  const options =
    legal.length > 0 ? `Possible now: ${legal.join(', ')}.` : 'Nothing can be done with it any more.';
  return new IllegalMoveError('ticket/illegal', `Cannot ${name} ${refKey(ticket)}: it is ${ticket.status}.`, {
    hint: options,
    details: { legal, status: ticket.status },
  });
}

/** A process of the ticket may still live: its attempt has to be closed first. */
function notRunning(ticket: Ticket, name: string): Ticket {
  const open = openAttempt(ticket);
  if (!open || ticket.claim === null) return ticket;
  throw new IllegalMoveError(
    'ticket/busy',
    `Cannot ${name} ${refKey(ticket)}: ${open.phase} is still running.`,
    {
      hint: `Pause it first: signalbox pause ${ticket.planId} ${ticket.ticketId}`,
      details: { legal: ['pause', 'stop'], status: ticket.status },
    },
  );
}

function closeOpen(ticket: Ticket, status: 'skipped' | 'interrupted', now: string): Ticket {
  return editOpen(ticket, (attempt) => ({ ...attempt, status, completedAt: now }));
}

function fresh(ticket: Ticket, phase: string): Ticket {
  return { ...ticket, visits: { ...ticket.visits, [phase]: 0 }, retries: { ...ticket.retries, [phase]: 0 } };
}

/** Goes back to the phase that failed, with its counters at zero. A terminal is not run again: what led to it is. */
function retry(workflow: Workflow, ticket: Ticket, ready: boolean, now: string): Ticket {
  const here = phaseOf(workflow, ticket.currentPhase ?? '');
  const last = ticket.phaseHistory.findLast(
    (entry) => phaseOf(workflow, entry.phase) && entry.status !== 'skipped',
  );
  const target = here && here.type !== 'terminal' ? here.id : (last?.phase ?? workflow.phases[0]?.id ?? '');
  const base = { ...closeOpen(ticket, 'interrupted', now), error: null };
  const back = enter(workflow, fresh(base, target), target, now);
  return settle(back, now, { status: ready ? 'ready' : 'queued' });
}

function skip(
  workflow: Workflow,
  ticket: Ticket,
  cmd: { phase: string; ready: boolean },
  now: string,
): Ticket {
  if (!phaseOf(workflow, cmd.phase)) {
    const phases = workflow.phases.map((phase) => phase.id);
    throw new IllegalMoveError('ticket/phase', `Workflow "${workflow.name}" has no phase "${cmd.phase}".`, {
      hint: `Its phases: ${phases.join(', ')}.`,
      details: { legal: phases },
    });
  }
  const left = openAttempt(ticket) ? closeOpen(ticket, 'skipped', now) : noteSkipped(ticket, now);
  const there = enter(workflow, fresh({ ...left, error: null }, cmd.phase), cmd.phase, now);
  if (
    there.status === 'complete' ||
    (there.status === 'needs_attention' && there.currentPhase === cmd.phase)
  ) {
    return phaseOf(workflow, cmd.phase)?.type === 'terminal'
      ? there
      : settle(there, now, { status: 'ready' });
  }
  return settle(there, now, { status: cmd.ready ? 'ready' : 'queued' });
}

function noteSkipped(ticket: Ticket, now: string): Ticket {
  const phase = ticket.currentPhase;
  if (phase === null) return ticket;
  const visit = ticket.visits[phase] ?? 1;
  const before = ticket.phaseHistory.filter((entry) => entry.phase === phase && entry.visit === visit);
  const attempt = Math.max(0, ...before.map((entry) => entry.attempt)) + 1;
  const entry = {
    phase,
    visit,
    attempt,
    status: 'skipped',
    startedAt: now,
    completedAt: now,
    outcome: null,
    output: null,
    agent: null,
    sessionId: null,
    usage: null,
    error: null,
  } as const;
  return { ...ticket, phaseHistory: [...ticket.phaseHistory, entry] };
}

function respond(
  workflow: Workflow,
  ticket: Ticket,
  cmd: { decision: string; message: string },
  now: string,
): Ticket {
  const phase = phaseOf(workflow, ticket.currentPhase ?? '');
  const decisions = phase?.type === 'gate' ? Object.keys(phase.on) : [];
  const target = phase?.type === 'gate' ? phase.on[cmd.decision] : undefined;
  if (!phase || !target) {
    throw new IllegalMoveError(
      'gate/decision',
      `"${cmd.decision}" is not a decision of gate "${ticket.currentPhase}".`,
      {
        hint: `Decisions: ${decisions.join(', ')}.`,
        details: { legal: decisions },
      },
    );
  }
  const decided = editOpen(ticket, (attempt) => ({
    ...attempt,
    status: 'success',
    outcome: cmd.decision,
    output: cmd.message,
    completedAt: now,
  }));
  const context = {
    ...decided.context,
    [`${phase.id}_decision`]: cmd.decision,
    [`${phase.id}_message`]: cmd.message,
  };
  const moved = enter(workflow, { ...decided, context, error: null }, target, now);
  return moved.status === 'needs_attention' && moved.hold?.kind === 'gate'
    ? settle(moved, now, { status: 'ready' })
    : moved;
}
