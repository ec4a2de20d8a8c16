import { readFacts } from './files/write-atomic-and-note-facts.ts';
import type { Machine } from './machine-files-and-locks.ts';

/** The result of the project's checks on a commit that work starts from. */
export interface BaseResult {
  ref: string;
  commit: string;
  at: string;
  /** Null: they passed. */
  failed: { message: string; tail: string } | null;
}

/** Kept results by commit and commands, the oldest first. */
export function baseResults({ baseChecks }: Machine): Record<string, BaseResult | undefined> {
  return readFacts(baseChecks) as Record<string, BaseResult | undefined>;
}

/** The checks that failed already on the commit that a ticket started from, for its prompts; null if none are known. */
export function alreadyFailing(machine: Machine, base: { commit: string } | null): string | null {
  const results = base ? Object.values(baseResults(machine)) : [];
  const failed = results.findLast((result) => result?.commit === base?.commit)?.failed;
  return failed ? `${failed.message}\n\n${failed.tail}`.trim() : null;
}
