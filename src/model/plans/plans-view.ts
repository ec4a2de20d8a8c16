import { parseRef, refKey, type TicketRef } from '../ids.ts';
import type { Plan, PlanEntry } from '../plan.ts';
import { endedMerged, type Ticket } from '../ticket.ts';

/** Plans and their tickets as they are at one moment. */
export interface PlansView {
  plans: readonly Plan[];
  /** By `plan/ticket`. */
  tickets: ReadonlyMap<string, Ticket>;
}

export function planOf({ plans }: Pick<PlansView, 'plans'>, id: string | undefined): Plan | undefined {
  return plans.find((plan) => plan.id === id);
}

export function ticketOf({ tickets }: Pick<PlansView, 'tickets'>, ref: TicketRef): Ticket | undefined {
  return tickets.get(refKey(ref));
}

/** The tickets of a plan that can be read, in the order in which the plan lists them. */
export function ticketsOf({ tickets }: Pick<PlansView, 'tickets'>, plan: string | Plan): Ticket[] {
  if (typeof plan === 'string') return [...tickets.values()].filter(({ planId }) => planId === plan);
  return plan.tickets.flatMap(({ ticketId }) => tickets.get(refKey({ planId: plan.id, ticketId })) ?? []);
}

/** How a plan lists a ticket. */
export function entryOf(
  plan: Plan | undefined,
  { ticketId }: Pick<TicketRef, 'ticketId'>,
): PlanEntry | undefined {
  return plan?.tickets.find((entry) => entry.ticketId === ticketId);
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
