import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { commitsOf, git, it, NumberedWorld, titled, type World, waitFor } from './support.ts';

const WORK = { phases: 'exec', smartTests: false } as const;

describe.concurrent('a pull request that is open', () => {
  it('gets the commits of a second run, also when the base has moved far on', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent('agent', 'commit "round $(ls | wc -l)"; echo "$SIGNALBOX_ATTEMPT" >> more.txt; commit more');
    const issues = new NumberedWorld(world, ...titled(1));
    const first = await issues.library({ options: WORK }, ['1']);
    expect(first.results).toMatchObject([
      { success: true, prNumber: 2, prUrl: expect.stringContaining('/pull/2') },
    ]);
    const before = issues.bench.tip('feature/1-issue-1');

    for (let n = 1; n <= 6; n += 1) issues.write(`base-${n}.txt`, `${n}\n`);
    git(world.repo, 'push', '--quiet', 'origin', 'main');
    const second = await issues.library({ options: { ...WORK, force: true } }, ['1']);
    expect(second.results).toMatchObject([{ success: true, prNumber: 2 }]);
    expect(issues.bench.pulls()).toHaveLength(1);
    const after = issues.bench.tip('feature/1-issue-1');
    expect(after).not.toBe(before);
    expect(after).toBe(git(world.repo, 'rev-parse', 'feature/1-issue-1'));
    expect(git(world.repo, 'merge-base', before, after)).toBe(before);
  });
});

describe.concurrent('a branch that somebody else pushed to', () => {
  /** A first run has pushed; then somebody adds a commit from another clone. */
  async function pushedTo(world: World, file: string) {
    world.agent('agent', 'echo "$SIGNALBOX_PLAN" > mine.txt; commit ours');
    const issues = new NumberedWorld(world, ...titled(1));
    expect((await issues.library({ options: WORK }, ['1'])).exitCode).toBe(0);
    const clone = join(world.dir, 'clone');
    git(world.dir, 'clone', '--quiet', '--branch=feature/1-issue-1', issues.bench.origin, clone);
    const commit = (name: string, ...flags: string[]) => {
      writeFileSync(join(clone, name), 'theirs\n');
      git(clone, 'add', name);
      git(clone, 'commit', '--quiet', '--message=theirs', ...flags);
      git(clone, 'push', '--quiet', '--force', 'origin', 'HEAD');
    };
    commit(file);
    return { issues, commit };
  }

  it('goes on with their commits', { tags: 'full' }, async ({ world }) => {
    const { issues } = await pushedTo(world, 'theirs.txt');
    const { results } = await issues.library({ options: { ...WORK, force: true } }, ['1']);
    expect(results).toMatchObject([{ success: true, prNumber: 2 }]);
    expect(commitsOf(world.repo, 'feature/1-issue-1')).toEqual(['ours', 'theirs', 'ours']);
    expect(issues.bench.tip('feature/1-issue-1')).toBe(git(world.repo, 'rev-parse', 'feature/1-issue-1'));
  });

  it('and rewrote is told before anything runs, with the way on', { tags: 'full' }, async ({ world }) => {
    const { issues, commit } = await pushedTo(world, 'theirs.txt');
    expect((await issues.library({ options: { ...WORK, force: true } }, ['1'])).exitCode).toBe(0);
    commit('other.txt', '--amend');
    const { results } = await issues.library({ options: { ...WORK, force: true, retry: false } }, ['1']);
    expect(results[0]?.phaseResults).toMatchObject([
      {
        phase: 'exec',
        error: expect.stringMatching(/feature\/1-issue-1 was rewritten.* --theirs, then: signalbox retry/s),
      },
    ]);
  });

  it('while the run was at work is refused with the command that brings their commits in', {
    tags: 'full',
  }, async ({ world }) => {
    const { issues, commit } = await pushedTo(world, 'theirs.txt');
    world.agent('agent', 'note working; go; echo later > later.txt; commit ours');
    const running = issues.start('run', '1', '--force', '--no-smart-tests', '--phases', 'exec', '--no-retry');
    await waitFor('the agent', () => world.calls('working').length > 0);
    commit('again.txt');
    world.go();
    const { out, code } = await running.ended;
    const [, plan = ''] = /signalbox forge sync (run-\S+) 1, then: signalbox retry/.exec(out) ?? [];
    expect({ code, out }).toMatchObject({ code: 1, out: expect.stringMatching(/then: signalbox retry/) });
    expect((await issues.cli('forge', 'sync', plan, '1')).code).toBe(0);
    expect((await issues.cli('retry', plan, '1')).code).toBe(0);
  });
});

describe.concurrent('an issue that was done before', () => {
  it('still has its pull request in the result', { tags: 'full' }, async ({ world }) => {
    world.agent('agent', 'commit work');
    const issues = new NumberedWorld(world, ...titled(1, 2));
    const [first] = (await issues.library({ options: { ...WORK } }, ['1'])).results;
    expect(first?.prUrl).toBeTruthy();
    const { results } = await issues.library({ options: { ...WORK } }, ['1', '2']);
    expect(results).toMatchObject([
      { issueNumber: 1, success: true, skipped: true, prUrl: first?.prUrl, prNumber: first?.prNumber },
      { issueNumber: 2, success: true },
    ]);
  });
});

describe.concurrent('a push that is refused', () => {
  it('fails the issue, keeps the work here, and says what the server said', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent('agent', 'commit work');
    const issues = new NumberedWorld(world, ...titled(1));
    const hook = join(issues.bench.origin, 'hooks', 'pre-receive');
    writeFileSync(hook, '#!/bin/sh\necho "frozen until Monday" >&2\nexit 1\n');
    chmodSync(hook, 0o755);
    const run = await issues.library({ options: { ...WORK, retry: false } }, ['1']);
    expect(run.exitCode).toBe(1);
    expect(run.results).toMatchObject([
      { success: false, abortReason: 'Phase pull_request failed', prCreationError: expect.any(String) },
    ]);
    const last = run.results[0]?.phaseResults.at(-1);
    expect(`${last?.error} ${last?.output}`).toContain('frozen until Monday');
    expect(issues.bench.pulls()).toEqual([]);
    expect(commitsOf(world.repo, 'feature/1-issue-1')).toEqual(['work']);
  });
});

describe.concurrent('a base that exists at origin alone', () => {
  it('is what work starts from, is measured against and goes to', async ({ world }) => {
    world.agent(
      'agent',
      'test -e only-develop.txt || exit 7; case $SIGNALBOX_TICKET in 1) commit work ;; esac',
    );
    const issues = new NumberedWorld(world, ...titled(1, 2));
    git(world.repo, 'switch', '--quiet', '--create', 'develop');
    issues.write('only-develop.txt', 'x\n');
    git(world.repo, 'push', '--quiet', 'origin', 'develop');
    git(world.repo, 'switch', '--quiet', 'main');
    git(world.repo, 'branch', '--quiet', '-D', 'develop');
    const main = git(world.repo, 'rev-parse', 'HEAD');
    const run = await issues.library({ options: { ...WORK, base: 'develop' } }, ['1', '2']);
    expect(run.results).toMatchObject([
      { success: true },
      // It has commits that main has not, and none of its own.
      { success: false, abortReason: 'Phase exec failed', failureCategory: 'evidence' },
    ]);
    expect(issues.bench.pulls()).toMatchObject([
      { headRefName: 'feature/1-issue-1', baseRefName: 'develop', state: 'OPEN' },
    ]);
    expect(git(world.repo, 'log', '--format=%s', 'origin/develop..feature/1-issue-1')).toBe('work');
    expect(git(world.repo, 'rev-parse', 'HEAD')).toBe(main);
  });
});

describe.concurrent('a repository whose branch is called master', () => {
  it('has the same measure: an agent that commits nothing has failed', async ({ world }) => {
    world.agent('agent', 'case $SIGNALBOX_TICKET in 2) commit ;; esac');
    const issues = new NumberedWorld(world, ...titled(1, 2));
    for (const where of [world.repo, issues.bench.origin]) git(where, 'branch', '--move', 'main', 'master');
    git(world.repo, 'fetch', '--quiet', '--prune', 'origin');
    issues.bench.gh.repository((repository) => {
      repository.defaultBranch = 'master';
    });
    git(world.repo, 'remote', 'set-head', 'origin', 'master');
    const run = await issues.library({ options: { ...WORK, retry: false } }, ['1', '2']);
    expect(run.results).toMatchObject([
      { success: false, failureCategory: 'evidence', abortReason: 'Phase exec failed' },
      { success: true },
    ]);
    expect(issues.bench.pulls()).toMatchObject([{ headRefName: 'feature/2-issue-2', baseRefName: 'master' }]);
  });
});

describe.concurrent('the pull requests of a run', () => {
  const lines = (issues: NumberedWorld) =>
    issues.bench.pulls().map(({ body }) => /^Part of stack: (.*)$/m.exec(body)?.[1] ?? null);

  it('each name the whole stack, that of the first link too', { tags: 'full' }, async ({ world }) => {
    world.agent('agent', 'commit "$SIGNALBOX_TICKET"');
    const issues = new NumberedWorld(world, ...titled(100, 101, 102));
    const options = { ...WORK, chain: true };
    expect((await issues.library({ options }, ['100', '101', '102'])).exitCode).toBe(0);
    expect(lines(issues)).toEqual([
      '#100 (this) → #101 → #102',
      '#100 → #101 (this) → #102',
      '#100 → #101 → #102 (this)',
    ]);
  });

  it('name no stack where issues are on their own, or one builds on several', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent('agent', 'commit "$SIGNALBOX_TICKET"');
    const both = { number: 3, title: 'Issue 3', blockedBy: [1, 2] };
    const issues = new NumberedWorld(world, ...titled(1, 2), both, ...titled(4));
    expect((await issues.library({ options: WORK }, ['1', '2', '3', '4'])).exitCode).toBe(0);
    expect(lines(issues)).toEqual([null, null, null, null]);
  });
});
