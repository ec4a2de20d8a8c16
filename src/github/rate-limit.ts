import { join } from 'node:path';
import { noteFact, readFacts } from '../machine/files/write-atomic-and-note-facts.ts';
import { asRecord, parseJson } from '../model/text/parse-json-and-find-places.ts';
import { type GhOptions, runGh } from './gh/run-gh.ts';

/** What GitHub lets this account ask for until the reset. */
export type Budget = NonNullable<ReturnType<typeof readBudget>>;

export interface KnownBudget extends Budget {
  host: string;
  /** When this was known. */
  at: string;
}

export function readBudget(value: unknown) {
  const { limit, remaining, cost, resetAt } = asRecord(value);
  if (typeof limit !== 'number' || typeof remaining !== 'number' || typeof resetAt !== 'string') return null;
  if (Number.isNaN(Date.parse(resetAt))) return null;
  // The cost is that of the last question.
  return { limit, remaining, cost: typeof cost === 'number' ? cost : 0, resetAt };
}

/** What is known of the budget of every host, kept for all processes in one file. */
export class BudgetBook {
  readonly #file: string;

  constructor(cacheDir: string) {
    this.#file = join(cacheDir, 'budget.json');
  }

  all(): KnownBudget[] {
    return Object.entries(readFacts(this.#file)).flatMap(([host, value]) => {
      const budget = readBudget(value);
      const { at } = asRecord(value);
      return budget ? [{ host, ...budget, at: typeof at === 'string' ? at : budget.resetAt }] : [];
    });
  }

  note(host: string, budget: Budget, at: string): void {
    noteFact(this.#file, host, { ...budget, at });
  }

  /** GitHub itself said that there is nothing left. */
  exhausted(host: string, resetAt: string, at: string): void {
    const limit = this.all().find((known) => known.host === host)?.limit ?? 0;
    this.note(host, { limit, remaining: 0, cost: 0, resetAt }, at);
  }

  /** The budget that forbids another question now; undefined when one may be asked. */
  low(host: string, reserve: number, now: string): KnownBudget | undefined {
    const known = this.all().find((each) => each.host === host);
    if (!known || Date.parse(known.resetAt) <= Date.parse(now)) return undefined;
    return known.remaining < Math.min(reserve, known.limit / 2) || known.remaining === 0 ? known : undefined;
  }
}

/** When the limit that was met ends, as far as GitHub says; asking costs nothing. Undefined for one without a window. */
export async function limitEnd(host: string, options: GhOptions): Promise<string | undefined> {
  const { code, stdout } = await runGh(['api', 'rate_limit', '--hostname', host], options);
  if (code !== 0) return undefined;
  const { graphql, core } = asRecord(asRecord(parseJson(stdout)).resources);
  const ends = [graphql, core].map(asRecord).flatMap(({ remaining, reset }) => {
    return remaining === 0 && typeof reset === 'number' ? [reset * 1000] : [];
  });
  return ends.length === 0 ? undefined : new Date(Math.max(...ends)).toISOString();
}
