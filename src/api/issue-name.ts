import type { Ticket } from '../model/ticket.ts';

/** How an issue is called where people read: `#100`, or its id. */
export function issueName({ ticketId, source }: Ticket): string {
  const { number } = (source ?? {}) as { number?: unknown };
  return String(number) === ticketId ? `#${ticketId}` : ticketId;
}
