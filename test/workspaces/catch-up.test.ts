import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { Bench, failure } from '../features/pull-requests/bench.ts';
import { git, it, type World } from '../support/index.ts';

/** A ticket whose branch is on origin, and somebody with a clone of it. */
async function shared(world: World) {
  const bench = new Bench(world);
  world.plan('p', { tickets: { a: {} } });
  const path = await bench.work('a', { 'a.txt': 'one\n' });
  const { workspaces } = await bench.parts();
  const branch = 'ticket/p/a';
  const { commit: pushed } = await workspaces.push({ repo: world.repo, branch });
  const person = join(world.dir, 'person');
  git(world.dir, 'clone', '--quiet', '--branch', branch, bench.origin, person);
  const wish = { repo: world.repo, path, branch, known: pushed, base: 'main', takeTheirs: false };
  const catchUp = (more: { takeTheirs?: boolean; known?: string } = {}) =>
    workspaces.catchUp({ ...wish, ...more });
  const push = (files: Record<string, string>) => {
    const commit = bench.commit(person, files);
    git(person, 'push', '--quiet', '--force', 'origin', `HEAD:${branch}`);
    return commit;
  };
  return { bench, path, person, pushed, branch, catchUp, push };
}

describe('catching up with a branch on origin', () => {
  it('does nothing where nobody else pushed, and fetches the base', { tags: 'full' }, async ({ world }) => {
    const { bench, path, pushed, catchUp } = await shared(world);
    const other = join(world.dir, 'other');
    git(world.dir, 'clone', '--quiet', bench.origin, other);
    const base = bench.commit(other, { 'base.txt': 'new\n' });
    git(other, 'push', '--quiet', 'origin', 'main');
    expect(await catchUp()).toEqual({ state: 'same', commit: pushed, there: pushed });
    expect(git(path, 'rev-parse', 'origin/main')).toBe(base);
  });

  it('takes commits on top, merges those beside, and keeps both', { tags: 'full' }, async ({ world }) => {
    const { bench, path, catchUp, push } = await shared(world);
    const theirs = push({ 'theirs.txt': 'theirs\n' });
    expect(await catchUp()).toEqual({ state: 'advanced', commit: theirs, by: 1, there: theirs });
    expect(git(path, 'rev-parse', 'HEAD')).toBe(theirs);
    bench.commit(path, { 'ours.txt': 'ours\n' });
    push({ 'more.txt': 'more\n' });
    expect(await catchUp()).toMatchObject({ state: 'merged', by: 1 });
    expect(git(path, 'ls-files').split('\n')).toEqual(expect.arrayContaining(['ours.txt', 'more.txt']));
    expect(git(path, 'status', '--porcelain')).toBe('');
  });

  it('leaves everything as it is where both changed the same lines, or files are not committed', {
    tags: 'full',
  }, async ({ world }) => {
    const { bench, path, catchUp, push } = await shared(world);
    const ours = bench.commit(path, { 'a.txt': 'ours\n' });
    const theirs = push({ 'a.txt': 'theirs\n' });
    expect(await catchUp()).toEqual({ state: 'conflict', files: ['a.txt'], there: theirs });
    expect(git(path, 'rev-parse', 'HEAD')).toBe(ours);
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, 'notes.md'), 'not yet\n');
    expect(await failure(catchUp())).toMatchObject({ code: 'workspace/dirty' });
    world.remove(join(path, 'notes.md'));
    const taken = await catchUp({ takeTheirs: true });
    const keptAt = 'refs/signalbox/replaced/ticket/p/a-1';
    expect(taken).toEqual({ state: 'taken', commit: theirs, keptAt, there: theirs });
    expect(git(world.repo, 'rev-parse', 'refs/signalbox/replaced/ticket/p/a-1')).toBe(ours);
  });

  it('notices that a branch was rewritten, or deleted', async ({ world }) => {
    const { bench, path, person, pushed, branch, catchUp, push } = await shared(world);
    git(person, 'reset', '--quiet', '--hard', 'origin/main');
    const there = push({ 'new.txt': 'new\n' });
    expect(await catchUp()).toEqual({ state: 'rewritten', there });
    expect(git(path, 'rev-parse', 'HEAD')).toBe(pushed);
    git(bench.origin, 'update-ref', '-d', `refs/heads/${branch}`);
    await failure(catchUp());
    expect(git(path, 'rev-parse', 'HEAD')).toBe(pushed);
  });

  it('notices that commits were taken away, and takes that over where it is asked to', {
    tags: 'full',
  }, async ({ world }) => {
    const { path, person, pushed, branch, catchUp } = await shared(world);
    git(person, 'push', '--quiet', '--force', 'origin', `HEAD~1:${branch}`);
    const there = git(person, 'rev-parse', 'HEAD~1');
    expect(await catchUp()).toEqual({ state: 'rewritten', there });
    expect(git(path, 'rev-parse', 'HEAD')).toBe(pushed);
    expect(await catchUp({ takeTheirs: true })).toMatchObject({ state: 'taken', commit: there });
    expect(git(path, 'rev-parse', 'HEAD')).toBe(there);
  });
});
