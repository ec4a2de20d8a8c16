import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findRepo } from '../../src/git/find-repository.ts';
import { createGit } from '../../src/git/run-git.ts';
import { readMarks } from '../../src/git/status-and-index-marks.ts';
import type { WorkspaceSpec } from '../../src/workspaces/workspaces.ts';
import { firstOnly } from '../support/tiers.ts';
import { bench, commit, failure, git, read, write } from './helpers.ts';

const FILES = { 'a.txt': 'a\n', 'dir/b.txt': 'b\n' };
const head = (path: string) => git(path, 'rev-parse', 'HEAD');

/** Makes commits on no branch, goes back, and gives the last of them. */
function leaveCommit(path: string, branch: string): string {
  git(path, 'switch', '--quiet', '--detach');
  const left = commit(path, { left: 'x' });
  git(path, 'switch', '--quiet', branch);
  return left;
}

describe('release keeps what git status does not show', () => {
  const rows: Array<[string, RegExp, (one: WorkspaceSpec) => void]> = [
    [
      'an edit behind assume-unchanged',
      /a\.txt \(hidden from git status\)/,
      ({ path }) => {
        git(path, 'update-index', '--assume-unchanged', 'a.txt');
        write(path, { 'a.txt': 'precious\n' });
      },
    ],
    [
      'an edit behind skip-worktree',
      /dir\/b\.txt \(hidden/,
      ({ path }) => {
        git(path, 'update-index', '--skip-worktree', 'dir/b.txt');
        write(path, { 'dir/b.txt': 'precious\n' });
      },
    ],
    [
      'an edit behind both, with the index in another form',
      /a\.txt \(hidden/,
      ({ path }) => {
        git(path, 'update-index', '--index-version', '4');
        git(path, 'update-index', '--skip-worktree', 'a.txt');
        git(path, 'update-index', '--assume-unchanged', 'a.txt');
        write(path, { 'a.txt': 'precious\n' });
      },
    ],
    [
      'an edit behind skip-worktree in a split index',
      /a\.txt \(hidden/,
      ({ path }) => {
        git(path, 'update-index', '--split-index');
        git(path, 'update-index', '--skip-worktree', 'a.txt');
        write(path, { 'a.txt': 'precious\n' });
      },
    ],
    ['commits made on no branch and left', /made in it/, ({ path, branch }) => leaveCommit(path, branch)],
    [
      'commits that only a ref of the worktree holds',
      /made in it/,
      ({ path, branch }) => {
        git(path, 'update-ref', 'refs/worktree/mine', leaveCommit(path, branch));
        git(path, 'reflog', 'expire', '--expire=now', '--expire-unreachable=now', 'HEAD');
      },
    ],
    [
      'commits of a branch that was deleted again',
      /made in it/,
      ({ path, branch }) => {
        git(path, 'switch', '--quiet', '-c', 'draft');
        commit(path, { draft: 'x' });
        git(path, 'switch', '--quiet', branch);
        git(path, 'branch', '--quiet', '-D', 'draft');
      },
    ],
  ];

  it.each(rows)('%s', async (_name, reason, act) => {
    const { spec, workspaces } = bench(FILES);
    const one = spec('one');
    await workspaces.ensure(one);
    commit(one.path, { work: 'x' });
    act(one);
    expect(await workspaces.examine(one)).toMatchObject({ keep: expect.stringMatching(reason) });
    for (const slots of [4, 0])
      expect(await workspaces.release({ ...one, slots })).toEqual({
        released: false,
        reason: expect.stringMatching(reason),
      });
    expect(existsSync(join(one.path, 'work'))).toBe(true);
  });

  it('and says in the survey what would be lost', async () => {
    const { spec, workspaces } = bench(FILES);
    const one = spec('one');
    await workspaces.ensure(one);
    leaveCommit(one.path, one.branch);
    git(one.path, 'update-index', '--skip-worktree', 'a.txt');
    write(one.path, { 'a.txt': 'precious\n' });
    expect(await workspaces.examine(one)).toMatchObject({ files: 1, commits: 1 });
  });

  it('and a lost directory whose reflog alone holds commits is not forgotten', async () => {
    const { spec, workspaces } = bench(FILES);
    const one = spec('one');
    await workspaces.ensure(one);
    const left = leaveCommit(one.path, one.branch);
    rmSync(one.path, { recursive: true });
    const error = await failure(workspaces.ensure(one));
    expect(error).toMatchObject({ code: 'workspace/lost-commit', message: expect.stringContaining(left) });
  });
});

describe('release gives back a worktree', () => {
  const rows: Array<[string, (one: WorkspaceSpec, repo: string) => void]> = [
    [
      'whose commits were amended, reset and rebased on its branch',
      ({ path }, repo) => {
        commit(path, { work: '1' });
        write(path, { work: '2' });
        git(path, 'commit', '--quiet', '--all', '--amend', '--no-edit');
        commit(path, { more: '1' });
        git(path, 'reset', '--quiet', '--hard', 'HEAD~1');
        commit(path, { third: '1' }, 'third');
        write(path, { third: '2' });
        git(path, 'commit', '--quiet', '--all', '--fixup', 'HEAD');
        commit(repo, { upstream: 'x' });
        git(path, '-c', 'sequence.editor=true', 'rebase', '--quiet', '-i', '--autosquash', 'main');
      },
    ],
    [
      'whose commits on no branch got one',
      ({ path, branch }) => git(path, 'branch', 'rescued', leaveCommit(path, branch)),
    ],
    [
      'in which a merge of other branches was made',
      ({ path }, repo) => {
        commit(path, { work: '1' });
        commit(repo, { upstream: 'x' });
        git(path, 'merge', '--quiet', '--no-edit', 'main');
      },
    ],
  ];

  it.each(rows)('%s', async (_name, act) => {
    const { repo, spec, workspaces } = bench(FILES);
    const one = spec('one');
    await workspaces.ensure(one);
    act(one, repo);
    expect(await workspaces.release(one)).toEqual({ released: true, slot: true });
  });

  it('whose files are marked but as they were committed, without making it a slot', async () => {
    const { spec, workspaces } = bench(FILES);
    const one = spec('one');
    await workspaces.ensure(one);
    git(one.path, 'update-index', '--skip-worktree', 'a.txt');
    git(one.path, 'update-index', '--assume-unchanged', 'dir/b.txt');
    expect(await workspaces.release(one)).toEqual({ released: true, slot: false });
  });
});

it('evidence, fingerprint, diff and changed files see hidden edits', async () => {
  const { spec, workspaces } = bench(FILES);
  const one = spec('one');
  const { base } = await workspaces.ensure(one);
  git(one.path, 'update-index', '--assume-unchanged', 'a.txt');
  git(one.path, 'update-index', '--skip-worktree', 'dir/b.txt');
  expect((await workspaces.evidence(one.path, base.commit)).dirty).toEqual([]);
  const before = await workspaces.fingerprint(one.path);
  write(one.path, { 'a.txt': 'hidden\n', 'dir/b.txt': 'hidden\n' });
  expect(git(one.path, 'status', '--porcelain')).toBe('');
  expect((await workspaces.evidence(one.path, base.commit)).dirty).toEqual(['a.txt', 'dir/b.txt']);
  const edited = await workspaces.fingerprint(one.path);
  expect(edited).not.toBe(before);
  expect((await workspaces.changedFiles(one.path, base.commit)).files).toEqual(['a.txt', 'dir/b.txt']);
  expect(await workspaces.diff(one, base.commit)).toMatch(/a\/a\.txt[\s\S]*a\/dir\/b\.txt/);
  const { keptAt } = await workspaces.rewind({
    ...one,
    to: base.commit,
    keepAt: 'refs/signalbox/kept/one',
    message: 'kept',
  });
  expect(git(one.path, 'show', `${keptAt}:a.txt`)).toBe('hidden');
  expect([read(one.path, 'a.txt'), read(one.path, 'dir/b.txt')]).toEqual(['a\n', 'b\n']);
});

it('a sparse checkout that leaves files out is clean', async () => {
  const { spec, workspaces } = bench(FILES);
  const one = spec('one');
  const { base } = await workspaces.ensure(one);
  git(one.path, 'sparse-checkout', 'set', '--no-cone', '/a.txt');
  expect(existsSync(join(one.path, 'dir'))).toBe(false);
  expect((await workspaces.evidence(one.path, base.commit)).dirty).toEqual([]);
  write(one.path, { 'dir/b.txt': 'back\n' });
  expect((await workspaces.evidence(one.path, base.commit)).dirty).toEqual(['dir/b.txt']);
});

describe('a slot is like a new worktree', () => {
  const rows: Array<[string, (one: WorkspaceSpec, repo: string) => void]> = [
    ['sparse patterns', ({ path }) => git(path, 'sparse-checkout', 'set', '--no-cone', '/a.txt')],
    [
      'a config of its own',
      ({ path }, repo) => {
        git(repo, 'config', 'extensions.worktreeConfig', 'true');
        git(path, 'config', '--worktree', 'core.hooksPath', '/nowhere');
      },
    ],
    ['refs of its own', ({ path }) => git(path, 'update-ref', 'refs/worktree/mine', 'HEAD')],
    [
      'a bisect',
      ({ path }) => {
        git(path, 'update-ref', 'refs/bisect/bad', 'HEAD');
      },
    ],
    ['files marked as skipped', ({ path }) => git(path, 'update-index', '--skip-worktree', 'a.txt')],
    ['files marked as unchanged', ({ path }) => git(path, 'update-index', '--assume-unchanged', 'a.txt')],
  ];

  for (const [index, [name, act]] of rows.entries())
    it(`so one with ${name} is none`, firstOnly(index, 2), async () => {
      const { repo, spec, workspaces } = bench(FILES);
      const one = spec('one');
      await workspaces.ensure(one);
      commit(one.path, { work: 'x' });
      act(one, repo);
      expect(await workspaces.release(one)).toEqual({ released: true, slot: false });
      const two = spec('two');
      expect((await workspaces.ensure(two)).reused).toBe(false);
      expect(read(two.path, 'dir/b.txt')).toBe('b\n');
      expect(git(two.path, 'for-each-ref', 'refs/worktree', 'refs/bisect')).toBe('');
    });

  for (const [index, [name, act]] of rows.entries())
    it(
      `so one that got ${name} while it was free is not used`,
      firstOnly(rows.length - 1 - index, 2),
      async () => {
        const { repo, worktreeRoot, spec, workspaces } = bench(FILES);
        await workspaces.ensure(spec('one'));
        await workspaces.release(spec('one'));
        act({ ...spec('one'), path: join(worktreeRoot, '.slots/0') }, repo);
        expect((await workspaces.ensure(spec('two'))).reused).toBe(false);
        expect(existsSync(join(worktreeRoot, '.slots/0'))).toBe(false);
        expect(git(spec('two').path, 'status', '--porcelain', '--branch')).toBe('## ticket/two');
      },
    );

  it('with no trace of the ticket before', async () => {
    const { repo, spec, workspaces } = bench(FILES);
    const one = spec('one');
    await workspaces.ensure(one);
    commit(one.path, { work: '1' });
    git(one.path, 'reset', '--quiet', '--hard', 'HEAD');
    expect(await workspaces.release(one)).toEqual({ released: true, slot: true });
    const two = spec('two');
    expect((await workspaces.ensure(two)).reused).toBe(true);
    expect(git(two.path, 'reflog', '--format=%H')).toBe(head(repo));
    const admin = git(two.path, 'rev-parse', '--absolute-git-dir');
    expect(['ORIG_HEAD', 'COMMIT_EDITMSG'].filter((name) => existsSync(join(admin, name)))).toEqual([]);
  });

  it('and one in which something was hidden meanwhile is kept', async () => {
    const { repo, worktreeRoot, spec, workspaces } = bench(FILES);
    await workspaces.ensure(spec('one'));
    await workspaces.release(spec('one'));
    const slot = join(worktreeRoot, '.slots/0');
    git(slot, 'update-index', '--skip-worktree', 'a.txt');
    write(slot, { 'a.txt': 'precious\n' });
    expect(await workspaces.sweep({ repo, worktreeRoot })).toBe(0);
    const made = await workspaces.ensure(spec('two'));
    expect(made).toMatchObject({ reused: false, notes: [expect.stringContaining('kept-1')] });
    expect(read(worktreeRoot, '.slots/kept-1/a.txt')).toBe('precious\n');
  });
});

for (const [index, version] of ['4', '2', '3'].entries())
  it(`marks and submodules are found in an index of version ${version}`, firstOnly(index), async () => {
    const long = `${'deep/'.repeat(30)}file`;
    const { env, repo } = bench({ ...FILES, [long]: 'x', 'ünï/cödé': 'x' });
    git(repo, 'update-index', '--index-version', version);
    const program = createGit({ env });
    const marks = async () => readMarks(program, await findRepo(program, repo));
    expect(await marks()).toEqual({ assumed: [], skipped: [], links: [] });
    git(repo, 'update-index', '--skip-worktree', long, 'ünï/cödé');
    git(repo, 'update-index', '--assume-unchanged', 'dir/b.txt');
    git(repo, 'update-index', '--add', '--cacheinfo', `160000,${head(repo)},sub`);
    expect(await marks()).toEqual({ assumed: ['dir/b.txt'], skipped: [long, 'ünï/cödé'], links: ['sub'] });
  });
