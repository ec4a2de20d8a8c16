import type { Assignment, Progress, ProgressEntry, SpecState } from '../../kiro/state-files.ts';
import type { Plan, PlanSpec } from '../../model/plan.ts';
import { type Attempt, openAttempt, type Ticket } from '../../model/ticket.ts';

/** Phases in which an agent does a unit's work. */
export const WORK_PHASES: readonly string[] = ['implement', 'review'];

/** The ticket that waits for an answer, if one does. */
export function haltedTicket(tickets: readonly Ticket[]): Ticket | undefined {
  return tickets.find((ticket) => ticket.status === 'needs_attention' && ticket.hold?.kind === 'gate');
}

export function haltReason(ticket: Ticket): string {
  const { halt_reason } = ticket.context;
  return typeof halt_reason === 'string' ? halt_reason : (ticket.hold?.reason ?? '');
}

/** Nothing of it moves by itself any more. */
export function specRests(plan: Plan, tickets: readonly Ticket[]): boolean {
  if (plan.status !== 'active') return true;
  return !tickets.some(
    ({ status, hold }) =>
      status === 'running' ||
      status === 'ready' ||
      (status === 'queued' && (hold === null || hold.until !== null || hold.kind === 'memory')),
  );
}

/** The plan of a run that was asked for a part of its spec is complete before the spec is. */
function isComplete({ status }: Plan, { unselected = 0 }: PlanSpec): boolean {
  return status === 'complete' && unselected === 0;
}

/** A spec's part of the state file. */
export function stateOf(plan: Plan, kept: PlanSpec, tickets: readonly Ticket[], now: string): SpecState {
  const halted = haltedTicket(tickets);
  const idsOf = (status: Ticket['status']) =>
    tickets.filter((ticket) => ticket.status === status).flatMap((ticket) => ticket.unit?.ids ?? []);
  return {
    spec: kept.dir,
    plan: plan.id,
    completed: withParents(idsOf('complete'), kept),
    failed: tickets.flatMap((ticket) => (ticket.status === 'failed' ? (ticket.unit?.id ?? []) : [])),
    halted: halted !== undefined,
    halted_at: halted?.since ?? null,
    halted_task: halted ? (halted.unit?.id ?? halted.ticketId) : null,
    halt_reason: halted ? haltReason(halted) : null,
    started_at: kept.startedAt,
    completed_at: isComplete(plan, kept) ? (plan.completedAt ?? now) : null,
    updated_at: now,
    assignments: Object.fromEntries(
      tickets.flatMap((ticket) => {
        const assignment = assignmentOf(ticket);
        return assignment ? [[ticket.unit?.id ?? ticket.ticketId, assignment]] : [];
      }),
    ),
  };
}

/** Ids of what is done, with the parents of which nothing is left. */
function withParents(ids: readonly string[], { parents = {} }: PlanSpec): string[] {
  const done = new Set(ids);
  const isDone = (id: string): boolean =>
    done.has(id) || (Object.hasOwn(parents, id) && (parents[id]?.every(isDone) ?? false));
  return [...done, ...Object.keys(parents).filter((id) => !done.has(id) && isDone(id))];
}

/** Whose a unit is, and who says so; undefined while nobody has decided. */
export function assignmentOf(
  ticket: Pick<Ticket, 'context' | 'phaseHistory' | 'unit'>,
): Assignment | undefined {
  const { hash } = ticket.unit ?? {};
  const { unit_type, owner, criticality, assigned_by, assign_reason } = ticket.context;
  const fallback = ticket.phaseHistory.findLast(({ phase }) => phase === 'fallback');
  if (typeof unit_type === 'string' && typeof owner === 'string') {
    const by = (assigned_by ?? 'agent') as Assignment['by'];
    return {
      type: unit_type as Assignment['type'],
      owner_agent: owner,
      criticality: (criticality ?? 'standard') as Assignment['criticality'],
      by,
      ...(typeof assign_reason === 'string' ? { reason: assign_reason } : {}),
      ...(by === 'agent' && hash ? { of: hash } : {}),
    };
  }
  if (!fallback) return undefined;
  const reason = ticket.phaseHistory.findLast(({ phase, error }) => phase === 'assign' && error)?.error
    ?.message;
  return {
    type: 'code',
    owner_agent: 'default',
    criticality: 'standard',
    by: 'fallback',
    ...(reason ? { reason } : {}),
  };
}

/** A spec's part of the progress file: each attempt at a unit is an iteration. */
export function progressOf(plan: Plan, kept: PlanSpec, tickets: readonly Ticket[]): Progress {
  const attempts = tickets.flatMap((ticket) => iterationsOf(ticket).map((attempt) => ({ ticket, attempt })));
  attempts.sort((a, b) => a.attempt.startedAt.localeCompare(b.attempt.startedAt));
  const { at, lines = [] } = plan.ended ?? {};
  return {
    spec: kept.name,
    path: kept.dir,
    startedAt: kept.startedAt,
    entries: attempts.map(({ ticket, attempt }, index) => entryOf(ticket, attempt, index + 1)),
    completedAt: isComplete(plan, kept) ? (plan.completedAt ?? at ?? '') : null,
    summary: lines,
  };
}

/** The attempts of agents; of a checkpoint that needed none, its last checks. */
function iterationsOf({ phaseHistory }: Ticket): Attempt[] {
  const work = phaseHistory.filter(({ phase }) => WORK_PHASES.includes(phase));
  const checks = phaseHistory.findLast(({ phase }) => phase === 'checks');
  return work.length === 0 && checks ? [checks] : work;
}

function entryOf(ticket: Ticket, attempt: Attempt, iteration: number): ProgressEntry {
  const isLast = iterationsOf(ticket).at(-1) === attempt;
  const { status, message } = said(ticket, attempt, isLast);
  return {
    iteration,
    id: ticket.unit?.id ?? ticket.ticketId,
    title: ticket.title,
    status,
    at: attempt.completedAt ?? attempt.startedAt,
    message,
  };
}

function said(ticket: Ticket, attempt: Attempt, isLast: boolean): Pick<ProgressEntry, 'status' | 'message'> {
  if (attempt.status === 'running') return { status: 'Running', message: '' };
  if (attempt.outcome === 'halt') return { status: 'Halted', message: attempt.output ?? '' };
  // One that has an outcome was the one too many.
  const isFree = attempt.status === 'interrupted' && attempt.outcome === null;
  if (attempt.status === 'limit' || isFree)
    return { status: 'Waiting', message: attempt.error?.message ?? '' };
  if (attempt.status === 'failure' || attempt.status === 'interrupted')
    return { status: 'Failed', message: attempt.error?.message ?? '' };
  if (!isLast || ticket.status === 'failed') return { status: 'Failed', message: after(ticket, attempt) };
  if (ticket.status === 'complete') return { status: 'Completed', message: '' };
  const open = openAttempt(ticket)?.phase;
  return { status: open ? 'Running' : 'Waiting', message: open ?? ticket.hold?.reason ?? ticket.error ?? '' };
}

/** What became of work that the agent called done. */
function after(ticket: Ticket, attempt: Attempt): string {
  const later = ticket.phaseHistory.slice(ticket.phaseHistory.indexOf(attempt) + 1);
  const next = later.find(({ status }) => status === 'failure');
  return next ? `${next.phase}: ${next.error?.message ?? 'failed'}` : '';
}
