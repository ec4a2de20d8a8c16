import { defaultBranch, refKey } from '../ids.ts';
import { namesAbove } from '../own-branch.ts';
import type { Plan } from '../plan.ts';
import { dependencyProblems, type PlanProblem } from '../state/dependencies.ts';
import { isShared } from '../state/turns.ts';
import type { Ticket } from '../ticket.ts';

interface Known {
  plans: readonly Plan[];
  tickets: ReadonlyMap<string, Ticket>;
}

/** What makes a plan impossible to run as it is written. */
export function planProblems(plan: Plan, known: Known): PlanProblem[] {
  const problems = dependencyProblems(plan, known.plans);
  if (isShared(plan) || !plan.tickets.some(({ ticketId }) => namesPlace(plan, ticketId, known)))
    return problems;
  return [...problems, ...sharedPlaces(plan, known.tickets), ...nestedBranches(plan, known.tickets)];
}

/** What tickets get by their ids never meets: only places that somebody chose have to be compared. */
function namesPlace(plan: Plan, ticketId: string, { tickets }: Known): boolean {
  const ticket = tickets.get(refKey({ planId: plan.id, ticketId }));
  return ticket !== undefined && (ticket.branch !== null || ticket.worktree !== null);
}

/** Two tickets on one branch or in one worktree would count each other's work as their own. */
function sharedPlaces(plan: Plan, tickets: ReadonlyMap<string, Ticket>): PlanProblem[] {
  const seen = new Map<string, string>();
  const problems: PlanProblem[] = [];
  for (const { ticketId } of plan.tickets) {
    const ticket = tickets.get(refKey({ planId: plan.id, ticketId }));
    if (!ticket) continue;
    for (const field of ['branch', 'worktree'] as const) {
      const value = ticket[field] ?? (field === 'branch' ? defaultBranch(ticket) : null);
      if (value === null) continue;
      const key = `${field}\n${ticket.repo ?? plan.repo}\n${value}`;
      const other = seen.get(key);
      seen.set(key, ticketId);
      if (other === undefined || other === ticketId) continue;
      const message = `Ticket "${ticketId}" has the same ${field} as "${other}": ${value}.`;
      problems.push({ planId: plan.id, ticketId, message, path: field, in: 'ticket' });
    }
  }
  return problems;
}

/** Git cannot have a branch `x` and a branch `x/y`. */
function nestedBranches(plan: Plan, tickets: ReadonlyMap<string, Ticket>): PlanProblem[] {
  const all = plan.tickets.flatMap(({ ticketId }) => {
    const ticket = tickets.get(refKey({ planId: plan.id, ticketId }));
    const branch = ticket && (ticket.branch ?? defaultBranch(ticket));
    return branch ? [{ ticketId, branch, repo: ticket.repo ?? plan.repo }] : [];
  });
  const owners = new Map(all.map(({ ticketId, branch, repo }) => [`${repo}\n${branch}`, ticketId]));
  return all.flatMap(({ ticketId, branch, repo }) => {
    const above = namesAbove(branch).find((name) => owners.has(`${repo}\n${name}`));
    if (above === undefined) return [];
    const other = owners.get(`${repo}\n${above}`);
    const message = `Ticket "${ticketId}" has the branch ${branch}, which git cannot have beside ${above} of "${other}".`;
    return [{ planId: plan.id, ticketId, message, path: 'branch', in: 'ticket' as const }];
  });
}
