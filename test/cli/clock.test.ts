import fc from 'fast-check';
import { describe, expect, it as test } from 'vitest';
import { steadyClock } from '../../src/engine/context.ts';
import { it, type Shown, setUp } from './support.ts';

const DAY = 86_400_000;
const tomorrow = () => new Date(Date.now() + DAY).toISOString();

describe('the clock of a process', () => {
  test('goes on when the wall clock is set back', () => {
    let wall = 1_000_000;
    let steady = 0;
    const now = steadyClock(
      () => wall,
      () => steady,
    );
    expect(now()).toBe(new Date(1_000_000).toISOString());
    steady += 5_000;
    wall += 5_000 - DAY;
    expect(now()).toBe(new Date(1_005_000).toISOString());
    steady += 1_000;
    wall += 1_000;
    expect(now()).toBe(new Date(1_006_000).toISOString());
  });

  test('follows the wall clock over a sleep of the machine', () => {
    let wall = 1_000_000;
    const now = steadyClock(
      () => wall,
      () => 0,
    );
    wall += DAY;
    expect(now()).toBe(new Date(1_000_000 + DAY).toISOString());
  });

  test('never goes back as long as the wall clock is only ever set back', () => {
    const step = fc.record({ pass: fc.nat(DAY), back: fc.nat(DAY) });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        let wall = 1_700_000_000_000;
        let steady = 0;
        const now = steadyClock(
          () => wall,
          () => steady,
        );
        let last = now();
        for (const { pass, back } of steps) {
          steady += pass;
          wall += pass - back;
          expect(Date.parse(now())).toBeGreaterThanOrEqual(Date.parse(last));
          last = now();
        }
      }),
    );
  });
});

describe.concurrent('after the clock was set back by a day', () => {
  it('a ticket that waits until tomorrow, since tomorrow, goes on', async ({ world }) => {
    for (const [id, kind] of Object.entries({ limit: 'limit', again: 'backoff' } as const)) {
      const hold = { kind, reason: 'was told to wait', until: tomorrow() };
      setUp(world, 'commit', {});
      world.plan(id, { tickets: { a: { status: 'ready', currentPhase: 'build', hold, since: tomorrow() } } });
      expect((await world.cli('run', id)).code).toBe(0);
    }
  });

  it('a ticket of a run that died tomorrow is taken over', async ({ world }) => {
    setUp(world, 'note working; go; commit');
    const run = world.start(['run', 'p']);
    await world.call('working');
    await run.kill('SIGKILL');
    const { claim, phaseHistory, ...ticket } = world.ticket('p', 'a');
    world.writeTicket('p', 'a', {
      ...ticket,
      since: tomorrow(),
      claim: { ...claim, renewedAt: tomorrow() },
      phaseHistory: phaseHistory.map((entry) => ({ ...entry, startedAt: tomorrow() })),
    });
    world.go();
    expect((await world.cli('run', 'p')).code).toBe(0);
    expect(world.calls('start')).toHaveLength(1);
  });

  it('times in the future are shown as now', async ({ world }) => {
    setUp(world, 'commit', { a: { status: 'failed', error: 'no', since: tomorrow() } });
    expect((await world.cli('status')).out).toMatch(/ 0 s ago/);
    const { tickets } = await world.json<Shown>('status', '--plan', 'p');
    expect(tickets[0]?.why).toBe('no');
  });

  it('a wait that was rightly set for tomorrow is kept', async ({ world }) => {
    const until = tomorrow();
    const hold = { kind: 'limit' as const, reason: 'weekly limit', until };
    setUp(world, 'commit', {
      a: { status: 'ready', currentPhase: 'build', hold, since: new Date().toISOString() },
    });
    expect((await world.cli('tick')).code).toBe(0);
    expect(world.calls()).toEqual([]);
    expect((await world.cli('status')).out).toMatch(/usage limit: weekly limit \(until 20.*\)/);
  });
});
