import { existsSync } from 'node:fs';
import { describe, expect } from 'vitest';
import type { RunInit } from '../../src/api/run-orchestrator.ts';
import { RunOrchestrator } from '../../src/api/run-orchestrator.ts';
import { RunLines } from '../../src/report/issue-runs/progress-lines.ts';
import { EXEC, IssueWorld, inCode, it, settingsOf } from '../features/issue-runs/support.ts';

describe('callbacks that fail', () => {
  const sync = () => {
    throw new Error('a mistake');
  };
  const late = async () => {
    throw new Error('a late mistake');
  };

  it.for([
    ['at once', sync],
    ['as a promise', late],
  ] as const)('%s change nothing', async ([, fails], { world }) => {
    world.agent('agent', 'commit');
    const issues = new IssueWorld(world).write('a.md', '# A\n');
    const unhandled: unknown[] = [];
    const note = (error: unknown) => void unhandled.push(error);
    process.on('unhandledRejection', note);
    try {
      const callbacks: Partial<RunInit> = {
        onProgress: fails,
        onEvent: fails,
        onPhasePlan: fails,
        output: fails,
        onOrchestratorReady: fails,
      };
      const run = await inCode(issues, { options: EXEC, ...callbacks }, ['a.md']);
      expect(run).toMatchObject({ exitCode: 0, results: [{ id: 'a', success: true }] });
      expect(unhandled).toEqual([]);
    } finally {
      process.off('unhandledRejection', note);
    }
  });
});

describe.concurrent('the result of a run', () => {
  it('names worktrees that are there and nothing else, and files by their id', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent('agent', 'case $SIGNALBOX_TICKET in bad) exit 1 ;; esac\ncommit');
    const issues = new IssueWorld(world)
      .write('one.md', '# One\n', { labels: ['x'] })
      .write('two.md', '# Two\n')
      .write('bad.md', '# Bad\n');
    const { worktreeMap, issueInfoMap } = await inCode(issues, { options: EXEC }, [
      'one.md',
      'two.md',
      'bad.md',
    ]);
    expect([...issueInfoMap]).toEqual([
      ['one', { title: 'One', labels: ['x'] }],
      ['two', { title: 'Two', labels: [] }],
      ['bad', { title: 'Bad', labels: [] }],
    ]);
    expect([...worktreeMap.keys()]).toEqual(['bad']);
    expect(worktreeMap.get('bad')).toMatchObject({ issue: 'bad', branch: 'feature/bad-bad' });
    expect(existsSync(worktreeMap.get('bad')?.path ?? '')).toBe(true);
  });

  it.for([
    ['with a log', true],
    ['without one', false],
  ] as const)('has the time of all parts of the run, %s', async ([, logJson], { world }) => {
    world.agent('agent', 'note working; go; commit');
    const issues = new IssueWorld(world).write('a.md', '# A\n');
    const abort = new AbortController();
    const options = { ...EXEC, logJson };
    const first = inCode(issues, { options, signal: abort.signal }, ['a.md']);
    await world.call('working');
    abort.abort();
    const stopped = await first;
    world.go();
    const init = { settings: await settingsOf(issues), cwd: world.repo, env: world.env };
    const began = performance.now();
    const resumed = await RunOrchestrator.resume(init, stopped.planId ?? '');
    const seconds = (performance.now() - began) / 1000;
    expect(resumed.exitCode).toBe(0);
    // The store is opened before the first part is counted.
    expect(resumed.wallClockDurationSeconds).toBeGreaterThan(seconds);
    expect(resumed.wallClockDurationSeconds).toBeLessThanOrEqual(
      seconds + stopped.wallClockDurationSeconds + 0.01,
    );
  });
});

describe('what agents call their tools', () => {
  it('is shown without control characters', () => {
    const out: string[] = [];
    const nothing = { msOf: () => 0, reasonOf: () => '', nameOf: (id: string) => id };
    const say = (line: string) => void out.push(line);
    const lines = new RunLines({ out: say, clock: () => 0, verbose: true, ...nothing });
    lines.begin(new Map([['a', '⏳']]));
    const about = { planId: 'p', ticketId: 'a', phase: 'exec', visit: 1, attempt: 1 };
    const name = '\u001b[2Jevil\u001b]0;x\u0007\r';
    lines.listen({ type: 'attempt:tool', name, summary: 'ls', done: false, ...about });
    lines.close();
    expect(out.at(-1)).toBe('  a │ evil ls');
  });
});
