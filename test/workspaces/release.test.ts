import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { WorkspaceSpec } from '../../src/workspaces/workspaces.ts';
import { bench, commit, git, makeRepo, read, write } from './helpers.ts';

const worktrees = (repo: string) =>
  git(repo, 'worktree', 'list', '--porcelain').match(/(?<=^worktree ).*/gm) ?? [];

describe('release keeps', () => {
  type Bench = ReturnType<typeof bench>;
  const rows: Array<[string, string, (one: WorkspaceSpec, all: Bench) => unknown]> = [
    ['a changed file', 'a.txt', ({ path }) => write(path, { 'a.txt': 'changed' })],
    [
      'a staged file',
      'staged',
      ({ path }) => {
        write(path, { staged: 'x' });
        git(path, 'add', 'staged');
      },
    ],
    ['an untracked file', 'notes.md', ({ path }) => write(path, { 'notes.md': 'x' })],
    ['a deleted file', 'a.txt', ({ path }) => rmSync(join(path, 'a.txt'))],
    ['a nested repository', 'nested/', ({ path }) => makeRepo(join(path, 'nested'))],
    ['an ignored nested repository', 'vendored/', ({ path }) => makeRepo(join(path, 'tmp/vendored'))],
    [
      'a nested repository that was committed as a link',
      'submodules',
      ({ path }) => {
        makeRepo(join(path, 'linked'));
        git(path, 'add', 'linked');
        git(path, 'commit', '--quiet', '-m', 'link');
      },
    ],
    ['another branch', 'branch side', ({ path }) => git(path, 'switch', '--quiet', '-c', 'side')],
    [
      'a branch without commits',
      'no commit',
      ({ path }) => git(path, 'switch', '--quiet', '--orphan', 'empty'),
    ],
    [
      'a commit that no ref holds',
      'no branch holds',
      ({ path }) => {
        git(path, 'switch', '--quiet', '--detach');
        commit(path, { lost: 'x' });
      },
    ],
    [
      'a merge under way',
      'a merge',
      ({ path }, { repo }) => {
        git(repo, 'switch', '--quiet', '-c', 'theirs');
        commit(repo, { theirs: 'x' });
        git(repo, 'switch', '--quiet', 'main');
        commit(path, { mine: 'x' });
        git(path, 'merge', '--quiet', '--no-commit', '-s', 'ours', 'theirs');
      },
    ],
    ['a worktree somebody locked', 'lock', ({ path, repo }) => git(repo, 'worktree', 'lock', path)],
    [
      'a worktree registered elsewhere',
      'registered',
      ({ path }) => {
        const admin = git(path, 'rev-parse', '--absolute-git-dir');
        writeFileSync(join(admin, 'gitdir'), '/nowhere/.git\n');
      },
    ],
  ];

  it.each(rows)('%s', async (_name, reason, act) => {
    const all = bench({ 'a.txt': 'a\n', '.gitignore': 'tmp/\n' });
    const one = all.spec('one');
    await all.workspaces.ensure(one);
    act(one, all);
    for (const slots of [4, 0]) {
      const result = await all.workspaces.release({ ...one, slots });
      expect(result).toEqual({ released: false, reason: expect.stringContaining(reason) });
      expect(existsSync(join(one.path, '.git'))).toBe(true);
    }
  });

  it('a worktree that a process works in, until it is gone', async () => {
    const { spec, workspaces } = bench();
    const one = spec('one');
    await workspaces.ensure(one);
    const child = spawn('sleep', ['600'], { cwd: join(one.path, 'dir'), stdio: 'ignore' });
    await once(child, 'spawn');
    expect(await workspaces.release(one)).toEqual({
      released: false,
      reason: `process ${child.pid} works in it`,
    });
    child.kill('SIGKILL');
    await once(child, 'close');
    expect(await workspaces.release(one)).toEqual({ released: true, slot: true });
  });

  it("another owner's worktree and what is no worktree at all", async () => {
    const { root, spec, workspaces } = bench();
    await workspaces.ensure(spec('one'));
    expect(await workspaces.release(spec('one', { owner: 'plan/two' }))).toMatchObject({ released: false });
    write(join(root, 'plain'), { file: 'x' });
    expect(await workspaces.release(spec('two', { path: join(root, 'plain') }))).toMatchObject({
      released: false,
    });
    expect(read(root, 'plain/file')).toBe('x');
  });
});

describe('release gives back', () => {
  it('a finished worktree; the branch stays and is free, and the second call is satisfied', async () => {
    const { repo, spec, workspaces } = bench();
    const one = spec('one', { slots: 0 });
    await workspaces.ensure(one);
    const work = commit(one.path, { work: 'x' });
    expect(await workspaces.release(one)).toEqual({ released: true, slot: false });
    expect(worktrees(repo)).toEqual([repo]);
    expect(existsSync(join(one.path, '..'))).toBe(false);
    expect(git(repo, 'rev-parse', 'ticket/one')).toBe(work);
    expect(await workspaces.release(one)).toEqual({ released: true, slot: false });
  });

  it('a detached worktree whose commit a ref holds', async () => {
    const { spec, workspaces } = bench();
    await workspaces.ensure(spec('one'));
    git(spec('one').path, 'switch', '--quiet', '--detach', 'main');
    expect(await workspaces.release(spec('one'))).toEqual({ released: true, slot: true });
  });

  it('a worktree with ignored files, without slots', async () => {
    const { repo, spec, workspaces } = bench({ '.gitignore': 'out/\n' });
    const one = spec('one', { slots: 0 });
    await workspaces.ensure(one);
    write(one.path, { 'out/file': 'x' });
    expect(await workspaces.release(one)).toEqual({ released: true, slot: false });
    expect(worktrees(repo)).toEqual([repo]);
  });
});

describe('what git confirmed once', () => {
  it('does not count once the worktree is on another branch, and counts again when it is back', async () => {
    const { spec, workspaces } = bench();
    const one = spec('one');
    await workspaces.ensure(one);
    await workspaces.verify(one);
    git(one.path, 'switch', '--quiet', '--create', 'elsewhere');
    await expect(workspaces.verify(one)).rejects.toThrow('it is on branch elsewhere');
    git(one.path, 'switch', '--quiet', 'ticket/one');
    await workspaces.verify(one);
  });

  it('does not count for commits that were made on no branch in between', async () => {
    const { spec, workspaces } = bench();
    const one = spec('one');
    await workspaces.ensure(one);
    git(one.path, 'switch', '--quiet', '--detach');
    const left = commit(one.path, { 'left.txt': 'left' });
    git(one.path, 'switch', '--quiet', 'ticket/one');
    await workspaces.verify(one);
    expect(await workspaces.release(one)).toMatchObject({
      released: false,
      reason: expect.stringContaining(left.slice(0, 10)),
    });
  });

  it('does not count for commits that were made in a warm worktree while it was free', async () => {
    const all = bench();
    await all.workspaces.ensure(all.spec('one'));
    expect(await all.workspaces.release(all.spec('one'))).toEqual({ released: true, slot: true });
    const slot = join(all.worktreeRoot, '.slots', '0');
    const left = commit(slot, { 'left.txt': 'left' });
    git(slot, 'switch', '--quiet', '--detach', 'main');
    await all.workspaces.ensure(all.spec('two'));
    expect(await all.workspaces.release(all.spec('two'))).toMatchObject({
      released: false,
      reason: expect.stringContaining(left.slice(0, 10)),
    });
  });
});

describe('other layouts of git', () => {
  it('moves a worktree with relative pointers by git itself', async () => {
    const all = bench();
    const one = all.spec('one');
    await all.workspaces.ensure(one);
    writeFileSync(join(one.path, '.git'), 'gitdir: ../../../repo/.git/worktrees/one\n');
    await all.workspaces.verify(one);
    expect(await all.workspaces.release(one)).toEqual({ released: true, slot: true });
    expect(await all.workspaces.ensure(all.spec('two'))).toMatchObject({ reused: true });
    await all.workspaces.verify(all.spec('two'));
  });

  it('does not keep a slot of a repository with submodules', async () => {
    const { spec, workspaces } = bench({ '.gitmodules': '' });
    await workspaces.ensure(spec('one'));
    expect(await workspaces.release(spec('one'))).toEqual({ released: true, slot: false });
  });
});
