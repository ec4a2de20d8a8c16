import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bench, commit, git } from './helpers.ts';

/** A repository that began here: it has an origin, but nobody ever wrote down which branch is that one's default. */
function grown() {
  const all = bench();
  const origin = join(all.root, 'origin.git');
  git(all.root, 'clone', '--quiet', '--bare', all.repo, origin);
  git(all.repo, 'remote', 'add', 'origin', origin);
  git(all.repo, '-c', 'remote.origin.followRemoteHEAD=never', 'fetch', '--quiet', 'origin');
  const other = join(all.root, 'other');
  git(all.root, 'clone', '--quiet', origin, other);
  const theirs = commit(other, { 'theirs.txt': 'x' });
  git(other, 'push', '--quiet', 'origin', 'main');
  git(all.repo, 'switch', '--quiet', '--create', 'wip');
  commit(all.repo, { 'private.txt': 'x' });
  return { ...all, origin, other, theirs };
}

const headOf = (repo: string) => git(repo, 'for-each-ref', '--format=%(symref)', 'refs/remotes/origin/HEAD');

describe('without a record of origin’s default branch', () => {
  it('origin is asked, and what it says is written down', { tags: 'full' }, async () => {
    const { repo, workspaces, spec, theirs } = grown();
    const made = await workspaces.ensure(spec('one'));
    expect(made.base).toEqual({ ref: 'origin/main', commit: theirs });
    expect(git(spec('one').path, 'ls-files')).not.toContain('private');
    expect(headOf(repo)).toBe('refs/remotes/origin/main');
  });

  it('it may be any branch, also where there is one called main', { tags: 'full' }, async () => {
    const { repo, origin, other, workspaces, spec } = grown();
    git(other, 'switch', '--quiet', '--create', 'develop');
    const tip = commit(other, { 'develop.txt': 'x' });
    git(other, 'push', '--quiet', 'origin', 'develop');
    git(origin, 'symbolic-ref', 'HEAD', 'refs/heads/develop');
    expect((await workspaces.ensure(spec('one'))).base).toEqual({ ref: 'origin/develop', commit: tip });
    expect(headOf(repo)).toBe('refs/remotes/origin/develop');
  });

  it('the usual one counts where origin cannot be asked, and that is told', async () => {
    const { origin, first, workspaces, spec } = grown();
    renameSync(origin, `${origin}.away`);
    const made = await workspaces.ensure(spec('one'));
    expect(made.base).toEqual({ ref: 'origin/main', commit: first });
    expect(made.notes[0]).toContain('origin did not say what its default branch is');
  });

  it('the current branch counts where nothing of origin is here', { tags: 'full' }, async () => {
    const { repo, origin, workspaces, spec } = grown();
    renameSync(origin, `${origin}.away`);
    git(repo, 'update-ref', '-d', 'refs/remotes/origin/main');
    expect((await workspaces.ensure(spec('one'))).base.ref).toBe('wip');
    expect(headOf(repo)).toBe('');
  });
});
