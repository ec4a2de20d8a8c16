import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { shortageOf } from '../../src/model/errors.ts';
import { createWorkspaces } from '../../src/workspaces/workspaces.ts';
import { bench, commit, failure, git, makeRepo, read, write } from './helpers.ts';

const adminOf = (path: string) => git(path, 'rev-parse', '--absolute-git-dir');

describe('ensure', () => {
  it('makes a worktree on a new branch at the base and leaves the checkout alone', async () => {
    const { repo, first, spec, workspaces } = bench();
    const one = spec('one');
    const made = await workspaces.ensure(one);
    expect(made).toEqual({
      path: one.path,
      branch: one.branch,
      base: { ref: 'main', commit: first },
      created: true,
      reused: false,
      notes: [],
    });
    expect(git(one.path, 'status', '--porcelain', '--branch')).toBe('## ticket/one');
    expect(read(one.path, 'dir/b.txt')).toBe('b\n');
    expect(git(repo, 'status', '--porcelain', '--branch')).toBe('## main');
    expect(git(repo, 'config', '--list', '--local')).not.toContain('ticket/one');
    await workspaces.verify(one);
  });

  it('is idempotent: the second call changes nothing, in this process or another', async () => {
    const { spec, env, workspaces } = bench();
    const one = spec('one');
    const made = await workspaces.ensure(one);
    write(one.path, { work: 'uncommitted' });
    const before = git(one.path, 'reflog');
    const again = await workspaces.ensure({ ...one, recordedBase: made.base });
    const elsewhere = await createWorkspaces({ env }).ensure(one);
    expect(again).toEqual({ ...made, created: false });
    expect(elsewhere).toEqual({ ...made, created: false });
    expect(read(one.path, 'work')).toBe('uncommitted');
    expect(git(one.path, 'reflog')).toBe(before);
  });

  it('serves calls for one path one after the other', async () => {
    const { spec, workspaces } = bench();
    const all = await Promise.all([1, 2, 3].map(() => workspaces.ensure(spec('one'))));
    expect(all.map((made) => made.created).sort()).toEqual([false, false, true]);
  });

  it('continues an existing branch, with the recorded base or the merge base', async () => {
    const { repo, first, spec, workspaces } = bench();
    git(repo, 'switch', '--quiet', '-c', 'ticket/one');
    const tip = commit(repo, { work: 'x' });
    git(repo, 'switch', '--quiet', 'main');
    commit(repo, { other: 'y' });
    const one = spec('one');
    expect((await workspaces.ensure(one)).base).toEqual({ ref: 'main', commit: first });
    expect(git(one.path, 'rev-parse', 'HEAD')).toBe(tip);
    const recordedBase = { ref: 'main', commit: tip };
    expect((await workspaces.ensure({ ...one, recordedBase })).base).toEqual(recordedBase);
  });

  it('makes the worktree again after somebody deleted its directory', async () => {
    const { spec, workspaces } = bench();
    const one = spec('one');
    const made = await workspaces.ensure(one);
    const work = commit(one.path, { work: 'x' });
    rmSync(one.path, { recursive: true });
    const again = await workspaces.ensure({ ...one, recordedBase: made.base });
    expect(again).toMatchObject({ created: true, base: made.base });
    expect(git(one.path, 'rev-parse', 'HEAD')).toBe(work);
    expect(git(one.path, 'worktree', 'list', '--porcelain').match(/^worktree /gm)).toHaveLength(2);
  });

  it('uses an empty directory at the path', async () => {
    const { spec, workspaces } = bench();
    mkdirSync(spec('one').path, { recursive: true });
    expect((await workspaces.ensure(spec('one'))).created).toBe(true);
  });

  it('adopts a worktree that a person made for the branch and never releases it', async () => {
    const { repo, spec, workspaces } = bench();
    const one = spec('one');
    git(repo, 'worktree', 'add', '--quiet', '-b', one.branch, one.path);
    expect((await workspaces.ensure(one)).created).toBe(false);
    expect(await workspaces.release(one)).toMatchObject({ released: false });
    expect((await failure(workspaces.ensure({ ...one, owner: 'plan/two' }))).code).toBe('workspace/owned');
  });

  it('finishes a checkout that was interrupted', async () => {
    const { spec, workspaces } = bench();
    const one = spec('one');
    const made = await workspaces.ensure(one);
    const admin = adminOf(one.path);
    const owner = JSON.parse(read(admin, 'signalbox-owner'));
    writeFileSync(join(admin, 'signalbox-owner'), JSON.stringify({ ...owner, state: 'checkout' }));
    writeFileSync(join(admin, 'index.lock'), '');
    rmSync(join(admin, 'index'));
    rmSync(join(one.path, 'dir'), { recursive: true });
    const again = await workspaces.ensure(one);
    expect(again.base).toEqual(made.base);
    expect(git(one.path, 'status', '--porcelain', '--branch')).toBe('## ticket/one');
    await workspaces.verify(one);
  });

  it.each(['new', 'warm'])('finishes a %s worktree for which there was no room', async (kind) => {
    const { root, repo, env, spec, workspaces } = bench();
    if (kind === 'warm') {
      await workspaces.ensure(spec('before'));
      expect(await workspaces.release(spec('before'))).toMatchObject({ slot: true });
    }
    commit(repo, { big: 'x'.repeat(100_000), dir2: 'y' });
    // A limit on the size of files is to git what a full disk is.
    const limited = join(root, 'limited-git');
    writeFileSync(limited, `#!/bin/sh\ntrap '' 25\nulimit -f 100\nexec git "$@"\n`, { mode: 0o755 });
    const one = spec('one');
    for (const _ of ['half made', 'found half made']) {
      const short = createWorkspaces({ env, git: limited }).ensure(one);
      const error = await short.catch((caught: unknown) => caught);
      expect(shortageOf(error)).toMatch(
        /^the disk is full: Cannot create the worktree \S+ticket\/one: git \w+ failed: error: unable to write file big\.$/,
      );
    }
    expect(await workspaces.ensure(one)).toMatchObject({ created: true, notes: [] });
    expect(read(one.path, 'big')).toHaveLength(100_000);
    expect(git(one.path, 'status', '--porcelain', '--branch')).toBe('## ticket/one');
    expect(git(repo, 'worktree', 'list').split('\n')).toHaveLength(2);
  });

  it('finishes a worktree that was registered and no more', async () => {
    const { repo, spec, workspaces } = bench();
    const one = spec('one');
    git(repo, 'worktree', 'add', '--quiet', '--no-checkout', '--detach', one.path);
    await workspaces.ensure(one);
    expect(git(one.path, 'status', '--porcelain', '--branch')).toBe('## ticket/one');
    expect(await workspaces.release(one)).toMatchObject({ released: true });
  });
});

describe('a path that is taken', () => {
  it.each([
    ['a file', (path: string) => write(join(path, '..'), { one: 'text' })],
    ['a directory with other content', (path: string) => write(path, { file: 'text' })],
    ['another git repository', (path: string) => makeRepo(path)],
    [
      'a symbolic link',
      (path: string) => {
        mkdirSync(join(path, '../target'), { recursive: true });
        symlinkSync(join(path, '../target'), path);
      },
    ],
  ])('by %s is refused and left alone', async (what, make) => {
    const { spec, workspaces } = bench();
    const one = spec('one');
    make(one.path);
    const before = statSync(one.path).mtimeMs;
    const error = await failure(workspaces.ensure(one));
    expect(error).toMatchObject({ code: 'workspace/path-taken', message: expect.stringContaining(what) });
    expect(error.hint).toContain('worktree');
    expect(statSync(one.path).mtimeMs).toBe(before);
  });

  it('by a worktree on another branch is refused with the command that puts it right', async () => {
    const { spec, workspaces } = bench();
    const one = spec('one');
    await workspaces.ensure(one);
    git(one.path, 'switch', '--quiet', '-c', 'wandered');
    const error = await failure(workspaces.ensure(one));
    expect(error.message).toContain('branch wandered');
    expect(error.hint).toContain('switch ticket/one');
    git(one.path, 'switch', '--quiet', 'ticket/one');
    expect((await workspaces.ensure(one)).created).toBe(false);
  });

  it('by another owner is refused', async () => {
    const { spec, workspaces } = bench();
    await workspaces.ensure(spec('one'));
    const error = await failure(workspaces.ensure(spec('one', { owner: 'other/one' })));
    expect(error).toMatchObject({ code: 'workspace/owned', message: expect.stringContaining('plan/one') });
  });

  it('by a worktree of another repository is refused', async () => {
    const { root, spec, workspaces } = bench();
    const one = spec('one');
    makeRepo(join(root, 'other'));
    git(join(root, 'other'), 'worktree', 'add', '--quiet', '-b', one.branch, one.path);
    expect((await failure(workspaces.ensure(one))).message).toContain('another repository');
  });

  it('inside another ticket’s worktree, of whichever repository, is refused', async () => {
    const { root, spec, workspaces } = bench();
    const one = spec('one');
    await workspaces.ensure(one);
    makeRepo(join(root, 'second'));
    makeRepo(join(one.path, 'vendored'));
    const second = { repo: join(root, 'second'), path: join(one.path, 'vendored/deep/two') };
    const error = await failure(workspaces.ensure(spec('two', second)));
    expect(error).toMatchObject({
      code: 'workspace/path-taken',
      message: expect.stringContaining('plan/one'),
    });
    const same = spec('two', { path: join(one.path, 'vendored/deep/two') });
    expect((await failure(workspaces.ensure(same))).code).toBe('workspace/inside-checkout');
  });

  it.each([0, 1])('inside one that comes into being at the same time is refused', async (free) => {
    const { root, spec, workspaces } = bench();
    for (const id of ['old', 'older'].slice(0, 2 * free)) await workspaces.ensure(spec(id));
    for (const id of ['old', 'older'].slice(0, 2 * free)) await workspaces.release(spec(id));
    for (let times = 0; times < 4; times += 1) {
      const outer = spec(`outer${times}`, { path: join(root, `t${times}`) });
      const inner = spec(`inner${times}`, { path: join(root, `t${times}/x`) });
      const both = times % 2 === 0 ? [outer, inner] : [inner, outer];
      const made = await Promise.allSettled(both.map((each) => workspaces.ensure(each)));
      const refused = made.flatMap((each) => (each.status === 'rejected' ? [each.reason.code] : []));
      expect(refused).toHaveLength(1);
      expect(['workspace/path-taken', 'workspace/inside-checkout']).toContain(refused[0]);
    }
  });

  it('inside the checkout, also by way of a symlink, is refused', async () => {
    const { repo, root, spec, workspaces } = bench();
    symlinkSync(repo, join(root, 'link'));
    await workspaces.ensure(spec('one'));
    for (const path of [
      repo,
      join(repo, 'worktrees/x'),
      join(repo, '.git/x'),
      join(root, 'link/deep/x'),
      join(spec('one').path, 'nested'),
    ]) {
      expect((await failure(workspaces.ensure(spec('two', { path })))).code).toBe(
        'workspace/inside-checkout',
      );
    }
    const reserved = spec('two', { path: join(root, 'worktrees/.slots/0') });
    expect((await failure(workspaces.ensure(reserved))).code).toBe('workspace/inside-slots');
    expect((await failure(workspaces.ensure(spec('two', { path: 'x' })))).code).toBe(
      'workspace/path-relative',
    );
    expect(git(repo, 'status', '--porcelain')).toBe('');
  });
});

describe('a branch', () => {
  it.each(['-d', '--force', 'a b', 'a..b', 'a.lock', 'HEAD', '', 'x~1', 'a\nb'])(
    'named %j is refused',
    async (branch) => {
      const { repo, spec, workspaces } = bench();
      const wrong = [
        spec('one', { branch }),
        spec('one', { base: branch }),
        spec('one', { stackOn: [branch] }),
      ];
      for (const one of wrong)
        expect((await failure(workspaces.ensure(one))).code).toBe('workspace/branch-name');
      expect(git(repo, 'branch', '--list')).toBe('* main');
    },
  );

  it('that is checked out elsewhere is refused with the place', async () => {
    const { repo, root, spec, workspaces } = bench();
    git(repo, 'worktree', 'add', '--quiet', '-b', 'ticket/one', join(root, 'mine'));
    const error = await failure(workspaces.ensure(spec('one')));
    expect(error).toMatchObject({
      code: 'workspace/branch-elsewhere',
      message: expect.stringContaining(join(root, 'mine')),
    });
    git(repo, 'branch', 'base');
    const main = await failure(workspaces.ensure(spec('two', { branch: 'main', base: 'base' })));
    expect(main.message).toContain(repo);
  });

  it('that is the base, or the default branch of origin, is refused', async () => {
    const { workspaces, spec, repo } = bench();
    git(repo, 'switch', '--quiet', '--create', 'feature');
    git(repo, 'update-ref', 'refs/remotes/origin/trunk', 'HEAD');
    git(repo, 'symbolic-ref', 'refs/remotes/origin/HEAD', 'refs/remotes/origin/trunk');
    for (const branch of ['main', 'trunk', 'signalbox/main']) {
      const at = spec('one', { branch, base: 'main' });
      expect(await failure(workspaces.ensure(at))).toMatchObject({ code: 'workspace/branch-is-base' });
      expect(existsSync(at.path)).toBe(false);
    }
  });

  it('held by a worktree whose directory is gone is free again', async () => {
    const { repo, root, spec, workspaces } = bench();
    git(repo, 'worktree', 'add', '--quiet', '-b', 'ticket/one', join(root, 'mine'));
    rmSync(join(root, 'mine'), { recursive: true });
    expect((await workspaces.ensure(spec('one'))).created).toBe(true);
    expect(git(repo, 'worktree', 'list')).not.toContain('mine');
  });

  it('in the way of another by its name fails with what git says', async () => {
    const { repo, spec, workspaces } = bench();
    git(repo, 'branch', 'ticket');
    expect((await failure(workspaces.ensure(spec('one')))).message).toContain('cannot lock ref');
  });
});

describe('verify', () => {
  it('accepts the worktree alone, also in an instance that has not looked at the repository', async () => {
    const { env, repo, spec, workspaces } = bench();
    const one = spec('one');
    await workspaces.ensure(one);
    await createWorkspaces({ env }).verify(one);
    await createWorkspaces({ env }).verify({ ...one, repo: join(repo, 'dir') });
  });

  it('refuses everything else', async () => {
    const { root, repo, spec, workspaces } = bench();
    const one = spec('one');
    await workspaces.ensure(one);
    await workspaces.ensure(spec('two'));
    makeRepo(join(root, 'other'));
    symlinkSync(one.path, join(root, 'link'));
    const refused = (more: object, why: string) =>
      expect(workspaces.verify({ ...one, ...more }), why).rejects.toThrow(
        expect.objectContaining({ code: 'workspace/unexpected' }),
      );
    await refused({ path: join(root, 'absent') }, 'absent');
    await refused({ path: root }, 'plain directory');
    await refused({ path: repo }, 'the checkout');
    await refused({ path: join(root, 'link') }, 'symlink');
    await refused({ path: join(one.path, 'dir') }, 'subdirectory');
    await refused({ path: spec('two').path }, 'other ticket');
    await refused({ repo: join(root, 'other') }, 'other repository');
    await refused({ repo: root }, 'no repository');
    await refused({ branch: 'main' }, 'other branch');
    git(one.path, 'switch', '--quiet', '--detach');
    await refused({}, 'detached');
  });

  it('refuses a copy of the worktree, a moved one and a replaced .git', async () => {
    const { root, spec, workspaces } = bench();
    const one = spec('one');
    await workspaces.ensure(one);
    const link = read(one.path, '.git');
    write(join(root, 'copy'), { '.git': link });
    await expect(workspaces.verify({ ...one, path: join(root, 'copy') })).rejects.toThrow('registered at');
    renameSync(one.path, join(root, 'moved'));
    await expect(workspaces.verify({ ...one, path: join(root, 'moved') })).rejects.toThrow('registered at');
    await expect(workspaces.verify(one)).rejects.toThrow('does not exist');
    makeRepo(one.path);
    await expect(workspaces.verify(one)).rejects.toThrow('not a git worktree');
  });
});

it('leaves nothing of its own in the worktree or among the refs', async () => {
  const { repo, spec, workspaces } = bench();
  await workspaces.ensure(spec('one'));
  expect(readdirSync(spec('one').path).sort()).toEqual(['.git', 'a.txt', 'dir']);
  expect(git(repo, 'for-each-ref', '--format=%(refname)').split('\n')).toEqual([
    'refs/heads/main',
    'refs/heads/ticket/one',
  ]);
  expect(existsSync(join(repo, '.git/signalbox.lock'))).toBe(false);
});

it.runIf(existsSync('/proc/self'))('names a directory of worktrees that cannot be written to', async () => {
  const { spec, workspaces } = bench();
  const error = await failure(workspaces.ensure(spec('one', { worktreeRoot: '/proc', path: '/proc/one' })));
  expect(error).toMatchObject({
    code: 'workspace/no-place',
    message: expect.stringMatching(/^Cannot write to the directory \/proc: /),
    hint: expect.stringContaining('Set `worktreeRoot`'),
  });
});
