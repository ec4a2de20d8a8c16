import { HeldError } from './errors.ts';
import type { TicketRef } from './ids-and-branch-names.ts';
import type { Claim } from './ticket-schema.ts';

export type { Claim };

/** A claim of another host counts as lost when it was not renewed for this long. */
export const LEASE_MS = 60_000;
export const RENEW_MS = 15_000;

/** The hint if a holder cannot be seen from here: it may be gone, which only the end of its lease shows. */
export function onceLeaseIsOver(leaseMs: number, command: string): string {
  return `It cannot be seen from here. If it is gone, its lease ends in ${Math.ceil(leaseMs / 1000)} s; then: ${command}`;
}

/** The hint if a worker of a fleet is silent, whose process may be seen to exist. */
export function unlessItAnswers(leaseMs: number, command: string): string {
  return `Unless it answers, its lease ends in ${Math.ceil(leaseMs / 1000)} s; then: ${command}`;
}

/** The refusal of a second daemon; `is` says where the first one is running. */
export function daemonHeld(is: string, holder: Claim, leaseMs: number | undefined): HeldError {
  const hint =
    leaseMs === undefined
      ? 'Stop it with: signalbox daemon stop'
      : onceLeaseIsOver(leaseMs, 'signalbox daemon');
  return new HeldError('daemon/held', `A daemon ${is}: ${sayHolder(holder)}.`, { hint, details: { holder } });
}

/** How to make the holder of a ticket release it. */
export function howToFree(claim: Claim, { planId, ticketId }: TicketRef, leaseMs?: number): string {
  if (leaseMs !== undefined) return onceLeaseIsOver(leaseMs, 'give this command again');
  if (claim.by !== 'session') return `Pause it first: signalbox pause ${planId} ${ticketId}`;
  return `A person is in its session: leave that first (process ${claim.agent?.pid ?? claim.pid}).`;
}

export function sayHolder(claim: Claim): string {
  const agent = claim.agent ? `, agent ${claim.agent.pid}` : '';
  return `${claim.by} (pid ${claim.pid} on ${claim.host}${agent})`;
}

/** The same without the word "run", for sentences such as "run by another process". */
export function sayOther(claim: Claim): string {
  return sayHolder(claim.by === 'run' ? { ...claim, by: 'another process' } : claim);
}

/** How a person says that a process which cannot be seen has ended. */
export function onceEnded({ planId, ticketId }: TicketRef): string {
  return `Once that process has ended: signalbox retry ${planId} ${ticketId}`;
}
