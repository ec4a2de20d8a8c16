import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { EXEC_FLAGS, git, IssueWorld, it, lower, type World } from './support.ts';

const worktree = (world: World) => join(world.dir, 'worktrees', 'feature', '1-issue-1');

describe.concurrent('what execute leaves behind without a state manager', { timeout: 60_000 }, () => {
  it('is there for the next run of the issue, and `clean` knows of it', async ({ world }) => {
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

  it("is the caller's own worktree as often as he likes", async ({ world }) => {
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

  it('is not given to two calls at once', async ({ world }) => {
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
