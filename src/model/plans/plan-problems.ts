import { defaultBranch, namesAbove } from '../ids.ts';
import { type Plan, sharesWorkspace } from '../plan.ts';
import { dependencyProblems, type PlanProblem } from '../state/dependencies.ts';
import type { Ticket } from '../ticket.ts';
import { type PlansView, ticketsOf } from './plans-view.ts';

/** What makes a plan impossible to run as it is written. */
export function planProblems(plan: Plan, known: PlansView): PlanProblem[] {
  const problems = dependencyProblems(plan, known.plans);
  const tickets = ticketsOf(known, plan);
  if (sharesWorkspace(plan) || !tickets.some(namesPlace)) return problems;
  return [...problems, ...sharedPlaces(plan, tickets), ...nestedBranches(plan, tickets)];
}

/** Default branches and worktrees differ by the tickets' ids: only chosen ones have to be compared. */
function namesPlace({ branch, worktree }: Ticket): boolean {
  return branch !== null || worktree !== null;
}

/** Two tickets on one branch or in one worktree would count each other's work as their own. */
function sharedPlaces(plan: Plan, tickets: readonly Ticket[]): PlanProblem[] {
  const seen = new Map<string, string>();
  const problems: PlanProblem[] = [];
  for (const ticket of tickets) {
    const { ticketId } = ticket;
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
function nestedBranches(plan: Plan, tickets: readonly Ticket[]): PlanProblem[] {
  const all = tickets.map((ticket) => ({
    ticketId: ticket.ticketId,
    branch: ticket.branch ?? defaultBranch(ticket),
    repo: ticket.repo ?? plan.repo,
  }));
  const owners = new Map(all.map(({ ticketId, branch, repo }) => [`${repo}\n${branch}`, ticketId]));
  return all.flatMap(({ ticketId, branch, repo }) => {
    const above = namesAbove(branch).find((name) => owners.has(`${repo}\n${name}`));
    if (above === undefined) return [];
    const other = owners.get(`${repo}\n${above}`);
    const message = `Ticket "${ticketId}" has the branch ${branch}, which git cannot have beside ${above} of "${other}".`;
    return [{ planId: plan.id, ticketId, message, path: 'branch', in: 'ticket' as const }];
  });
}
