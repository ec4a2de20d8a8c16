import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bench, git } from './helpers.ts';

const entries = (repo: string) => readdirSync(join(repo, '.git/worktrees')).sort();

describe('a worktree that is made without a git process', () => {
  it('is to git what its own command would have made', async () => {
    const { repo, spec, workspaces } = bench();
    const one = spec('one');
    await workspaces.ensure(one);
    const theirs = join(one.worktreeRoot, 'theirs');
    git(repo, 'worktree', 'add', '--quiet', '-b', 'theirs', theirs, 'main');
    const listed = git(repo, 'worktree', 'list', '--porcelain').split('\n\n').slice(1);
    expect(listed.map((each) => each.split('\n').length)).toEqual([3, 3]);
    const files = (path: string) =>
      readdirSync(git(path, 'rev-parse', '--absolute-git-dir')).filter(
        (name) => name !== 'ORIG_HEAD' && !name.startsWith('signalbox'),
      );
    expect(files(one.path)).toEqual(files(theirs));
    for (const file of ['commondir', 'gitdir', 'HEAD']) {
      const text = (path: string) =>
        readFileSync(join(git(path, 'rev-parse', '--absolute-git-dir'), file), 'utf8');
      expect(text(one.path).replace(one.path, 'path').replace('ticket/one', 'branch')).toBe(
        text(theirs).replace(theirs, 'path').replace('theirs', 'branch'),
      );
    }
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
    mkdirSync(one.path, { recursive: true });
    const admin = join(repo, '.git/worktrees/one');
    mkdirSync(admin, { recursive: true });
    mkdirSync(join(repo, '.git/signalbox-worktree'));
    writeFileSync(join(repo, '.git/signalbox-worktree/HEAD'), 'half');
    writeFileSync(join(admin, 'commondir'), '../..\n');
    writeFileSync(join(admin, 'HEAD'), `${first}\n`);
    writeFileSync(join(admin, 'gitdir'), `${join(one.path, '.git')}\n`);
    writeFileSync(join(one.path, '.git'), `gitdir: ${admin}\n`);
    leave(one.path);
    expect(await workspaces.ensure(one)).toMatchObject({ created: true, base: { commit: first } });
    expect(entries(repo)).toEqual(['one']);
    expect(existsSync(join(repo, '.git/signalbox-worktree'))).toBe(false);
    expect(git(one.path, 'status', '--porcelain', '--branch')).toBe('## ticket/one');
  });

  it('is left to git where the checkout is sparse', async () => {
    const { repo, spec, workspaces } = bench();
    git(repo, 'config', 'core.sparseCheckout', 'true');
    mkdirSync(join(repo, '.git/info'), { recursive: true });
    writeFileSync(join(repo, '.git/info/sparse-checkout'), '/a.txt\n');
    const one = spec('one');
    await workspaces.ensure(one);
    expect(readdirSync(one.path).sort()).toEqual(['.git', 'a.txt']);
  });

  it('is left to git where the repository has extensions', async () => {
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
