import type { Attempt, Usage } from '../ticket.ts';

const COUNTS = ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'costUsd'] as const;

/** Usage with every member unknown. */
export function noUsage(): Usage {
  return {
    inputTokens: null,
    outputTokens: null,
    cacheReadTokens: null,
    cacheWriteTokens: null,
    costUsd: null,
  };
}

/** Sums what is known; unknown plus unknown stays unknown. */
export function addUsage(a: Usage | null, b: Usage): Usage {
  const sum = noUsage();
  for (const key of COUNTS) {
    const left = a?.[key] ?? null;
    const right = b[key];
    sum[key] = left === null && right === null ? null : round((left ?? 0) + (right ?? 0));
  }
  return sum;
}

export function totalUsage(usages: Iterable<Usage | null>): Usage | null {
  let total: Usage | null = null;
  for (const usage of usages) if (usage) total = addUsage(total, usage);
  return total;
}

/** Error classes of attempts that cost nothing, because no model was called. */
const FREE_ERROR_CLASSES: ReadonlySet<string> = new Set(['auth', 'billing', 'config']);

function isFree({ error, usage }: Pick<Attempt, 'error' | 'usage'>): boolean {
  // A workspace fails before the agent starts, without usage, or because of what the agent did to it.
  return (
    error !== null && (FREE_ERROR_CLASSES.has(error.class) || (error.class === 'workspace' && usage === null))
  );
}

/** An agent's attempt that has ended, was not free, and of which these amounts are missing. */
export function isUnpriced(
  entry: Pick<Attempt, 'agent' | 'completedAt' | 'error' | 'usage'>,
  isMissing = (usage: Usage | null): boolean => (usage?.costUsd ?? null) === null,
): boolean {
  return entry.agent !== null && entry.completedAt !== null && !isFree(entry) && isMissing(entry.usage);
}

/** How many attempts have an unknown cost. */
export function countUnpriced(attempts: Iterable<Attempt>): number {
  let count = 0;
  for (const entry of attempts) if (isUnpriced(entry)) count++;
  return count;
}

/** `$1.20`, `at least $1.20` where the cost of some attempts is unknown, or `cost unknown`. */
export function costText(usd: number | null, unpriced: number): string {
  if (usd === null) return 'cost unknown';
  return unpriced > 0 ? `at least ${dollars(usd)}` : dollars(usd);
}

/** `$1.20`; small amounts have four digits. */
export function dollars(usd: number): string {
  return `$${usd.toFixed(usd > 0 && usd < 0.1 ? 4 : 2)}`;
}

/** What one run used, out of a session's running total. A total below the earlier one means that the CLI started counting again. */
export function subtractUsage(total: Usage, before: Usage | null): Usage {
  if (!before) return total;
  const rest = noUsage();
  for (const key of COUNTS) {
    const now = total[key];
    const then = before[key];
    if (now !== null && then !== null && now < then) return total;
    rest[key] = now === null || then === null ? now : round(now - then);
  }
  return rest;
}

// Dollars are fractions: keeps 0.3 - 0.1 from becoming 0.19999999999999998. Token counts are exact as they are.
function round(value: number): number {
  if (Number.isInteger(value)) return value;
  return Math.round(value * 1e10) / 1e10;
}
