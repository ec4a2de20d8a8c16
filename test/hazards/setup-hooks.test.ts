import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { isRunning, it, story, type World, waitFor } from '../support/index.ts';

/** A setup command that takes as long as the test wants, with a helper of its own outside its process group. */
function prepare(world: World): void {
  const { dir } = world;
  const wait = `echo $$ >> ${dir}/hooks; while [ -d ${dir} ] && [ ! -e ${dir}/done ]; do sleep 0.03; done`;
  const hook = `setsid sh -c '${wait}' & ${wait}; wait; echo finished >> ${dir}/finished`;
  world.config({ hooks: { afterCreate: [hook] } });
  world.agent('agent', `alone; cp ${dir}/finished ${dir}/seen; commit`);
  world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build.', expect: { commits: true } }]);
  world.plan('p', { tickets: { a: {} } });
}

const hooksOf = (world: World) =>
  world.exists('hooks') ? world.read('hooks').trim().split('\n').map(Number) : [];

/** Waits for the nth pair of processes of the hook. */
async function atWork(world: World, nth = 1): Promise<number[]> {
  await waitFor(`hook ${nth}`, () => hooksOf(world).length >= 2 * nth);
  return hooksOf(world).slice(2 * nth - 2, 2 * nth);
}

async function finishes(world: World, again = world.start(['run', 'p'])): Promise<void> {
  world.append('done', '');
  const run = await again.ended;
  expect(run.code, run.out + run.err).toBe(0);
  expect(story(world.ticket('p', 'a')).at(-1)).toBe('build success');
  // The hook ran to its end exactly once, and before the agent began.
  expect(world.read('finished')).toBe('finished\n');
  expect(world.read('seen')).toBe('finished\n');
}

describe('a setup hook', () => {
  it.concurrent('that outlived its engine is over before the next one begins', { tags: 'full' }, async ({
    world,
  }) => {
    prepare(world);
    const run = world.start(['run', 'p']);
    const first = await atWork(world);
    await run.kill('SIGKILL');
    expect(first.map(isRunning)).toEqual([true, true]);
    const again = world.start(['run', 'p']);
    await atWork(world, 2);
    expect(first.map(isRunning)).toEqual([false, false]);
    await finishes(world, again);
    expect(world.calls('clash')).toEqual([]);
  });

  it.concurrent('that outlived its engine is ended by pause', { tags: 'full' }, async ({ world }) => {
    prepare(world);
    const run = world.start(['run', 'p']);
    const pids = await atWork(world);
    await run.kill('SIGKILL');
    const paused = await world.cli('pause', 'p', 'a');
    expect(paused.code, paused.err).toBe(0);
    expect(pids.map(isRunning)).toEqual([false, false]);
    expect(world.ticket('p', 'a')).toMatchObject({ status: 'paused', claim: null });
    await world.cli('resume', 'p', 'a');
    await finishes(world);
  });

  it.concurrent.for(['pause', 'stop'])(
    'ends at once on %s, and runs again on resume',
    { tags: 'full' },
    async (verb, { world }) => {
      prepare(world);
      const run = world.start(['run', 'p']);
      const pids = await atWork(world);
      const done = await world.cli(verb, 'p', 'a');
      expect(done.code, done.err).toBe(0);
      expect(pids.map(isRunning)).toEqual([false, false]);
      expect(world.ticket('p', 'a')).toMatchObject({ status: 'paused', claim: null, error: null });
      expect(world.calls('start')).toEqual([]);
      expect((await run.ended).code).toBe(1);
      const resumed = await world.cli('resume', 'p', 'a');
      expect(resumed.code, resumed.err).toBe(0);
      await finishes(world);
      expect(world.ticket('p', 'a').retries.build ?? 0).toBe(0);
    },
  );

  it.concurrent('ends with Ctrl-C', { tags: 'full' }, async ({ world }) => {
    prepare(world);
    const run = world.start(['run', 'p']);
    const pids = await atWork(world);
    const ended = await run.kill('SIGINT');
    expect(ended.code, ended.err).toBe(130);
    expect(pids.map(isRunning)).toEqual([false, false]);
    expect(world.ticket('p', 'a')).toMatchObject({ status: 'paused', claim: null });
    await world.cli('resume', 'p');
    await finishes(world);
  });

  it.concurrent('ends with the daemon', async ({ world }) => {
    prepare(world);
    const daemon = world.start(['daemon']);
    const pids = await atWork(world);
    const stopped = await world.cli('daemon', 'stop');
    expect(stopped.code, stopped.err).toBe(0);
    expect((await daemon.ended).code).toBe(0);
    expect(pids.map(isRunning)).toEqual([false, false]);
    expect(world.ticket('p', 'a')).toMatchObject({ status: 'ready', claim: null, hold: null });
    await finishes(world);
  });

  it.concurrent('of a worktree that is made again is finished before the agent, whoever was killed', {
    tags: 'full',
  }, async ({ world }) => {
    prepare(world);
    world.append('done', '');
    world.workflow('work', [
      {
        id: 'build',
        type: 'agent',
        maxVisits: 3,
        prompt: 'Build.',
        expect: { commits: true },
        onSuccess: 'rest',
      },
      { id: 'rest', type: 'gate', prompt: 'Enough?', on: { yes: 'over', no: 'build' } },
      { id: 'over', type: 'terminal' },
    ]);
    expect((await world.cli('run', 'p')).code).toBe(1);
    // Given back by hand while a person thinks about it; the work is on its branch.
    const released = await world.cli('workspace', 'release', 'p', 'a');
    expect(released.code, released.out + released.err).toBe(0);
    expect(world.exists('worktrees/ticket/p/a')).toBe(false);
    world.remove(join(world.dir, 'done'));
    const answered = await world.cli('respond', 'p', 'a', 'no', 'Once more.');
    expect(answered.code, answered.err).toBe(0);
    const run = world.start(['run', 'p']);
    await atWork(world, 2);
    await run.kill('SIGKILL');
    const again = world.start(['run', 'p']);
    await atWork(world, 3);
    expect(world.calls('start')).toHaveLength(1);
    await again.kill('SIGKILL');
    await world.cli('pause', 'p', 'a');
  });
});
