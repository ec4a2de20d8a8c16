import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type AppliedBudgetInput,
  appliedBudgets,
  type Budgets,
  leftOf,
  nearlyUsedUp,
  noLaunchLeft,
  overdrawn,
  spentDollars,
  spentText,
  spentToday,
  usedUp,
} from '../../../src/model/limits/budget.ts';
import { noUsage } from '../../../src/model/limits/usage-cost-and-estimate.ts';
import type { Usage } from '../../../src/model/ticket.ts';
import { at, attempt, NOW, plan, ticket } from '../build.ts';

const NONE: Budgets = { phase: {}, ticket: {}, plan: {}, day: {}, unknown: 'allow' };
const used = (costUsd: number | null, tokens: number | null = null) => ({
  ...noUsage(),
  costUsd,
  inputTokens: tokens,
});
const work = (phase: string, costUsd: number | null, more: Record<string, unknown> = {}) =>
  attempt(phase, 'success', {
    agent: 'claude',
    usage: used(costUsd, 10),
    startedAt: at(-60),
    ...more,
  });

function input(budgets: Partial<Budgets>, more: Partial<AppliedBudgetInput> = {}): AppliedBudgetInput {
  const own = ticket({ phaseHistory: [work('build', 1), work('review', 2), attempt('setup', 'success')] });
  const sibling = ticket({ ticketId: 'u', phaseHistory: [work('build', 4)] });
  const stranger = ticket({ planId: 'q', phaseHistory: [work('build', 8)] });
  return {
    plan: plan(),
    ticket: own,
    phase: { id: 'build' },
    tickets: [own, sibling, stranger],
    budgets: { ...NONE, ...budgets },
    now: NOW,
    ...more,
  };
}

describe('what was spent', () => {
  it.each<['phase' | 'ticket' | 'plan' | 'day', number, number]>([
    ['phase', 1, 1],
    ['ticket', 3, 2],
    ['plan', 7, 3],
    ['day', 15, 4],
  ])('of a budget for the %s', (scope, usd, launches) => {
    const [one] = appliedBudgets(input({ [scope]: { usd: 100 } }));
    expect(one).toMatchObject({
      scope,
      spent: { usd, launches, tokens: launches * 10, seconds: launches * 60 },
    });
  });

  it('counts every process of an attempt, and what others are about to start', () => {
    const own = ticket({ phaseHistory: [work('build', 1, { launches: 3 })] });
    const tickets = [own, ticket({ ticketId: 'u' })];
    const pending = [
      { planId: 'p', ticketId: 't' },
      { planId: 'p', ticketId: 'u' },
      { planId: 'q', ticketId: 'u' },
    ];
    const budget = { launches: 100 };
    const asked = input({ ticket: budget, plan: budget, day: budget }, { ticket: own, tickets, pending });
    expect(appliedBudgets(asked).map(({ spent }) => spent.launches)).toEqual([3, 4, 5]);
  });

  it('is not counted where nothing is limited', () => {
    expect(appliedBudgets(input({}))).toEqual([]);
  });

  it('leaves the attempt under way out, and takes those of others as far as they have come', () => {
    const open = attempt('build', 'running', { agent: 'claude', usage: used(50), startedAt: at(-5) });
    const own = ticket({ phaseHistory: [work('build', 1), open] });
    const other = ticket({ ticketId: 'u', phaseHistory: [open] });
    const [one] = appliedBudgets(input({ plan: { usd: 100 } }, { ticket: own, tickets: [own, other] }));
    expect(one?.spent).toMatchObject({ usd: 51, seconds: 65, launches: 2 });
  });

  it('counts for the day on which it ended', () => {
    const yesterday = work('build', 5, { startedAt: at(-90_000), completedAt: at(-86_400) });
    const overnight = work('build', 3, { startedAt: at(-50_000), completedAt: at(-10) });
    const own = ticket({ phaseHistory: [yesterday, overnight] });
    const [one] = appliedBudgets(input({ day: { usd: 9 } }, { ticket: own, tickets: [own] }));
    expect(one?.spent).toMatchObject({ usd: 3, launches: 0 });
  });

  it('has the same sums with a memory as without', () => {
    const sums = new Map();
    const budgets = { plan: { usd: 1 }, day: { usd: 1 } };
    expect(appliedBudgets(input(budgets, { sums }))).toEqual(appliedBudgets(input(budgets)));
    expect(sums.size).toBe(2);
    expect(appliedBudgets(input(budgets, { sums }))).toEqual(appliedBudgets(input(budgets)));
  });
});

describe('before a start', () => {
  it.each<[string, Partial<Budgets>, Partial<AppliedBudgetInput>, string | null]>([
    ['nothing is limited', {}, {}, null],
    ['something is left', { ticket: { usd: 3.01 } }, {}, null],
    ['all is spent', { ticket: { usd: 3 } }, {}, 'the ticket’s budget is used up: $3.00 of $3.00'],
    ['launches', { plan: { launches: 3 } }, {}, 'the plan’s budget is used up: 3 launches of 3 launches'],
    ['tokens', { phase: { tokens: 10 } }, {}, 'the phase’s budget is used up: 10 tokens of 10 tokens'],
    ['time', { phase: { seconds: 59 } }, {}, 'the phase’s budget is used up: 60 s of 59 s'],
    [
      'nothing may be spent',
      { day: { usd: 0 } },
      { tickets: [], ticket: ticket() },
      'today’s budget is used up: $0.00 of $0.00',
    ],
    ['a phase’s own goes first', { phase: { usd: 1 } }, { phase: { id: 'build', budget: { usd: 2 } } }, null],
    [
      'a plan’s own goes first',
      { plan: { usd: 50 } },
      { plan: plan({ budget: { usd: 5 } }) },
      'the plan’s budget is used up: $7.00 of $5.00',
    ],
  ])('%s', (_, budgets, more, reason) => {
    const asked = input(budgets, more);
    expect(usedUp(appliedBudgets(asked), 'allow', NOW)?.reason ?? null).toBe(reason);
  });

  it.each(['phase', 'ticket', 'plan', 'day'] as const)(
    'of an unknown cost for the %s names the phase and the ticket, until a person has looked',
    (scope) => {
      const own = ticket({ phaseHistory: [work('build', null, { completedAt: at(-10) })] });
      const why = (lookedAt?: string) => {
        const asked = { ...own, ...(lookedAt ? { lookedAt } : {}) };
        const applied = appliedBudgets(input({ [scope]: { usd: 100 } }, { ticket: asked, tickets: [asked] }));
        return usedUp(applied, 'block', NOW)?.reason;
      };
      expect(why()).toContain('the cost of phase build of p/t is unknown');
      expect(why(at(-11))).toBe(why());
      expect(why(at(-5))).toBeUndefined();
    },
  );

  it('the day’s ends at midnight, any other by a person', () => {
    const until = (budgets: Partial<Budgets>) => usedUp(appliedBudgets(input(budgets)), 'allow', NOW)?.until;
    expect(until({ day: { usd: 1 } })).toBe('2026-01-02T00:00:00.000Z');
    expect(until({ ticket: { usd: 1 } })).toBeNull();
  });

  it.each<[string, Record<string, unknown>, boolean]>([
    ['a cost that nobody knows', { usage: used(null, 5) }, true],
    ['no usage at all', { usage: null }, true],
    [
      'one that never came to a model',
      { usage: null, status: 'failure', error: { class: 'auth', message: '' } },
      false,
    ],
    [
      'one that had no workspace to begin in',
      { usage: null, status: 'failure', error: { class: 'workspace', message: '' } },
      false,
    ],
    [
      'one that broke its workspace',
      { usage: noUsage(), status: 'failure', error: { class: 'workspace', message: '' } },
      true,
    ],
    ['a known one', {}, false],
    [
      'one that met a limit in its work',
      { usage: null, status: 'limit', error: { class: 'limit', message: '' } },
      true,
    ],
    [
      'one that met a limit before its work',
      { usage: used(0, 0), status: 'limit', error: { class: 'limit', message: '' } },
      false,
    ],
  ])('blocks on request after %s', (_, more, blocks) => {
    const own = ticket({ phaseHistory: [work('build', 1, more)] });
    const applied = appliedBudgets(input({ ticket: { usd: 100 } }, { ticket: own, tickets: [own] }));
    expect(usedUp(applied, 'allow', NOW)).toBeNull();
    expect(usedUp(applied, 'block', NOW) !== null).toBe(blocks);
  });
});

describe('while it runs', () => {
  it.each([
    [3.99, null],
    [4, '80 % of the ticket’s budget is used: $4.00 of $5.00'],
    [4.99, '99 % of the ticket’s budget is used: $4.99 of $5.00'],
    [5, null],
  ])('says that little is left after $%d', (costUsd, text) => {
    const own = ticket();
    const applied = appliedBudgets(input({ ticket: { usd: 5 } }, { ticket: own, tickets: [own] }));
    expect(nearlyUsedUp(applied, { ...noUsage(), costUsd }).map((each) => each.text)).toEqual(
      text ? [text] : [],
    );
  });

  const now = (usage: Usage | null) => ({ usage, seconds: 0, ago: 0 });

  it('ends when it has used what the tightest budget leaves', () => {
    const applied = appliedBudgets(input({ ticket: { usd: 5 }, plan: { usd: 8 }, phase: { tokens: 100 } }));
    expect(leftOf(applied, 'usd')).toBe(1);
    expect(overdrawn(applied, now(used(0.99)), NOW)).toBeNull();
    expect(overdrawn(applied, now(used(1)), NOW)).toMatchObject({ kind: 'budget', until: null });
    expect(overdrawn(applied, now(used(0, 90)), NOW)?.reason).toContain('100 tokens');
    expect(overdrawn(applied, now({ ...used(0, 80), cacheWriteTokens: 10 }), NOW)).not.toBeNull();
    expect(overdrawn(applied, now(null), NOW)).toBeNull();
  });

  it('shares its time with those at work beside it', () => {
    const open = attempt('build', 'running', { agent: 'claude', startedAt: at(-5) });
    const own = ticket({ phaseHistory: [open] });
    const others = ['u', 'v'].map((ticketId) => ticket({ ticketId, phaseHistory: [open] }));
    const [one] = appliedBudgets(
      input({ plan: { seconds: 15 } }, { ticket: own, tickets: [own, ...others] }),
    );
    expect(one).toMatchObject({ running: 2, spent: { seconds: 10 } });
    const ends = (seconds: number, ago: number) =>
      overdrawn(one ? [one] : [], { usage: null, seconds, ago }, NOW)?.reason;
    expect(ends(4.9, 0)).toBeUndefined();
    expect(ends(5, 0)).toBe('the plan’s budget is used up: 15 s of 15 s');
    expect(ends(3, 0.9)).toBeUndefined();
    expect(ends(3, 1)).toBeDefined();
  });

  it('may start a second process only while a launch is left', () => {
    const applied = appliedBudgets(input({ ticket: { launches: 4 } }));
    expect(noLaunchLeft(applied, 1, NOW)).toBeNull();
    expect(noLaunchLeft(applied, 2, NOW)?.reason).toBe(
      'the ticket’s budget is used up: 4 launches of 4 launches',
    );
  });

  it('whoever may not start would be over at once, and the other way round', () => {
    const money = fc.integer({ min: 0, max: 40 });
    fc.assert(
      fc.property(money, money, (spent, most) => {
        const own = ticket({ phaseHistory: [work('build', spent)] });
        const applied = appliedBudgets(input({ ticket: { usd: most } }, { ticket: own, tickets: [own] }));
        const refused = usedUp(applied, 'allow', NOW) !== null;
        expect(refused).toBe(overdrawn(applied, now(null), NOW) !== null);
        expect(refused).toBe(leftOf(applied, 'usd') === 0);
      }),
    );
  });
});

describe('what was spent today', () => {
  const spent = (...phaseHistory: ReturnType<typeof attempt>[]) =>
    spentToday({ tickets: [ticket({ phaseHistory })], budgets: { day: { usd: 50 } }, now: NOW });

  it('counts attempts that ended today or are running, and those with an unknown cost', () => {
    const yesterday = { startedAt: at(-90_000), completedAt: at(-86_400) };
    const open = attempt('build', 'running', { agent: 'claude', usage: used(0.5), startedAt: at(-90_000) });
    expect(spent(work('a', 1), work('b', 2, yesterday), work('c', null), open)).toEqual({
      usd: 1.5,
      unpriced: 1,
      budgetUsd: 50,
    });
  });

  it.each([
    [[], 'plan $0.00 of $5.00 (0 %)'],
    [[1], 'plan $1.00 of $5.00 (20 %)'],
    [[1, null], 'plan at least $1.00 of $5.00 (20 %)'],
    [[null], 'plan cost unknown, limit $5.00'],
  ])('is shown beside a budget after attempts that cost %j', (costs, text) => {
    const own = ticket({ phaseHistory: costs.map((cost) => work('build', cost)) });
    const asked = plan({ id: own.planId });
    const budgets = { ...NONE, plan: { usd: 5 } };
    expect(spentDollars({ plan: asked, tickets: [own], budgets, now: NOW }).map(spentText)).toEqual([text]);
  });

  it('is unknown where no cost is, and leaves out what no agent did', () => {
    const script = attempt('checks', 'success', { usage: used(3) });
    expect(spent(script)).toEqual({ usd: null, unpriced: 0, budgetUsd: 50 });
    expect(spentToday({ tickets: [], budgets: { day: {} }, now: NOW }).budgetUsd).toBeNull();
  });
});
