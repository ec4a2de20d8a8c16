import type { Attempt, Usage } from '../ticket.ts';

const COUNTS = ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'costUsd'] as const;

/** Usage with every member unknown, or known to be 0. */
export function noUsage(each: 0 | null = null): Usage {
  return Object.fromEntries(COUNTS.map((key) => [key, each])) as Usage;
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
  if (usd === null || (usd === 0 && unpriced > 0)) return 'cost unknown';
  return unpriced > 0 ? `at least ${dollars(usd)}` : dollars(usd);
}

/** `$1.20`; small amounts have four digits. */
export function dollars(usd: number): string {
  return `$${usd.toFixed(usd > 0 && usd < 0.1 ? 4 : 2)}`;
}

const MIN_ATTEMPTS_FOR_MEDIAN = 5;
const DEAR_FROM = 3;

/** The median of what attempts cost; null where they are too few for it to say something. */
export function medianCost(costs: readonly number[]): number | null {
  if (costs.length < MIN_ATTEMPTS_FOR_MEDIAN) return null;
  const sorted = [...costs].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2;
}

/** How many times the median an attempt cost, where that is unusual. */
export function timesMedian(cost: number, median: number | null): number | null {
  return median && cost > DEAR_FROM * median ? cost / median : null;
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

/** Fewer earlier attempts are too few for an estimate. */
const MIN_EARLIER = 3;
/** The latest tickets are the most like the next. */
const MAX_EARLIER_TICKETS = 10;

interface Range {
  low: number;
  high: number;
}

export interface Estimate {
  seconds: Range;
  /** Null where no earlier attempt has a known cost. */
  usd: Range | null;
  /** Whether phases of agents are missing in `usd`, because their cost is unknown. */
  unpriced: boolean;
  /** Phases of agents that have too few earlier attempts: they are in neither of both. */
  missing: string[];
}

/** What a run would do and need. */
export interface Forecast {
  mode: 'parallel' | 'sequential' | 'chain' | 'batch';
  /** Maximum number of tickets at once. */
  concurrency: number;
  agents: string[];
  /** Phases of agents for which a model or an effort is named. */
  models: { phase: string; model: string | null; effort: string | null }[];
  /** Phases that need a remote called origin, and gh. */
  forge: string[];
  estimate: Estimate | null;
  /** Phases ahead when all goes well, by ticket id. */
  phases: Record<string, string[]>;
}

interface Step {
  phase: string;
  /** Null for phases without an agent. */
  agent: string | null;
  /** It is entered only if something goes wrong. */
  isRework?: boolean;
}

/**
 * What work takes, by the latest attempts at the same phases by the same agents: from the fastest attempt, if nothing has to be repeated,
 * to all attempts of the ticket that needed most. Each list in `work` is one ticket, each in `earlier` are the attempts of one, the
 * latest ticket first. Null where nothing is known about any agent.
 */
export function estimate(
  work: readonly (readonly Step[])[],
  earlier: readonly (readonly Attempt[])[],
  concurrency: number,
): Estimate | null {
  const bases = new Map<string, { seconds: Range; usd: Range | null } | undefined>();
  const keyOf = ({ phase, agent, isRework }: Step) => JSON.stringify([phase, agent, isRework]);
  for (const step of work.flat()) {
    const key = keyOf(step);
    if (!bases.has(key)) bases.set(key, basisOf(step, earlier));
  }
  const known = work.map((steps) =>
    steps.flatMap((step) => {
      const basis = bases.get(keyOf(step));
      return basis ? [{ ...step, ...basis }] : [];
    }),
  );
  const ofAgents = known.flat().filter(({ agent }) => agent !== null);
  if (ofAgents.every(({ isRework }) => isRework)) return null;
  const tickets = known.map((steps) => sum(steps.map(({ seconds }) => seconds)));
  const total = sum(tickets);
  const time = (end: keyof Range) => Math.max(total[end] / concurrency, ...tickets.map((each) => each[end]));
  const costs = ofAgents.flatMap(({ usd }) => usd ?? []);
  const without = work
    .flat()
    .filter((step) => step.agent !== null && !step.isRework && !bases.get(keyOf(step)));
  return {
    seconds: { low: time('low'), high: time('high') },
    usd: costs.length > 0 ? sum(costs) : null,
    unpriced: costs.length < ofAgents.length,
    missing: [...new Set(without.map(({ phase }) => phase))],
  };
}

function basisOf({ phase, agent, isRework = false }: Step, earlier: readonly (readonly Attempt[])[]) {
  const isSame = (each: Attempt) =>
    each.phase === phase &&
    each.agent === agent &&
    each.completedAt !== null &&
    (each.status === 'success' || each.status === 'failure');
  const tickets = earlier
    .map((attempts) => attempts.filter(isSame))
    .filter((attempts) => attempts.length > 0)
    .slice(0, MAX_EARLIER_TICKETS);
  if (tickets.flat().length < MIN_EARLIER) return undefined;
  const costs = tickets.map((attempts) => attempts.flatMap(({ usage }) => usage?.costUsd ?? []));
  const range = (values: readonly (readonly number[])[]) => ({
    low: isRework ? 0 : Math.min(...values.flat()),
    high: Math.max(...values.map((own) => own.reduce((all, each) => all + each, 0))),
  });
  return {
    seconds: range(
      tickets.map((attempts) =>
        attempts.map((each) => (Date.parse(each.completedAt ?? '') - Date.parse(each.startedAt)) / 1000),
      ),
    ),
    usd: costs.flat().length < MIN_EARLIER ? null : range(costs),
  };
}

function sum(ranges: readonly Range[]): Range {
  return ranges.reduce((all, { low, high }) => ({ low: all.low + low, high: all.high + high }), {
    low: 0,
    high: 0,
  });
}
