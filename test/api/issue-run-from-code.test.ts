import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { resolveRunOptions } from '../../src/api/orchestrator-arguments.ts';
import { RunOrchestrator } from '../../src/api/run-orchestrator.ts';
import { buildExecutionConfig } from '../../src/features/issue-runs/options/execution-config-and-workflow-changes.ts';
import {
  commitsOf,
  EXEC,
  git,
  IssueWorld,
  it,
  NumberedWorld,
  settingsOf,
  titled,
} from '../features/issue-runs/support.ts';

describe.concurrent('RunOrchestrator.run', () => {
  it('gives results, maps, configuration and log; an issue that fails is data', async ({ world }) => {
    world.agent('agent', 'case $SIGNALBOX_TICKET in 1838) echo no; exit 3 ;; esac\ncommit');
    const issues = new NumberedWorld(world, { number: 838, title: 'Good', labels: ['x'] }, ...titled(1838));
    const began = performance.now();
    const run = await issues.library({ options: { ...EXEC } }, ['838', '#1838']);
    const seconds = (performance.now() - began) / 1000;
    expect(run.exitCode).toBe(1);
    expect(run.results).toMatchObject([
      {
        issueNumber: 838,
        success: true,
        branch: 'feature/838-good',
        loopTriggered: false,
        prSkippedReason: 'none was wanted',
      },
      {
        issueNumber: 1838,
        success: false,
        abortReason: 'Phase exec failed',
        failureCategory: 'exit',
        phaseResults: [{ phase: 'exec', success: false, error: expect.stringContaining('exit code 3') }],
      },
    ]);
    expect(run.results[0]?.phaseResults.map(({ phase, success }) => [phase, success])).toEqual([
      ['exec', true],
      ['checks', true],
    ]);
    expect(run.issueInfoMap).toEqual(
      new Map([
        [838, { title: 'Good', labels: ['x'] }],
        [1838, { title: 'Issue 1838', labels: [] }],
      ]),
    );
    expect(run.worktreeMap.get(1838)).toEqual({
      issue: 1838,
      path: join(world.worktrees, 'feature/1838-issue-1838'),
      branch: 'feature/1838-issue-1838',
    });
    expect(run.config).toMatchObject({ phases: ['exec'], parallel: true, sequential: false, concurrency: 3 });
    expect(run.mergedOptions).toMatchObject({ phases: 'exec', pr: false, maxIterations: 3, retry: true });
    // Time is counted once, however many issues run together.
    expect(run.wallClockDurationSeconds).toBeLessThanOrEqual(seconds);
    for (const { durationSeconds } of run.results)
      expect(run.wallClockDurationSeconds).toBeGreaterThanOrEqual(durationSeconds);
    expect(run.logPath).toBe(join(world.repo, '.signalbox', 'logs', `${run.planId}.json`));
    expect(JSON.parse(readFileSync(run.logPath ?? '', 'utf8')).summary).toMatchObject({
      passed: 1,
      failed: 1,
    });
  });

  it('tells of every phase of every issue, and a callback that throws changes nothing', async ({ world }) => {
    world.rehearsal([
      { when: { ticket: '2', phase: 'exec' }, do: [{ fail: { class: 'crash', message: 'no' } }] },
    ]);
    const issues = new NumberedWorld(world, ...titled(1, 2));
    const told: unknown[][] = [];
    const run = await issues.library(
      {
        options: { phases: 'exec,qa', smartTests: false, pr: false },
        onProgress: (issue, phase, event, extra) => {
          told.push([issue, phase, event]);
          if (event === 'failed') expect(extra).toMatchObject({ error: 'no', iteration: 1 });
          if (event !== 'start') expect(extra?.durationSeconds).toBeGreaterThan(0);
          throw new Error('the caller is broken');
        },
        onEvent: () => {
          throw new Error('so is this one');
        },
      },
      ['1', '2'],
    );
    expect(run.results.map(({ success }) => success)).toEqual([true, false]);
    const of = (number: number) => told.filter(([issue]) => issue === number).map((each) => each.slice(1));
    expect(of(1)).toEqual(
      ['exec', 'checks', 'qa'].flatMap((phase) => [
        [phase, 'start'],
        [phase, 'complete'],
      ]),
    );
    expect(of(2)).toEqual([
      ['exec', 'start'],
      ['exec', 'failed'],
    ]);
  });

  it('takes issues that failed once more in the same process, and lets go of them each time', async ({
    world,
  }) => {
    world.agent('agent', 'test -e "$HOME/mended" || exit 1; commit');
    const issues = new NumberedWorld(world, ...titled(1));
    const first = await issues.library({ options: { ...EXEC } }, ['1']);
    expect(first.exitCode).toBe(1);
    expect(world.readPlan(first.planId ?? '').claim).toBeNull();
    expect(world.ticket(first.planId ?? '', '1').claim).toBeNull();
    world.append('user/mended', '');
    const second = await issues.library({ options: { ...EXEC } }, ['1']);
    expect(second.results).toMatchObject([{ issueNumber: 1, success: true }]);
    expect(second.results[0]?.locked).toBeUndefined();
  });

  it('takes groups from its third argument before those in the options', async ({ world }) => {
    world.agent('agent', 'commit');
    const issues = new NumberedWorld(world, ...titled(1, 2));
    const starts: (number | string)[] = [];
    const onProgress = (issue: number | string, phase: string, event: string) => {
      if (phase === 'exec') starts.push(`${issue} ${event}`);
    };
    const options = { ...EXEC, batch: ['1,2'] };
    const run = await issues.library({ options, onProgress }, ['1'], [[2]]);
    expect(run.results.every(({ success }) => success)).toBe(true);
    expect(starts).toEqual(['2 start', '2 complete', '1 start', '1 complete']);
  });
});

describe.concurrent('RunOrchestrator.execute', () => {
  it('needs no service, no tracker and no worktree, and leaves no state behind', async ({ world }) => {
    const issues = new IssueWorld(world);
    const settings = await settingsOf(issues);
    const options = resolveRunOptions({ ...EXEC }, settings, { env: {} });
    const plans = new Set<string>();
    const orchestrator = new RunOrchestrator({
      config: buildExecutionConfig(options, settings, 1),
      options,
      settings,
      cwd: world.repo,
      env: world.env,
      issueInfoMap: new Map([[123, { title: 'My issue', labels: [] }]]),
      worktreeMap: new Map(),
      services: { logWriter: null, stateManager: null },
      onEvent: ({ planId }) => plans.add(planId),
    });
    expect(await orchestrator.execute([])).toEqual([]);
    expect(await orchestrator.execute([123])).toMatchObject([
      { issueNumber: 123, title: 'My issue', success: true, branch: 'feature/123-my-issue' },
    ]);
    expect(commitsOf(world.repo, 'feature/123-my-issue')).toHaveLength(1);
    expect(existsSync(world.stateDir)).toBe(false);
    expect(existsSync(join(world.repo, '.signalbox'))).toBe(false);
    const [planId = 'none'] = plans;
    const kept = readdirSync(tmpdir()).filter((name) => existsSync(join(tmpdir(), name, 'plans', planId)));
    expect({ plans: plans.size, kept }).toEqual({ plans: 1, kept: [] });
  });

  it('names no command that would need the state it leaves behind', async ({ world }) => {
    world.agent('agent', 'exit 1');
    const issues = new IssueWorld(world);
    const settings = await settingsOf(issues);
    const [result] = await new RunOrchestrator({
      config: buildExecutionConfig({ ...EXEC }, settings, 1),
      settings,
      cwd: world.repo,
      env: world.env,
      issueInfoMap: new Map([[123, { title: 'My issue', labels: [] }]]),
    }).execute([123]);
    expect(result).toMatchObject({ success: false, abortReason: 'Phase exec failed' });
    expect(result).not.toHaveProperty('next');
  });

  it('works in the worktree and writes to the log that its caller brings', async ({ world }) => {
    const issues = new IssueWorld(world);
    const settings = await settingsOf(issues);
    const path = join(world.dir, 'mine');
    git(world.repo, 'worktree', 'add', '--quiet', '-b', 'topic', path);
    const written: string[] = [];
    const logWriter = {
      path: 'nowhere',
      update: () => void written.push('update'),
      finish: ({ aborted }: { aborted: boolean }) => void written.push(`finish ${aborted}`),
    };
    const results = await new RunOrchestrator({
      config: buildExecutionConfig({ ...EXEC }, settings, 1),
      settings,
      cwd: world.repo,
      env: world.env,
      issueInfoMap: new Map([[123, { title: 'My issue', labels: [] }]]),
      worktreeMap: new Map([[123, { issue: 123, path, branch: 'topic' }]]),
      services: { logWriter, stateManager: null },
    }).execute([123]);
    expect(results).toMatchObject([{ success: true, branch: 'topic' }]);
    expect(commitsOf(world.repo, 'topic')).toHaveLength(1);
    expect(existsSync(path)).toBe(true);
    expect(existsSync(world.worktrees)).toBe(false);
    expect(written.slice(0, 1)).toEqual(['update']);
    expect(written.filter((line) => line.startsWith('finish'))).toEqual(['finish false']);
    expect(written.at(-1)).toBe('finish false');
  });
});
