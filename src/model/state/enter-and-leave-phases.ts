import { type Attempt, lastAttemptOf, openAttempt, type Ticket, type TicketStatus } from '../ticket.ts';
import type { Phase, PhaseOf, Workflow } from '../workflow.ts';
import { edgesOf, firstPhase, phaseOf, positiveEdge } from '../workflow.ts';

/** No phase is entered more often than this, whatever its workflow says. */
const MAX_VISITS = 100;

/** Sets status, hold and error together and notes when they changed. */
export function settle(
  ticket: Ticket,
  now: string,
  to: { status: TicketStatus; hold?: Ticket['hold']; error?: string | null },
): Ticket {
  const hold = to.hold ?? null;
  const same =
    ticket.status === to.status && ticket.hold?.kind === hold?.kind && ticket.hold?.reason === hold?.reason;
  return {
    ...ticket,
    status: to.status,
    hold,
    error: to.error === undefined ? ticket.error : to.error,
    since: same ? ticket.since : now,
  };
}

/** Gives a ticket its place in the workflow when it has none yet. */
export function begin(workflow: Workflow, ticket: Ticket, now: string): Ticket {
  if (ticket.currentPhase === null) return enter(workflow, ticket, firstPhase(workflow).id, now);
  const phase = phaseOf(workflow, ticket.currentPhase);
  if (phase?.type === 'terminal') return finish(ticket, phase, now);
  if (!phase) {
    const error = `Workflow "${workflow.name}" has no phase "${ticket.currentPhase}".`;
    return settle(ticket, now, {
      status: 'needs_attention',
      hold: { kind: 'broken', reason: error, until: null },
      error,
    });
  }
  if (ticket.visits[ticket.currentPhase]) return ticket;
  return { ...ticket, visits: { ...ticket.visits, [ticket.currentPhase]: 1 } };
}

/** Moves a ticket into a phase. Ends it at a terminal; takes the phase's failure edge when it was visited too often. */
export function enter(workflow: Workflow, ticket: Ticket, target: string, now: string): Ticket {
  const phase = phaseOf(workflow, target);
  if (!phase) {
    const error = `Workflow "${workflow.name}" has no phase "${target}".`;
    return settle(ticket, now, { status: 'failed', error });
  }
  if (phase.type === 'terminal') return finish({ ...ticket, currentPhase: target }, phase, now);
  if (isUsedUp(ticket, phase))
    return takeFailureEdge(workflow, { ...ticket, currentPhase: target }, phase, now);
  const visit = (ticket.visits[target] ?? 0) + 1;
  const entered: Ticket = {
    ...ticket,
    currentPhase: target,
    visits: { ...ticket.visits, [target]: visit },
    retries: { ...ticket.retries, [target]: 0 },
  };
  const most = phase.maxVisits ?? MAX_VISITS;
  if (visit > most) return exhaust(workflow, entered, phase, most, now);
  return ticket.skipPhases.includes(target) ? skipPhase(workflow, entered, phase, now) : entered;
}

/** Enters a phase from outside of the workflow. The ticket then waits for an engine, unless it has reached an end. */
export function enterAnew(
  workflow: Workflow,
  ticket: Ticket,
  target: string,
  { status = 'ready', now }: { status?: 'ready' | 'queued'; now: string },
): Ticket {
  const there = enter(workflow, { ...ticket, status: 'running', hold: null }, target, now);
  return there.status === 'running' ? settle(there, now, { status }) : there;
}

/** Whether a phase has had all the attempts that its visits may have together. */
export function isUsedUp(ticket: Ticket, phase: Phase): boolean {
  const most = 'maxAttempts' in phase ? phase.maxAttempts : undefined;
  return most !== undefined && (ticket.tries?.[phase.id] ?? 0) >= most;
}

/** Takes the failure edge of a phase that was visited too often, and keeps the error. */
function takeFailureEdge(workflow: Workflow, ticket: Ticket, phase: Phase, now: string): Ticket {
  const error = ticket.error ?? `Phase "${phase.id}" has used up its attempts.`;
  const edge = edgesOf(phase).failure;
  return edge
    ? enter(workflow, { ...ticket, error }, edge, now)
    : settle(ticket, now, { status: 'failed', error });
}

/** Counts an attempt that has an outcome. */
export function countAttempt(ticket: Ticket, phase: Phase): Ticket {
  if (!('maxAttempts' in phase) || phase.maxAttempts === undefined) return ticket;
  return { ...ticket, tries: { ...ticket.tries, [phase.id]: (ticket.tries?.[phase.id] ?? 0) + 1 } };
}

/** Records a skipped phase and takes the edge of success. */
function skipPhase(workflow: Workflow, ticket: Ticket, phase: Phase, now: string): Ticket {
  const noted = withEntry(ticket, historyEntry(ticket, phase.id, 'skipped', now));
  const target = positiveEdge(phase);
  return target
    ? enter(workflow, noted, target, now)
    : settle(noted, now, { status: 'complete', error: null });
}

export function withEntry(ticket: Ticket, entry: Attempt): Ticket {
  return { ...ticket, phaseHistory: [...ticket.phaseHistory, entry] };
}

/** An entry of the history for something that took no time. */
export function historyEntry(ticket: Ticket, phase: string, status: Attempt['status'], now: string): Attempt {
  const visit = ticket.visits[phase] ?? 1;
  return {
    phase,
    visit,
    attempt: lastAttemptOf(ticket, phase, visit) + 1,
    status,
    startedAt: now,
    completedAt: now,
    outcome: null,
    output: null,
    agent: null,
    sessionId: null,
    usage: null,
    error: null,
  };
}

const VISITS = /(?:^| )Phase "[^"]*" was entered \d+ times; at most \d+ (?:is|are) allowed\.$/;

/** What went wrong in a loop that ends. A second loop that ends with it has the same cause. */
function causeOf({ error, phaseHistory }: Ticket): string {
  const last = phaseHistory.at(-1);
  const isVisitLimit = last?.error?.class === 'visits';
  const cause = (isVisitLimit ? error?.replace(VISITS, '') : error) ?? '';
  if (cause || isVisitLimit || !last?.outcome || last.outcome === 'success') return cause;
  const said = last.output?.trim().split('\n')[0] ?? '';
  return `${last.phase} ended with "${last.outcome}"${said && `: ${said}`}`;
}

function exhaust(workflow: Workflow, ticket: Ticket, phase: Phase, most: number, now: string): Ticket {
  const visit = ticket.visits[phase.id] ?? 0;
  const cause = causeOf(ticket);
  const first = cause && (/[.!?…]$/.test(cause) ? `${cause} ` : `${cause}. `);
  const limit = `Phase "${phase.id}" was entered ${visit} times; at most ${most} ${most === 1 ? 'is' : 'are'} allowed.`;
  // Without a loop, a failure explains itself.
  const message = cause && ticket.error && most === 1 ? cause : `${first}${limit}`;
  const error = { class: 'visits', message };
  const entry: Attempt = { ...historyEntry(ticket, phase.id, 'failure', now), outcome: 'failure', error };
  const noted = { ...withEntry(ticket, entry), error: message };
  const edge = edgesOf(phase).failure;
  // A second time means that the failure edge itself leads back here.
  if (!edge || visit > most + 1) return settle(noted, now, { status: 'failed', error: message });
  return enter(workflow, noted, edge, now);
}

function finish(ticket: Ticket, phase: PhaseOf<'terminal'>, now: string): Ticket {
  if (!phase.notify) return settle(ticket, now, { status: 'complete', error: null });
  const description = phase.description || 'a person must check it';
  // The commands in it have the ticket's own ids.
  const about = description.replaceAll('<plan>', ticket.planId).replaceAll('<ticket>', ticket.ticketId);
  return settle(ticket, now, { status: 'needs_attention', error: ticket.error ?? `${phase.id}: ${about}` });
}

/** Takes the edge of an outcome; without one, success completes the ticket and anything else fails it. */
export function takeEdge(
  workflow: Workflow,
  ticket: Ticket,
  phase: Phase,
  outcome: string,
  now: string,
): Ticket {
  const edges = edgesOf(phase);
  const own = Object.hasOwn(edges, outcome) ? edges[outcome] : undefined;
  const target = own ?? (outcome === 'success' ? undefined : edges.failure);
  if (target) return enter(workflow, ticket, target, now);
  if (outcome === 'success') return settle(ticket, now, { status: 'complete', error: null });
  const error = ticket.error ?? `Phase "${phase.id}" ended with "${outcome}" and has no edge for it.`;
  return settle(ticket, now, { status: 'failed', error });
}

/** Replaces the open attempt. Attempts that ended never change. */
export function editOpen(ticket: Ticket, edit: (attempt: Attempt) => Attempt): Ticket {
  const open = openAttempt(ticket);
  if (!open) return ticket;
  return { ...ticket, phaseHistory: [...ticket.phaseHistory.slice(0, -1), edit(open)] };
}
