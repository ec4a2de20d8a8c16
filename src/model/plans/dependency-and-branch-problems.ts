import { groupBy, remembered } from '../group-and-remember.ts';
import { defaultBranch, namesAbove, parseRef, refKey, type TicketRef } from '../ids-and-branch-names.ts';
import { type Plan, type PlanEntry, sharesWorkspace } from '../plan.ts';
import type { Ticket } from '../ticket.ts';
import { orderByDependencies } from './dependency-order.ts';
import { type PlansView, planOf, ticketsOf } from './plans-view.ts';

/** What makes a plan impossible to run as it is written. `knownAcyclic` as in `dependencyProblems`. */
export function planProblems(plan: Plan, known: PlansView, knownAcyclic?: Set<string>): PlanProblem[] {
  return [...dependencyProblems(plan, known, knownAcyclic), ...placeProblems(plan, known)];
}

/** What is wrong with the branches and worktrees that its tickets name. */
export function placeProblems(plan: Plan, known: PlansView): PlanProblem[] {
  const tickets = sharesWorkspace(plan) ? [] : ticketsOf(known, plan);
  // Default branches and worktrees differ by the tickets' ids: only chosen ones have to be compared.
  if (tickets.every(({ branch, worktree }) => branch === null && worktree === null)) return [];
  return [...sharedPlaces(plan, tickets), ...nestedBranches(plan, tickets)];
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

export interface PlanProblem {
  planId: string;
  ticketId: string | null;
  message: string;
  /** Where in plan.json, or in the ticket's file: `tickets[2].blockedBy[0]`. */
  path?: string;
  in?: 'plan' | 'ticket';
}

/**
 * What makes a plan impossible to run: duplicates, unknown blockers, a ticket that waits for itself. `knownAcyclic` has tickets
 * that do not lead to a cycle, and gets more of them: for callers that ask about many plans.
 */
export function dependencyProblems(
  plan: Plan,
  view: Pick<PlansView, 'plans' | 'finished'>,
  knownAcyclic = new Set<string>(),
): PlanProblem[] {
  const problems: PlanProblem[] = [];
  const note = (ticketId: string | null, message: string, path: string) =>
    problems.push({ planId: plan.id, ticketId, message, path, in: 'plan' });
  const waitsIn = (planId: string) => {
    const own = planId === plan.id ? plan : planOf(view, planId);
    return own && waitsOf(own);
  };
  const seen = new Set<string>();
  /** Where tickets wait for a plan that is missing or broken. */
  const lost: { planId: string; ticketId: string; path: string }[] = [];
  for (const [index, entry] of plan.tickets.entries()) {
    const { ticketId } = entry;
    if (seen.has(ticketId)) note(ticketId, `Ticket "${ticketId}" is listed twice.`, `tickets[${index}]`);
    seen.add(ticketId);
    if (entry.blockedBy.length === 0) continue;
    const before = new Set<string>();
    for (const [place, text] of entry.blockedBy.entries()) {
      const ref = parseRef(text, plan.id);
      const key = refKey(ref);
      const path = `tickets[${index}].blockedBy[${place}]`;
      if (before.has(key)) note(ticketId, `Ticket "${ticketId}" lists "${text}" twice in blockedBy.`, path);
      before.add(key);
      const known = waitsIn(ref.planId);
      if (!known) lost.push({ planId: ref.planId, ticketId, path });
      else if (!known.has(ref.ticketId))
        note(ticketId, `Ticket "${ticketId}" is blocked by "${text}", which does not exist.`, path);
    }
  }
  for (const [id, places] of groupBy(lost, ({ planId }) => planId)) {
    const [{ ticketId, path } = { ticketId: null, path: '' }] = places;
    const ids = [...new Set(places.map((place) => place.ticketId))];
    const wait = ids.length === 1 ? 'waits' : 'wait';
    const message = `There is no plan "${id}" that can be read, and ${ids.join(', ')} ${wait} for its tickets.`;
    note(ticketId, message, path);
  }
  for (const cycle of cycles(plan, waitsIn, knownAcyclic)) {
    const ticketId = cycle[0]?.ticketId ?? null;
    const path = [...cycle, cycle[0]].map((ref) =>
      ref?.planId === plan.id ? ref.ticketId : ref && refKey(ref),
    );
    const index = plan.tickets.findIndex((entry) => entry.ticketId === ticketId);
    note(ticketId, `Tickets wait for each other: ${path.join(' → ')}.`, `tickets[${index}].blockedBy`);
  }
  return problems;
}

type Waits = ReadonlyMap<string, readonly string[]>;
const waits = new WeakMap<readonly PlanEntry[], Waits>();

/** By ticket, what it waits for. Of one that is listed twice, both lists count. */
function waitsOf({ id, tickets }: Plan): Waits {
  return remembered(waits, tickets, () => {
    const found = new Map<string, string[]>();
    for (const { ticketId, blockedBy } of tickets) {
      const before = blockedBy.map((text) => refKey(parseRef(text, id)));
      found.set(ticketId, [...(found.get(ticketId) ?? []), ...before]);
    }
    return found;
  });
}

/** Cycles through tickets of this plan: at least one for each ticket that waits for itself, that one first. */
function cycles(
  plan: Plan,
  waitsIn: (planId: string) => Waits | undefined,
  knownAcyclic: Set<string>,
): TicketRef[][] {
  if (plan.tickets.every((entry) => entry.blockedBy.length === 0)) return [];
  // Only what its tickets lead to can be in a cycle with them. A cycle begins with the item that was given first.
  const keys = new Set(plan.tickets.map(({ ticketId }) => refKey({ planId: plan.id, ticketId })));
  const items: { key: string; dependsOn: readonly string[] }[] = [];
  let allKnown = true;
  for (const key of keys) {
    const { planId, ticketId } = parseRef(key, plan.id);
    const dependsOn = knownAcyclic.has(key) ? [] : waitsIn(planId)?.get(ticketId);
    allKnown &&= dependsOn !== undefined;
    items.push({ key, dependsOn: dependsOn ?? [] });
    for (const on of dependsOn ?? []) keys.add(on);
  }
  const found = orderByDependencies(items).cycles.map((cycle) => cycle.map((key) => parseRef(key, plan.id)));
  if (found.length === 0 && allKnown) for (const key of keys) knownAcyclic.add(key);
  return found.filter(([first]) => first?.planId === plan.id);
}
