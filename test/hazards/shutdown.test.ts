import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { isRunning, it, story, type World, waitFor } from '../support/index.ts';

function prepare(world: World): void {
  world.agent('agent', 'alone; note at; go; commit');
  world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build.', expect: { commits: true } }]);
  world.plan('p', { tickets: { a: {}, b: {}, c: { order: 1 }, d: { blockedBy: ['a'] } } });
}

async function twoAtWork(world: World): Promise<number[]> {
  const calls = [await world.call('at', { ticket: 'p/a' }), await world.call('at', { ticket: 'p/b' })];
  return calls.map((call) => call.pid);
}

/** The shells that an engine keeps to start git. */
function keptShells(engine: number): number[] {
  const processes = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' });
  return [...processes.matchAll(/^ *(\d+) +(\d+) \/bin\/sh -s$/gm)]
    .filter(([, , parent]) => Number(parent) === engine)
    .map(([, pid]) => Number(pid));
}

describe('the end of an engine', () => {
  it.concurrent('Ctrl-C on a run: agents gone, tickets and plan paused, 130; resume and run finish', {
    tags: 'full',
  }, async ({ world }) => {
    prepare(world);
    const run = world.start(['run', 'p', '-c', '2']);
    const pids = await twoAtWork(world);
    const ended = await run.kill('SIGINT');
    expect(ended.code, ended.err).toBe(130);
    expect(ended.out).toContain('Continue with: signalbox resume p');
    expect(pids.map(isRunning)).toEqual([false, false]);
    expect(world.readPlan('p')).toMatchObject({ status: 'paused', claim: null });
    for (const id of ['a', 'b']) {
      expect(world.ticket('p', id)).toMatchObject({ status: 'paused', claim: null });
      expect(world.ticket('p', id).hold?.reason).toBe('stopped by Ctrl-C');
      expect(story(world.ticket('p', id))).toEqual(['build interrupted']);
    }
    expect(world.calls('start', { ticket: 'p/c' })).toEqual([]);
    const refused = await world.cli('run', 'p');
    expect(refused.code).toBe(1);
    expect(refused.err).toContain('signalbox resume');
    world.go();
    const resumed = await world.cli('resume');
    expect(resumed.out).toContain('a, b resumed');
    const again = await world.cli('run', 'p');
    expect(again.code, again.out + again.err).toBe(0);
    for (const id of ['a', 'b', 'c', 'd'])
      expect(world.calls('end', { ticket: `p/${id}` }), id).toHaveLength(1);
  });

  it.concurrent('SIGTERM to a daemon: agents gone, tickets ready, the next daemon goes on', {
    tags: 'full',
  }, async ({ world }) => {
    prepare(world);
    const first = world.start(['daemon', '-c', '2']);
    const pids = await twoAtWork(world);
    const ended = await first.kill('SIGTERM');
    expect(ended.code, ended.err).toBe(0);
    expect(pids.map(isRunning)).toEqual([false, false]);
    expect(world.readPlan('p').status).toBe('active');
    for (const id of ['a', 'b'])
      expect(world.ticket('p', id)).toMatchObject({ status: 'ready', claim: null, hold: null });
    expect((await world.cli('daemon', 'status')).code).toBe(1);
    world.go();
    const second = world.start(['daemon']);
    for (const id of ['a', 'b', 'c', 'd']) await world.reaches('p', id, 'complete');
    await second.says('p: plan complete');
    await second.kill('SIGINT');
    for (const id of ['a', 'b', 'c', 'd'])
      expect(world.calls('end', { ticket: `p/${id}` }), id).toHaveLength(1);
    expect(story(world.ticket('p', 'a'))).toEqual(['build interrupted', 'build success']);
    expect(world.calls('clash')).toEqual([]);
  });

  it.concurrent('a signal to a run inside a job ends that run alone: its plan and agents of others continue', async ({
    world,
  }) => {
    prepare(world);
    world.plan('p', { tickets: { a: {} } });
    const daemon = world.invoke(['daemon']);
    const { pid } = await world.call('at');
    const job = { SIGNALBOX_JOB: join(world.stateDir, 'jobs', 'p', 'a', 'build.1.1') };
    const run = world.invoke(['run', 'p'], job);
    await waitFor('the claim of the run', () => world.readPlan('p').claim);
    const { code, out } = await run.kill('SIGINT');
    expect(code).toBe(130);
    expect(out).not.toContain('Stopped');
    expect(out).toContain('Details: signalbox status --plan p');
    expect(world.readPlan('p')).toMatchObject({ status: 'active', claim: null });
    expect(isRunning(pid)).toBe(true);
    world.go();
    await world.reaches('p', 'a', 'complete');
    expect(story(world.ticket('p', 'a'))).toEqual(['build success']);
    await daemon.kill('SIGTERM');
  });

  it.concurrent('a killed engine leaves no shell that started git for it', async ({ world }) => {
    prepare(world);
    world.plan('p', { tickets: { a: {}, b: {}, c: {}, d: {} } });
    const run = world.start(['run', 'p', '-c', '4']);
    for (const id of ['a', 'b', 'c', 'd']) await world.call('at', { ticket: `p/${id}` });
    const shells = keptShells(run.pid);
    expect(shells).not.toEqual([]);
    await run.kill('SIGKILL');
    for (const pid of shells) await waitFor(`the end of shell ${pid}`, () => !isRunning(pid));
    world.go();
    expect((await world.cli('run', 'p')).code).toBe(0);
  });

  it.concurrent('stopping again and again is not held against a ticket', { tags: 'full' }, async ({
    world,
  }) => {
    prepare(world);
    world.plan('p', { tickets: { a: {} } });
    for (let times = 1; times <= 7; times++) {
      const tick = world.start(['tick']);
      await world.call('at', {}, times);
      await tick.kill('SIGTERM');
      expect(world.ticket('p', 'a')).toMatchObject({ status: 'ready', claim: null });
    }
    world.go();
    expect((await world.cli('run', 'p')).code).toBe(0);
  });

  it.concurrent('a second Ctrl-C leaves at once; the next command ends what was left running', {
    tags: 'full',
  }, async ({ world }) => {
    // The first request to end is ignored, so that there is time for a second Ctrl-C.
    const trap = `[ -e '${world.dir}/asked' ] && exit 1; : > '${world.dir}/asked'`;
    world.agent('agent', `alone; trap "${trap}" TERM; note at; go; commit`);
    world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build.', expect: { commits: true } }]);
    world.plan('p', { tickets: { a: {} } });
    const run = world.start(['run', 'p']);
    const { pid } = await world.call('at');
    process.kill(run.pid, 'SIGINT');
    await run.says('Stopping');
    const ended = await run.kill('SIGINT');
    expect(ended.code).toBe(130);
    const resumed = await world.cli('resume', 'p');
    expect(resumed.code, resumed.err).toBe(0);
    world.go();
    const again = await world.cli('run', 'p');
    expect(again.code, again.out + again.err).toBe(0);
    expect(isRunning(pid)).toBe(false);
    expect(world.calls('clash')).toEqual([]);
  });

  it.concurrent('an agent that prints without end holds up neither Ctrl-C nor other tickets', async ({
    world,
  }) => {
    world.agent(
      'agent',
      '[ $SIGNALBOX_TICKET = quiet ] && exit 0; touch "$SIGNALBOX_STATE_DIR/talks"; yes \'\'',
    );
    world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Talk.' }]);
    world.plan('p', { tickets: { loud: {}, quiet: {} } });
    const run = world.start(['run', 'p']);
    await world.reaches('p', 'quiet', 'complete');
    await world.reaches('p', 'loud', 'running');
    run.kill('SIGINT');
    expect((await run.ended).code).toBe(130);
    expect(world.ticket('p', 'loud')).toMatchObject({ status: 'paused', claim: null });
  });
});
