import type { Ticket, Usage } from '../ticket.ts';

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

/** What all attempts of a ticket used. */
export function usageOf({ phaseHistory }: Ticket): Usage | null {
  return totalUsage(phaseHistory.map(({ usage }) => usage));
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
