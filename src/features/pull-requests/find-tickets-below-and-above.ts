import type { EngineContext } from '../../engine/context.ts';
import { branchOf, repoOf } from '../../engine/work-out-workspace-and-repository.ts';
import type { TicketRef } from '../../model/ids-and-branch-names.ts';
import { blockersOf, planOf, ticketsOf } from '../../model/plans/plans-view.ts';
import type { Ticket } from '../../model/ticket.ts';
import type { StoreView } from '../../store/store-interface.ts';

/** Tickets that build on each other, first to last, the one asked about among them. */
export interface Stack {
  tickets: Ticket[];
  /** The ticket whose branch this one started from; undefined when it started from the base. */
  below: Ticket | undefined;
}

export async function stackOf(engine: EngineContext, ticket: Ticket, view: StoreView): Promise<Stack> {
  const below = await predecessor(engine, ticket, view);
  const tickets = [ticket];
  for (let at = below; at && !tickets.includes(at); ) {
    tickets.unshift(at);
    at = await predecessor(engine, at, view);
  }
  const stacks = below !== undefined || dependentsStartFromBranch(ticket, view);
  for (let at: Ticket | undefined = ticket; at; ) {
    const next: Ticket | undefined = await successor(engine, { ticket: at, view, stacks });
    if (!next || tickets.includes(next)) break;
    tickets.push(next);
    at = next;
  }
  return { tickets, below };
}

/** Whether dependent tickets start from this ticket's branch, as in a run, which does not wait for merges. */
function dependentsStartFromBranch({ planId, skipPhases }: Ticket, view: StoreView): boolean {
  return planOf(view, planId)?.kind === 'run' && skipPhases.includes('integrate');
}

/** The prerequisite that has the commit which the ticket started from, unless the base has that commit too. */
async function predecessor(
  engine: EngineContext,
  ticket: Ticket,
  view: StoreView,
): Promise<Ticket | undefined> {
  const { workspaces, settings } = engine;
  const plan = planOf(view, ticket.planId);
  if (!ticket.base || !plan) return undefined;
  const { commit } = ticket.base;
  const repo = repoOf(ticket, plan, settings);
  const workspace = { repo, branch: branchOf(ticket), base: plan.base, recordedBase: ticket.base };
  // A prerequisite may have been merged into the branch below it, so indirect prerequisites are candidates, too.
  const below = [...new Set([...blockersOf(view, ticket), ...ancestorsOf(ticket, view)])];
  const candidates = below.filter((blocker) => {
    const owner = planOf(view, blocker.planId);
    return blocker.branch !== null && owner && repoOf(blocker, owner, settings) === repo;
  });
  if (candidates.length === 0 || (await workspaces.baseHas(workspace, commit))) return undefined;
  for (const blocker of candidates)
    if (await workspaces.branchHas({ repo, branch: branchOf(blocker), commit })) return blocker;
  return undefined;
}

/** Whether a branch belongs to another ticket of the same plan: Signalbox chose it as the base of a pull request. */
export function isStackedOn(engine: EngineContext, { planId, ticketId }: TicketRef, branch: string): boolean {
  return engine.store.tickets(planId).some((other) => other.ticketId !== ticketId && other.branch === branch);
}

/** The ticket that builds on this one alone: it started from its branch, or will where tickets are stacked. */
async function successor(
  engine: EngineContext,
  { ticket, view, stacks }: { ticket: Ticket; view: StoreView; stacks: boolean },
): Promise<Ticket | undefined> {
  const own = ticketsOf(view, ticket.planId);
  const waiting = own.filter((each) => blockersOf(view, each).includes(ticket));
  const direct = waiting.filter((each) => !blockersOf(view, each).some((other) => waiting.includes(other)));
  const [next] = direct;
  const plan = planOf(view, ticket.planId);
  if (!next || !plan || direct.length > 1) return undefined;
  if (next.base) return (await predecessor(engine, next, view)) === ticket ? next : undefined;
  const { settings } = engine;
  const sameRepo = repoOf(next, plan, settings) === repoOf(ticket, plan, settings);
  const below = ancestorsOf(ticket, view);
  const alone = blockersOf(view, next).every((each) => each === ticket || below.has(each));
  return stacks && sameRepo && alone ? next : undefined;
}

/** What a ticket waits for, directly or not, the nearest first. */
export function ancestorsOf(ticket: Ticket, view: StoreView, found = new Set<Ticket>()): Set<Ticket> {
  for (const each of blockersOf(view, ticket)) {
    if (found.has(each)) continue;
    found.add(each);
    ancestorsOf(each, view, found);
  }
  return found;
}
