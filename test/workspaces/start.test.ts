import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createWorkspaces } from '../../src/workspaces/index.ts';
import { bench, commit, failure, git, read } from './helpers.ts';

type Bench = ReturnType<typeof bench>;

/** A branch with one commit that starts at `from`. */
function branchWith(repo: string, name: string, files: Record<string, string>, from = 'main'): string {
  const current = git(repo, 'symbolic-ref', '--short', 'HEAD');
  git(repo, 'switch', '--quiet', '-c', name, from);
  const tip = commit(repo, files, name);
  git(repo, 'switch', '--quiet', current);
  return tip;
}

/** Gives the repository an origin and a second clone that pushes to it. */
function withOrigin({ repo, root }: Bench) {
  const origin = join(root, 'origin.git');
  git(root, 'clone', '--quiet', '--bare', repo, origin);
  git(repo, 'remote', 'add', 'origin', origin);
  git(repo, 'fetch', '--quiet', 'origin');
  git(repo, 'remote', 'set-head', 'origin', 'main');
  const other = join(root, 'other');
  git(root, 'clone', '--quiet', origin, other);
  const push = (files: Record<string, string>, branch = 'main') => {
    const tip = commit(other, files);
    git(other, 'push', '--quiet', 'origin', `HEAD:${branch}`);
    return tip;
  };
  return { origin, push };
}

describe('the base', () => {
  it("is the plan's branch when it names one", async () => {
    const { repo, spec, workspaces } = bench();
    const tip = branchWith(repo, 'release', { r: '1' });
    expect((await workspaces.ensure(spec('one', { base: 'release' }))).base).toEqual({
      ref: 'release',
      commit: tip,
    });
  });

  it('that does not exist is an error that names it', async () => {
    const { repo, spec, workspaces } = bench();
    const error = await failure(workspaces.ensure(spec('one', { base: 'relaese' })));
    expect(error).toMatchObject({
      code: 'workspace/base-missing',
      message: expect.stringContaining('relaese'),
    });
    expect(git(repo, 'branch', '--list')).toBe('* main');
  });

  it('is the current branch or commit where there is no remote', async () => {
    const { repo, first, spec, workspaces } = bench();
    git(repo, 'switch', '--quiet', '-c', 'topic');
    const tip = commit(repo, { t: '1' });
    expect((await workspaces.ensure(spec('one'))).base).toEqual({ ref: 'topic', commit: tip });
    git(repo, 'switch', '--quiet', '--detach', first);
    expect((await workspaces.ensure(spec('two'))).base).toEqual({ ref: first, commit: first });
  });

  it('reads packed refs', async () => {
    const { repo, first, spec, workspaces } = bench();
    git(repo, 'branch', 'ticket/two');
    git(repo, 'pack-refs', '--all');
    expect((await workspaces.ensure(spec('one'))).base.commit).toBe(first);
    expect((await workspaces.ensure(spec('two'))).base.commit).toBe(first);
    const next = commit(repo, { n: '1' });
    expect((await workspaces.ensure(spec('three'))).base.commit).toBe(next);
  });

  it("is origin's default branch, fetched, whatever is checked out", async () => {
    const all = bench();
    const { push } = withOrigin(all);
    git(all.repo, 'switch', '--quiet', '-c', 'topic');
    const tip = push({ pushed: '1' });
    const made = await all.workspaces.ensure(all.spec('one'));
    expect(made).toMatchObject({ base: { ref: 'origin/main', commit: tip }, notes: [] });
    expect(read(all.spec('one').path, 'pushed')).toBe('1');
    expect(git(all.repo, 'for-each-ref', '--format=%(refname)', 'refs/heads/main')).toBe('refs/heads/main');
    expect(git(all.repo, 'rev-parse', 'main')).toBe(all.first);
  });

  it('is fetched once for many tickets and processes', async () => {
    const all = bench();
    const { push } = withOrigin(all);
    const tip = push({ pushed: '1' });
    const bases = await Promise.all(['a', 'b', 'c', 'd'].map((id) => all.workspaces.ensure(all.spec(id))));
    push({ pushed: '2' });
    bases.push(await all.workspaces.ensure(all.spec('e')));
    bases.push(await createWorkspaces({ env: all.env }).ensure(all.spec('f')));
    expect(new Set(bases.map((made) => made.base.commit))).toEqual(new Set([tip]));
    const stamp = join(all.repo, '.git/signalbox-fetched');
    writeFileSync(stamp, JSON.stringify({ main: Date.now() - 61_000 }));
    const later = await createWorkspaces({ env: all.env }).ensure(all.spec('g'));
    expect(read(all.spec('g').path, 'pushed')).toBe('2');
    expect(later.notes).toEqual([]);
  });

  it('of a remote that cannot be reached is what is here, with a note', async () => {
    const all = bench();
    const { origin } = withOrigin(all);
    rmSync(origin, { recursive: true });
    const made = await all.workspaces.ensure(all.spec('one'));
    expect(made.base).toEqual({ ref: 'origin/main', commit: all.first });
    expect(made.notes).toEqual([expect.stringContaining('origin/main was not fetched')]);
  });

  it('may exist at origin alone', async () => {
    const all = bench();
    const { push } = withOrigin(all);
    const tip = push({ next: '1' }, 'next');
    expect((await all.workspaces.ensure(all.spec('one', { base: 'next' }))).base).toEqual({
      ref: 'origin/next',
      commit: tip,
    });
  });

  it('starts from what was integrated as long as that contains it', async () => {
    const { repo, spec, workspaces } = bench();
    const integrated = branchWith(repo, 'signalbox/main', { i: '1' });
    expect((await workspaces.ensure(spec('one'))).base).toEqual({ ref: 'main', commit: integrated });
    const next = commit(repo, { n: '1' });
    expect((await workspaces.ensure(spec('two'))).base).toEqual({ ref: 'main', commit: next });
  });
});

describe('prerequisites', () => {
  it('that the base contains change nothing', async () => {
    const { repo, spec, workspaces } = bench();
    git(repo, 'branch', 'old');
    const next = commit(repo, { n: '1' });
    expect((await workspaces.ensure(spec('one', { stackOn: ['old', 'main'] }))).base.commit).toBe(next);
  });

  it('that are open are built upon: one by its tip, a chain by its end', async () => {
    const { repo, spec, workspaces } = bench();
    const a = branchWith(repo, 'a', { a: '1' });
    const b = branchWith(repo, 'b', { b: '1' }, 'a');
    expect((await workspaces.ensure(spec('one', { stackOn: ['a'] }))).base).toEqual({
      ref: 'main',
      commit: a,
    });
    expect((await workspaces.ensure(spec('two', { stackOn: ['a', 'b'] }))).base.commit).toBe(b);
  });

  it('that stand side by side are merged, and the merge is the recorded base', async () => {
    const { repo, spec, workspaces } = bench();
    const tips = ['a', 'b', 'c'].map((name) => branchWith(repo, name, { [name]: '1' }));
    const one = spec('one', { stackOn: ['a', 'b', 'c'] });
    const made = await workspaces.ensure(one);
    expect(git(one.path, 'rev-parse', 'HEAD')).toBe(made.base.commit);
    for (const tip of tips) git(repo, 'merge-base', '--is-ancestor', tip, made.base.commit);
    expect(['a', 'b', 'c'].map((name) => read(one.path, name))).toEqual(['1', '1', '1']);
    expect(git(repo, 'rev-parse', `${made.base.commit}~2`)).toBe(tips[0]);
    expect((await workspaces.ensure(one)).base).toEqual(made.base);
    expect((await workspaces.evidence(one.path, made.base.commit)).ahead).toBe(0);
  });

  it('of which one is merged and one is open are both there', async () => {
    const { repo, spec, workspaces } = bench();
    branchWith(repo, 'open', { open: '1' });
    branchWith(repo, 'merged', { merged: '1' });
    git(repo, 'merge', '--quiet', '--no-ff', '-m', 'merge', 'merged');
    const one = spec('one', { stackOn: ['merged', 'open'] });
    await workspaces.ensure(one);
    expect([read(one.path, 'open'), read(one.path, 'merged')]).toEqual(['1', '1']);
  });

  it('that conflict are an error with their names, and nothing is made', async () => {
    const { repo, spec, workspaces } = bench();
    branchWith(repo, 'left', { 'a.txt': 'left\n' });
    branchWith(repo, 'right', { 'a.txt': 'right\n' });
    const error = await failure(workspaces.ensure(spec('one', { stackOn: ['left', 'right'] })));
    expect(error.code).toBe('workspace/stack-conflict');
    for (const word of ['left', 'right', 'a.txt']) expect(error.message).toContain(word);
    expect(git(repo, 'branch', '--list', 'ticket/*')).toBe('');
  });

  it('whose branch is gone are taken as merged, with a note', async () => {
    const { first, spec, workspaces } = bench();
    const made = await workspaces.ensure(spec('one', { stackOn: ['gone'] }));
    expect(made.base.commit).toBe(first);
    expect(made.notes).toEqual([expect.stringContaining('gone')]);
  });
});
