import { describe, expect } from 'vitest';
import { tokensOf } from '../../src/model/limits/budget.ts';
import { attempts, it, SELECTED, usageOf, withModelServer } from './bench.ts';

withModelServer();

/** One that finds something more to do so many times; each one different, since some notice when they go in circles. */
const busy = (times: number) => Array.from({ length: times }, (_, i) => ({ do: [{ shell: `echo ${i}` }] }));
const DONE = { say: 'Done.' };

describe.each(SELECTED)('$name', (cli) => {
  it('is stopped by a budget of tokens at the next model call, or starts no more after its turn', async ({
    bench,
  }) => {
    bench.prepare(cli, [...busy(cli.reportsCalls ? 40 : 6), DONE], {}, {});
    bench.config({ budgets: { ticket: { tokens: 500 } } });
    const ticket = await bench.run();
    expect(ticket.hold).toMatchObject({ kind: 'budget', reason: expect.stringContaining('of 500 tokens') });
    expect(attempts(ticket).map(({ phase }) => phase)).toEqual(['build']);
    const [attempt] = attempts(ticket);
    expect(tokensOf(attempt?.usage ?? null)).toBeGreaterThanOrEqual(500);
    if (!cli.reportsCalls) return;
    expect(attempt).toMatchObject({ status: 'interrupted', error: { class: 'budget' } });
    expect(bench.requests.length).toBeLessThan(20);
  });

  it('is stopped by a budget of dollars if it reports them', async ({ bench }) => {
    const usd = cli.cost === 'own' ? 0.001 : 0.0004;
    bench.prepare(cli, [...busy(cli.cost === null ? 2 : 40), DONE], { budget: { usd } });
    const ticket = await bench.run();
    const [attempt] = attempts(ticket);
    if (cli.cost === null)
      return expect(attempt).toMatchObject({ status: 'success', usage: { costUsd: null } });
    expect(ticket.hold?.kind).toBe('budget');
    expect(attempt).toMatchObject({ status: 'interrupted', error: { class: 'budget' } });
    expect(attempt?.usage?.costUsd).toBeGreaterThan(0);
    expect(bench.requests.length).toBeLessThan(20);
  });

  it('keeps what it used when it is ended, and the next attempt has the rest', async ({ bench }) => {
    const scenario = [...busy(3), { hang: true as const }, ...(cli.reportsCalls ? busy(40) : []), DONE];
    bench.prepare(cli, scenario, { idleSeconds: cli.quiet, maxRetries: 1, budget: { tokens: 700 } });
    const ticket = await bench.run();
    const [first] = attempts(ticket);
    expect(first).toMatchObject({ status: 'failure', error: { class: 'idle' } });
    if (!cli.reportsCalls) return expect(first?.usage).toBeNull();
    const { inputTokens, costUsd } = usageOf(cli, 3);
    expect(first?.usage).toMatchObject({ inputTokens, ...(typeof costUsd === 'number' ? { costUsd } : {}) });
    if (cli.cost === 'own') expect(first?.usage?.costUsd).toBeGreaterThan(0);
    expect(ticket.hold?.kind).toBe('budget');
    expect(bench.requests.length).toBeLessThan(24);
  });
});
