import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { clean, type Stale } from '../../../src/features/cleanup/find-and-remove-leftovers.ts';
import { git, it, worktreesOf } from '../../support/index.ts';
import { Bench } from '../pull-requests/bench.ts';

/** Ways in which an agent or a person may leave a worktree; `gone` when it can be removed all the same. */
const STATES: Record<string, { leave(path: string, bench: Bench): void; gone?: true }> = {
  clean: { leave: () => undefined, gone: true },
  committed: { leave: (path, bench) => void bench.commit(path, { 'more.txt': 'x' }), gone: true },
  stashed: {
    leave: (path) => {
      writeFileSync(join(path, 'README.md'), 'stashed\n');
      git(path, 'stash', '--quiet');
    },
    gone: true,
  },
  ignored: {
    leave: (path) => {
      mkdirSync(join(path, 'agent.lock'));
      writeFileSync(join(path, 'agent.lock', 'pid'), '1');
    },
    gone: true,
  },
  'detached-known': { leave: (path) => void git(path, 'switch', '--quiet', '--detach'), gone: true },
  untracked: { leave: (path) => writeFileSync(join(path, 'new file.txt'), 'only here\n') },
  'untracked-directory': {
    leave: (path) => {
      mkdirSync(join(path, 'a/b'), { recursive: true });
      writeFileSync(join(path, 'a/b/c'), 'only here\n');
    },
  },
  modified: { leave: (path) => appendFileSync(join(path, 'README.md'), 'only here\n') },
  staged: {
    leave: (path) => {
      writeFileSync(join(path, 'staged.txt'), 'only here\n');
      git(path, 'add', 'staged.txt');
    },
  },
  deleted: { leave: (path) => rmSync(join(path, 'README.md')) },
  'detached-commit': {
    leave: (path, bench) => {
      git(path, 'switch', '--quiet', '--detach');
      bench.commit(path, { 'lonely.txt': 'only here\n' });
    },
  },
  'other-branch': {
    leave: (path, bench) => {
      git(path, 'switch', '--quiet', '--create', `side-${path.split('/').at(-1)}`);
      bench.commit(path, { 'side.txt': 'x' });
    },
  },
  'merge-under-way': {
    leave: (path, bench) => {
      const branch = git(path, 'branch', '--show-current');
      git(path, 'switch', '--quiet', '--create', `m-${path.split('/').at(-1)}`, 'HEAD');
      bench.commit(path, { 'both.txt': 'theirs' });
      git(path, 'switch', '--quiet', branch);
      bench.commit(path, { 'both.txt': 'ours' });
      expect(() => git(path, 'merge', `m-${path.split('/').at(-1)}`)).toThrow();
    },
  },
  'nested-repository': {
    leave: (path) => {
      git(path, 'init', '--quiet', 'agent.lock');
      writeFileSync(join(path, 'agent.lock', 'inner.txt'), 'only here\n');
    },
  },
  locked: { leave: (path) => void git(path, 'worktree', 'lock', '--reason', 'a\ndemo', path) },
  'index-locked': { leave: (path) => writeFileSync(join(adminDir(path), 'index.lock'), '') },
};

function adminDir(path: string): string {
  return git(path, 'rev-parse', '--git-dir');
}

/** Everything that could be lost: commits of refs, stashes and worktrees, and every file that no commit has. */
function treasure(repo: string): Map<string, string> {
  const found = new Map<string, string>();
  const add = (commits: string) => {
    for (const commit of commits.split('\n')) found.set(commit, 'commit');
  };
  add(git(repo, 'rev-list', '--all'));
  add(git(repo, 'stash', 'list', '--format=%H'));
  for (const path of worktreesOf(repo).filter((each) => existsSync(each))) {
    add(git(path, 'rev-list', 'HEAD'));
    const loose = git(path, 'ls-files', '-z', '--others', '--modified', '--exclude-standard').split('\0');
    for (const file of loose)
      if (file !== '' && existsSync(join(path, file))) found.set(`${path} ${file}`, hashOf(join(path, file)));
    if (existsSync(join(path, 'agent.lock/inner.txt'))) found.set(`${path} inner`, 'nested');
  }
  return found;
}

function hashOf(file: string): string {
  if (statSync(file).isDirectory()) return 'directory';
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

/** What was there and no longer is. */
function lost(before: Map<string, string>, repo: string): string[] {
  const after = treasure(repo);
  return [...before].flatMap(([name, value]) => (after.get(name) === value ? [] : [name]));
}

/** A complete ticket for each name, each with work and then left in its state. */
async function leave(bench: Bench, states: Record<string, string[]>): Promise<void> {
  const tickets = Object.fromEntries(Object.keys(states).map((id) => [id, { branch: `ticket/p/${id}` }]));
  bench.world.plan('p', { tickets });
  for (const [id, names] of Object.entries(states)) {
    const path = await bench.work(id);
    for (const name of names) STATES[name]?.leave(path, bench);
    setStatus(bench, id, 'complete');
  }
}

function setStatus(bench: Bench, id: string, status: string, more: Record<string, unknown> = {}): void {
  bench.world.writeTicket('p', id, { ...bench.world.ticket('p', id), status, ...more });
}

async function run(bench: Bench, remove: boolean): Promise<Stale[]> {
  return (await clean(await bench.parts(), { cwd: bench.world.dir, all: false, remove })).items;
}

const named = (items: Stale[], kind: Stale['kind']) =>
  new Map(
    items.filter((item) => item.kind === kind).map((item) => [item.name.split('/').at(-1) ?? '', item]),
  );

/** Makes the owner file and everything else git knows about a worktree look old. */
function age(path: string): void {
  const dir = adminDir(path);
  const then = Date.now() / 1000 - 7200;
  for (const name of ['.', ...readdirSync(dir), 'logs/HEAD']) utimesSync(join(dir, name), then, then);
}

describe('clean', () => {
  it('removes worktrees that hold nothing unique, keeps all others, and says why', { tags: 'full' }, async ({
    world,
  }) => {
    const bench = new Bench(world);
    await leave(bench, Object.fromEntries(Object.keys(STATES).map((name) => [name, [name]])));
    const before = treasure(world.repo);
    const trees = worktreesOf(world.repo);
    const listed = named(await run(bench, false), 'worktree');
    expect(worktreesOf(world.repo)).toEqual(trees);
    expect(treasure(world.repo)).toEqual(before);

    const done = named(await run(bench, true), 'worktree');
    expect(lost(before, world.repo)).toEqual([]);
    for (const [name, { gone = false }] of Object.entries(STATES)) {
      const item = done.get(name);
      expect({ name, removed: item?.removed, safe: listed.get(name)?.keep === null }).toEqual({
        name,
        removed: gone,
        safe: gone,
      });
      expect(existsSync(world.worktree('p', name)), name).toBe(!gone);
      if (!gone) expect(item?.keep, name).toMatch(/\w/);
    }
    expect(done.get('untracked')).toMatchObject({
      loses: { files: 1, commits: 0 },
      why: 'p/untracked is complete',
    });
    expect(done.get('detached-commit')?.loses).toEqual({ files: 0, commits: 1 });
    expect(done.get('modified')?.keep).toBe('it has uncommitted files: README.md');
    const unlock = `git -C ${world.repo} worktree unlock ${world.worktree('p', 'locked')}`;
    expect(done.get('locked')?.keep).toBe(`it is locked (a demo); unlock it with: ${unlock}`);
  });

  it('loses nothing in any combination of states', { tags: 'full' }, async ({ world }) => {
    const bench = new Bench(world);
    const quiet = Object.keys(STATES).filter((name) => !/other-branch|merge|index-locked/.test(name));
    const sample = fc.sample(fc.uniqueArray(fc.constantFrom(...quiet), { minLength: 2, maxLength: 4 }), {
      numRuns: 8,
      seed: 12,
    });
    // A locked index takes no commits; what stashes takes everything before it away.
    const order = ['stashed', 'committed', 'detached-known', 'detached-commit'];
    const sorted = sample.map((names) => names.sort((a, b) => rank(order, a) - rank(order, b)));
    await leave(bench, Object.fromEntries(sorted.map((names, index) => [`t${index}`, names])));
    const before = treasure(world.repo);
    await run(bench, true);
    expect(lost(before, world.repo)).toEqual([]);
    for (const [index, names] of sorted.entries())
      expect(existsSync(world.worktree('p', `t${index}`)), names.join()).toBe(
        !names.every((name) => STATES[name]?.gone),
      );
  });

  it('never lists what belongs to a ticket that is not over, or is held', async ({ world }) => {
    const bench = new Bench(world);
    const statuses = ['queued', 'ready', 'running', 'paused', 'needs_attention'];
    const ids = [...statuses, 'held', 'broken', 'unlisted', 'stranger'];
    await leave(bench, Object.fromEntries(ids.map((id) => [id, []])));
    for (const status of statuses) setStatus(bench, status, status);
    const claim = (await bench.parts()).holder.claim(new Date().toISOString());
    setStatus(bench, 'held', 'complete', { claim });
    writeFileSync(world.ticketFile('p', 'broken'), '{');
    world.editPlan('p', (plan) => {
      plan.tickets = plan.tickets.filter(
        ({ ticketId }) => ticketId !== 'unlisted' && ticketId !== 'stranger',
      );
    });
    // Of another installation: its plan is not here, but it was used just now.
    const owner = join(adminDir(world.worktree('p', 'stranger')), 'signalbox-owner');
    writeFileSync(owner, readFileSync(owner, 'utf8').replace('p/stranger', 'elsewhere/stranger'));
    const items = await run(bench, true);
    expect(items).toEqual([]);
    expect(worktreesOf(world.repo)).toHaveLength(ids.length);
  });

  it('takes what failed tickets, deleted plans and dropped tickets left, and slots', async ({ world }) => {
    const bench = new Bench(world);
    await leave(bench, { failed: [], dropped: [], orphan: [], slot: [], kept: ['untracked'] });
    setStatus(bench, 'failed', 'failed');
    const parts = await bench.parts();
    const { repo, worktrees } = world;
    await parts.workspaces.release({
      repo,
      path: world.worktree('p', 'slot'),
      branch: 'ticket/p/slot',
      owner: 'p/slot',
      caches: [],
      slots: 4,
      worktreeRoot: worktrees,
    });
    world.editPlan('p', (plan) => {
      plan.tickets = plan.tickets.filter(({ ticketId }) => ticketId !== 'dropped');
    });
    rmSync(world.ticketFile('p', 'dropped'));
    const path = world.worktree('p', 'orphan');
    const owner = join(adminDir(path), 'signalbox-owner');
    writeFileSync(owner, readFileSync(owner, 'utf8').replace('p/orphan', 'old/orphan'));
    age(path);
    const items = await run(bench, true);
    expect(
      Object.fromEntries(
        items
          .filter(({ kind }) => kind !== 'branch')
          .map(({ name, why, removed }) => [name, { why, removed }]),
      ),
    ).toEqual({
      [world.worktree('p', 'failed')]: { why: 'p/failed is failed', removed: true },
      [world.worktree('p', 'dropped')]: { why: 'plan p no longer has a ticket dropped', removed: true },
      [path]: { why: `there is no plan old in ${world.stateDir}`, removed: true },
      [world.worktree('p', 'kept')]: { why: 'p/kept is complete', removed: false },
      [join(worktrees, '.slots', '0')]: { why: 'it is free, kept warm for the next ticket', removed: true },
    });
    expect(worktreesOf(world.repo)).toEqual([world.worktree('p', 'kept')]);
    // Directories that held nothing else went too; unmerged branches stay.
    expect(readdirSync(join(worktrees, 'ticket', 'p'))).toEqual(['kept']);
    expect(named(items, 'branch').get('orphan')).toMatchObject({ removed: false, loses: { commits: 1 } });
  });

  it('keeps a worktree that somebody works in, and one whose directory is not there', async ({ world }) => {
    const bench = new Bench(world);
    await leave(bench, { busy: [], away: [] });
    const child = spawn('sleep', ['60'], { cwd: world.worktree('p', 'busy'), stdio: 'ignore' });
    try {
      renameSync(world.worktree('p', 'away'), join(world.dir, 'unmounted'));
      const items = named(await run(bench, true), 'worktree');
      expect(items.get('busy')).toMatchObject({ removed: false, keep: `process ${child.pid} works in it` });
      expect(items.get('away')).toMatchObject({
        removed: false,
        keep: expect.stringContaining('worktree prune'),
      });
    } finally {
      child.kill('SIGKILL');
    }
  });
});

describe('clean, branches', () => {
  it('deletes those that their base has, and no others', async ({ world }) => {
    const bench = new Bench(world);
    await leave(bench, { merged: [], open: ['committed'], squashed: [], dirty: ['untracked'], needed: [] });
    const { repo } = world;
    for (const id of ['merged', 'dirty', 'needed'])
      git(repo, 'merge', '--quiet', `ticket/p/${id}`, '--message=Merge');
    git(repo, 'merge', '--quiet', '--squash', 'ticket/p/squashed');
    git(repo, 'commit', '--quiet', '--message=Squashed');
    git(repo, 'push', '--quiet', 'origin', 'main');
    world.plan('q', { tickets: { next: { branch: 'next' } }, base: 'ticket/p/needed' });
    world.writeTicket('p', 'mine', { ...world.ticket('p', 'open'), ticketId: 'mine', branch: 'main' });
    world.editPlan('p', (plan) => void plan.tickets.push({ ticketId: 'mine', order: 9, blockedBy: [] }));
    const before = treasure(repo);
    const listed = named(await run(bench, false), 'branch');
    expect([...listed.values()].filter(({ keep }) => keep === null).map(({ name }) => name)).toEqual([
      'ticket/p/merged',
    ]);
    const items = named(await run(bench, true), 'branch');
    expect(lost(before, repo)).toEqual([]);
    expect(git(repo, 'branch', '--format=%(refname:short)').split('\n').sort()).toEqual([
      'main',
      'ticket/p/dirty',
      'ticket/p/needed',
      'ticket/p/open',
      'ticket/p/squashed',
    ]);
    expect(items.get('merged')).toMatchObject({ removed: true, loses: { files: 0, commits: 0 } });
    expect(items.get('open')).toMatchObject({
      removed: false,
      keep: '2 commits are not in origin/main',
      loses: { commits: 2 },
    });
    expect(items.get('squashed')).toMatchObject({ removed: false, loses: { commits: 1 } });
    expect(items.get('dirty')?.keep).toBe(`it is checked out in ${world.worktree('p', 'dirty')}`);
    expect(items.has('needed')).toBe(false);
    expect(items.get('main')?.keep).toBe('it is a branch that others start from');
  });
});

describe('clean, files', () => {
  it('removes old output of finished tickets and old logs, and nothing younger', async ({ world }) => {
    const bench = new Bench(world);
    world.plan('p', { tickets: { done: { status: 'complete' }, open: { status: 'paused' } } });
    const attempt = (ticket: string, key: string, days: number) => {
      const dir = join(world.stateDir, 'jobs', 'p', ticket, key);
      mkdirSync(dir, { recursive: true });
      writeFileSync(join(dir, 'stdout'), 'x'.repeat(2000));
      utimesSync(join(dir, 'stdout'), Date.now() / 1000 - days * 86_400, Date.now() / 1000 - days * 86_400);
      return dir;
    };
    const [old, young, open] = [
      attempt('done', 'a.1.1', 40),
      attempt('done', 'a.1.2', 2),
      attempt('open', 'a.1.1', 40),
    ];
    mkdirSync(join(world.home, 'logs'), { recursive: true });
    for (const name of ['daemon.log', 'new.log']) writeFileSync(join(world.home, 'logs', name), 'x');
    utimesSync(join(world.home, 'logs', 'daemon.log'), 1, 1);
    expect((await run(bench, false)).map(({ kind, bytes, keep }) => [kind, bytes, keep])).toEqual([
      ['output', 2000, null],
      ['log', 1, null],
    ]);
    expect(existsSync(old)).toBe(true);
    await run(bench, true);
    expect([old, young, open].map((dir) => existsSync(dir))).toEqual([false, true, true]);
    expect(readdirSync(join(world.home, 'logs'))).toEqual(['new.log']);
  });
});

function rank(order: string[], name: string): number {
  return order.indexOf(name) < 0 ? order.length : order.indexOf(name);
}
