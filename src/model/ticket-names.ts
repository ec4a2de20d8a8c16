import type { TicketRef } from '../model/ids.ts';

/** How tickets are called where people read. */
export interface Naming {
  /** Put the plan before the ticket: a daemon works on many. */
  withPlan: boolean;
  /** The name of a ticket that is not its id: `#100`. */
  called?: (ticketId: string) => string | undefined;
}

export function nameOf({ planId, ticketId }: TicketRef, { withPlan, called }: Naming): string {
  return withPlan ? `${planId}/${ticketId}` : (called?.(ticketId) ?? ticketId);
}

/** A reason with issues called as in all other lines: `waits for 100 (failed)` is `waits for #100 (failed)`. */
export function withNames(reason: string, called: Naming['called']): string {
  const named = (whole: string, before: string, id: string) => {
    const name = called?.(id);
    return name === undefined ? whole : `${before}${name}`;
  };
  if (reason.startsWith('waits for ')) return reason.replace(/(^waits for |\), )([^\s,(]+)/g, named);
  return reason.replace(/^(the plan stops at the first failure, and )(\S+)/, named);
}
