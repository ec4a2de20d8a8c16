import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createWorkspaces } from '../../src/workspaces/workspaces.ts';
import { bench, commit, failure, git, makeRepo, scratch, testEnv, write } from './helpers.ts';

describe('checkRepo', () => {
  it('finds the checkout from any directory of it, also through a symlink', async () => {
    const { repo, root, workspaces } = bench();
    symlinkSync(join(repo, 'dir'), join(root, 'link'));
    const expected = { root: repo, commonDir: join(repo, '.git') };
    expect(await workspaces.checkRepo(repo)).toEqual(expected);
    expect(await workspaces.checkRepo(join(repo, 'dir'))).toEqual(expected);
    expect(await workspaces.checkRepo(join(root, 'link'))).toEqual(expected);
  });

  it('takes a linked worktree of the user as a checkout', async () => {
    const { repo, root, workspaces } = bench();
    git(repo, 'worktree', 'add', '--quiet', '-b', 'side', join(root, 'side'));
    expect(await workspaces.checkRepo(join(root, 'side'))).toEqual({
      root: join(root, 'side'),
      commonDir: join(repo, '.git'),
    });
  });

  it.each([
    ['missing', 'workspace/repo-missing', (_path: string) => undefined],
    ['a file', 'workspace/repo-missing', (path: string) => write(join(path, '..'), { place: 'text' })],
    ['no repository', 'workspace/not-a-repo', (path: string) => mkdirSync(path)],
    [
      'bare',
      'workspace/repo-bare',
      (path: string) => {
        mkdirSync(path);
        git(path, 'init', '--quiet', '--bare');
      },
    ],
    [
      'without a commit',
      'workspace/no-commit',
      (path: string) => {
        mkdirSync(path);
        git(path, 'init', '--quiet');
      },
    ],
  ])('refuses a repository that is %s', async (_name, code, make) => {
    const root = scratch();
    const path = join(root, 'place');
    make(path);
    const error = await failure(createWorkspaces({ env: testEnv(root) }).checkRepo(path));
    expect(error.code).toBe(code);
    expect(error.message).toContain(path);
    expect(error.hint).not.toBe('');
  });

  it('refuses a relative path and the inside of a git directory', async () => {
    const { repo, workspaces } = bench();
    expect((await failure(workspaces.checkRepo('repo'))).code).toBe('workspace/repo-relative');
    expect((await failure(workspaces.checkRepo(join(repo, '.git')))).code).toBe('workspace/not-a-repo');
  });

  it('looks again after a failure', async () => {
    const root = scratch();
    const workspaces = createWorkspaces({ env: testEnv(root) });
    const path = join(root, 'repo');
    expect((await failure(workspaces.checkRepo(path))).code).toBe('workspace/repo-missing');
    makeRepo(path);
    expect((await workspaces.checkRepo(path)).root).toBe(path);
  });

  it('says so when git is not installed', async () => {
    const { repo, env } = bench();
    const error = await failure(createWorkspaces({ env, git: '/nowhere/git' }).checkRepo(repo));
    expect(error.code).toBe('workspace/no-git');
  });

  it('does not let variables of the environment redirect it', async () => {
    const { repo, root, env } = bench();
    makeRepo(join(root, 'other'));
    const redirected = createWorkspaces({
      env: { ...env, GIT_DIR: join(root, 'other/.git'), GIT_WORK_TREE: root },
    });
    expect((await redirected.checkRepo(repo)).root).toBe(repo);
    expect((await redirected.evidence(repo, git(repo, 'rev-parse', 'HEAD').trim())).dirty).toEqual([]);
  });
});

it('lists changed, staged, deleted and untracked files of a checkout, and no ignored ones', async () => {
  const { repo, workspaces } = bench();
  commit(repo, { '.gitignore': 'ignored\n' });
  const head = git(repo, 'rev-parse', 'HEAD').trim();
  const dirty = async () => (await workspaces.evidence(repo, head)).dirty;
  write(repo, { ignored: 'x' });
  expect(await dirty()).toEqual([]);
  write(repo, { new: 'x' });
  expect(await dirty()).toEqual(['new']);
  git(repo, 'add', 'new');
  expect(await dirty()).toEqual(['new']);
  git(repo, 'rm', '--quiet', '--cached', 'new');
  rmSync(join(repo, 'new'));
  expect(await dirty()).toEqual([]);
  rmSync(join(repo, 'a.txt'));
  expect(await dirty()).toEqual(['a.txt']);
});

it('a clone is there as a whole or not at all, also after one that was cut off', async () => {
  const { repo, root, workspaces } = bench();
  const path = join(root, 'clones', 'copy');
  write(`${path}.unfinished`, { 'half.txt': 'half' });
  let isDone = false;
  const cloning = workspaces.clone({ url: repo, path }).finally(() => {
    isDone = true;
  });
  const seen: string[][] = [];
  while (!isDone) {
    if (existsSync(path)) seen.push(readdirSync(path));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await cloning;
  const whole = readdirSync(path);
  expect(whole).toEqual(expect.arrayContaining(['.git', 'dir']));
  expect(seen.filter((names) => names.length < whole.length)).toEqual([]);
  expect(readdirSync(join(root, 'clones'))).toEqual(['copy']);
});
