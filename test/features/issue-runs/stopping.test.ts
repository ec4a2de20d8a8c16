import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { variants } from '../../support/index.ts';
import {
  EXEC,
  EXEC_FLAGS,
  isRunning,
  it,
  NumberedWorld,
  story,
  titled,
  type World,
  waitFor,
} from './support.ts';

/** Leaves uncommitted work, a commit and two processes of which one has a session of its own. */
const BUSY = `commit half; echo draft > draft.txt
setsid sleep 600 & echo $! >> "$HOME/pids"; sleep 600 & echo $! >> "$HOME/pids"
echo $$ >> "$HOME/pids"; note working; wait`;

const pids = (world: World) =>
  readFileSync(join(world.dir, 'user', 'pids'), 'utf8')
    .trim()
    .split('\n')
    .map(Number);

describe.concurrent('Ctrl-C during a run of issues', () => {
  it('ends every agent with all its processes, keeps all work, and finishes the log', {
    tags: 'full',
  }, async ({ world }) => {
    world.agent('agent', BUSY);
    const issues = new NumberedWorld(world, ...titled(1, 2, 3, 4));
    const running = issues.start('run', '1', '2', '3', '4', ...EXEC_FLAGS);
    await world.call('working', {}, 3);
    const run = await issues.run();
    const { code, out } = await running.kill('SIGINT');
    expect(code).toBe(130);
    expect(pids(world)).toHaveLength(9);
    expect(pids(world).filter(isRunning)).toEqual([]);
    for (const id of ['1', '2', '3']) {
      const tree = join(world.worktrees, `feature/${id}-issue-${id}`);
      expect(readFileSync(join(tree, 'draft.txt'), 'utf8')).toBe('draft\n');
      const ticket = world.ticket(run, id);
      expect(ticket).toMatchObject({ status: 'paused', claim: null, worktree: tree });
      expect(story(ticket).at(-1)).toBe('exec interrupted');
    }
    const log = issues.log(run);
    expect(log.endTime).not.toBeNull();
    expect(log.summary).toMatchObject({ totalIssues: 4, passed: 0, aborted: true });
    expect(log.issues.map(({ issueNumber }) => issueNumber)).toEqual([1, 2, 3, 4]);
    // Stopped is not timed out.
    expect(JSON.stringify(log)).not.toMatch(/timeout|timed out|took longer/i);
    expect(out).not.toMatch(/time(d )?out|took longer/i);
    // Nor is it failed, and the way on is named once.
    for (const id of ['1', '2', '3']) expect(out).toContain(`\n‖ #${id} stopped by Ctrl-C\n`);
    expect(out).toMatch(/^0 of 4 done · 4 waiting · /m);
    expect(out.split(`signalbox resume ${run}`)).toHaveLength(2);
    expect(JSON.parse((await issues.cli('stats', '--json')).out).issues).toMatchObject({ total: 0 });
    expect((await issues.cli('status', '--plan', run)).out).toMatch(/stopped|paused/);
  });

  it('leaves at once the second time, although an agent does not listen', async ({ world }) => {
    world.agent('agent', "trap '' TERM INT; note working; go; commit");
    const issues = new NumberedWorld(world, ...titled(1));
    const running = issues.start('run', '1', ...EXEC_FLAGS);
    const { pid } = await world.call('working');
    process.kill(running.pid, 'SIGINT');
    await running.says('again to leave at once');
    expect((await running.kill('SIGINT')).code).toBe(130);
    await waitFor('the agent to be gone', () => !isRunning(pid));
  });

  it('kills at the second one, and has stopped plan and log since the first', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent('agent', "trap '' TERM INT; note working; go; commit");
    const issues = new NumberedWorld(world, ...titled(1, 2));
    const running = issues.start('run', '1', '2', '--concurrency', '1', ...EXEC_FLAGS);
    const { pid } = await world.call('working');
    const run = await issues.run();
    process.kill(running.pid, 'SIGINT');
    await waitFor('the plan to be paused', () => world.readPlan(run).status === 'paused');
    expect(isRunning(pid)).toBe(true);
    expect(issues.log(run)).toMatchObject({ endTime: expect.any(String), summary: { aborted: true } });
    expect((await running.kill('SIGINT')).code).toBe(130);
    expect(isRunning(pid)).toBe(false);
    expect(world.readPlan(run)).toMatchObject({ status: 'paused', pausedBy: 'Ctrl-C' });
    expect(issues.log(run).summary).toMatchObject({ aborted: true, failed: 0, stopped: 1, notStarted: 1 });
    await world.cli('tick');
    expect(world.calls('working')).toHaveLength(1);
  });
});

describe.concurrent('Ctrl-C while a worktree is being set up', () => {
  variants([
    ['of the first issue', '1'],
    ['of a later one', '2'],
  ])('%s ends what sets it up, and the next run does it again', async ([, id = ''], { world }) => {
    world.agent('agent', 'test -e ready.txt || exit 9; rm ready.txt; commit');
    const hook = `case $PWD in */${id}-*) echo $$ > "$HOME/hook"; test -e "$HOME/quick" || sleep 600 ;; esac; touch ready.txt`;
    world.config({ hooks: { afterCreate: [hook] } });
    const issues = new NumberedWorld(world, ...titled(1, 2));
    const running = issues.start('run', '1', '2', '--concurrency', '1', ...EXEC_FLAGS);
    const pid = await waitFor('the hook', () =>
      world.exists('user/hook') ? Number(world.read('user/hook')) : 0,
    );
    const { code, out } = await running.kill('SIGINT');
    expect(code, out).toBe(130);
    expect(isRunning(pid)).toBe(false);
    const run = await issues.run();
    expect(out).not.toContain('setup command');
    expect(story(world.ticket(run, id)).filter((attempt) => attempt.endsWith('failure'))).toEqual([]);
    world.append('user/quick', '');
    const resumed = await issues.cli('resume', run);
    expect(resumed.code, resumed.out).toBe(0);
  });
});

describe.concurrent('Ctrl-C while issues are still being read', () => {
  it('ends with 130 and without a run', async ({ world }) => {
    const issues = new NumberedWorld(world, ...titled(1));
    issues.bench.gh.fail({ call: 'api graphql', hang: true });
    const running = issues.start('run', '1', ...EXEC_FLAGS);
    await waitFor('gh to be asked', () => issues.bench.gh.calls('api graphql').length > 0);
    const ended = await running.kill('SIGINT');
    expect(ended.code).toBe(130);
    expect(ended.err).toMatch(/Stopped before anything started\.\n$/);
    expect(issues.runs()).toEqual([]);
  });
});

describe.concurrent('an aborted signal', () => {
  it('stops a run in code: a result for every issue, and 130', async ({ world }) => {
    world.agent('agent', BUSY);
    const issues = new NumberedWorld(world, ...titled(1, 2, 3));
    const stop = new AbortController();
    const running = issues.library({ options: { ...EXEC, concurrency: 2 }, signal: stop.signal }, [
      '1',
      '2',
      '3',
    ]);
    await world.call('working', {}, 2);
    stop.abort();
    const run = await running;
    expect(run.exitCode).toBe(130);
    expect(pids(world).filter(isRunning)).toEqual([]);
    expect(run.results.map(({ issueNumber, success }) => [issueNumber, success])).toEqual([
      [1, false],
      [2, false],
      [3, false],
    ]);
    expect(run.results[0]?.abortReason).toBe('stopped by the caller');
    expect(run.results[2]).toMatchObject({ notStarted: true });
    writeFileSync(join(world.dir, 'user', 'pids'), '');
    world.agent('agent', 'test -e draft.txt && rm draft.txt; commit');
    const again = await issues.library({ options: { ...EXEC } }, ['1', '2', '3']);
    expect(again.exitCode).toBe(0);
  });

  it('that is aborted while issues are being read gives a result, too', async ({ world }) => {
    const issues = new NumberedWorld(world, ...titled(1));
    issues.bench.gh.fail({ call: 'api graphql', hang: true });
    const stop = new AbortController();
    const running = issues.library({ options: { ...EXEC }, signal: stop.signal }, ['1']);
    await waitFor('gh to be asked', () => issues.bench.gh.calls('api graphql').length > 0);
    stop.abort('closing time');
    const run = await running;
    expect(run).toMatchObject({ exitCode: 130, planId: null });
    expect(run.results[0]?.abortReason).toBe('stopped by the caller: closing time');
  });

  it('that is aborted before the beginning starts nothing', async ({ world }) => {
    world.agent('agent', 'commit');
    const issues = new NumberedWorld(world, ...titled(1));
    const signal = AbortSignal.abort();
    const run = await issues.library({ options: { ...EXEC }, signal }, ['1']);
    expect(run).toMatchObject({ exitCode: 130, planId: null, logPath: null });
    expect(run.results).toMatchObject([
      { issueNumber: 1, success: false, notStarted: true, abortReason: 'stopped by the caller' },
    ]);
    const task = await issues.library({ options: { ...EXEC, task: ['Say hello. Then stop.'] }, signal }, []);
    expect(task.results).toMatchObject([{ id: 'Say hello. Then stop.', notStarted: true }]);
    expect(issues.runs()).toEqual([]);
    expect(world.calls()).toEqual([]);
  });
});

describe.concurrent('a phase that takes too long', () => {
  it('is told as that, and not as stopped', { tags: 'full' }, async ({ world }) => {
    world.agent('agent', 'note working; sleep 600');
    const issues = new NumberedWorld(world, ...titled(1));
    const { code, out } = await issues.cli('run', '1', '--timeout', '1', '--no-retry', ...EXEC_FLAGS);
    expect(code).toBe(1);
    const [{ pid } = { pid: 0 }] = world.calls('working');
    expect(isRunning(pid)).toBe(false);
    expect(out).toMatch(/^✗ {2}#1 .*took longer than 1 s$/m);
    expect(out).not.toMatch(/stopped|interrupted/i);
    const log = issues.log(await issues.run());
    expect(log).toMatchObject({ summary: { failed: 1, aborted: false } });
    expect(JSON.stringify(log.issues[0]?.phaseResults)).toMatch(/took longer than 1 s/);
    expect(JSON.parse((await issues.cli('stats', '--json')).out).failures).toEqual({ timeout: 1 });
  });
});
