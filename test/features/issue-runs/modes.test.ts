import { readFileSync } from 'node:fs';
import { describe, expect } from 'vitest';
import type { RunLog } from '../../../src/features/issue-runs/logs/read-and-rotate-logs.ts';
import type { RunResult } from '../../../src/features/issue-runs/request-and-result-types.ts';
import { commitsOf, EXEC, git, it, NumberedWorld, titled, type World } from './support.ts';

/** Fails for the issues that are named in a file, after it has left a commit. */
const FAILS_AFTER_COMMIT =
  'commit "$SIGNALBOX_TICKET"; grep -qx "$SIGNALBOX_TICKET" "$HOME/bad" && exit 1; true';

const ends = ({ results }: RunResult) =>
  results.map(({ id, success }) => `${id} ${success ? 'passed' : 'failed'}`);

/** How many agents were at work at the same time, at most. */
function most(world: World): number {
  let [now, highest] = [0, 0];
  for (const { what } of world.calls()) {
    if (what === 'start') now += 1;
    if (what === 'end') now -= 1;
    highest = Math.max(highest, now);
  }
  return highest;
}

describe.concurrent('several issues', () => {
  it('run three at a time unless told otherwise, and a failure stops nobody', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent('agent', 'note working; go; case $SIGNALBOX_TICKET in 1) note end; exit 1 ;; esac; commit');
    const issues = new NumberedWorld(world, ...titled(1, 2, 3, 4, 5));
    const running = issues.library({ options: { ...EXEC } }, ['1', '2', '3', '4', '5']);
    await world.call('working', {}, 3);
    world.go('1');
    await world.call('working', {}, 4);
    world.go();
    expect(ends(await running)).toEqual(['1 failed', '2 passed', '3 passed', '4 passed', '5 passed']);
    expect(most(world)).toBe(3);
  });

  it('run one at a time with a concurrency of 1, and go on after a failure', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent('agent', 'case $SIGNALBOX_TICKET in 1) note end; exit 1 ;; esac; commit');
    const issues = new NumberedWorld(world, ...titled(1, 2, 3));
    const run = await issues.library({ options: { ...EXEC, concurrency: 1 } }, ['1', '2', '3']);
    expect(ends(run)).toEqual(['1 failed', '2 passed', '3 passed']);
    expect(run.exitCode).toBe(1);
    expect(most(world)).toBe(1);
  });

  it('one after the other stop at the first failure, and have a result each', async ({ world }) => {
    world.agent('agent', 'case $SIGNALBOX_TICKET in 2) exit 1 ;; esac; commit');
    const issues = new NumberedWorld(world, ...titled(1, 2, 3));
    const run = await issues.library({ options: { ...EXEC, sequential: true } }, ['1', '2', '3']);
    expect(ends(run)).toEqual(['1 passed', '2 failed', '3 failed']);
    expect(run.results[2]).toMatchObject({ notStarted: true, phaseResults: [], durationSeconds: 0 });
    expect(run.results[2]?.abortReason).toContain('stops at the first failure');
    expect(git(world.repo, 'branch', '--list', 'feature/3-*')).toBe('');
    expect(run.config).toMatchObject({ sequential: true, parallel: false, concurrency: 1 });
  });

  it('wait for what they depend on and start from its branch; mentions in code are none', {
    tags: 'full',
  }, async ({ world }) => {
    world.agent('agent', 'commit "$SIGNALBOX_TICKET"');
    const issues = new NumberedWorld(
      world,
      { number: 1, title: 'Last', body: 'Depends on: #2' },
      { number: 2, title: 'First' },
      { number: 3, title: 'Free', body: '```\nDepends on: #1\n```' },
      { number: 4, title: 'By label', labels: ['depends-on/2'] },
      { number: 5, title: 'By the tracker', blockedBy: [2] },
    );
    const order: string[] = [];
    const run = await issues.library(
      {
        options: { ...EXEC, concurrency: 5 },
        onProgress: (issue, phase, event) => void (phase === 'exec' && order.push(`${issue} ${event}`)),
      },
      ['1', '2', '3', '4', '5'],
    );
    expect(run.exitCode).toBe(0);
    for (const issue of [1, 4, 5])
      expect(order.indexOf(`${issue} start`)).toBeGreaterThan(order.indexOf('2 complete'));
    expect(order.indexOf('3 start')).toBeLessThan(order.indexOf('1 start'));
    const branches = ['feature/1-last', 'feature/4-by-label', 'feature/5-by-the-tracker'];
    expect(branches.map((branch) => commitsOf(world.repo, branch))).toEqual([
      ['2', '1'],
      ['2', '4'],
      ['2', '5'],
    ]);
    expect(commitsOf(world.repo, 'feature/3-free')).toEqual(['3']);
  });
});

describe.concurrent('a chain', () => {
  it('goes on after its last good link when it is run again, and loses no commit though the base moved', async ({
    world,
  }) => {
    world.agent('agent', FAILS_AFTER_COMMIT);
    world.append('user/bad', '2\n');
    const issues = new NumberedWorld(world, ...titled(1, 2, 3));
    const chain = () => issues.library({ options: { ...EXEC, chain: true } }, ['1', '2', '3']);
    const first = await chain();
    expect(ends(first)).toEqual(['1 passed', '2 failed', '3 failed']);
    expect(first.config).toMatchObject({ chain: true, sequential: true, parallel: false, concurrency: 1 });
    const log = JSON.parse(readFileSync(first.logPath ?? '', 'utf8')) as RunLog;
    expect(log.config).toMatchObject({ mode: 'chain', concurrency: 1 });
    expect(git(world.repo, 'branch', '--list', 'feature/3-*')).toBe('');

    for (let n = 1; n <= 6; n += 1) issues.write(`base-${n}.txt`, `${n}\n`);
    git(world.repo, 'push', '--quiet', 'origin', 'main');
    const failed = git(world.repo, 'rev-parse', 'feature/2-issue-2');
    world.remove(`${world.dir}/user/bad`);
    world.append('user/bad', '');
    const second = await chain();
    expect(ends(second)).toEqual(['1 passed', '2 passed', '3 passed']);
    expect(second.results[0]).toMatchObject({ skipped: true });
    expect(world.calls('start', { ticket: `${second.planId}/1` })).toEqual([]);
    expect(git(world.repo, 'merge-base', failed, 'feature/3-issue-3')).toBe(failed);
    expect(commitsOf(world.repo, 'feature/3-issue-3')).toEqual(['1', '2', '2', '3']);
  });
});
