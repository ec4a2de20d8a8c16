import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createWorkspaces } from '../../src/workspaces/workspaces.ts';
import { bench, commit, failure, git, read, write } from './helpers.ts';

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

  it('come into a branch that has no commits of its own: it begins anew at them', async () => {
    const { repo, spec, workspaces } = bench();
    git(repo, 'branch', 'ticket/one');
    const a = branchWith(repo, 'a', { a: '1' });
    const one = spec('one', { stackOn: ['a'] });
    expect((await workspaces.ensure(one)).base).toEqual({ ref: 'main', commit: a });
    expect(git(one.path, 'rev-parse', 'HEAD')).toBe(a);
    expect(git(one.path, 'status', '--porcelain')).toBe('');
  });

  it('come into a worktree that was there before, and what is uncommitted stays', async () => {
    const { repo, spec, workspaces } = bench();
    const one = spec('one');
    await workspaces.ensure(one);
    write(one.path, { draft: 'mine' });
    const a = branchWith(repo, 'a', { a: '1' });
    const again = await workspaces.ensure({ ...one, stackOn: ['a'] });
    expect(again).toMatchObject({ created: false, base: { ref: 'main', commit: a } });
    expect([read(one.path, 'a'), read(one.path, 'draft')]).toEqual(['1', 'mine']);
    expect(git(one.path, 'status', '--porcelain')).toBe('?? draft');
  });

  it('do not overwrite uncommitted files of a worktree', async () => {
    const { repo, spec, workspaces } = bench();
    const one = spec('one');
    await workspaces.ensure(one);
    write(one.path, { a: 'mine' });
    branchWith(repo, 'a', { a: '1' });
    const error = await failure(workspaces.ensure({ ...one, stackOn: ['a'] }));
    expect(error).toMatchObject({ code: 'workspace/dirty', message: expect.stringContaining(one.path) });
    expect(read(one.path, 'a')).toBe('mine');
  });

  it.for([
    ['with a worktree', true],
    ['without a worktree', false],
  ] as const)('are merged into a branch that has commits of its own, %s', async ([, kept]) => {
    const { repo, spec, workspaces } = bench();
    const one = spec('one');
    let own = '';
    if (kept) {
      await workspaces.ensure(one);
      own = commit(one.path, { own: '1' });
    } else own = branchWith(repo, 'ticket/one', { own: '1' });
    const a = branchWith(repo, 'a', { a: '1' });
    const stacked = { ...one, stackOn: ['a'] };
    const made = await workspaces.ensure(stacked);
    expect(made.base).toEqual({ ref: 'main', commit: a });
    for (const tip of [own, a]) git(repo, 'merge-base', '--is-ancestor', tip, 'ticket/one');
    expect([read(one.path, 'own'), read(one.path, 'a')]).toEqual(['1', '1']);
    const head = git(one.path, 'rev-parse', 'HEAD');
    expect((await workspaces.ensure(stacked)).base).toEqual(made.base);
    expect(git(one.path, 'rev-parse', 'HEAD')).toBe(head);
  });

  it('that conflict with commits of the branch are an error, and the branch stays as it is', async () => {
    const { repo, spec, workspaces } = bench();
    const own = branchWith(repo, 'ticket/one', { 'a.txt': 'own\n' });
    branchWith(repo, 'a', { 'a.txt': 'theirs\n' });
    const error = await failure(workspaces.ensure(spec('one', { stackOn: ['a'] })));
    expect(error.code).toBe('workspace/stack-conflict');
    for (const word of ['ticket/one', 'prerequisite a', 'a.txt']) expect(error.message).toContain(word);
    expect(git(repo, 'rev-parse', 'ticket/one')).toBe(own);
  });

  it('that somebody has merged by hand are not merged once more', async () => {
    const { repo, spec, workspaces } = bench();
    branchWith(repo, 'left', { 'a.txt': 'left\n' });
    branchWith(repo, 'right', { 'a.txt': 'right\n' });
    git(repo, 'switch', '--quiet', '-c', 'ticket/one', 'left');
    git(repo, 'merge', '--quiet', '--strategy=ours', '-m', 'both', 'right');
    git(repo, 'switch', '--quiet', 'main');
    const tip = git(repo, 'rev-parse', 'ticket/one');
    const one = spec('one', { stackOn: ['left', 'right'] });
    await workspaces.ensure(one);
    expect(git(one.path, 'rev-parse', 'HEAD')).toBe(tip);
  });

  it('whose branch is gone unmerged are built upon as they were in the end', async () => {
    const { repo, spec, workspaces } = bench();
    const a = branchWith(repo, 'a', { a: '1' });
    git(repo, 'branch', '-D', 'a');
    const made = await workspaces.ensure(spec('one', { stackOn: ['a'], stackTips: { a } }));
    expect(made).toMatchObject({ base: { commit: a }, notes: [] });
  });

  it('whose branch is gone and was merged as one commit change nothing', async () => {
    const { repo, spec, workspaces } = bench();
    const a = branchWith(repo, 'a', { a: '1' });
    git(repo, 'branch', '-D', 'a');
    commit(repo, { a: '1' }, 'a, squashed');
    const next = commit(repo, { n: '1' });
    const made = await workspaces.ensure(spec('one', { stackOn: ['a'], stackTips: { a } }));
    expect(made.base.commit).toBe(next);
  });

  it('that were merged on the forge are had from there, beside what only the local base has', async () => {
    const all = bench();
    const { repo, spec, workspaces } = all;
    const { push } = withOrigin(all);
    branchWith(repo, 'a', { 'a.txt': 'first try\n' });
    const open = branchWith(repo, 'open', { open: '1' });
    await workspaces.ensure(spec('before', { base: null }));
    const there = push({ 'a.txt': 'mended\n' });
    const local = commit(repo, { local: '1' });
    const one = spec('one', { base: 'main', stackOn: ['open'], mergedOn: ['a'] });
    const { base } = await workspaces.ensure(one);
    for (const tip of [there, open, local]) git(repo, 'merge-base', '--is-ancestor', tip, base.commit);
    expect(read(one.path, 'a.txt')).toBe('mended\n');
    const two = await workspaces.ensure(spec('two', { base: null, mergedOn: ['a'] }));
    expect(two.base).toEqual({ ref: 'origin/main', commit: there });
  });

  it('that were merged on the forge are built upon as they are here where it cannot be asked', async () => {
    const { repo, spec, workspaces } = bench();
    const a = branchWith(repo, 'a', { a: '1' });
    const made = await workspaces.ensure(spec('one', { mergedOn: ['a'] }));
    expect(made).toMatchObject({ base: { commit: a }, notes: [expect.stringContaining('origin/main')] });
  });

  it('whose branch is gone are taken as merged, with a note', async () => {
    const { first, spec, workspaces } = bench();
    const made = await workspaces.ensure(spec('one', { stackOn: ['gone'] }));
    expect(made.base.commit).toBe(first);
    expect(made.notes).toEqual([expect.stringContaining('gone')]);
  });
});

describe('finished work', () => {
  it('is on its branch, merged in one way or another, kept under another name, or gone', async () => {
    const { repo, workspaces } = bench();
    const tip = branchWith(repo, 'a', { a: '1' });
    const where = (of: string | null = tip) =>
      workspaces.findWorkInBase({ repo, branch: 'a', base: null, recordedBase: null, tip: of });
    expect(await where()).toBe('branch');
    git(repo, 'branch', '-m', 'a', 'other');
    expect([await where(), await where(null)]).toEqual(['kept', 'gone']);
    git(repo, 'branch', '-D', 'other');
    expect(await where()).toBe('gone');
    commit(repo, { a: '1' }, 'a, squashed');
    expect(await where()).toBe('merged');
  });
});
