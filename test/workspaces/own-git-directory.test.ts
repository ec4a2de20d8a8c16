import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { removeTree } from '../../src/machine/files/read-and-remove-files.ts';
import { createWorkspaces } from '../../src/workspaces/workspaces.ts';
import { nest } from '../support/nest.ts';
import { git, IDENTITY, makeRepo, read, scratch, testEnv } from './helpers.ts';

/** A repository with a worktree on `work`, and the way git is called inside its enclave. */
async function bench() {
  const root = scratch();
  const repo = join(root, 'repo');
  const tree = join(root, 'tree');
  makeRepo(repo, { 'a.txt': 'a' });
  git(repo, 'worktree', 'add', '--quiet', '-b', 'work', tree);
  const workspaces = createWorkspaces({ env: { ...testEnv(root), ...IDENTITY } });
  const open = () => workspaces.openEnclave(tree, 'work');
  const close = () => workspaces.closeEnclave(tree, 'work');
  const { gitDir } = await open();
  const inside = (...args: string[]) =>
    execFileSync('git', args, {
      cwd: tree,
      env: { ...testEnv(root), ...IDENTITY, GIT_DIR: gitDir, GIT_WORK_TREE: tree },
      encoding: 'utf8',
    }).trim();
  const make = (message: string) => inside('commit', '--quiet', '--allow-empty', '--message', message);
  const log = () => git(tree, 'log', '--format=%s', 'main..work').split('\n').filter(Boolean);
  return { root, repo, tree, gitDir, open, close, inside, make, log };
}

describe('a git directory of its own', () => {
  it('begins where the worktree is, and brings its branch home', { tags: 'full' }, async () => {
    const { tree, inside, close, log } = await bench();
    expect(inside('status', '--porcelain')).toBe('');
    writeFileSync(join(tree, 'b.txt'), 'b');
    inside('add', '--all');
    inside('commit', '--quiet', '--message', 'Mine');
    writeFileSync(join(tree, 'c.txt'), 'c');
    expect(log()).toEqual([]);
    await close();
    expect(log()).toEqual(['Mine']);
    expect(git(tree, 'status', '--porcelain')).toBe('?? c.txt');
    expect(git(tree, 'for-each-ref', 'refs/signalbox')).toBe('');
  });

  it('brings home what was rewritten', { tags: 'full' }, async () => {
    const { make, inside, close, open, log } = await bench();
    make('One');
    await close();
    await open();
    inside('commit', '--quiet', '--amend', '--allow-empty', '--message', 'Two');
    await close();
    expect(log()).toEqual(['Two']);
  });

  it('brings no other branch home', async () => {
    const { repo, make, inside, close } = await bench();
    inside('checkout', '--quiet', '-b', 'main');
    make('Evil');
    const before = git(repo, 'rev-parse', 'main');
    await close();
    expect(git(repo, 'rev-parse', 'main')).toBe(before);
  });

  it('follows what was committed outside since, and never takes it back', { tags: 'full' }, async () => {
    const { tree, make, close, open, inside, log } = await bench();
    make('Agent');
    await close();
    git(tree, 'commit', '--quiet', '--allow-empty', '--message', 'Script');
    await open();
    expect(log()).toEqual(['Script', 'Agent']);
    expect(inside('log', '-1', '--format=%s')).toBe('Script');
    await close();
    expect(log()).toEqual(['Script', 'Agent']);
  });

  it('rescues what nobody fetched, and keeps what no longer fits', { tags: 'full' }, async () => {
    const { tree, make, open, log, inside } = await bench();
    make('Lost');
    await open();
    expect(log()).toEqual(['Lost']);
    make('Aside');
    const aside = inside('rev-parse', 'HEAD');
    git(tree, 'commit', '--quiet', '--allow-empty', '--message', 'Elsewhere');
    await open();
    expect(log()).toEqual(['Elsewhere', 'Lost']);
    expect(git(tree, 'rev-parse', `refs/signalbox/kept/${aside}`)).toBe(aside);
  });

  it('obeys nothing that was planted', { tags: 'full' }, async () => {
    const { root, gitDir, make, close, log } = await bench();
    make('Mine');
    const planted = join(root, 'planted');
    mkdirSync(join(gitDir, 'hooks'));
    for (const hook of ['reference-transaction', 'post-checkout'])
      writeFileSync(join(gitDir, 'hooks', hook), `#!/bin/sh\ntouch '${planted}'\n`, { mode: 0o755 });
    const config = [
      '[core]',
      `fsmonitor = touch '${planted}'`,
      '[uploadpack]',
      `packObjectsHook = touch '${planted}'`,
    ];
    writeFileSync(join(gitDir, 'config'), `${config.join('\n')}\n`, { flag: 'a' });
    await close();
    expect(log()).toEqual(['Mine']);
    expect([existsSync(planted), existsSync(join(gitDir, 'hooks'))]).toEqual([false, false]);
    expect(read(gitDir, 'config')).not.toContain('fsmonitor');
  });

  it.each(['refs/heads', 'refs', 'objects', 'HEAD'])(
    'does not write through a link in the place of %s',
    { tags: 'full' },
    async (name) => {
      const { root, gitDir, close, open, inside, make, log } = await bench();
      const elsewhere = join(root, 'elsewhere');
      mkdirSync(elsewhere);
      rmSync(join(gitDir, name), { recursive: true });
      symlinkSync(elsewhere, join(gitDir, name));
      await expect(close()).rejects.toThrow(/git directory is broken/);
      await open();
      expect(inside('log', '-1', '--format=%s')).toBe('first');
      make('Again');
      await close();
      expect(log()).toEqual(['Again']);
      expect(execFileSync('ls', ['-A', elsewhere], { encoding: 'utf8' })).toBe('');
    },
  );

  it.each(['HEAD', 'config', 'refs/heads/work', 'packed-refs', 'objects/pack/pack-1.idx'])(
    'waits for no pipe in the place of %s, and the next attempt gets a new one',
    { tags: 'full' },
    async (name) => {
      const { gitDir, tree, close, open, make, log } = await bench();
      make('Lost');
      rmSync(join(gitDir, name), { recursive: true, force: true });
      mkdirSync(dirname(join(gitDir, name)), { recursive: true });
      execFileSync('mkfifo', [join(gitDir, name), join(tree, '.gitattributes')]);
      if (name === 'config') await close();
      else await expect(close()).rejects.toThrow(/git directory is broken/);
      expect(git(tree, 'status', '--porcelain')).toBe('');
      await open();
      make('Again');
      await close();
      expect(log()).toContain('Again');
    },
  );

  it.each(['refs', 'objects', 'modules'])(
    'is not stopped by directories without end in %s',
    { tags: 'full' },
    async (name) => {
      const { gitDir, tree, close, open, make, log } = await bench();
      mkdirSync(join(gitDir, name), { recursive: true });
      nest(join(gitDir, name));
      mkdirSync(join(tree, 'deep'));
      nest(join(tree, 'deep'));
      if (name === 'modules') await close();
      else await expect(close()).rejects.toThrow(/git directory is broken/);
      await open();
      make('Again');
      await close();
      expect(log()).toEqual(['Again']);
      await removeTree(join(tree, 'deep'));
    },
  );

  it('is for worktrees alone', { tags: 'full' }, async () => {
    const { root, repo } = await bench();
    const workspaces = createWorkspaces({ env: testEnv(root) });
    await expect(workspaces.openEnclave(repo, 'main')).rejects.toThrow(/no worktree of its own/);
  });
});
