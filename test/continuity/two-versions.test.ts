import { describe, expect } from 'vitest';
import type { Running } from '../support/cli.ts';
import { firstOnly } from '../support/tiers.ts';
import { it, startOld, story, type World, waitFor } from './support.ts';

const IDS = ['a', 'b', 'c', 'd'];

type Start = (world: World, args: readonly string[]) => Running;

const startNew: Start = (world, args) => world.start(args);

function prepare(world: World): void {
  world.agent('agent', 'alone; go; commit');
  world.workflow('work', [
    { id: 'build', type: 'agent', prompt: 'Build it.', expect: { commits: true }, onSuccess: 'polish' },
    { id: 'polish', type: 'agent', prompt: 'Polish it.' },
  ]);
  world.config({ maxConcurrency: 4 });
  world.plan('p', { tickets: Object.fromEntries(IDS.map((id) => [id, {}])) });
}

/** Every ticket is complete, no attempt was made twice and no two agents met in a directory. */
function expectOnce(world: World): void {
  expect(world.calls('clash')).toEqual([]);
  expect(world.readPlan('p')).toMatchObject({ status: 'complete', claim: null });
  for (const id of IDS) {
    expect(story(world.ticket('p', id))).toEqual(['build success', 'polish success']);
    const calls = world.calls('start', { ticket: `p/${id}` });
    expect(calls.map(({ attempt }) => attempt)).toEqual(['build.1.1', 'polish.1.1']);
  }
}

const PAIRS: { first: string; start: Start; other: Start }[] = [
  { first: 'version 0.1', start: startOld, other: startNew },
  { first: 'this version', start: startNew, other: startOld },
];

describe.each(PAIRS)('a home that both versions use, $first first', ({ start, other }) => {
  const slow = firstOnly(start === startOld ? 0 : 1);

  it('no ticket runs twice with a daemon, a run, a tick and another daemon', slow, async ({ world }) => {
    prepare(world);
    const daemon = start(world, ['daemon', '-c', '2']);
    await world.call('start', {}, 2);
    const second = await other(world, ['daemon']).ended;
    expect(second.code, second.out + second.err).toBe(3);
    expect(second.err).toContain(String(daemon.pid));
    const run = other(world, ['run', 'p', '-c', '4']);
    await world.call('start', {}, 4);
    const tick = other(world, ['tick']);
    world.go();
    for (const each of [run, tick]) {
      const { code, out, err } = await each.ended;
      expect(code, out + err).toBe(0);
    }
    await waitFor('the end of the plan', () => world.readPlan('p').status === 'complete');
    const stopped = await other(world, ['daemon', 'stop']).ended;
    expect(stopped.code, stopped.out + stopped.err).toBe(0);
    expect((await daemon.ended).code).toBe(0);
    expectOnce(world);
  });

  it(
    'a plan that one runs is refused to the other, and taken over when the one was killed',
    slow,
    async ({ world }) => {
      prepare(world);
      const run = start(world, ['run', 'p']);
      await world.call('start', {}, 4);
      const refused = await other(world, ['run', 'p']).ended;
      expect(refused.code, refused.out + refused.err).toBe(3);
      expect(refused.err).toContain(`pid ${run.pid}`);
      await run.kill('SIGKILL');
      const heir = other(world, ['run', 'p']);
      await waitFor('the claims of the other', () =>
        IDS.every((id) => world.ticket('p', id).claim?.pid === heir.pid),
      );
      world.go();
      const { code, out, err } = await heir.ended;
      expect(code, out + err).toBe(0);
      expectOnce(world);
    },
  );
});
