import { isPassing } from '../model/state/next.ts';
import { openAttempt, type Ticket, type TicketStatus } from '../model/ticket.ts';

/** A person has to do something before it moves, or nothing is left to do. */
export function isRest(status: TicketStatus): boolean {
  return status === 'complete' || status === 'failed' || status === 'paused' || status === 'needs_attention';
}

/** Nothing more will be printed for this ticket by itself. A paused one may still be waiting for its agent to end. */
export function rests(ticket: Ticket, now: string): boolean {
  return (
    isRest(ticket.status) && !(ticket.status === 'paused' && openAttempt(ticket)) && !isPassing(ticket, now)
  );
}
