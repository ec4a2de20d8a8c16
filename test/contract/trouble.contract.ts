import { describe, expect } from 'vitest';
import { waitFor } from '../support/wait-for.ts';
import { story } from '../support/world.ts';
import { attempts, it, SELECTED, secondsOf, withModelServer } from './bench.ts';

withModelServer();

describe.each(SELECTED)('$name', (cli) => {
  it('is parked by a usage limit until its reset, and goes on in its session', async ({ bench }) => {
    const before = Date.now();
    bench.prepare(
      cli,
      [
        { say: 'Beginning.', do: [{ shell: 'true' }] },
        { fail: { kind: 'limit', resetInSeconds: 20 } },
        { say: 'Done.' },
      ],
      { idleSeconds: cli.quiet },
    );
    const run = bench.start(['run', 'p']);
    const state = () => JSON.stringify(bench.ticket('p', 't').phaseHistory) + run.out + run.err;
    const parked = await waitFor(
      'a ticket held by the limit',
      () => {
        const ticket = bench.ticket('p', 't');
        return ticket.hold?.kind === 'limit' && ticket.claim === null ? ticket : undefined;
      },
      { timeoutMs: 90_000, state },
    );
    expect(parked).toMatchObject({ status: 'ready', retries: {} });
    const until = (Date.parse(parked.hold?.until ?? '') - before) / 1000;
    expect(until).toBeGreaterThan(15);
    expect(until).toBeLessThan(120);
    expect((await run.ended).code).toBe(0);
    const done = bench.ticket('p', 't');
    expect(story(done)).toEqual(['build limit', 'build success']);
    expect(done.phaseHistory[1]?.sessionId).toBe(done.phaseHistory[0]?.sessionId);
    expect(Date.parse(done.phaseHistory[1]?.startedAt ?? '')).toBeGreaterThanOrEqual(
      Date.parse(parked.hold?.until ?? ''),
    );
  });

  it('is parked by a limit that tells no reset', async ({ bench }) => {
    bench.prepare(cli, [{ fail: { kind: 'limit' } }], { idleSeconds: cli.quiet });
    const run = bench.start(['run', 'p']);
    const state = () => JSON.stringify(bench.ticket('p', 't').phaseHistory) + run.out + run.err;
    const look = () => bench.ticket('p', 't').hold?.kind === 'limit';
    await waitFor('a ticket held by the limit', look, { timeoutMs: 90_000, state });
    expect(story(bench.ticket('p', 't'))).toEqual(['build limit']);
  });

  it('fails with one clear error in seconds when the key is refused', async ({ bench }) => {
    bench.prepare(cli, [{ fail: { kind: 'auth' } }], { maxRetries: 2 });
    const [attempt, ...more] = attempts(await bench.run());
    expect(more).toEqual([]);
    expect(attempt).toMatchObject({ status: 'failure', error: { class: 'auth' } });
    if (attempt) expect(secondsOf(attempt)).toBeLessThan(20);
    expect(bench.requests.length).toBeLessThanOrEqual(3);
  });

  it('comes through an overload', async ({ bench }) => {
    bench.prepare(cli, [{ fail: { kind: 'overloaded' } }, { say: 'Done.' }], {
      maxRetries: undefined,
      retry: { max: 1, delaySeconds: 2 },
    });
    const ticket = await bench.run();
    expect(ticket.status).toBe('complete');
    if (cli.retriesItself) return;
    const [first, second] = ticket.phaseHistory;
    expect(first).toMatchObject({ status: 'failure', error: { class: 'overloaded' } });
    const wait = Date.parse(second?.startedAt ?? '') - Date.parse(first?.completedAt ?? '');
    expect(wait).toBeGreaterThanOrEqual(1900);
  });

  it('does not take words for success when the provider then refuses', async ({ bench }) => {
    const words = { say: 'Success: everything is done.', do: [{ shell: 'true' }] };
    bench.prepare(cli, [words, { fail: { kind: 'billing' } }], {});
    const [attempt] = attempts(await bench.run());
    expect(attempt).toMatchObject({ status: 'failure', error: { class: 'billing' } });
  });

  it('says that the context is full, or makes room', async ({ bench }) => {
    const words = { say: 'Success: everything is done.', do: [{ shell: 'true' }] };
    bench.prepare(cli, [words, { fail: { kind: 'context' } }, { say: 'Done.' }], {});
    const [attempt] = attempts(await bench.run());
    if (cli.compacts) expect(attempt).toMatchObject({ status: 'success', output: 'Done.' });
    else expect(attempt).toMatchObject({ status: 'failure', error: { class: 'context' } });
  });

  it('comes through a stream that breaks off', async ({ bench }) => {
    bench.prepare(cli, [{ say: 'This will be cut short.', end: 'cut' }, { say: 'Done.' }], { maxRetries: 1 });
    const ticket = await bench.run();
    expect(ticket.status).toBe('complete');
    for (const attempt of ticket.phaseHistory.slice(0, -1)) expect(attempt.error?.class).toBe('overloaded');
  });

  it('waits for a slow stream', async ({ bench }) => {
    bench.prepare(cli, [{ say: 'Slowly, one piece at a time.', everyMs: 400 }], { idleSeconds: cli.quiet });
    expect(story(await bench.run())).toEqual(['build success']);
  });

  it.for([['hang', { hang: true }] as const, ['stall', { say: 'And now…', end: 'stall' }] as const])(
    'is stopped when the provider falls silent: %s',
    async ([, reply], { bench }) => {
      bench.prepare(cli, [reply], { idleSeconds: cli.quiet });
      const [attempt] = attempts(await bench.run());
      expect(attempt).toMatchObject({ status: 'failure', error: { class: 'idle' } });
      expect(await bench.left()).toEqual([]);
    },
  );
});
