import { IllegalMoveError } from '../errors.ts';
import { parseRef, refKey } from '../ids-and-branch-names.ts';
import type { Plan, PlanEntry } from '../plan.ts';
import type { Ticket } from '../ticket.ts';

/** What a planner may change of a ticket, by field. */
export type TicketEdit = Partial<
  Pick<
    Ticket,
    | 'title'
    | 'description'
    | 'acceptanceCriteria'
    | 'paths'
    | 'linearUrl'
    | 'agent'
    | 'repo'
    | 'workflow'
    | 'branch'
    | 'worktree'
    | 'workerLabels'
    | 'skipPhases'
  >
>;
export type EntryEdit = Partial<Pick<PlanEntry, 'order' | 'blockedBy' | 'group'>>;

/** Fields that cannot change after the start of a ticket: its worktree, branch and phases depend on them. */
const FIXED_AT_START = ['repo', 'workflow', 'branch', 'worktree', 'skipPhases', 'blockedBy', 'group'];

export function hasBegun(ticket: Ticket): boolean {
  return ticket.phaseHistory.length > 0 || ticket.base !== null || ticket.claim !== null;
}

/** Throws unless a planner may change these fields now. */
export function checkEdit(ticket: Ticket, fields: readonly string[]): void {
  const name = refKey(ticket);
  if (ticket.status === 'running' || ticket.claim)
    throw new IllegalMoveError('ticket/busy', `${name} is running and cannot be edited meanwhile.`, {
      hint: `Pause it first: signalbox pause ${ticket.planId} ${ticket.ticketId}`,
    });
  if (ticket.status === 'complete')
    throw new IllegalMoveError('ticket/over', `${name} is complete and can no longer be changed.`, {
      hint: 'Add another ticket for what is left to do.',
    });
  const fixed = fields.filter((field) => FIXED_AT_START.includes(field));
  if (fixed.length > 0 && hasBegun(ticket))
    throw new IllegalMoveError(
      'ticket/begun',
      `${name} has begun, so its ${fixed.join(', ')} cannot be changed.`,
      { hint: 'Title, description, criteria and agent still can; or add another ticket.' },
    );
}

/** Throws unless a planner may change tickets of this plan. */
export function checkEditable(plan: Plan): void {
  if (plan.kind)
    throw new IllegalMoveError(
      'plan/made',
      `Plan "${plan.id}" was made by a ${plan.kind} run, which owns its tickets.`,
      { hint: 'Make a plan of your own with: signalbox plan new <id> --from …' },
    );
  if (plan.status === 'complete' || plan.status === 'archived')
    throw new IllegalMoveError('plan/over', `Plan "${plan.id}" is ${plan.status}.`, {
      hint: 'Make another plan with: signalbox plan new <id>',
    });
}

/** Tickets of this and other plans that wait for one. */
export function dependents(plans: readonly Plan[], ticket: { planId: string; ticketId: string }): string[] {
  const wanted = refKey(ticket);
  return plans.flatMap((plan) =>
    plan.tickets
      .filter(({ blockedBy }) => blockedBy.some((text) => refKey(parseRef(text, plan.id)) === wanted))
      .map(({ ticketId }) => refKey({ planId: plan.id, ticketId })),
  );
}
