import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createWorkspaces } from '../../../src/workspaces/workspaces.ts';
import { firstOnly } from '../../support/tiers.ts';
import { bench, commit, git, makeRepo, read, write } from '../helpers.ts';

const worktrees = (repo: string) =>
  git(repo, 'worktree', 'list', '--porcelain').match(/(?<=^worktree ).*/gm) ?? [];

describe('slots', () => {
  const slotOf = ({ worktreeRoot }: { worktreeRoot: string }, number = 0) =>
    join(worktreeRoot, '.slots', String(number));

  it('take over a released worktree and serve the next ticket with it', async () => {
    const all = bench();
    const { repo, first, spec, workspaces } = all;
    await workspaces.ensure(spec('one'));
    const admin = git(spec('one').path, 'rev-parse', '--absolute-git-dir');
    const work = commit(spec('one').path, { work: 'x', 'a.txt': 'changed\n' });
    expect(await workspaces.release(spec('one'))).toEqual({ released: true, slot: true });
    expect(worktrees(repo)).toEqual([repo, slotOf(all)]);
    expect(existsSync(join(all.worktreeRoot, 'ticket'))).toBe(false);
    git(repo, 'switch', '--quiet', 'ticket/one');
    git(repo, 'switch', '--quiet', 'main');

    const two = spec('two', { path: join(all.root, 'elsewhere/two') });
    expect(await workspaces.ensure(two)).toMatchObject({
      created: true,
      reused: true,
      base: { commit: first },
    });
    expect(git(two.path, 'rev-parse', '--absolute-git-dir')).toBe(admin);
    expect(git(two.path, 'status', '--porcelain', '--branch', '--ignored')).toBe('## ticket/two');
    expect([read(two.path, 'a.txt'), existsSync(join(two.path, 'work'))]).toEqual(['a\n', false]);
    expect(worktrees(repo)).toEqual([repo, two.path]);
    expect(git(repo, 'worktree', 'prune', '--dry-run')).toBe('');
    expect(git(repo, 'rev-parse', 'ticket/one')).toBe(work);
    await workspaces.verify(two);
    expect(git(repo, 'fsck', '--no-dangling')).toBe('');
  });

  it('serve an existing branch, and another process', async () => {
    const all = bench();
    const made = await all.workspaces.ensure(all.spec('one'));
    const work = commit(all.spec('one').path, { work: 'x' });
    await all.workspaces.release(all.spec('one'));
    const again = await createWorkspaces({ env: all.env }).ensure(
      all.spec('one', { recordedBase: made.base }),
    );
    expect(again).toMatchObject({ created: true, reused: true, base: made.base });
    expect(git(all.spec('one').path, 'rev-parse', 'HEAD')).toBe(work);
  });

  it('are bounded; what finds no room is deleted', async () => {
    const all = bench();
    const ids = ['one', 'two', 'three'];
    for (const id of ids) await all.workspaces.ensure(all.spec(id, { slots: 2 }));
    const released = [];
    for (const id of ids) released.push(await all.workspaces.release(all.spec(id, { slots: 2 })));
    expect(released.map((result) => 'slot' in result && result.slot)).toEqual([true, true, false]);
    expect(worktrees(all.repo)).toEqual([all.repo, slotOf(all, 0), slotOf(all, 1)]);
    expect(await all.workspaces.sweep(all)).toBe(2);
    expect(worktrees(all.repo)).toEqual([all.repo]);
  });

  it('are not shared between repositories', async () => {
    const all = bench();
    await all.workspaces.ensure(all.spec('one'));
    await all.workspaces.release(all.spec('one'));
    makeRepo(join(all.root, 'second'), { second: 'x' });
    const two = all.spec('two', { repo: join(all.root, 'second') });
    expect((await all.workspaces.ensure(two)).reused).toBe(false);
    expect(await all.workspaces.release(two)).toEqual({ released: true, slot: true });
    expect(worktrees(two.repo)).toEqual([two.repo, slotOf(all, 1)]);
  });

  it('of one repository leave room for those of another under the same root', async () => {
    const all = bench();
    makeRepo(join(all.root, 'second'), { second: 'x' });
    for (const repo of [all.repo, join(all.root, 'second')]) {
      const specs = ['one', 'two', 'three'].map((id) => {
        const name = `${repo.endsWith('second') ? 'second-' : ''}${id}`;
        return all.spec(name, { repo, slots: 2 });
      });
      for (const spec of specs) await all.workspaces.ensure(spec);
      const released = [];
      for (const spec of specs) released.push(await all.workspaces.release(spec));
      expect(released.map((result) => 'slot' in result && result.slot)).toEqual([true, true, false]);
    }
    expect(worktrees(join(all.root, 'second'))).toEqual([
      join(all.root, 'second'),
      slotOf(all, 2),
      slotOf(all, 3),
    ]);
  });

  it('keep caches and nothing else that is ignored', async () => {
    const { repo, spec, workspaces } = bench({
      '.gitignore': 'node_modules\nout/\n*.log\n',
      'package-lock.json': '1',
    });
    await workspaces.ensure(spec('one'));
    write(spec('one').path, {
      'node_modules/m/i.js': 'x',
      'p/node_modules/m.js': 'y',
      'out/o': 'z',
      'x.log': 'l',
    });
    commit(spec('one').path, { work: 'x' });
    await workspaces.release(spec('one'));
    await workspaces.ensure(spec('two'));
    expect(
      git(spec('two').path, 'status', '--porcelain', '--ignored=matching', '--untracked-files=all'),
    ).toBe('!! node_modules/\n!! p/node_modules/');
    expect(git(repo, 'rev-parse', 'ticket/two')).toBe(git(repo, 'rev-parse', 'main'));
  });

  const links: [string, string, string, string[]][] = [
    ['at the top', 'node_modules', 'node_modules', ['node_modules']],
    ['deeper', 'p/node_modules', 'node_modules', ['node_modules']],
    ['in an ignored directory', 'out/p/node_modules', 'out/', ['node_modules']],
    ['at a configured path', 'packages/a/node_modules', 'node_modules', ['packages/a/node_modules']],
    ['on the way to a configured path', 'packages/a', 'packages/', ['packages/a/node_modules']],
  ];
  for (const [index, [where, link, ignored, caches]] of links.entries())
    it(`keep no cache that is a link: ${where}`, firstOnly(index, 2), async () => {
      const { root, spec, workspaces } = bench({ '.gitignore': `${ignored}\n`, 'a.txt': 'a\n' });
      const one = spec('one', { caches });
      await workspaces.ensure(one);
      const outside = join(root, 'outside');
      mkdirSync(outside);
      mkdirSync(join(one.path, link, '..'), { recursive: true });
      symlinkSync(outside, join(one.path, link));
      commit(one.path, { work: 'x' });
      expect(await workspaces.release(one)).toEqual({ released: true, slot: true });
      const two = spec('two', { caches });
      expect(await workspaces.ensure(two)).toMatchObject({ reused: true });
      write(two.path, { [`${link}/pkg/index.js`]: 'hello' });
      expect(readdirSync(outside)).toEqual([]);
    });

  it('lose a cache that was made a link while nobody had them, and keep links inside a cache', async () => {
    const all = bench({ '.gitignore': 'node_modules\n.venv\n', 'a.txt': 'a\n' });
    const { root, spec, workspaces } = all;
    const caches = ['node_modules', '.venv'];
    const one = spec('one', { caches });
    await workspaces.ensure(one);
    write(one.path, { 'node_modules/m/cli.js': 'x', '.venv/x': 'x' });
    mkdirSync(join(one.path, 'node_modules/.bin'));
    symlinkSync('../m/cli.js', join(one.path, 'node_modules/.bin/m'));
    await workspaces.release(one);
    rmSync(join(slotOf(all), '.venv'), { recursive: true });
    symlinkSync(root, join(slotOf(all), '.venv'));
    const two = spec('two', { caches });
    expect(await workspaces.ensure(two)).toMatchObject({ reused: true });
    expect(lstatSync(join(two.path, '.venv'), { throwIfNoEntry: false })).toBeUndefined();
    expect(read(two.path, 'node_modules/.bin/m')).toBe('x');
  });

  it.each([
    ['false', false],
    ['true', true],
  ])('with core.fileMode %s hand on no mode that the commit does not have', async (fileMode, slot) => {
    const { repo, spec, workspaces } = bench();
    write(repo, { 'x.sh': '' });
    chmodSync(join(repo, 'x.sh'), 0o755);
    commit(repo, {});
    const one = spec('one');
    await workspaces.ensure(one);
    git(one.path, 'config', 'core.fileMode', fileMode);
    if (fileMode === 'false') chmodSync(join(one.path, 'x.sh'), 0o644);
    expect(await workspaces.release(one)).toEqual({ released: true, slot });
    await workspaces.ensure(spec('two'));
    expect(statSync(join(spec('two').path, 'x.sh')).mode & 0o111).toBe(0o111);
    expect(await workspaces.release(spec('two'))).toEqual({ released: true, slot: true });
  });

  it('keep no cache that a sandboxed agent could write to', async () => {
    const all = bench({ '.gitignore': 'node_modules/\n' });
    const { workspaces, spec } = all;
    const one = spec('one');
    await workspaces.ensure(one);
    await workspaces.openEnclave(one.path, one.branch);
    write(one.path, { 'node_modules/.bin/test': 'poison' });
    await workspaces.closeEnclave(one.path, one.branch);
    expect(await workspaces.release(one)).toEqual({ released: true, slot: true });
    const two = spec('two');
    await workspaces.ensure(two);
    expect(existsSync(join(two.path, 'node_modules'))).toBe(false);
    write(two.path, { 'node_modules/.bin/test': 'own' });
    expect(await workspaces.release(two)).toEqual({ released: true, slot: true });
    const three = spec('three');
    await workspaces.ensure(three);
    expect(read(three.path, 'node_modules/.bin/test')).toBe('own');
  });

  for (const [index, lockfile] of [
    'packages/a/Cargo.lock',
    'package-lock.json',
    'npm-shrinkwrap.json',
    'bun.lockb',
  ].entries())
    it(`drop caches when ${lockfile} differs`, firstOnly(index), async () => {
      const { spec, workspaces } = bench({ '.gitignore': 'node_modules\n', [lockfile]: '1' });
      const next = async (id: string) => {
        await workspaces.ensure(spec(id));
        return existsSync(join(spec(id).path, 'node_modules/m'));
      };
      await next('one');
      write(spec('one').path, { 'node_modules/m': 'x' });
      commit(spec('one').path, { other: 'x' });
      await workspaces.release(spec('one'));
      expect(await next('two')).toBe(true);
      commit(spec('two').path, { [lockfile]: '2' });
      await workspaces.release(spec('two'));
      expect(await next('three')).toBe(false);
    });

  it('that somebody changed are set aside, not reused and not lost', async () => {
    const all = bench();
    await all.workspaces.ensure(all.spec('one'));
    await all.workspaces.release(all.spec('one'));
    write(slotOf(all), { 'a.txt': 'precious\n' });
    const made = await all.workspaces.ensure(all.spec('two'));
    expect(made).toMatchObject({ created: true, reused: false, notes: [expect.stringContaining('kept-1')] });
    expect(git(all.spec('two').path, 'status', '--porcelain', '--branch')).toBe('## ticket/two');
    expect(read(all.worktreeRoot, '.slots/kept-1/a.txt')).toBe('precious\n');
    expect(git(join(all.worktreeRoot, '.slots/kept-1'), 'status', '--porcelain')).toBe('M a.txt');
  });

  it('that are broken are replaced by a new worktree', async () => {
    const all = bench();
    await all.workspaces.ensure(all.spec('one'));
    const admin = git(all.spec('one').path, 'rev-parse', '--absolute-git-dir');
    await all.workspaces.release(all.spec('one'));
    writeFileSync(join(admin, 'index'), 'garbage');
    expect(await all.workspaces.ensure(all.spec('two'))).toMatchObject({ created: true, reused: false });
    expect(git(all.spec('two').path, 'status', '--porcelain', '--branch')).toBe('## ticket/two');
  });

  it('are taken again when an engine died while taking or leaving one', async () => {
    const all = bench();
    const one = all.spec('one');
    await all.workspaces.ensure(one);
    const admin = git(one.path, 'rev-parse', '--absolute-git-dir');
    const owner = () => JSON.parse(read(admin, 'signalbox-owner'));
    const set = (more: object) =>
      writeFileSync(join(admin, 'signalbox-owner'), JSON.stringify({ ...owner(), ...more }));

    set({ state: 'slot' });
    git(one.path, 'switch', '--quiet', '--detach');
    expect(await all.workspaces.ensure(one)).toMatchObject({ created: true, reused: true });
    await all.workspaces.verify(one);

    await all.workspaces.release(one);
    set({ state: 'checkout', owner: 'plan/dead' });
    expect(await all.workspaces.ensure(one)).toMatchObject({ reused: true });
    writeFileSync(join(admin, 'gitdir'), `${slotOf(all)}/.git\n`);
    set({ state: 'checkout' });
    git(one.path, 'switch', '--quiet', '--detach');
    expect(await all.workspaces.ensure(one)).toMatchObject({ reused: true });
    await all.workspaces.verify(one);
    expect(git(one.path, 'status', '--porcelain', '--branch')).toBe('## ticket/one');
  });
});

it('a warm worktree costs few git calls', async () => {
  const all = bench({ '.gitignore': 'node_modules\n', 'a.txt': 'a\n' });
  git(all.root, 'clone', '--quiet', '--bare', all.repo, join(all.root, 'origin.git'));
  git(all.repo, 'remote', 'add', 'origin', join(all.root, 'origin.git'));
  git(all.repo, 'fetch', '--quiet', 'origin');
  git(all.repo, 'remote', 'set-head', 'origin', 'main');
  const log = join(all.root, 'calls');
  const program = join(all.root, 'counting-git');
  writeFileSync(program, `#!/bin/sh\necho "$1" >> ${log}\nexec git "$@"\n`, { mode: 0o755 });
  const workspaces = createWorkspaces({ env: all.env, git: program });
  const callsOf = async (call: () => Promise<unknown>) => {
    writeFileSync(log, '');
    await call();
    return read(log).trim().split('\n');
  };
  const calls: string[][] = [];
  for (const id of ['cold', 'warm']) {
    const one = all.spec(id);
    calls.push(await callsOf(() => workspaces.ensure(one)));
    calls.push(await callsOf(() => workspaces.verify(one)));
    commit(one.path, { [id]: 'x' });
    calls.push(await callsOf(() => workspaces.release(one)));
  }
  const releasing = ['ls-files', 'status', 'update-ref', 'reflog', 'worktree'];
  const [, , , ...warm] = calls.map((names) => names.filter((name) => name !== 'cat-file'));
  expect(warm).toEqual([['worktree', 'switch'], [''], releasing]);
});
