import type { Claim } from '../lease-and-claim-messages.ts';
import type { Attempt, Hold, Ticket, Usage } from '../ticket.ts';
import { isMadeAt, isOver, openAttempt } from '../ticket.ts';
import type { HandedOver, WorkPlace } from '../ticket-schema.ts';
import { edgesOf, type Phase, phaseOf, REFUSED, retryOf, type Workflow } from '../workflow.ts';
import type { AttemptEnd, AttemptFacts } from './attempt-end-types-and-waits.ts';
import {
  backoffSeconds,
  MAX_INTERRUPTIONS,
  NOT_RETRYABLE,
  overloadWait,
  shortageHold,
} from './attempt-end-types-and-waits.ts';
import {
  begin,
  countAttempt,
  editOpen,
  historyEntry,
  isUsedUp,
  settle,
  takeEdge,
} from './enter-and-leave-phases.ts';

/** What an engine does to a ticket. What a person does is in commands.ts. */
export type TicketEvent =
  | { type: 'claim'; claim: Claim; workflowHash: string }
  | {
      type: 'base';
      base: { ref: string; commit: string };
      branch: string;
      worktree: string;
      /** On a fleet. */
      machine?: WorkPlace | undefined;
      /** Sessions of another machine that can be continued on this one. */
      sessions?: string[] | undefined;
    }
  | { type: 'start'; attempt: number; agent: string | null; account?: string | undefined }
  /** The open attempt begins only now: nothing of it has run. */
  | { type: 'restart' }
  /** Nothing is started now, and why. */
  | { type: 'hold'; hold: Hold }
  /** One more process of the open attempt is about to start, with which it has that many. */
  | { type: 'launch'; launches: number }
  | { type: 'session'; sessionId: string }
  | { type: 'usage'; usage: Usage }
  | { type: 'note'; note: string }
  | { type: 'warning'; warning: string }
  /** Origin has the work of the attempt, or cannot have it. */
  | { type: 'handOver'; handOver: HandedOver }
  | { type: 'end'; end: AttemptEnd }
  | ({ type: 'unseen' } & Unseen)
  /** The ticket cannot be driven: it is released and waits for a person. */
  | { type: 'broken'; reason: string }
  /** Releases the ticket; `tip` is the last commit of its branch if it is complete. */
  | { type: 'release'; tip?: string | undefined };

type EventOf<T extends TicketEvent['type']> = Extract<TicketEvent, { type: T }>;

/** The process of an attempt may still write where it was started, and cannot be seen from here. */
export interface Unseen {
  /** A sentence that says so. */
  reason: string;
  /** Where the ticket continues; null: a person has to say that the process has ended. */
  worktree: string | null;
}

/**
 * The next state of a ticket. Pure: the same arguments give the same ticket, for every engine.
 * Late reports of an engine change neither a finished ticket nor one that a person paused.
 */
export function reduce(workflow: Workflow, ticket: Ticket, event: TicketEvent, now: string): Ticket {
  switch (event.type) {
    case 'claim':
      return claim(workflow, ticket, event, now);
    case 'base':
      if (isOver(ticket)) return ticket;
      return {
        ...ticket,
        base: event.base,
        branch: event.branch,
        worktree: event.worktree,
        ...(event.machine ? { machine: event.machine } : {}),
        ...(event.machine && ticket.machine && !isMadeAt(ticket, event.machine)
          ? { rewound: { at: now, moved: true, ...(event.sessions ? { sessions: event.sessions } : {}) } }
          : {}),
      };
    case 'handOver':
      return { ...ticket, handOver: event.handOver };
    case 'start':
      return start(ticket, event, now);
    case 'restart':
      return editOpen(ticket, (attempt) => ({ ...attempt, startedAt: now }));
    case 'hold':
      if (ticket.status !== 'running' || openAttempt(ticket)) return ticket;
      return settle(ticket, now, { status: 'ready', hold: event.hold });
    case 'launch':
      return editOpen(ticket, (attempt) => ({ ...attempt, launches: event.launches }));
    case 'session':
      return editOpen(ticket, (attempt) => ({ ...attempt, sessionId: event.sessionId }));
    case 'usage':
      return editOpen(ticket, (attempt) => ({ ...attempt, usage: event.usage }));
    case 'warning':
      return editOpen(ticket, (attempt) => ({ ...attempt, warning: event.warning }));
    case 'note':
      return editOpen(ticket, (attempt) => ({ ...attempt, note: event.note }));
    case 'end':
      return end(workflow, ticket, event.end, now);
    case 'unseen':
      return closeUnseenAttempt(ticket, event, now);
    case 'broken':
      return broken(ticket, event.reason, now);
    case 'release':
      return { ...release(ticket, now), ...(event.tip === undefined ? {} : { tip: event.tip }) };
  }
}

function claim(workflow: Workflow, ticket: Ticket, event: EventOf<'claim'>, now: string): Ticket {
  if (isOver(ticket) || ticket.status === 'paused') return ticket;
  if (ticket.status === 'needs_attention' && ticket.hold?.kind !== 'gate') return ticket;
  const { claim, workflowHash } = event;
  const begun = begin(workflow, { ...answered(ticket), claim, workflowHash }, now);
  // A ticket that starts at a terminal, or at an unknown phase, has nothing to run.
  const idle = phaseOf(workflow, begun.currentPhase ?? '')?.type === 'terminal';
  const isBroken = begun.status === 'needs_attention' && begun.hold?.kind === 'broken';
  if (idle || isOver(begun) || isBroken) return { ...begun, claim: null };
  return settle(begun, now, { status: 'running' });
}

/** On a fleet: its worker took it or could not, so it is no longer on its way there. */
function answered(ticket: Ticket): Ticket {
  return ticket.dispatch ? { ...ticket, dispatch: { ...ticket.dispatch, at: null } } : ticket;
}

/** Releases a ticket; one that can continue at once is ready again. */
function release(ticket: Ticket, now: string): Ticket {
  const free = { ...ticket, claim: null };
  return ticket.status === 'running' ? settle(free, now, { status: 'ready' }) : free;
}

function asked(ticket: Ticket, reason: string, now: string): Ticket {
  if (ticket.status === 'paused') return ticket;
  const hold = { kind: 'broken', reason, until: null } as const;
  return settle(ticket, now, { status: 'needs_attention', hold, error: reason });
}

/** Holds a ticket that cannot be driven. Needs no workflow, which may be broken. Finished and paused tickets do not change. */
export function broken(ticket: Ticket, reason: string, now: string): Ticket {
  const closed = editOpen(ticket, (attempt) => ({ ...attempt, status: 'interrupted', completedAt: now }));
  const free = { ...answered(closed), claim: null };
  if (isOver(ticket)) return free;
  return ticket.status === 'paused' ? { ...free, error: reason } : asked(free, reason, now);
}

/** Closes an attempt whose process may still write. Needs no workflow, which may be broken. */
export function closeUnseenAttempt(ticket: Ticket, { reason, worktree }: Unseen, now: string): Ticket {
  if (!openAttempt(ticket)) return ticket;
  const end = { type: 'interrupted', reason, deliberate: true } as const;
  const closed = editOpen(ticket, (attempt) => close(attempt, end, now));
  if (worktree === null) return { ...closed, unseen: reason };
  // Sessions that know the old tree are of no use in the new one.
  return worktree === ticket.worktree ? closed : { ...closed, worktree, rewound: { at: now } };
}

function start(ticket: Ticket, event: EventOf<'start'>, now: string): Ticket {
  if (ticket.status !== 'running' || openAttempt(ticket)) return ticket;
  const phase = ticket.currentPhase ?? '';
  const { attempt: number, agent, account } = event;
  const attempt: Attempt = {
    ...historyEntry(ticket, phase, 'running', now),
    attempt: number,
    agent,
    ...(account === undefined ? {} : { account }),
    completedAt: null,
  };
  const { unseen: _, ...free } = ticket;
  return { ...free, phaseHistory: [...ticket.phaseHistory, attempt] };
}

function end(workflow: Workflow, ticket: Ticket, given: AttemptEnd, now: string): Ticket {
  const open = openAttempt(ticket);
  const phase = open && phaseOf(workflow, open.phase);
  if (!open || !phase || isOver(ticket)) return ticket;
  const driven = ticket.status === 'running' || ticket.status === 'paused';
  if (!driven && given.type !== 'interrupted') return ticket;
  const end =
    failAfterSecondDeath(ticket, phase, open, given) ??
    waitForOverload(ticket, given, now) ??
    waitForShortage(given) ??
    given;
  if (end.type === 'waiting') return wait(ticket, end, now);
  const at = { workflow, phase, now };
  const closed = editOpen(ticket, (attempt) => close(attempt, end, now));
  switch (end.type) {
    case 'done': {
      const context = { ...closed.context, ...end.captured };
      // The answer replaces the earlier error as the reason.
      const isAnswer = phase.type === 'poll' || phase.type === 'gate';
      const error = end.outcome === 'success' || isAnswer ? null : closed.error;
      const tried = end.outcome === 'halt' ? closed : countAttempt(closed, phase);
      return takeEdge(workflow, { ...tried, context, error }, phase, end.outcome, now);
    }
    case 'parked': {
      if (closed.status === 'paused') return closed;
      // The text that the account's other tickets get from `admit`, so that equal waits look equal.
      const named = end.kind === 'limit' && open.agent !== null;
      const reason = named ? `${open.agent}: ${end.reason}` : end.reason;
      return settle(closed, now, {
        status: 'ready',
        hold:
          end.kind === 'shortage'
            ? shortageHold(end.reason, shortSince(closed), now)
            : { kind: end.kind, reason, until: end.until },
      });
    }
    case 'interrupted':
      if (end.deliberate) return closed;
      if (end.asks) return asked(closed, end.reason, now);
      return interrupted(closed, end, at);
    case 'failed':
      return failed(closed, end.error, at, end.outcome);
  }
}

function wait(ticket: Ticket, end: Extract<AttemptEnd, { type: 'waiting' }>, now: string): Ticket {
  if (end.shortSince !== undefined && ticket.status !== 'paused') {
    const hold = shortageHold(end.reason, end.shortSince, now);
    return settle(ticket, now, { status: 'ready', hold });
  }
  const asks = end.gate ? { asks: end.reason, ...(end.decisions ? { decisions: end.decisions } : {}) } : {};
  const looked = editOpen(ticket, (attempt) => ({
    ...attempt,
    ...asks,
    // A start in the future was recorded by a clock that was ahead, so the time is counted from now.
    startedAt: Date.parse(attempt.startedAt) > Date.parse(now) ? now : attempt.startedAt,
    checks: (attempt.checks ?? 0) + 1,
  }));
  if (looked.status === 'paused') return looked;
  const kind = end.gate ? 'gate' : 'poll';
  const looks = end.looks ? { looks: true } : {};
  const person = end.person ? { person: true } : {};
  const hold = { kind, reason: end.reason, until: end.until, ...looks, ...person } as const;
  return settle(looked, now, { status: end.gate ? 'needs_attention' : 'ready', hold });
}

/** The end of an attempt, never before its start: clocks of files and engines may differ a little. */
function endOf({ startedAt }: Attempt, { endedAt }: AttemptFacts, now: string): string {
  if (endedAt === undefined) return now;
  const known = endedAt < startedAt ? startedAt : endedAt;
  return known < now ? known : now;
}

function close(attempt: Attempt, end: Exclude<AttemptEnd, { type: 'waiting' }>, now: string): Attempt {
  const known = {
    ...attempt,
    completedAt: endOf(attempt, end, now),
    output: end.output ?? attempt.output,
    sessionId: end.sessionId ?? attempt.sessionId,
    usage: end.usage ?? attempt.usage,
    ...(end.launches !== undefined && end.launches > 1 ? { launches: end.launches } : {}),
    ...(end.criteria ? { criteria: end.criteria } : {}),
  };
  switch (end.type) {
    case 'done':
      return { ...known, status: end.outcome === 'failure' ? 'failure' : 'success', outcome: end.outcome };
    case 'failed':
      return { ...known, status: 'failure', error: end.error };
    case 'parked':
      return {
        ...known,
        status: end.kind === 'limit' ? 'limit' : 'interrupted',
        error: { class: end.kind === 'overload' ? 'overloaded' : end.kind, message: end.reason },
        ...(end.until === null || end.kind === 'budget' ? {} : { resetAt: end.until }),
      };
    case 'interrupted':
      return {
        ...known,
        status: 'interrupted',
        error: { class: end.deliberate ? 'stopped' : 'interrupted', message: end.reason },
      };
  }
}

/** If attempts are counted over all visits, an agent may be killed once per attempt; after that the attempt has failed. */
function failAfterSecondDeath(
  ticket: Ticket,
  phase: Phase,
  open: Attempt,
  end: AttemptEnd,
): AttemptEnd | undefined {
  if (end.type !== 'interrupted' || !end.died || end.deliberate || ticket.status !== 'running') return;
  if (!('maxAttempts' in phase) || phase.maxAttempts === undefined) return;
  const before = ticket.phaseHistory.slice(0, ticket.phaseHistory.indexOf(open));
  // Entries up to one with an outcome do not count: a person has moved the ticket since.
  const since = before.slice(before.findLastIndex(({ outcome }) => outcome !== null) + 1);
  const isSecond = since.some((entry) => entry.phase === phase.id && entry.error?.class === 'interrupted');
  const { type, reason, deliberate, died, ...facts } = end;
  return isSecond ? { ...facts, type: 'failed', error: { class: 'crash', message: reason } } : undefined;
}

/** Waits for an overloaded provider for a limited time; after that the attempt has failed. */
function waitForOverload(ticket: Ticket, end: AttemptEnd, now: string): AttemptEnd | undefined {
  if (end.type !== 'failed' || end.error.class !== 'overloaded') return undefined;
  const { type, error, outcome, until: named, jitter = 0, ...facts } = end;
  const open = ticket.phaseHistory.at(-1);
  const attempts = open
    ? [...ticket.phaseHistory.slice(0, -1), { ...open, usage: end.usage ?? open.usage }]
    : [];
  const seconds = overloadWait(attempts, jitter);
  if (seconds === null) return undefined;
  const time = Date.parse(now);
  const until = Date.parse(named ?? '') > time ? Date.parse(named ?? '') : time + seconds * 1000;
  return {
    ...facts,
    type: 'parked',
    kind: 'overload',
    until: new Date(until).toISOString(),
    reason: error.message,
  };
}

/** Waits for a shortage of this computer to end, without a time limit. */
function waitForShortage(end: AttemptEnd): AttemptEnd | undefined {
  if (end.type !== 'failed' || end.error.class !== 'shortage') return undefined;
  const { type, error, outcome, until, jitter, ...facts } = end;
  return { ...facts, type: 'parked', kind: 'shortage', until: null, reason: error.message };
}

/** When the first of the last attempts ended that all met a shortage. */
function shortSince({ phaseHistory }: Ticket): string {
  const before = phaseHistory.findLastIndex(({ error }) => error?.class !== 'shortage');
  return phaseHistory[before + 1]?.completedAt ?? '';
}

/** Where an attempt ended, and when. */
interface At {
  workflow: Workflow;
  phase: Phase;
  now: string;
}

/** An interruption consumes no attempt, unless it happens too often. A paused ticket stays paused. */
function interrupted(ticket: Ticket, { reason, died }: { reason: string; died?: boolean }, at: At): Ticket {
  if (ticket.status === 'paused') return ticket;
  let inARow = 0;
  for (const entry of ticket.phaseHistory.toReversed()) {
    // Entries up to one with an outcome do not count: a person has moved the ticket since.
    if (entry.status !== 'interrupted' || entry.outcome !== null) break;
    if (entry.error?.class === 'interrupted') inARow++;
  }
  if (inARow <= MAX_INTERRUPTIONS) return died ? waitBeforeRetry(ticket, inARow - 1, reason, at) : ticket;
  const message = `Phase "${at.phase.id}" was interrupted ${inARow} times in a row (${reason}).`;
  return failed(ticket, { class: 'crash', message }, at);
}

function failed(ticket: Ticket, error: { class: string; message: string }, at: At, named?: string): Ticket {
  if (ticket.status === 'paused') return ticket;
  const { workflow, phase, now } = at;
  const failures = (ticket.retries[phase.id] ?? 0) + 1;
  const noted = {
    ...countAttempt(ticket, phase),
    retries: { ...ticket.retries, [phase.id]: failures },
    error: `${phase.id}: ${error.message}`,
  };
  if (failures > retryOf(phase).max || isUsedUp(noted, phase) || NOT_RETRYABLE.has(error.class)) {
    const isRefused = error.class === REFUSED && Object.hasOwn(edgesOf(phase), REFUSED);
    const outcome = named ?? (isRefused ? REFUSED : 'failure');
    const last = noted.phaseHistory.at(-1);
    const phaseHistory = last ? noted.phaseHistory.with(-1, { ...last, outcome }) : [];
    return waitAfterSendBack(takeEdge(workflow, { ...noted, phaseHistory }, phase, outcome, now), at);
  }
  return waitBeforeRetry(noted, failures, error.message, at);
}

/** Waits before repetition number `n` for as long as the phase asks for. */
function waitBeforeRetry(ticket: Ticket, n: number, message: string, at: At): Ticket {
  const number = ticket.phaseHistory.at(-1)?.attempt ?? n;
  return backOff(ticket, n, `attempt ${number} failed: ${message}`, at);
}

/** If attempts of a phase are counted over all visits, it also waits after the failure of a phase that leads back to it. */
function waitAfterSendBack(ticket: Ticket, at: At): Ticket {
  const phase = phaseOf(at.workflow, ticket.currentPhase ?? '');
  if (ticket.status !== 'running' || !phase || phase.id === at.phase.id || !('maxAttempts' in phase))
    return ticket;
  const tries = phase.maxAttempts === undefined ? 0 : (ticket.tries?.[phase.id] ?? 0);
  const reason = `attempt ${tries} failed: ${ticket.error ?? at.phase.id}`;
  return backOff(ticket, tries, reason, { ...at, phase });
}

function backOff(ticket: Ticket, n: number, reason: string, { phase, now }: At): Ticket {
  const seconds = n <= 0 ? 0 : backoffSeconds(retryOf(phase), n);
  if (seconds <= 0) return ticket;
  const until = new Date(Date.parse(now) + seconds * 1000).toISOString();
  return settle(ticket, now, { status: 'ready', hold: { kind: 'backoff', reason, until } });
}
