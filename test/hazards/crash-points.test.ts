import { describe, expect } from 'vitest';
import { CRASH_POINTS } from '../../src/engine/crash-points.ts';
import { git, isRunning, it, story, type World, worktreesOf } from '../support/index.ts';

const PHASES = [
  { id: 'build', type: 'agent', prompt: 'Build it.', expect: { commits: true }, onSuccess: 'check' },
  { id: 'check', type: 'script', command: 'check.sh', onSuccess: 'polish' },
  { id: 'polish', type: 'agent', prompt: 'Polish it.', expect: { commits: 2, clean: true } },
];

const DONE = { id: 'done', type: 'terminal' };

function prepare(world: World): void {
  world.agent('agent', 'alone; go; commit');
  world.script('check.sh', 'test -f README.md');
  world.workflow('work', PHASES);
  world.plan('p', { tickets: { a: {}, b: { blockedBy: ['a'] }, c: {} } });
}

/** Everything is done, each attempt once, and nothing is left lying about. */
function expectDone(world: World): void {
  expect(world.readPlan('p')).toMatchObject({ status: 'complete', claim: null });
  for (const id of ['a', 'b', 'c']) {
    const ticket = world.ticket('p', id);
    expect(ticket).toMatchObject({ status: 'complete', claim: null, hold: null, error: null });
    expect(story(ticket).filter((line) => !line.endsWith('interrupted'))).toEqual([
      'build success',
      'check success',
      'polish success',
    ]);
    const own = git(world.repo, 'show', `ticket/p/${id}:work-${id}.txt`);
    expect(own.split('\n').map((line) => line.split(' ')[0])).toEqual(['build', 'polish']);
    for (const phase of ['build', 'check', 'polish']) {
      const ends = world.calls('end', { ticket: `p/${id}` }).filter((call) => call.attempt.startsWith(phase));
      expect(ends, `${id} ${phase}`).toHaveLength(1);
    }
  }
  expect(world.calls('clash')).toEqual([]);
  expect(worktreesOf(world.repo)).toEqual([]);
}

describe('kill -9 of the engine', () => {
  for (const point of CRASH_POINTS.filter((name) => name !== 'attempt:running')) {
    it.concurrent(`at ${point}: the next runs converge and nothing runs twice`, { tags: 'full' }, async ({
      world,
    }) => {
      prepare(world);
      world.go();
      for (let times = 0; times < 2; times++) {
        const crashed = await world.start(['run', 'p'], { SIGNALBOX_CRASH_AT: point }).ended;
        expect(crashed).toMatchObject({ code: null, signal: 'SIGKILL' });
      }
      const { code, out, err } = await world.cli('run', 'p');
      expect(code, out + err).toBe(0);
      expectDone(world);
      expect(world.calls('start')).toHaveLength(9);
    });
  }

  it.concurrent('at attempt:running: the live agent is adopted, not restarted', async ({ world }) => {
    prepare(world);
    world.plan('p', { tickets: { a: {}, b: { blockedBy: ['a'] }, c: { blockedBy: ['b'] } } });
    const crashed = await world.start(['run', 'p'], { SIGNALBOX_CRASH_AT: 'attempt:running' }).ended;
    expect(crashed.signal).toBe('SIGKILL');
    const { pid } = await world.call('start', { ticket: 'p/a' });
    const second = world.start(['run', 'p']);
    await second.says('build taken over');
    expect(world.ticket('p', 'a').claim?.pid).toBe(second.pid);
    world.go();
    const { code, out, err } = await second.ended;
    expect(code, out + err).toBe(0);
    expectDone(world);
    expect(world.calls('end', { attempt: 'build.1.1', ticket: 'p/a' })).toMatchObject([{ pid }]);
    expect(world.calls('start')).toHaveLength(9);
  });

  it.concurrent('a command that finishes the plan also cleans up after the last ticket of the dead engine', async ({
    world,
  }) => {
    world.agent('agent', 'commit');
    world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build.', onSuccess: 'done' }, DONE]);
    world.plan('p', { tickets: { a: {}, b: { status: 'paused' } } });
    await world.start(['run', 'p'], { SIGNALBOX_CRASH_AT: 'attempt:closed' }).ended;
    expect(world.ticket('p', 'a')).toMatchObject({ status: 'complete', claim: { by: 'run' } });
    expect((await world.cli('skip', 'p', 'b', 'done')).code).toBe(0);
    expect(world.readPlan('p')).toMatchObject({ status: 'complete', claim: null });
    expect(world.ticket('p', 'a')).toMatchObject({ status: 'complete', claim: null });
    expect(worktreesOf(world.repo)).toEqual([]);
  });

  it.concurrent('and of its agent: the attempt is marked interrupted and run again', {
    tags: 'full',
  }, async ({ world }) => {
    prepare(world);
    const first = world.start(['run', 'p']);
    const { pid } = await world.call('start', { ticket: 'p/a' });
    await first.kill('SIGKILL');
    // The whole process group, as a power cut would: the supervisor leaves no exit record.
    process.kill(-supervisorOf(world, 'a'), 'SIGKILL');
    world.go();
    const { code, out, err } = await world.cli('run', 'p');
    expect(code, out + err).toBe(0);
    expect(story(world.ticket('p', 'a')).slice(0, 2)).toEqual(['build interrupted', 'build success']);
    expect(world.ticket('p', 'a').retries.build ?? 0).toBe(0);
    expect(world.calls('end', { pid })).toEqual([]);
    expectDone(world);
  });

  it.concurrent('after its agent had ended: the exit record is read, nothing runs again', {
    tags: 'full',
  }, async ({ world }) => {
    prepare(world);
    const first = world.start(['run', 'p']);
    await world.call('start', { ticket: 'p/a' });
    await world.call('start', { ticket: 'p/c' });
    await first.kill('SIGKILL');
    world.go();
    await world.call('end', { ticket: 'p/a' });
    const { code, out, err } = await world.cli('run', 'p');
    expect(code, out + err).toBe(0);
    expectDone(world);
    expect(world.calls('start')).toHaveLength(9);
  });

  it.concurrent('during a look of a poll: that look is ended, another is taken, the wait goes on', async ({
    world,
  }) => {
    world.script('look.sh', 'note look; [ -e "$1" ] || sleep 60');
    const args = [`${world.dir}/ready`];
    world.workflow('work', [
      { id: 'wait', type: 'poll', command: 'look.sh', args, capture: { x: 'echo 1' } },
    ]);
    world.plan('p', { tickets: { a: {} } });
    const first = world.start(['run', 'p']);
    const { pid } = await world.call('look');
    await first.kill('SIGKILL');
    world.append('ready', '');
    const { code, out, err } = await world.cli('run', 'p');
    expect(code, out + err).toBe(0);
    expect(isRunning(pid)).toBe(false);
    expect(story(world.ticket('p', 'a'))).toEqual(['wait success']);
    expect(world.calls('look').map((call) => call.attempt)).toEqual(['wait.1.1', 'wait.1.1']);
  });
});

function supervisorOf(world: World, ticketId: string): number {
  return Number(world.read(`home/state/jobs/p/${ticketId}/build.1.1/pid`).split('\n')[0]);
}
