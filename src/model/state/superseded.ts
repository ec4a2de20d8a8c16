import type { Hold, Ticket } from '../ticket.ts';

/** The hold of a ticket whose issue a newer run has. */
export function supersededHold(run: string): Hold {
  return { kind: 'stopped', reason: `superseded by ${run}`, until: null, supersededBy: run };
}

export function isSuperseded({ hold }: Ticket): boolean {
  return hold?.kind === 'stopped' && hold.supersededBy !== undefined;
}

/** The newer run that has the issue of a ticket which failed or was stopped. */
export function newerRunOf(ticket: Ticket): string | undefined {
  if (isSuperseded(ticket)) return ticket.hold?.supersededBy;
  const { status, supersededBy } = ticket;
  return status === 'failed' ? supersededBy : undefined;
}
