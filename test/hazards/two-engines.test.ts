import { describe, expect } from 'vitest';
import { it, story, type World, waitFor } from '../support/index.ts';

const IDS = ['a', 'b', 'c', 'd', 'e', 'f'];

function prepare(world: World, plans = ['p']): void {
  world.agent('agent', 'alone; go; sleep 0.03; commit');
  world.workflow('work', [
    { id: 'build', type: 'agent', prompt: 'Build it.', expect: { commits: true }, onSuccess: 'polish' },
    { id: 'polish', type: 'agent', prompt: 'Polish it.' },
  ]);
  world.config({ maxConcurrency: 3 });
  for (const id of plans) world.plan(id, { tickets: Object.fromEntries(IDS.map((ticket) => [ticket, {}])) });
}

/** Every ticket is complete, no attempt ran twice and no two agents met in a directory. */
function expectOnce(world: World, plans = ['p']): void {
  expect(world.calls('clash')).toEqual([]);
  for (const plan of plans) {
    expect(world.readPlan(plan)).toMatchObject({ status: 'complete', claim: null });
    for (const id of IDS) {
      expect(story(world.ticket(plan, id))).toEqual(['build success', 'polish success']);
      expect(world.calls('start', { ticket: `${plan}/${id}` })).toHaveLength(2);
    }
  }
}

describe('two engines on one state directory', () => {
  it.concurrent('a second run of the same plan is refused and names the holder', async ({ world }) => {
    prepare(world);
    const first = world.start(['run', 'p']);
    await world.call('start');
    const second = await world.cli('run', 'p');
    expect(second.code).toBe(3);
    expect(second.err).toContain(`already being run by another process (pid ${first.pid} on `);
    expect(second.out).toBe('');
    world.go();
    expect((await first.ended).code).toBe(0);
    expectOnce(world);
  });

  it.concurrent('two runs started at the same moment: one runs, one is refused', async ({ world }) => {
    prepare(world);
    world.go();
    const both = await Promise.all([world.cli('run', 'p'), world.cli('run', 'p')]);
    expect(both.map((each) => each.code).sort()).toEqual([0, 3]);
    expectOnce(world);
  });

  it.concurrent.for([
    ['in all', { maxConcurrency: 1 }],
    ['per repository', { maxConcurrency: 8, maxPerRepository: 1 }],
  ] as const)(
    'all engines together keep to the limit %s, also when they start at the same moment',
    {
      tags: 'full',
    },
    async ([, limits], { world }) => {
      // A directory that only one agent can have tells when two are at work.
      world.agent(
        'agent',
        'mkdir "$SIGNALBOX_STATE_DIR/one" || note clash; commit; rmdir "$SIGNALBOX_STATE_DIR/one"',
      );
      world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build it.' }]);
      world.config(limits);
      const plans = ['p', 'q', 'r', 's'];
      for (const id of plans) world.plan(id, { tickets: { a: {}, b: {} } });
      const runs = await Promise.all(plans.map((id) => world.cli('run', id)));
      expect(runs.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
      expect(world.calls('clash')).toEqual([]);
    },
  );

  it.concurrent('a run keeps to the limit of a repository that two plans name differently, and says what a ticket waits for', {
    tags: 'full',
  }, async ({ world }) => {
    prepare(world, ['p', 'q']);
    world.editPlan('q', (plan) => Object.assign(plan, { repo: 'acme/scratch' }));
    world.config({ maxConcurrency: 3, maxPerRepository: 1, repos: { 'acme/scratch': world.repo } });
    const first = world.invoke(['run', 'p']);
    await world.call('start', { ticket: 'p/a' });
    const second = world.invoke(['run', 'q']);
    await second.says('waits for a free slot (maxPerRepository 1)');
    expect(world.calls('start')).toHaveLength(1);
    world.go();
    expect((await first.ended).code).toBe(0);
    expect((await second.ended).code).toBe(0);
    expectOnce(world, ['p', 'q']);
  });

  it.concurrent('a daemon leaves the plan of a run alone and takes the others', { tags: 'full' }, async ({
    world,
  }) => {
    prepare(world, ['p', 'q']);
    const run = world.start(['run', 'p']);
    await world.call('start', { ticket: 'p/a' });
    const daemon = world.start(['daemon', '-c', '6']);
    await world.call('start', { ticket: 'q/a' });
    expect(world.ticket('p', 'a').claim).toMatchObject({ pid: run.pid, by: 'run' });
    expect(world.ticket('q', 'a').claim).toMatchObject({ pid: daemon.pid, by: 'daemon' });
    world.go();
    const { code, out } = await run.ended;
    expect(code).toBe(0);
    await daemon.says('q: plan complete');
    expect((await daemon.kill('SIGTERM')).out).not.toContain(' p/');
    expect(out).not.toContain('q:');
    expectOnce(world, ['p', 'q']);
  });

  it.concurrent('a run joins a daemon that is at work on its plan, and waits for its tickets', {
    tags: 'full',
  }, async ({ world }) => {
    prepare(world);
    const daemon = world.start(['daemon', '-c', '2']);
    await world.call('start', { ticket: 'p/b' });
    const run = world.start(['run', 'p', '-c', '4']);
    await world.call('start', { ticket: 'p/d' });
    world.go();
    expect((await run.ended).code).toBe(0);
    await daemon.kill('SIGTERM');
    expectOnce(world);
  });

  it.concurrent('a second daemon says who holds the seat and exits with 3', async ({ world }) => {
    prepare(world);
    const first = world.start(['daemon']);
    await first.says('works on');
    const second = await world.cli('daemon');
    expect(second.code).toBe(3);
    expect(second.err).toContain(`A daemon is already running here: daemon (pid ${first.pid} on `);
    expect(second.err).toContain('signalbox daemon stop');
    const stopped = await world.cli('daemon', 'stop');
    expect(stopped.code).toBe(0);
    expect((await first.ended).code).toBe(0);
  });

  it.concurrent('ticks beside a daemon: no ticket runs twice', async ({ world }) => {
    prepare(world);
    world.go();
    const daemon = world.start(['daemon', '-c', '6']);
    const ticks = [world.cli('tick'), world.cli('tick'), world.cli('tick')];
    for (const id of IDS) await world.reaches('p', id, 'complete');
    for (const tick of await Promise.all(ticks)) expect(tick.code, tick.err).toBe(0);
    // Whoever ends the last ticket says it.
    await waitFor('the end of the plan', () => world.readPlan('p').status === 'complete');
    await daemon.kill('SIGTERM');
    expectOnce(world);
  });

  it.concurrent('a claim of a process that is gone, or of an earlier boot, holds nothing back', {
    tags: 'full',
  }, async ({ world }) => {
    prepare(world, []);
    world.go();
    const self = await import('../../src/machine/process-identity-and-signals.ts');
    const dead = {
      ...self.ownIdentity(),
      started: '1',
      token: 'x',
      by: 'run',
      renewedAt: '2020-01-01T00:00:00Z',
    };
    const rebooted = {
      ...self.ownIdentity(),
      boot: 'another',
      token: 'y',
      by: 'run',
      renewedAt: '2020-01-01T00:00:00Z',
    };
    const tickets = {
      a: { claim: dead, status: 'running' as const },
      b: { claim: rebooted, status: 'running' as const },
    };
    world.plan('q', { claim: dead, tickets });
    const { code, out, err } = await world.cli('run', 'q');
    expect(code, out + err).toBe(0);
    world.plan('r', { claim: dead, tickets });
    const tick = await world.cli('tick');
    expect(world.readPlan('r'), tick.out + tick.err).toMatchObject({ status: 'complete', claim: null });
  });

  it.concurrent('a claim of another host is honoured while that host renews it, and lost afterwards', async ({
    world,
  }) => {
    prepare(world);
    world.go();
    const claim = {
      host: 'elsewhere',
      boot: 'b',
      pid: 1,
      started: '1',
      token: 'far-away',
      by: 'daemon',
      renewedAt: '',
    };
    world.plan('q', { tickets: { a: { claim, status: 'running' } } });
    world.append('home/state/engines/far-away.json', '{}');
    const tick = await world.cli('tick');
    expect(tick.code, tick.err).toBe(0);
    expect(world.calls('start', { ticket: 'q/a' })).toEqual([]);
    world.age('home/state/engines/far-away.json', 120);
    await world.cli('run', 'q');
    expect(world.ticket('q', 'a')).toMatchObject({ status: 'complete', claim: null });
  });
});
