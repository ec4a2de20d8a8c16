import type { Claim } from './claim-schema.ts';

export type { Claim };

/** A claim of another host counts as lost when it was not renewed for this long. */
export const LEASE_MS = 60_000;
export const RENEW_MS = 15_000;

export function sayHolder(claim: Claim): string {
  return `${claim.by} (pid ${claim.pid} on ${claim.host})`;
}

/** The same where "run by run" would be no sentence. */
export function sayOther(claim: Claim): string {
  return sayHolder(claim.by === 'run' ? { ...claim, by: 'another process' } : claim);
}
