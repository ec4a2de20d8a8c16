import { refKey, type TicketRef } from './ids-and-branch-names.ts';
import type { Attempt, Hold, Json, Ticket, Usage, WorkPlace } from './ticket-schema.ts';

export type { Attempt, Hold, Json, Ticket, Usage };

export type TicketStatus = Ticket['status'];

/** Classes of what can go wrong in an attempt; they decide whether trying again makes sense. */
export const ERROR_CLASSES = [
  'auth',
  'billing',
  'limit',
  'overloaded',
  'shortage',
  'context',
  'turns',
  'loop',
  'budget',
  'timeout',
  'idle',
  'interrupted',
  'stopped',
  'config',
  'protocol',
  'crash',
  'evidence',
  'exit',
  'refused',
  'workspace',
  'visits',
  'merge',
] as const;
export type ErrorClass = (typeof ERROR_CLASSES)[number];

/** A status in a sentence: `is paused`, `needs attention`. */
export function saysStatus({ status }: Pick<Ticket, 'status'>): string {
  return status === 'needs_attention' ? 'needs attention' : `is ${status}`;
}

export function openAttempt(ticket: Ticket): Attempt | undefined {
  const last = ticket.phaseHistory.at(-1);
  return last?.status === 'running' ? last : undefined;
}

/**
 * The time from which all views count how long a ticket is in its state. A poll or gate has waited since its attempt started, however often it was
 * checked; a running phase takes as long as all attempts of its visit, without the time before in which it failed or waited.
 */
export function inStateSince(ticket: Ticket): string | null {
  const { status, hold, since, phaseHistory } = ticket;
  const open = openAttempt(ticket);
  if (!open) return since;
  if (hold?.kind === 'gate' || hold?.kind === 'poll') return open.startedAt;
  if (status !== 'running') return since;
  const first = phaseHistory.find(({ phase, visit }) => phase === open.phase && visit === open.visit);
  const entered = first?.startedAt ?? open.startedAt;
  return since === null || Date.parse(entered) > Date.parse(since) ? entered : since;
}

/** Names one attempt for ever: its job directory, its journal entry, its log. */
export function attemptKey(attempt: Pick<Attempt, 'phase' | 'visit' | 'attempt'>): string {
  return `${attempt.phase}#${attempt.visit}#${attempt.attempt}`;
}

/** Number of the last attempt at one visit of a phase; the next one is one more, so that keys never repeat. */
export function lastAttemptOf(ticket: Ticket, phase: string, visit: number): number {
  let last = 0;
  for (const entry of ticket.phaseHistory) {
    if (entry.phase === phase && entry.visit === visit) last = Math.max(last, entry.attempt);
  }
  return last;
}

export function isOver(ticket: Ticket): boolean {
  return ticket.status === 'complete' || ticket.status === 'failed';
}

/** Whether a ticket's worktree was made there. */
export function isMadeAt({ machine }: Pick<Ticket, 'machine'>, { host, state }: WorkPlace): boolean {
  return machine?.host === host && machine.state === state;
}

/** Whether a person gave it up. It is failed, and only a `retry` that names it brings it back. */
export function isCancelled({ status, cancelledAt }: Pick<Ticket, 'status' | 'cancelledAt'>): boolean {
  return status === 'failed' && cancelledAt !== undefined;
}

/** How a unit waits for a person: its spec says `_Blocked: reason_`. */
export function markedBlocked(reason: string): Pick<Ticket, 'status' | 'hold'> {
  return { status: 'needs_attention', hold: { kind: 'blocked', reason, until: null } };
}

/** Whether a person has to act before a unit may begin. */
export function isMarkedBlocked({ status, hold }: Pick<Ticket, 'status' | 'hold'>): boolean {
  return status === 'needs_attention' && hold?.kind === 'blocked';
}

/** Required tasks of a complete unit whose boxes are open: not selected, or inside a parent that is ticked. */
export function openTasksOf({ status, unit }: Pick<Ticket, 'status' | 'unit'>): string[] {
  return unit && status === 'complete' ? [...(unit.leftOut ?? []), ...(unit.unticked ?? [])] : [];
}

/** The last commit of a complete ticket's work, where it is known. */
export function tipOf({ tip }: Ticket): string | null {
  return typeof tip === 'string' ? tip : null;
}

/** The same, also of a ticket that has handed its work over and is not released yet. */
export function tipOrHandedOver(ticket: Ticket): string | null {
  return tipOf(ticket) ?? ticket.handOver?.commits ?? null;
}

/** The hold of a ticket whose issue a newer run has. */
export function supersededHold(run: string): Hold {
  return { kind: 'stopped', reason: `superseded by ${run}`, until: null, supersededBy: run };
}

export function isSuperseded({ hold }: Pick<Ticket, 'hold'>): boolean {
  return hold?.kind === 'stopped' && hold.supersededBy !== undefined;
}

/** The newer run that has the issue of a ticket which failed or was stopped. */
export function newerRunOf(ticket: Ticket): string | undefined {
  if (isSuperseded(ticket)) return ticket.hold?.supersededBy;
  const { status, supersededBy } = ticket;
  return status === 'failed' ? supersededBy : undefined;
}

/** Whether a ticket is complete because its pull request was merged, and no agent has worked on it since. */
export function endedMerged({ status, context, phaseHistory }: Ticket): boolean {
  if (status !== 'complete' || typeof context.pr_url !== 'string') return false;
  const last = phaseHistory.findLastIndex(({ outcome }) => outcome === 'merged');
  const isWork = ({ agent, error }: Attempt) => agent !== null || error?.class === 'merge';
  return last >= 0 && !phaseHistory.slice(last + 1).some(isWork);
}

/** Says that a gate is closed, and who answered it. */
export function noLongerAsks(ref: TicketRef, gate: Attempt | undefined, key = ''): string {
  const { by, door } = gate?.answeredBy ?? {};
  const who = [by && ` by ${by}`, door && ` (${door})`].filter(Boolean).join('');
  const end = gate?.answeredBy
    ? `was already answered: ${gate.outcome}${who} at ${gate.completedAt}`
    : 'does not ask any more';
  return `Gate "${gate?.phase ?? key}" of ${refKey(ref)} ${end}.`;
}

export function sameHold(a: Hold | null, b: Hold | null): boolean {
  return a?.kind === b?.kind && a?.reason === b?.reason && a?.until === b?.until;
}

type CommandName = 'pause' | 'stop' | 'resume' | 'skip' | 'retry' | 'respond' | 'cancel';

const LEGAL: Record<TicketStatus, readonly CommandName[]> = {
  queued: ['pause', 'stop', 'skip'],
  ready: ['pause', 'stop', 'skip', 'retry'],
  running: ['pause', 'stop', 'skip'],
  paused: ['resume', 'skip', 'retry'],
  complete: [],
  failed: ['retry', 'skip'],
  needs_attention: ['respond', 'retry', 'skip', 'pause'],
};

/** What a person may do to a ticket now. Cancelling is possible for everything that is not complete, and not listed. */
export function legalCommands(ticket: Ticket): CommandName[] {
  const legal = LEGAL[ticket.status].filter((name) => name !== 'respond' || ticket.hold?.kind === 'gate');
  // Pausing again finishes a stop that was interrupted.
  return ticket.status === 'paused' && openAttempt(ticket) ? [...legal, 'pause', 'stop'] : legal;
}
