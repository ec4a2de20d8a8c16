import type { TicketRef } from './ids.ts';
import type { Claim } from './ticket-schema.ts';

export type { Claim };

/** A claim of another host counts as lost when it was not renewed for this long. */
export const LEASE_MS = 60_000;
export const RENEW_MS = 15_000;

/** What helps where a holder cannot be seen from here: it may be gone, and its lease alone tells. */
export function onceLeaseIsOver(leaseMs: number, command: string): string {
  return `It cannot be seen from here. If it is gone, its lease ends in ${Math.ceil(leaseMs / 1000)} s; then: ${command}`;
}

/** What has to happen before the holder of a ticket lets go of it. */
export function wayToFree(claim: Claim, { planId, ticketId }: TicketRef, leaseMs?: number): string {
  if (leaseMs !== undefined) return onceLeaseIsOver(leaseMs, 'give this command again');
  if (claim.by !== 'session') return `Pause it first: signalbox pause ${planId} ${ticketId}`;
  return `A person is in its session: leave that first (process ${claim.agent?.pid ?? claim.pid}).`;
}

export function sayHolder(claim: Claim): string {
  const agent = claim.agent ? `, agent ${claim.agent.pid}` : '';
  return `${claim.by} (pid ${claim.pid} on ${claim.host}${agent})`;
}

/** The same where "run by run" would be no sentence. */
export function sayOther(claim: Claim): string {
  return sayHolder(claim.by === 'run' ? { ...claim, by: 'another process' } : claim);
}
