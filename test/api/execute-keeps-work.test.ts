import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { RunOptions } from '../../src/features/issue-runs/request-and-result-types.ts';
import type { IssueInfo } from '../../src/issues/issues-and-tasks-from-caller.ts';
import {
  EXEC_FLAGS,
  git,
  IssueWorld,
  it,
  lower,
  NumberedWorld,
  type World,
} from '../features/issue-runs/support.ts';

const worktree = (world: World) => join(world.dir, 'worktrees', 'feature', '1-issue-1');

describe.concurrent('what execute leaves behind without a state manager', () => {
  it('is there for the next run of the issue, and `clean` knows of it', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent('agent', 'test -e begun && commit; echo half > begun; exit 1');
    const issues = new IssueWorld(world);
    expect(await (await lower(issues, {})).execute([1])).toMatchObject([
      { success: false, abortReason: 'Phase exec failed' },
    ]);
    expect(readFileSync(join(worktree(world), 'begun'), 'utf8')).toBe('half\n');
    const { out } = await issues.cli('clean');
    expect(out).toContain(worktree(world));
    expect(out).toContain('uncommitted files: begun');
    world.agent('agent', 'test -e begun || exit 3; commit');
    expect(await (await lower(issues, {})).execute([1])).toMatchObject([
      { success: true, branch: 'feature/1-issue-1' },
    ]);
    expect(git(world.repo, 'show', 'feature/1-issue-1:begun')).toBe('half');
    expect(existsSync(worktree(world))).toBe(false);
  });

  it('is there when the signal stopped it, also for a run from the command line', async ({ world }) => {
    world.agent('agent', 'echo half > begun; note working; go; commit');
    const issues = new IssueWorld(world);
    const abort = new AbortController();
    const stopped = (await lower(issues, {}, { signal: abort.signal })).execute([1]);
    await world.call('working');
    abort.abort();
    expect(await stopped).toMatchObject([{ success: false, stopped: true }]);
    world.go();
    issues.write('1.md', '# Issue 1\n');
    expect(await issues.cli('run', '1.md', ...EXEC_FLAGS)).toMatchObject({ code: 0 });
    expect(git(world.repo, 'show', 'feature/1-issue-1:begun')).toBe('half');
  });

  it("is the caller's own worktree as often as he likes", { tags: 'full' }, async ({ world }) => {
    world.agent('agent', 'date +%N > now; commit');
    const issues = new IssueWorld(world);
    const path = join(world.dir, 'mine');
    git(world.repo, 'worktree', 'add', '--quiet', '-b', 'mine', path);
    const worktreeMap = new Map([[1, { issue: 1, path, branch: 'mine' }]]);
    for (const count of [1, 2]) {
      expect(await (await lower(issues, {}, { worktreeMap })).execute([1])).toMatchObject([
        { success: true, branch: 'mine' },
      ]);
      expect(git(path, 'rev-list', '--count', 'main..mine')).toBe(String(count));
    }
    writeFileSync(join(path, 'kept'), 'x');
    world.agent('agent', 'exit 1');
    expect(await (await lower(issues, {}, { worktreeMap })).execute([1])).toMatchObject([{ success: false }]);
    expect(existsSync(join(path, 'kept'))).toBe(true);
  });

  it('is not given to two calls at once', { tags: 'full' }, async ({ world }) => {
    world.agent('agent', 'note working; go; commit');
    const orchestrator = await lower(new IssueWorld(world), {});
    const first = orchestrator.execute([1]);
    await world.call('working');
    await expect(orchestrator.execute([2, 1])).rejects.toMatchObject({
      name: 'InputError',
      code: 'run/busy',
      message: '#1 is being executed already.',
    });
    world.go();
    expect(await first).toMatchObject([{ success: true }]);
    expect(await orchestrator.execute([1, 1])).toMatchObject([{ success: true }]);
  });
});

describe.concurrent('dependencies of issues that execute is told of', () => {
  const info = (more: Partial<IssueInfo>): IssueInfo => ({ title: 'Work', labels: [], ...more });

  it('come first, however they are named, and their work is built upon', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent(
      'agent',
      'case $SIGNALBOX_TICKET in 1) ;; *) test -e 1 || exit 3;; esac; date > $SIGNALBOX_TICKET; commit',
    );
    const issues = new IssueWorld(world, { GH_REPO: 'acme/shop' });
    const issueInfoMap = new Map([
      [2, info({ body: 'Depends on: #1' })],
      [3, info({ labels: ['depends-on/1'] })],
      [4, info({ dependsOn: [1] })],
      [5, info({ body: 'Blocked by https://github.com/acme/shop/issues/1' })],
      [1, info({})],
    ]);
    const env = { ...world.env, ...issues.env };
    const execute = async (options: RunOptions, numbers: number[]) =>
      (await lower(issues, options, { env, issueInfoMap })).execute(numbers);
    const success = (issueNumber: number) => ({ issueNumber, success: true });
    expect(await execute({}, [2, 3, 4, 5, 1])).toMatchObject([1, 2, 3, 4, 5].map(success));
    expect(await execute({ chain: true }, [2, 1])).toMatchObject([1, 2].map(success));
  });

  it('are known by their number where one was read and the other told', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent(
      'agent',
      'case $SIGNALBOX_TICKET in 1) ;; *) test -e 1 || exit 3;; esac; date > $SIGNALBOX_TICKET; commit',
    );
    const issues = new NumberedWorld(world, { number: 7, title: 'Read', body: 'Depends on: #1' });
    const env = { ...world.env, ...issues.env };
    const issueInfoMap = new Map([
      [1, info({})],
      [2, info({ dependsOn: [7] })],
    ]);
    expect(await (await lower(issues, {}, { env, issueInfoMap })).execute([2, 7, 1])).toMatchObject([
      { issueNumber: 1, success: true },
      { issueNumber: 7, success: true },
      { issueNumber: 2, success: true },
    ]);
  });

  it('that are not part of the run must be closed', { tags: 'full' }, async ({ world }) => {
    world.agent('agent', 'commit');
    const issues = new NumberedWorld(
      world,
      { number: 8, title: 'Closed', state: 'CLOSED' },
      { number: 9, title: 'Open' },
    );
    const env = { ...world.env, ...issues.env };
    const issueInfoMap = new Map([
      [1, info({ dependsOn: [8] })],
      [2, info({ dependsOn: [9] })],
    ]);
    expect(await (await lower(issues, {}, { env, issueInfoMap })).execute([1, 2])).toMatchObject([
      { issueNumber: 1, success: true },
      {
        issueNumber: 2,
        success: false,
        abortReason: 'depends on #9, which is not closed and not part of this run',
      },
    ]);
  });

  it('that cannot be looked up are refused with the reason, and forced', async ({ world }) => {
    world.agent('agent', 'commit');
    const issues = new IssueWorld(world);
    const issueInfoMap = new Map([
      [1, info({ dependsOn: [9] })],
      [2, info({})],
    ]);
    const [done, refused] = await (await lower(issues, {}, { issueInfoMap })).execute([1, 2]);
    expect(done).toMatchObject({ issueNumber: 2, success: true });
    expect(refused?.abortReason).toMatch(/^depends on #9, and it is not known whether that is closed: ./);
    expect(await (await lower(issues, { force: true }, { issueInfoMap })).execute([1])).toMatchObject([
      { success: true },
    ]);
  });

  it.for<[string, unknown]>([
    ['no map', {}],
    ['a dependency that is no number', new Map([[1, { ...info({}), dependsOn: ['#2'] }]])],
    ['labels that are no list', new Map([[1, { title: 'Work', labels: 'bug' }]])],
  ])('are refused at once: %s', async ([, issueInfoMap], { world }) => {
    const given = { issueInfoMap: issueInfoMap as Map<number, IssueInfo> };
    await expect(lower(new IssueWorld(world), {}, given)).rejects.toMatchObject({
      name: 'InputError',
      code: 'run/call',
    });
  });
});
