import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { processStart } from '../../src/machine/process-identity-and-signals.ts';
import type { World } from '../support/index.ts';
import { IssueWorld, WORKS } from './issue-world.ts';
import { it, linesOf, refusal, setUp, waitFor } from './support.ts';

/** Ends the daemon of a world, whoever started it. */
async function stopDaemon(world: World): Promise<void> {
  expect((await world.cli('daemon', 'stop')).code).toBe(0);
}

/** A daemon in the background is no child of the test: it is ended whatever happens. */
async function andStop(world: World, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } finally {
    await stopDaemon(world);
  }
}

describe.concurrent('run --detach', () => {
  it('gives the terminal back and starts a daemon that finishes the run and its log', {
    tags: 'full',
  }, async ({ world }) => {
    world.agent('agent', WORKS);
    const issues = new IssueWorld(world)
      .write('one.md', '# One\n')
      .write('two.md', '# Two\n', { dependsOn: ['one'] });
    let pid = '';
    await andStop(world, async () => {
      const { code, out, err } = await issues.cli('run', 'one.md', 'two.md', '--detach', '--phases', 'exec');
      expect({ code, err }).toEqual({ code: 0, err: '' });
      const run = await issues.run();
      [, pid = ''] = /^Daemon (\d+) continues (\S+)\. Watch it with: signalbox status --plan/.exec(out) ?? [];
      expect(out).toContain(`continues ${run}.`);
      expect(processStart(Number(pid))).toBeDefined();
      expect(readFileSync(join(world.home, 'logs', 'daemon.log'), 'utf8')).toContain(
        `Daemon ${pid} works on`,
      );
      await world.call('working');
      expect((await issues.cli('daemon', 'status')).out).toContain(`Daemon ${pid} `);
      const resume = await issues.cli('resume', run);
      expect(resume).toMatchObject({
        code: 0,
        out: `Run ${run} is active. Daemon ${pid} continues it.\n`,
      });
      world.go();
      await world.reaches(run, 'two', 'complete');
      await waitFor('the end of the log', () => issues.log(run).endTime);
      expect(issues.log(run).summary).toMatchObject({ passed: 2, failed: 0, aborted: false });
    });
    expect(processStart(Number(pid))).toBeUndefined();
    expect((await issues.cli('daemon', 'status')).code).toBe(1);
  });

  it('leaves nothing to anybody when everything was done before', { tags: 'full' }, async ({ world }) => {
    world.agent('agent', 'commit');
    const issues = new IssueWorld(world).write('one.md', '# One\n');
    const args = ['run', 'one.md', '--phases', 'exec', '--no-smart-tests'];
    expect((await issues.cli(...args)).code).toBe(0);
    const { code, out } = await issues.cli(...args, '--detach');
    const daemon = await issues.cli('daemon', 'stop');
    expect(code).toBe(0);
    expect(out).not.toContain('Daemon');
    expect(out).toContain('done before');
    expect(daemon.out).toContain('No daemon');
    expect(world.readPlan(issues.runs().at(-1) ?? '')).toMatchObject({ status: 'complete', claim: null });
    const json = linesOf<object>((await issues.cli(...args, '--detach', '--json')).out).at(-1);
    expect(json).not.toHaveProperty('daemon');
  });

  it('leaves the run to the daemon that is there, and can be said in JSON', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent('agent', 'commit');
    const issues = new IssueWorld(world).write('one.md', '# One\n');
    const daemon = world.start(['daemon']);
    await daemon.says('works on');
    const { code, out } = await issues.cli('run', 'one.md', '--detach', '--json', '--phases', 'exec');
    expect(code).toBe(0);
    const lines = linesOf<{ type: string }>(out);
    expect(lines.at(-1)).toMatchObject({
      type: 'result',
      ok: true,
      planId: await issues.run(),
      detached: true,
      daemon: daemon.pid,
      results: [{ id: 'one', pending: true }],
    });
    await world.reaches(await issues.run(), 'one', 'complete');
    await stopDaemon(world);
  });

  it('is the only way in which a daemon comes to a run that lives, or was stopped by a person', {
    tags: 'full',
  }, async ({ world }) => {
    world.agent('agent', WORKS);
    const issues = new IssueWorld(world).write('one.md', '# One\n').write('two.md', '# Two\n');
    const daemon = world.start(['daemon', '--json']);
    await daemon.says('daemon:start');
    const running = issues.start('run', 'one.md', 'two.md', '--concurrency', '1', '--phases', 'exec');
    await world.call('working');
    const run = await issues.run();
    expect(world.ticket(run, 'one').claim?.pid).toBe(running.pid);
    await running.kill('SIGINT');
    expect(world.readPlan(run).status).toBe('paused');
    world.go();
    const resumed = await issues.cli('resume', run);
    expect(resumed.out).toMatch(/^2 of 2 done · /m);
    await stopDaemon(world);
    expect((await daemon.ended).out).not.toContain('attempt:start');
  });

  it('is not needed for a run whose process was lost: the daemon finishes it', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent('agent', WORKS);
    const issues = new IssueWorld(world).write('one.md', '# One\n');
    const running = issues.start('run', 'one.md', '--phases', 'exec');
    await world.call('working');
    await running.kill('SIGKILL');
    const daemon = world.start(['daemon']);
    await daemon.says('works on');
    world.go();
    const run = await issues.run();
    await world.reaches(run, 'one', 'complete');
    await waitFor('the end of the log', () => issues.log(run).endTime);
    expect(issues.log(run).summary).toMatchObject({ passed: 1 });
    await stopDaemon(world);
  });

  it.for([
    [['--dry-run'], /--detach cannot be used with --dry-run, which runs nothing/],
    [['--verbose'], /--detach cannot be used with --verbose/],
  ] as const)('is refused with %s', async ([args, message], { world }) => {
    const issues = new IssueWorld(world).write('one.md', '# One\n');
    const ended = await issues.cli('run', 'one.md', '--detach', ...args);
    expect(ended.code).toBe(2);
    expect(refusal(ended)).toMatch(message);
    expect(issues.runs()).toEqual([]);
  });

  it('is refused for plans, which a daemon runs anyway', async ({ world }) => {
    setUp(world);
    const ended = await world.cli('run', 'p', '--detach');
    expect(ended.code).toBe(2);
    expect(refusal(ended)).toContain('Start one with: signalbox daemon --detach');
  });
});
