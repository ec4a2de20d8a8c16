import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createWorkspaces } from '../../src/workspaces/workspaces.ts';
import { bench, commit, failure, git, write } from './helpers.ts';

type Bench = ReturnType<typeof bench>;

/** A ticket with one commit, ready to be merged. */
async function finished({ spec, workspaces }: Bench, id: string, files: Record<string, string>) {
  const one = spec(id);
  const { base } = await workspaces.ensure(one);
  const tip = commit(one.path, files, `work of ${id}`);
  return { ...one, recordedBase: base, message: `Title of ${id}`, tip };
}

const show = (repo: string, ref: string) =>
  git(repo, 'show', '--no-patch', '--format=%P|%an <%ae>|%B', ref).trim();

describe('integrate', () => {
  it('moves the base branch when nobody has it checked out', { tags: 'full' }, async () => {
    const all = bench();
    const one = await finished(all, 'one', { one: '1' });
    git(all.repo, 'switch', '--quiet', '-c', 'elsewhere');
    const result = await all.workspaces.integrate(one);
    expect(result).toEqual({ target: 'main', commit: git(all.repo, 'rev-parse', 'main'), fastForward: null });
    expect(show(all.repo, 'main')).toBe(
      `${all.first} ${one.tip}|Signalbox <signalbox@localhost>|Merge ticket/one: Title of one`,
    );
    expect(git(all.repo, 'status', '--porcelain', '--branch')).toBe('## elsewhere');
    expect(git(all.repo, 'show', 'main:one')).toBe('1');
  });

  it('moves signalbox/<base> when the base is checked out, and the command it gives works', {
    tags: 'full',
  }, async () => {
    const all = bench();
    const one = await finished(all, 'one', { one: '1' });
    const two = await finished(all, 'two', { two: '2' });
    write(all.repo, { untouched: 'x' });
    const first = await all.workspaces.integrate(one);
    const second = await all.workspaces.integrate(two);
    expect(first).toMatchObject({
      target: 'signalbox/main',
      fastForward: `git -C ${all.repo} merge --ff-only signalbox/main`,
    });
    expect(git(all.repo, 'rev-parse', 'main')).toBe(all.first);
    expect(git(all.repo, 'status', '--porcelain', '--branch')).toBe('## main\n?? untouched');
    expect(git(all.repo, 'rev-list', '--first-parent', '--count', 'main..signalbox/main')).toBe('2');
    const command = 'fastForward' in second ? (second.fastForward ?? '') : '';
    git(all.repo, ...command.split(' ').slice(1));
    expect(git(all.repo, 'show', 'main:one', 'main:two')).toBe('12');
    const again = await all.workspaces.integrate(two);
    expect(again).toMatchObject({ commit: git(all.repo, 'rev-parse', 'main'), fastForward: null });
  });

  it('makes the next ticket start from what was integrated', async () => {
    const all = bench();
    const result = await all.workspaces.integrate(await finished(all, 'one', { one: '1' }));
    const next = await all.workspaces.ensure(all.spec('two', { stackOn: ['ticket/one'] }));
    expect(next.base).toEqual({ ref: 'main', commit: 'commit' in result && result.commit });
  });

  it('brings signalbox/<base> up to a base that went on', { tags: 'full' }, async () => {
    const all = bench();
    const one = await finished(all, 'one', { one: '1' });
    const two = await finished(all, 'two', { two: '2' });
    await all.workspaces.integrate(one);
    const main = commit(all.repo, { main: 'm' });
    await all.workspaces.integrate(two);
    git(all.repo, 'merge-base', '--is-ancestor', main, 'signalbox/main');
    git(all.repo, 'merge', '--quiet', '--ff-only', 'signalbox/main');
    expect(git(all.repo, 'show', 'main:one', 'main:two', 'main:main')).toBe('12m');
  });

  it('brings it up by the same commit whenever it is asked, so that only a move looks like one', {
    tags: 'full',
  }, async () => {
    const all = bench();
    await all.workspaces.integrate(await finished(all, 'one', { one: '1' }));
    const main = commit(all.repo, { main: 'm' });
    const old = git(all.repo, 'rev-parse', 'signalbox/main');
    const tipIn = async (year: number) => {
      const date = `${year}-01-01T00:00:00Z`;
      const env = { ...all.env, GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date };
      const trains = await createWorkspaces({ env }).trains(all.repo);
      const { tip } = await trains.track({ base: 'main', recordedBase: null, remote: false });
      trains.close();
      return tip;
    };
    const tip = await tipIn(2030);
    expect(await tipIn(2031)).toBe(tip);
    const newest = Math.max(
      ...[main, old].map((each) => Number(git(all.repo, 'log', '-1', '--format=%ct', each))),
    );
    expect(git(all.repo, 'show', '--no-patch', '--format=%at %ct', tip)).toBe(`${newest} ${newest}`);
    const moved = commit(all.repo, { main: 'n' });
    const next = await tipIn(2031);
    expect(next).not.toBe(tip);
    git(all.repo, 'merge-base', '--is-ancestor', moved, next);
  });

  it('does nothing the second time, and nothing for a branch without commits', { tags: 'full' }, async () => {
    const all = bench();
    const one = await finished(all, 'one', { one: '1' });
    const result = await all.workspaces.integrate(one);
    expect(await all.workspaces.integrate(one)).toEqual(result);
    const { base } = await all.workspaces.ensure(all.spec('two', { base: 'main' }));
    const empty = { ...all.spec('two'), recordedBase: base, message: 'x' };
    expect(await all.workspaces.integrate(empty)).toEqual(result);
    expect(git(all.repo, 'rev-list', '--count', 'signalbox/main')).toBe('3');
  });

  it('creates no branch when there is nothing to merge', async () => {
    const all = bench();
    await all.workspaces.ensure(all.spec('one'));
    const result = await all.workspaces.integrate({ ...all.spec('one'), message: 'x' });
    expect(result).toEqual({ target: 'main', commit: all.first, fastForward: null });
    expect(git(all.repo, 'branch', '--list', 'signalbox/*')).toBe('');
  });

  it.each(['checked out', 'free'])(
    'names the files of a conflict and moves nothing (base %s)',
    { tags: 'full' },
    async (how) => {
      const all = bench();
      const one = await finished(all, 'one', { 'a.txt': 'one\n', fine: 'x' });
      const two = await finished(all, 'two', { 'a.txt': 'two\n' });
      if (how === 'free') git(all.repo, 'switch', '--quiet', '--detach');
      await all.workspaces.integrate(one);
      const before = git(all.repo, 'for-each-ref');
      expect(await all.workspaces.integrate(two)).toEqual({
        conflict: ['a.txt'],
        target: how === 'free' ? 'main' : 'signalbox/main',
      });
      expect(git(all.repo, 'for-each-ref')).toBe(before);
      expect(git(all.repo, 'status', '--porcelain')).toBe('');
    },
  );

  it('uses the identity that the repository has', { tags: 'full' }, async () => {
    const all = bench();
    git(all.repo, 'config', 'user.name', 'Grace');
    git(all.repo, 'config', 'user.email', 'grace@example.com');
    await all.workspaces.integrate(await finished(all, 'one', { one: '1' }));
    expect(show(all.repo, 'signalbox/main')).toContain('|Grace <grace@example.com>|');
  });

  it('merges many at once, from two engines, without losing one', { tags: 'full' }, async () => {
    const all = bench();
    const other = createWorkspaces({ env: all.env });
    const ids = Array.from({ length: 12 }, (_, index) => `t${index}`);
    const tickets = [];
    for (const id of ids) tickets.push(await finished(all, id, { [id]: id }));
    await Promise.all(tickets.map((one, index) => (index % 2 ? other : all.workspaces).integrate(one)));
    for (const { tip } of tickets) git(all.repo, 'merge-base', '--is-ancestor', tip, 'signalbox/main');
    expect(git(all.repo, 'rev-list', '--merges', '--count', 'signalbox/main')).toBe('12');
  });

  it('refuses a missing branch, a base that is no branch, and a busy integration branch', {
    tags: 'full',
  }, async () => {
    const all = bench();
    const one = await finished(all, 'one', { one: '1' });
    const code = async (more: object) => (await failure(all.workspaces.integrate({ ...one, ...more }))).code;
    expect(await code({ branch: 'absent' })).toBe('workspace/branch-missing');
    expect(await code({ branch: '--all' })).toBe('workspace/branch-name');
    expect(await code({ recordedBase: { ref: all.first, commit: all.first } })).toBe(
      'workspace/no-base-branch',
    );
    git(all.repo, 'worktree', 'add', '--quiet', '-b', 'signalbox/main', join(all.root, 'busy'));
    expect(await code({})).toBe('workspace/target-busy');
  });

  it('merges for a base that is known from origin alone', { tags: 'full' }, async () => {
    const all = bench();
    const origin = join(all.root, 'origin.git');
    git(all.root, 'clone', '--quiet', '--bare', all.repo, origin);
    const clone = join(all.root, 'clone');
    git(all.root, 'clone', '--quiet', origin, clone);
    git(clone, 'switch', '--quiet', '-c', 'topic');
    git(clone, 'branch', '--quiet', '-D', 'main');
    const one = { ...all.spec('one'), repo: clone };
    const { base } = await all.workspaces.ensure(one);
    expect(base.ref).toBe('origin/main');
    commit(one.path, { one: '1' });
    rmSync(origin, { recursive: true });
    const result = await all.workspaces.integrate({ ...one, recordedBase: base, message: 'x' });
    expect(result).toMatchObject({
      target: 'signalbox/main',
      fastForward: `git -C ${clone} branch main signalbox/main`,
    });
    expect(git(clone, 'show', 'signalbox/main:one')).toBe('1');
  });
});

describe('baseHas', () => {
  it('knows whether the base or its integration branch has the work', async () => {
    const all = bench();
    const one = await finished(all, 'one', { one: '1' });
    const tip = git(all.repo, 'rev-parse', one.branch);
    expect(await all.workspaces.baseHas(one, tip)).toBe(false);
    await all.workspaces.integrate(one);
    expect(await all.workspaces.baseHas(one, tip)).toBe(true);
  });

  it('counts what was merged here before origin has it', async () => {
    const all = bench();
    const origin = join(all.root, 'origin.git');
    git(all.root, 'clone', '--quiet', '--bare', all.repo, origin);
    const clone = join(all.root, 'clone');
    git(all.root, 'clone', '--quiet', origin, clone);
    const one = { ...all.spec('one'), repo: clone };
    const { base } = await all.workspaces.ensure(one);
    expect(base.ref).toBe('origin/main');
    const spec = { ...one, recordedBase: base };
    commit(one.path, { one: '1' });
    const tip = git(clone, 'rev-parse', one.branch);
    expect(await all.workspaces.baseHas(spec, tip)).toBe(false);
    git(clone, 'merge', '--quiet', '--no-edit', one.branch);
    expect(await all.workspaces.baseHas(spec, tip)).toBe(true);
  });
});
