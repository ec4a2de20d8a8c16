import type { StoredEvent } from '../model/events.ts';
import type { TicketRef } from '../model/ids.ts';
import type { Plan } from '../model/plan.ts';
import type { Ticket } from '../model/ticket.ts';

/** A file that cannot be used; only that plan or ticket is held back. */
export interface StoreProblem {
  planId: string;
  ticketId: string | null;
  path: string;
  message: string;
}

export interface StoreView {
  plans: Plan[];
  /** By `plan/ticket`. */
  tickets: Map<string, Ticket>;
  problems: StoreProblem[];
}

/**
 * Where plans and tickets live. Small on purpose, so that a database can stand behind it:
 * no caller sees a path, and every change goes through an update function that is given the latest state.
 */
export interface Store {
  view(): StoreView;
  /** As `view`, but others' changes may show a moment late: for what is asked several times per attempt. */
  glance(): StoreView;
  plan(id: string): Plan;
  ticket(ref: TicketRef): Ticket;
  /** Applies `change` to the latest state, alone. Returning the same object writes nothing. */
  updateTicket(ref: TicketRef, change: (ticket: Ticket) => Ticket): Promise<Ticket>;
  updatePlan(id: string, change: (plan: Plan) => Plan): Promise<Plan>;
  create(plan: Plan, tickets: readonly Ticket[]): Promise<void>;
  deletePlan(id: string): Promise<void>;
  /** Runs `fn` while no other engine runs one of the same name. */
  alone<T>(name: string, fn: () => Promise<T>): Promise<T>;
  append(planId: string, event: StoredEvent): void;
  events(planId: string): StoredEvent[];
  /** Calls back soon after somebody else changed something. Returns the way to end it. */
  watch(onChange: () => void): () => void;
  /** Keeps a text by its content hash, for ever. */
  pin(hash: string, text: string): void;
  pinned(hash: string): string | undefined;
}
