import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import {
  EXEC,
  EXEC_FLAGS,
  git,
  IssueWorld,
  inCode,
  it,
  NumberedWorld,
  titled,
  worktreesOf,
} from './support.ts';

/** Worktrees of plans that are unknown here count as left behind when nobody has used them for a while. */
function age(adminDir: string): void {
  for (const name of ['.', ...readdirSync(adminDir), 'logs/HEAD']) utimesSync(join(adminDir, name), 1, 1);
}

describe.concurrent('worktrees', () => {
  it('are there for all issues that can start before the first agent is, one each', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent('agent', 'note working; go; commit');
    const issues = new NumberedWorld(world, ...titled(1, 2, 3), {
      number: 4,
      title: 'Later',
      body: 'Depends on #1',
    });
    const running = issues.library({ options: { ...EXEC, concurrency: 2 } }, ['1', '2', '3', '4']);
    const { cwd } = await world.call('working');
    const root = join(world.dir, 'worktrees', 'feature');
    const first = [1, 2, 3].map((number) => join(root, `${number}-issue-${number}`));
    expect(first).toContain(cwd);
    expect(worktreesOf(world.repo).sort()).toEqual(first);
    world.go();
    expect((await running).exitCode).toBe(0);
    expect(new Set(world.calls('working').map((call) => call.cwd)).size).toBe(4);
  });

  it('lie where the settings say', async ({ world }) => {
    world.agent('agent', 'commit');
    world.config({ worktreeRoot: '../elsewhere' });
    const issues = new IssueWorld(world).write('a.md', '# A\n');
    await inCode(issues, { options: { ...EXEC } }, ['a.md']);
    expect(world.calls('start').map(({ cwd }) => cwd)).toEqual([join(world.dir, 'elsewhere', 'feature/a-a')]);
  });

  it('that cannot be made refuse the run or fail their own issue; no agent works anywhere else', {
    tags: 'full',
  }, async ({ world }) => {
    world.agent('agent', 'commit');
    const issues = new NumberedWorld(world, ...titled(1, 2, 3));
    const before = git(world.repo, 'rev-parse', 'HEAD');
    mkdirSync(join(world.worktrees, 'feature/1-issue-1'), { recursive: true });
    writeFileSync(join(world.worktrees, 'feature/1-issue-1', 'notes.txt'), 'mine\n');
    git(world.repo, 'branch', 'feature/2-issue-2');
    git(world.repo, 'worktree', 'add', '--quiet', join(world.dir, 'mine'), 'feature/2-issue-2');
    const refused = await issues.cli('run', '1', '2', '3', ...EXEC_FLAGS);
    expect(refused.code).toBe(2);
    expect(refused.err).toMatch(/1-issue-1 is taken by a directory with other content\.\n {3}Move it away/);
    const { code, out } = await issues.cli('run', '2', '3', ...EXEC_FLAGS);
    expect(code).toBe(1);
    expect(out).toMatch(/! #2: .*checked out in .*\/mine\. Free it with git -C \S+\/mine switch --detach/);
    expect(out).toMatch(/✗ Issue #2 failed \(\d+s\): Phase exec failed\n/);
    expect(out).toContain('✓ Issue #3 completed');
    expect(world.calls('start').map(({ cwd }) => cwd)).toEqual([join(world.worktrees, 'feature/3-issue-3')]);
    expect(git(world.repo, 'rev-parse', 'HEAD')).toBe(before);
    expect(git(world.repo, 'status', '--porcelain')).toBe('');
    expect(readFileSync(join(world.worktrees, 'feature/1-issue-1', 'notes.txt'), 'utf8')).toBe('mine\n');
  });
});

describe.concurrent('a worktree of a run that nobody remembers', () => {
  it('is refused with the command that clears it away, which keeps what is unique', async ({ world }) => {
    world.agent('agent', 'case $SIGNALBOX_TICKET in b) echo loose > loose.txt ;; esac; exit 1');
    const issues = new IssueWorld(world).write('a.md', '# A\n').write('b.md', '# B\n');
    const run = () => inCode(issues, { options: { ...EXEC } }, ['a.md', 'b.md']);
    await run();
    world.remove(world.stateDir);
    world.agent('agent', 'commit');
    await expect(run()).rejects.toMatchObject({
      code: 'run/preflight',
      message: expect.stringMatching(
        /^Worktree of a: .* belongs to run-.*\nWorktree of b: .* belongs to run-/,
      ),
      hint: expect.stringMatching(/signalbox clean$/),
    });
    for (const path of worktreesOf(world.repo)) age(git(path, 'rev-parse', '--absolute-git-dir'));
    await issues.cli('clean', '--yes');
    expect(existsSync(join(world.worktrees, 'feature/a-a'))).toBe(false);
    expect(existsSync(join(world.worktrees, 'feature/b-b/loose.txt'))).toBe(true);
    await expect(run()).rejects.toMatchObject({ message: expect.stringMatching(/^Worktree of b: [^\n]*$/) });
    const alone = await inCode(issues, { options: { ...EXEC } }, ['a.md']);
    expect(alone.results.map(({ success }) => success)).toEqual([true]);
  });
});

describe.concurrent('dependencies of a project', () => {
  const lock = (name: string) =>
    JSON.stringify({ name, lockfileVersion: 3, requires: true, packages: { '': { name } } });

  it('are installed as the lockfile says, which stays as it is', { tags: 'full' }, async ({ world }) => {
    world.agent('agent', 'commit');
    const issues = new IssueWorld(world)
      .write('package.json', '{"name": "project", "scripts": {"prepare": "echo done > prepared.txt"}}')
      .write('package-lock.json', lock('project'))
      .write('.gitignore', '.signalbox\nprepared.txt\nnode_modules\n')
      .write('a.md', '# A\n');
    world.agent('agent', 'test -e prepared.txt || exit 9; commit');
    const run = await inCode(issues, { options: { ...EXEC } }, ['a.md']);
    expect(run.results).toMatchObject([{ success: true }]);
    expect(git(world.repo, 'diff', '--name-only', 'main', 'feature/a-a')).toBe('work-a.txt');
  });

  it('that cannot be installed fail the issue with what was printed, before any agent', {
    tags: 'full',
  }, async ({ world }) => {
    world.agent('agent', 'commit');
    const issues = new IssueWorld(world)
      .write('package.json', '{"name": "project", "dependencies": {"left-out": "1.0.0"}}')
      .write('package-lock.json', lock('project'))
      .write('a.md', '# A\n');
    const run = await inCode(issues, { options: { ...EXEC } }, ['a.md']);
    expect(run.exitCode).toBe(1);
    expect(JSON.stringify(run.results)).toContain('left-out');
    expect(world.calls()).toEqual([]);
  });
});
