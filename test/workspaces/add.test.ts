import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bench, git } from './helpers.ts';

const entries = (repo: string) => readdirSync(join(repo, '.git/worktrees')).sort();

describe('a worktree that is made', () => {
  it('is one that git lists, keeps and removes', async () => {
    const { repo, spec, workspaces } = bench();
    const one = spec('one');
    await workspaces.ensure(one);
    expect(git(repo, 'worktree', 'list', '--porcelain')).toContain(`worktree ${one.path}\n`);
    expect(git(repo, 'worktree', 'prune', '--verbose', '--expire=now')).toBe('');
    expect(git(repo, 'fsck', '--no-dangling')).toBe('');
    git(repo, 'worktree', 'remove', one.path);
    expect(existsSync(one.path)).toBe(false);
  });

  it('takes another name where git has an entry of the same name', async () => {
    const { repo, spec, workspaces } = bench();
    git(repo, 'worktree', 'add', '--quiet', '--detach', join(repo, '../elsewhere/one'));
    mkdirSync(join(repo, '.git/worktrees/one1'));
    await workspaces.ensure(spec('one'));
    expect(entries(repo)).toEqual(['one', 'one1', 'one2']);
  });

  it.each([
    ['with no directory', (path: string) => rmSync(path, { recursive: true })],
    ['with a directory and no pointer in it', (path: string) => rmSync(join(path, '.git'))],
    ['with a pointer that is empty', (path: string) => writeFileSync(join(path, '.git'), '')],
  ])('is made anew over an entry that a dead engine left %s', async (_, leave) => {
    const { repo, first, spec, workspaces } = bench();
    const one = spec('one');
    git(repo, 'worktree', 'add', '--quiet', '--no-checkout', '--detach', one.path, first);
    leave(one.path);
    expect(await workspaces.ensure(one)).toMatchObject({ created: true, base: { commit: first } });
    expect(entries(repo)).toEqual(['one']);
    expect(git(one.path, 'status', '--porcelain', '--branch')).toBe('## ticket/one');
  });

  it('is as sparse as the checkout', async () => {
    const { repo, spec, workspaces } = bench();
    git(repo, 'config', 'core.sparseCheckout', 'true');
    mkdirSync(join(repo, '.git/info'), { recursive: true });
    writeFileSync(join(repo, '.git/info/sparse-checkout'), '/a.txt\n');
    const one = spec('one');
    await workspaces.ensure(one);
    expect(readdirSync(one.path).sort()).toEqual(['.git', 'a.txt']);
  });

  it('gets the checkout’s own sparse settings where worktrees have a config of their own', async () => {
    const { repo, spec, workspaces } = bench();
    git(repo, 'config', 'extensions.worktreeConfig', 'true');
    git(repo, 'config', '--worktree', 'core.sparseCheckout', 'true');
    mkdirSync(join(repo, '.git/info'), { recursive: true });
    writeFileSync(join(repo, '.git/info/sparse-checkout'), '/*\n');
    const one = spec('one');
    await workspaces.ensure(one);
    expect(git(one.path, 'config', '--worktree', '--get', 'core.sparseCheckout')).toBe('true');
  });
});
