import { join } from 'node:path';
import { noteFact, readFacts } from '../machine/files/write-atomic-and-note-facts.ts';
import { parseJson } from '../model/text/parse-json-and-find-places.ts';
import { asRecord } from '../model/text/values-of-unknown-type.ts';
import { type GhOptions, runGh } from './gh/run-gh.ts';

/** How many requests GitHub accepts from this account until the reset. */
export type RateLimit = NonNullable<ReturnType<typeof readRateLimit>>;

interface KnownRateLimit extends RateLimit {
  host: string;
  /** When this was known. */
  at: string;
}

export function readRateLimit(value: unknown) {
  const { limit, remaining, cost, resetAt } = asRecord(value);
  if (typeof limit !== 'number' || typeof remaining !== 'number' || typeof resetAt !== 'string') return null;
  if (Number.isNaN(Date.parse(resetAt))) return null;
  // The cost is that of the last query.
  return { limit, remaining, cost: typeof cost === 'number' ? cost : 0, resetAt };
}

/** The last known rate limit of every host, kept for all processes in one file. */
export class RateLimitFile {
  readonly #file: string;

  constructor(cacheDir: string) {
    this.#file = join(cacheDir, 'budget.json');
  }

  all(): KnownRateLimit[] {
    return Object.entries(readFacts(this.#file)).flatMap(([host, value]) => {
      const rateLimit = readRateLimit(value);
      const { at } = asRecord(value);
      return rateLimit ? [{ host, ...rateLimit, at: typeof at === 'string' ? at : rateLimit.resetAt }] : [];
    });
  }

  note(host: string, rateLimit: RateLimit, at: string): void {
    noteFact(this.#file, host, { ...rateLimit, at });
  }

  /** GitHub reported that no requests are left. */
  exhausted(host: string, resetAt: string, at: string): void {
    const limit = this.all().find((known) => known.host === host)?.limit ?? 0;
    this.note(host, { limit, remaining: 0, cost: 0, resetAt }, at);
  }

  /** The limit that forbids another request now; undefined when one may be sent. */
  blockingLimit(host: string, reserve: number, now: string): KnownRateLimit | undefined {
    const known = this.all().find((each) => each.host === host);
    if (!known || Date.parse(known.resetAt) <= Date.parse(now)) return undefined;
    return known.remaining < Math.min(reserve, known.limit / 2) || known.remaining === 0 ? known : undefined;
  }
}

/** When GitHub's rate limit resets. Undefined if GitHub reports none that is used up. This request does not count. */
export async function rateLimitReset(host: string, options: GhOptions): Promise<string | undefined> {
  const { code, stdout } = await runGh(['api', 'rate_limit', '--hostname', host], options);
  if (code !== 0) return undefined;
  const { graphql, core } = asRecord(asRecord(parseJson(stdout)).resources);
  const ends = [graphql, core].map(asRecord).flatMap(({ remaining, reset }) => {
    return remaining === 0 && typeof reset === 'number' ? [reset * 1000] : [];
  });
  return ends.length === 0 ? undefined : new Date(Math.max(...ends)).toISOString();
}
