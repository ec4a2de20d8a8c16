import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { within } from '../../support/within.ts';
import { EXEC, EXEC_FLAGS, isRunning, it, NumberedWorld, titled } from './support.ts';

describe.concurrent('an issue that somebody works on', () => {
  it('is refused with who has it, and the others run', { tags: 'full' }, async ({ world }) => {
    world.agent('agent', 'case $SIGNALBOX_TICKET in 1) note working; go ;; esac; commit');
    const issues = new NumberedWorld(world, ...titled(1, 2));
    const first = issues.start('run', '1', ...EXEC_FLAGS);
    await world.call('working');
    const second = await issues.library({ options: { ...EXEC, force: true } }, ['1', '2']);
    expect(second.exitCode).toBe(1);
    expect(second.results).toMatchObject([
      { issueNumber: 2, success: true },
      { issueNumber: 1, success: false, locked: { pid: first.pid, command: 'run' } },
    ]);
    world.go();
    expect((await first.ended).code).toBe(0);
    expect(world.calls('working')).toHaveLength(1);
    // Nobody has it any more.
    const third = await issues.library({ options: { ...EXEC, force: true } }, ['1']);
    expect(third.exitCode).toBe(0);
  });

  it('is free again after a kill: its agent is ended before another one begins', async ({ world }) => {
    world.agent('agent', 'alone; note working; go; commit');
    const issues = new NumberedWorld(world, ...titled(1));
    const first = issues.start('run', '1', ...EXEC_FLAGS);
    const { pid } = await world.call('working');
    await first.kill('SIGKILL');
    expect(isRunning(pid)).toBe(true);
    const second = issues.library({ options: { ...EXEC } }, ['1']);
    const other = await world.call('working', {}, 2);
    expect(other.cwd).toBe(join(world.worktrees, 'feature/1-issue-1'));
    expect(isRunning(pid)).toBe(false);
    expect(world.calls('clash')).toEqual([]);
    world.go();
    expect((await second).results).toMatchObject([{ success: true }]);
  });
});

describe.concurrent('what goes wrong beside the agents', () => {
  it.for([{ sequential: false }, { sequential: true }])(
    'is the reason of its issue and in the log, with %j',
    async ({ sequential }, { world }) => {
      world.config({ hooks: { afterCreate: ['echo no water; exit 3'] } });
      const issues = new NumberedWorld(world, ...titled(1, 2));
      const run = await issues.library({ options: { ...EXEC, sequential } }, ['1', '2']);
      expect(run.exitCode).toBe(1);
      const [first, second] = run.results;
      expect(first).toMatchObject({ success: false, abortReason: 'Phase exec failed' });
      expect(first?.phaseResults[0]?.error).toContain('no water');
      expect(second?.abortReason).toMatch(sequential ? /first failure/ : /Phase exec failed/);
      const log = issues.log(run.planId ?? '');
      expect(log.endTime).not.toBeNull();
      expect(log.issues[0]?.phaseResults[0]?.error).toContain('no water');
    },
  );

  it('leaves no timer behind: the command ends when the work does', { tags: 'full' }, async ({ world }) => {
    world.agent('agent', 'commit');
    world.config({ agents: { gone: { adapter: 'custom', command: join(world.dir, 'bin', 'gone') } } });
    const issues = new NumberedWorld(world, ...titled(1));
    // Nothing goes through the system's directory for temporary files, which may be another filesystem.
    const running = world.start(
      ['run', '1', ...EXEC_FLAGS, '--json'],
      { ...issues.env, TMPDIR: join(world.dir, 'nowhere') },
      world.repo,
    );
    await running.says('"type":"result"');
    const told = performance.now();
    expect((await running.ended).code).toBe(0);
    expect(performance.now() - told).toBeLessThan(within(10_000));
    expect(world.ticket(await issues.run(), '1').status).toBe('complete');
    expect(issues.log(await issues.run()).summary).toMatchObject({ passed: 1 });
  });
});
