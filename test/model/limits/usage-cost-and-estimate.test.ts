import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  addUsage,
  costText,
  estimate,
  isUnpriced,
  medianCost,
  noUsage,
  subtractUsage,
  timesMedian,
  totalUsage,
} from '../../../src/model/limits/usage-cost-and-estimate.ts';
import type { Usage } from '../../../src/model/ticket.ts';
import { Attempt } from '../../../src/model/ticket-schema.ts';

const usage = (fields: Partial<Usage>): Usage => ({ ...noUsage(), ...fields });
const count = fc.option(fc.integer({ min: 0, max: 1e9 }));
const cost = fc.option(fc.integer({ min: 0, max: 1e6 }).map((cents) => cents / 100));
const anyUsage: fc.Arbitrary<Usage> = fc.record({
  inputTokens: count,
  outputTokens: count,
  cacheReadTokens: count,
  cacheWriteTokens: count,
  costUsd: cost,
});

describe('usage', () => {
  it('unknown is null and never becomes 0', () => {
    expect(addUsage(null, noUsage())).toEqual(noUsage());
    expect(totalUsage([])).toBeNull();
    expect(totalUsage([null, null])).toBeNull();
  });

  it('adds what is known', () => {
    expect(
      addUsage(usage({ inputTokens: 1, costUsd: 0.1 }), usage({ costUsd: 0.2, outputTokens: 4 })),
    ).toEqual(usage({ inputTokens: 1, outputTokens: 4, costUsd: 0.3 }));
    expect(totalUsage([usage({ inputTokens: 1 }), null, usage({ inputTokens: 2 })])?.inputTokens).toBe(3);
  });

  it('a part of a running total is the difference', () => {
    const before = usage({ inputTokens: 10, costUsd: 0.1 });
    expect(subtractUsage(usage({ inputTokens: 15, costUsd: 0.3 }), before)).toEqual(
      usage({ inputTokens: 5, costUsd: 0.2 }),
    );
    expect(subtractUsage(usage({ inputTokens: 15 }), null).inputTokens).toBe(15);
  });

  it('a total below the earlier one was counted anew', () => {
    const anew = usage({ inputTokens: 5, outputTokens: 99 });
    expect(subtractUsage(anew, usage({ inputTokens: 10, outputTokens: 1 }))).toEqual(anew);
  });

  it('taking away what was added gives back the rest', () => {
    fc.assert(
      fc.property(anyUsage, anyUsage, (a, b) => {
        const rest = subtractUsage(addUsage(a, b), a);
        for (const key of Object.keys(noUsage()) as (keyof Usage & string)[]) {
          if (a[key] !== null && b[key] !== null) expect(rest[key]).toBeCloseTo(b[key] as number, 6);
        }
      }),
    );
  });
});

describe('the cost of attempts', () => {
  const entry = (more: Partial<Attempt>): Attempt =>
    Attempt.parse({
      phase: 'p',
      status: 'success',
      startedAt: 'a',
      completedAt: 'b',
      agent: 'codex',
      ...more,
    });
  const cost = (usd: number | null) => ({ ...noUsage(), inputTokens: 1, costUsd: usd });

  it.each([
    ['an agent that reports no cost', entry({ usage: cost(null) }), true],
    ['an agent that reports nothing', entry({}), true],
    ['an agent that costs nothing', entry({ usage: cost(0) }), false],
    ['a script', entry({ agent: null }), false],
    ['an attempt that still runs', entry({ completedAt: null }), false],
    ['a key that was refused', entry({ error: { class: 'auth', message: '' } }), false],
  ])('of %s', (_, attempt, unknown) => {
    expect(isUnpriced(attempt)).toBe(unknown);
  });

  it.each([
    [1.2, 0, '$1.20'],
    [0.0123, 0, '$0.0123'],
    [0, 0, '$0.00'],
    [1.2, 2, 'at least $1.20'],
    [null, 0, 'cost unknown'],
    [null, 2, 'cost unknown'],
    [0, 2, 'cost unknown'],
  ])('%s with %i unknown parts is %s', (usd, unpriced, text) => {
    expect(costText(usd, unpriced)).toBe(text);
  });
});

describe('an estimate', () => {
  /** Tickets with one attempt each that took these seconds and dollars, the latest first. */
  const attempts = (phase: string, agent: string | null, ...took: [number, number | null][]) =>
    took.map(([seconds, costUsd]) => [
      Attempt.parse({
        phase,
        agent,
        status: 'success',
        startedAt: '2026-01-01T00:00:00.000Z',
        completedAt: new Date(Date.parse('2026-01-01T00:00:00.000Z') + seconds * 1000).toISOString(),
        usage: usage({ costUsd }),
      }),
    ]);
  const EXEC = attempts('exec', 'claude', [60, 1], [120, 2], [90, 1.5]);
  const WORK = [{ phase: 'exec', agent: 'claude' }];

  it('is a range of the same phase and agent, from three attempts on', () => {
    expect(estimate([WORK], EXEC, 1)).toEqual({
      seconds: { low: 60, high: 120 },
      usd: { low: 1, high: 2 },
      unpriced: false,
      missing: [],
    });
    expect(estimate([WORK], EXEC.slice(1), 1)).toBeNull();
    expect(estimate([[{ phase: 'exec', agent: 'codex' }]], EXEC, 1)).toBeNull();
    expect(estimate([[{ phase: 'qa', agent: 'claude' }]], EXEC, 1)).toBeNull();
    expect(estimate([], EXEC, 1)).toBeNull();
  });

  it('looks at the latest ten tickets, and at none that was interrupted or parked', () => {
    const old = attempts('exec', 'claude', [9000, 90]);
    const latest = attempts('exec', 'claude', ...Array.from({ length: 10 }, (): [number, number] => [60, 1]));
    expect(estimate([WORK], [...latest, ...old], 1)?.seconds).toEqual({ low: 60, high: 60 });
    const parked = EXEC.map((own) => own.map((entry) => ({ ...entry, status: 'limit' as const })));
    expect(estimate([WORK], parked, 1)).toBeNull();
  });

  it('adds phases and tickets, with time for as many at once as may run', () => {
    const checks = attempts('checks', null, [10, null], [10, null], [10, null]);
    const steps = [...WORK, { phase: 'checks', agent: null }, { phase: 'other', agent: null }];
    const all = [...EXEC, ...checks];
    expect(estimate([steps, steps], all, 1)).toEqual({
      seconds: { low: 140, high: 260 },
      usd: { low: 2, high: 4 },
      unpriced: false,
      missing: [],
    });
    expect(estimate([steps, steps], all, 3)?.seconds).toEqual({ low: 70, high: 130 });
  });

  it('names phases that are missing in it, and says where costs are unknown', () => {
    const qa = attempts('qa', 'codex', [5, null], [5, null], [5, null]);
    const steps = [...WORK, { phase: 'qa', agent: 'codex' }, { phase: 'spec', agent: 'claude' }];
    expect(estimate([steps], [...EXEC, ...qa], 1)).toEqual({
      seconds: { low: 65, high: 125 },
      usd: { low: 1, high: 2 },
      unpriced: true,
      missing: ['spec'],
    });
    expect(estimate([[{ phase: 'qa', agent: 'codex' }]], qa, 1)?.usd).toBeNull();
  });

  it('goes up to all attempts of the ticket that needed most, and to phases that only rework enters', () => {
    const [first = [], second = [], third = []] = EXEC;
    const fixes = attempts('fix', 'claude', [30, 1], [30, 1], [30, 1]).flat();
    const repeated = [
      [...first, ...second],
      [...third, ...fixes],
    ];
    expect(estimate([WORK], repeated, 1)).toMatchObject({
      seconds: { low: 60, high: 180 },
      usd: { low: 1, high: 3 },
    });
    const steps = [...WORK, { phase: 'fix', agent: 'claude', isRework: true }];
    expect(estimate([steps], repeated, 1)).toEqual({
      seconds: { low: 60, high: 270 },
      usd: { low: 1, high: 6 },
      unpriced: false,
      missing: [],
    });
    expect(estimate([steps], EXEC, 1)).toMatchObject({ usd: { low: 1, high: 2 }, missing: [] });
    expect(estimate([steps.slice(1)], repeated, 1)).toBeNull();
  });
});

describe('an unusual cost', () => {
  it.each([
    [9, [1, 1, 1, 9], null],
    [9, [1, 1, 1, 1, 9], 9],
    [3, [1, 1, 1, 1, 3], null],
    [3.1, [1, 1, 1, 1, 1, 3.1], 3.1],
    [7, [1, 1, 2, 2, 7, 7], 3.5],
    [7, [0, 0, 0, 0, 7], null],
  ])('%d among %j is %s times the median', (cost, costs, times) => {
    expect(timesMedian(cost, medianCost(costs))).toBe(times);
  });
});
