import { describe, expect } from 'vitest';
import { waitFor } from '../support/wait-for.ts';
import { story } from '../support/world.ts';
import { it, SELECTED, withModelServer } from './bench.ts';

withModelServer();

describe.each(SELECTED)('$name', (cli) => {
  it('is parked by a usage limit until its reset, and continues its session', async ({ bench }) => {
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
    const state = () => JSON.stringify(bench.ticket('p', 't').phaseHistory) + run.soFar;
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

  it('is parked by a limit that names no reset', async ({ bench }) => {
    bench.prepare(cli, [{ fail: { kind: 'limit' } }], { idleSeconds: cli.quiet });
    const run = bench.start(['run', 'p']);
    const state = () => JSON.stringify(bench.ticket('p', 't').phaseHistory) + run.soFar;
    const look = () => bench.ticket('p', 't').hold?.kind === 'limit';
    await waitFor('a ticket held by the limit', look, { timeoutMs: 90_000, state });
    expect(story(bench.ticket('p', 't'))).toEqual(['build limit']);
  });
});
