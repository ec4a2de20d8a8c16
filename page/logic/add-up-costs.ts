import { groupBy } from '../../src/model/group-and-remember.ts';
import { rounded } from '../../src/report/style-and-phrases.ts';
import type { Costs } from '../../src/web/schemas-of-api-answers-events-and-bodies.ts';

type Row = Costs['rows'][number];
export type Grouping = 'agent' | 'phase' | 'planId';

export interface Sum {
  name: string;
  usd: number;
  unpriced: number;
  /** Null: no agent has reported any. */
  tokens: number | null;
  attempts: number;
  seconds: number;
}

/** What rows cost together, by a field; the dearest first. */
export function sumsBy(rows: readonly Row[], by: Grouping | 'day'): Sum[] {
  const sums = new Map<string, Sum>();
  for (const row of rows) {
    const name = row[by];
    const sum = sums.get(name) ?? { name, usd: 0, unpriced: 0, tokens: null, attempts: 0, seconds: 0 };
    sum.usd += row.usage.costUsd ?? 0;
    sum.unpriced += row.unpriced;
    const { inputTokens, outputTokens } = row.usage;
    if (inputTokens !== null || outputTokens !== null)
      sum.tokens = (sum.tokens ?? 0) + (inputTokens ?? 0) + (outputTokens ?? 0);
    sum.attempts += row.attempts;
    sum.seconds += row.seconds;
    sums.set(name, sum);
  }
  return [...sums.values()].sort((a, b) => b.usd - a.usd || (b.tokens ?? 0) - (a.tokens ?? 0));
}

export function tokensText(tokens: number | null): string {
  return tokens === null ? 'tokens unknown' : `${rounded(tokens)} tokens`;
}

export interface Day {
  day: string;
  usd: number;
  /** How many attempts have an unknown cost. */
  unpriced: number;
  parts: { name: string; usd: number }[];
}

/** Every day from the first to the last, also those without costs, each split by a field. */
export function byDay(
  rows: readonly Row[],
  by: Grouping,
  { from, to }: { from?: string; to: string },
): Day[] {
  const days = groupBy(rows, ({ day }) => day);
  const names = sumsBy(rows, by).map(({ name }) => name);
  const first = from ?? [...days.keys()].sort()[0] ?? to;
  const all: Day[] = [];
  for (let day = first; day <= to && all.length < 3_660; day = dayAfter(day)) {
    const own = days.get(day) ?? [];
    const sums = new Map(sumsBy(own, by).map((sum) => [sum.name, sum.usd]));
    const parts = names.map((name) => ({ name, usd: sums.get(name) ?? 0 }));
    const [{ usd, unpriced } = { usd: 0, unpriced: 0 }] = sumsBy(own, 'day');
    all.push({ day, usd, unpriced, parts });
  }
  return all;
}

export function dayAfter(day: string, days = 1): string {
  const date = new Date(`${day}T12:00:00Z`);
  date.setUTCDate(date.getUTCDate() + days);
  return date.toISOString().slice(0, 10);
}

/** A round number at or above the largest value, for the top of a scale. */
export function roundTop(value: number): number {
  if (value <= 0) return 1;
  const unit = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 5, 10].map((step) => step * unit).find((each) => each >= value) ?? value;
}
