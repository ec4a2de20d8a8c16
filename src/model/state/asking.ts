import { openAttempt, type Ticket } from '../ticket.ts';

/** As people should see it: a gate asks also while it looks whether somebody answered elsewhere. */
export function asAsked(ticket: Ticket): Ticket {
  const asks = ticket.status === 'running' ? openAttempt(ticket)?.asks : undefined;
  if (asks === undefined) return ticket;
  return {
    ...ticket,
    status: 'needs_attention',
    hold: { kind: 'gate', reason: asks, until: null, looks: true },
  };
}
