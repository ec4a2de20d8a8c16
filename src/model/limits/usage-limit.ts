import { refKey } from '../ids.ts';
import type { Attempt, Ticket } from '../ticket.ts';

/** A usage limit that an account has met and that is not over yet. */
export interface AccountLimit {
  until: string;
  reason: string;
  /** refKey of the ticket whose attempt met it. */
  by: string;
}

interface LimitQuestion {
  account: string;
  /** All tickets that are known: the limit is derived from their attempts, so nothing can disagree with them. */
  tickets: Iterable<Ticket>;
  accountOf(agent: string): string;
  /** Reports up to this time do not count: a person said to try all the same. */
  after: string | null;
  now: string;
}

const CLOCK_SLACK_MS = 60_000;

/** The limit that an account is under, by what its attempts reported; null when it may work. The latest reset counts. */
export function limitOf({ account, tickets, accountOf, after, now }: LimitQuestion): AccountLimit | null {
  let limit: { entry: Attempt; by: string; until: number } | undefined;
  let worked = Number.NEGATIVE_INFINITY;
  const time = Date.parse(now);
  const from = after === null ? Number.NEGATIVE_INFINITY : Date.parse(after);
  for (const ticket of tickets) {
    for (const entry of ticket.phaseHistory) {
      if (entry.agent === null || accountOf(entry.agent) !== account) continue;
      if (gotThrough(entry)) worked = Math.max(worked, Date.parse(entry.startedAt));
      const until = Date.parse(entry.resetAt ?? '');
      const met = Date.parse(entry.completedAt ?? '');
      // One that was met in the future was met before the clock jumped back.
      if (entry.status !== 'limit' || !(until > time) || !(met > from) || met > time + CLOCK_SLACK_MS)
        continue;
      if (!limit || until > limit.until) limit = { entry, by: refKey(ticket), until };
    }
  }
  if (!limit || worked > Date.parse(limit.entry.completedAt ?? '')) return null;
  const until = new Date(limit.until).toISOString();
  return { until, reason: limit.entry.error?.message ?? 'a usage limit was met', by: limit.by };
}

/** A model answered it. */
function gotThrough(entry: Attempt): boolean {
  return entry.status === 'success' || (entry.status !== 'limit' && entry.usage !== null);
}
