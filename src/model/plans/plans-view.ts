import { remembered } from '../group-and-remember.ts';
import { parseRef, refKey, type TicketRef } from '../ids-and-branch-names.ts';
import type { Plan, PlanEntry } from '../plan.ts';
import { endedMerged, type Ticket } from '../ticket.ts';

/** Plans and their tickets as they are at one moment. */
export interface PlansView {
  plans: readonly Plan[];
  /** By `plan/ticket`. */
  tickets: ReadonlyMap<string, Ticket>;
  /** Plans that are complete or archived and not among the others; absent where `plans` has them all. */
  finished?: FinishedPlans;
}

/** Finished plans are many, and seldom needed: they are read when something asks for them. */
interface FinishedPlans {
  ids(): Iterable<string>;
  /** Those that changed at this time (milliseconds) or later, the latest first; at most so many. */
  since(time: number, most?: number): string[];
  plan(id: string): Plan | undefined;
  ticket(ref: TicketRef): Ticket | undefined;
  /** Tickets that have one of these ids, or one of them behind a dash. */
  named(ids: readonly string[]): TicketRef[];
}

/** A view that stays as it is while the store's own changes. */
export function snapshotOf<V extends PlansView>(view: V): V {
  return { ...view, tickets: new Map(view.tickets) };
}

const byId = new WeakMap<readonly Plan[], ReadonlyMap<string, Plan>>();
const entries = new WeakMap<readonly PlanEntry[], ReadonlyMap<string, PlanEntry>>();

export function planOf(
  { plans, finished }: Pick<PlansView, 'plans' | 'finished'>,
  id: string | undefined,
): Plan | undefined {
  if (id === undefined) return undefined;
  // Searching a list of thousands for each of its items is slow.
  const known = remembered(byId, plans, () => new Map(plans.toReversed().map((plan) => [plan.id, plan])));
  return known.get(id) ?? finished?.plan(id);
}

export function ticketOf(
  { tickets, finished }: Pick<PlansView, 'tickets' | 'finished'>,
  ref: TicketRef,
): Ticket | undefined {
  return tickets.get(refKey(ref)) ?? finished?.ticket(ref);
}

/** The tickets of a plan that can be read, in the order in which the plan lists them. */
export function ticketsOf(view: PlansView, plan: string | Plan): Ticket[] {
  const { id, tickets } = (typeof plan === 'string' ? planOf(view, plan) : plan) ?? NONE;
  return tickets.flatMap(({ ticketId }) => ticketOf(view, { planId: id, ticketId }) ?? []);
}

const NONE: Pick<Plan, 'id' | 'tickets'> = { id: '', tickets: [] };

/** How a plan lists a ticket. */
export function entryOf(
  plan: Pick<Plan, 'tickets'> | undefined,
  { ticketId }: Pick<TicketRef, 'ticketId'>,
): PlanEntry | undefined {
  if (!plan) return undefined;
  const { tickets } = plan;
  const make = () => new Map(tickets.toReversed().map((entry) => [entry.ticketId, entry]));
  return remembered(entries, tickets, make).get(ticketId);
}

/** The tickets that a ticket waits for, its own plan's or others'; those that cannot be read are left out. */
export function blockersOf(
  view: PlansView,
  ticket: TicketRef,
  plan: Plan | undefined = planOf(view, ticket.planId),
): Ticket[] {
  const names = entryOf(plan, ticket)?.blockedBy ?? [];
  return names.flatMap((name) => ticketOf(view, parseRef(name, ticket.planId)) ?? []);
}

/**
 * Whether that merge brought the work into the base. The pull request of a stacked ticket is merged into the branch below
 * it, so all tickets that it waits for must have ended merged, too.
 */
export function endedInBase(ticket: Ticket, view: PlansView, seen = new Set<string>()): boolean {
  if (seen.has(refKey(ticket))) return true;
  seen.add(refKey(ticket));
  return endedMerged(ticket) && blockersOf(view, ticket).every((each) => endedInBase(each, view, seen));
}
