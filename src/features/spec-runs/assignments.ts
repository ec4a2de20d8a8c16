import type { Assignment } from '../../kiro/state-files.ts';
import type { Ticket } from '../../model/ticket.ts';
import { assignmentOf } from './state.ts';

/** What a person wrote into the state file counts also for a unit that is under way. */
export function overridden(ticket: Ticket, assignment: Assignment | undefined): Ticket {
  if (!assignment || !isNews(ticket, assignment)) return ticket;
  return { ...ticket, context: { ...ticket.context, ...contextOf(assignment, 'person') } };
}

export function isNews(
  ticket: Pick<Ticket, 'context' | 'phaseHistory'>,
  { type, owner_agent, criticality }: Assignment,
): boolean {
  const known = assignmentOf(ticket);
  return known?.type !== type || known.owner_agent !== owner_agent || known.criticality !== criticality;
}

/** A unit whose owner is known already is not assigned again; a checkpoint needs nothing but the checks. */
export function assigned(
  ticket: Pick<Ticket, 'context'>,
  unit: { open: readonly { checkpoint: boolean }[] },
  assignment: Assignment | undefined,
): Partial<Pick<Ticket, 'currentPhase' | 'context'>> {
  const context = assignment
    ? { ...ticket.context, ...contextOf(assignment, assignment.by) }
    : ticket.context;
  if (unit.open.length > 0 && unit.open.every(({ checkpoint }) => checkpoint))
    return { currentPhase: 'checks', context };
  if (!assignment) return {};
  return { currentPhase: assignment.type === 'review' ? 'review' : 'implement', context };
}

function contextOf({ type, owner_agent, criticality, reason }: Assignment, by: string) {
  return { unit_type: type, owner: owner_agent, criticality, assign_reason: reason ?? null, assigned_by: by };
}
