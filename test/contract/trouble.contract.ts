import { describe, expect } from 'vitest';
import { attempts, it, SELECTED, secondsOf, withModelServer } from './bench.ts';

withModelServer();

describe.each(SELECTED)('$name', (cli) => {
  it('fails with one clear error in seconds when the key is refused', async ({ bench }) => {
    bench.prepare(cli, [{ fail: { kind: 'auth' } }], { maxRetries: 2 });
    const [attempt, ...more] = attempts(await bench.run());
    expect(more).toEqual([]);
    expect(attempt).toMatchObject({ status: 'failure', error: { class: 'auth' } });
    if (attempt) expect(secondsOf(attempt)).toBeLessThan(20);
    expect(bench.requests.length).toBeLessThanOrEqual(3);
  });

  it('comes through an overload', async ({ bench }) => {
    const work = { say: 'Working.', do: [{ shell: 'true' }] };
    bench.prepare(cli, [work, { fail: { kind: 'overloaded' } }, { say: 'Done.' }], { maxRetries: 0 });
    const ticket = await bench.run();
    expect(ticket.status).toBe('complete');
    if (cli.retriesItself) return;
    const [first, second] = ticket.phaseHistory;
    expect(first).toMatchObject({ status: 'interrupted', error: { class: 'overloaded' } });
    const wait = Date.parse(second?.startedAt ?? '') - Date.parse(first?.completedAt ?? '');
    expect(wait).toBeGreaterThanOrEqual(5000);
    expect(second?.sessionId).toBe(first?.sessionId);
  });

  it('does not take words for success when the provider then refuses', async ({ bench }) => {
    const words = { say: 'Success: everything is done.', do: [{ shell: 'true' }] };
    bench.prepare(cli, [words, { fail: { kind: 'billing' } }], {});
    const [attempt] = attempts(await bench.run());
    expect(attempt).toMatchObject({ status: 'failure', error: { class: 'billing' } });
    if (attempt) expect(secondsOf(attempt)).toBeLessThan(40);
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
});
