import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createWorkspaces } from '../../src/workspaces/workspaces.ts';
import { bench, commit, git, makeRepo } from './helpers.ts';

const names = (count: number) => Array.from({ length: count }, (_, index) => `t${index}`);

it('loses nothing in 30 ensures and releases at once, with and without slots, from two engines', {
  tags: 'full',
}, async () => {
  const all = bench(Object.fromEntries(names(40).map((name) => [`src/${name}.txt`, name])));
  const engines = [all.workspaces, createWorkspaces({ env: all.env })];
  const spec = (id: string, index: number) => all.spec(id, { slots: index % 3 === 0 ? 0 : 4 });
  const ids = names(30);
  const tips = await Promise.all(
    ids.map(async (id, index) => {
      const engine = engines[index % 2] ?? all.workspaces;
      const one = spec(id, index);
      const made = await engine.ensure(one);
      await engine.verify(one);
      expect(made.base.commit).toBe(all.first);
      const tip = commit(one.path, { [id]: id });
      expect(await engine.release(one)).toMatchObject({ released: true });
      return tip;
    }),
  );
  expect(ids.map((id) => git(all.repo, 'rev-parse', `ticket/${id}`))).toEqual(tips);
  expect(tips.map((tip) => git(all.repo, 'rev-parse', `${tip}^`))).toEqual(tips.map(() => all.first));
  const left = git(all.repo, 'worktree', 'list', '--porcelain').match(/^worktree .*/gm) ?? [];
  expect(left.length).toBeLessThanOrEqual(5);
  expect(git(all.repo, 'worktree', 'prune', '--dry-run')).toBe('');
  expect(git(all.repo, 'fsck', '--no-dangling')).toBe('');
  for (const line of left.slice(1)) expect(line).toContain(join(all.worktreeRoot, '.slots'));
});

it('gives every ticket its own directory while all are open', async () => {
  const all = bench();
  const made = await Promise.all(names(16).map((id) => all.workspaces.ensure(all.spec(id))));
  await Promise.all(names(16).map((id) => all.workspaces.release(all.spec(id))));
  const again = await Promise.all(names(16).map((id) => all.workspaces.ensure(all.spec(`x${id}`))));
  for (const list of [made, again]) expect(new Set(list.map(({ path }) => path)).size).toBe(16);
  expect(again.filter(({ reused }) => reused)).toHaveLength(4);
  for (const { path, branch } of again) await all.workspaces.verify({ repo: all.repo, path, branch });
});

it('keeps the warm worktrees of two repositories apart that are released at once', async () => {
  const all = bench();
  const repo = join(all.root, 'other');
  makeRepo(repo);
  for (const id of names(5)) {
    const specs = [all.spec(id), all.spec(`other-${id}`, { repo })];
    await Promise.all(specs.map((spec) => all.workspaces.ensure(spec)));
    const released = await Promise.all(specs.map((spec) => all.workspaces.release(spec)));
    expect(released).toEqual(specs.map(() => ({ released: true, slot: true })));
    for (const each of [all.repo, repo])
      expect(git(each, 'worktree', 'list', '--porcelain')).toMatch(/\nworktree \S+\/\.slots\/\d\n[^/]*$/);
  }
});

it('gives a path that two repositories want at once to one of them', { tags: 'full' }, async () => {
  const all = bench();
  const repo = join(all.root, 'other');
  makeRepo(repo);
  const engines = [all.workspaces, createWorkspaces({ env: all.env })] as const;
  for (const id of names(25)) {
    const specs = [all.spec(id, { slots: 0 }), all.spec(id, { slots: 0, repo, owner: `q/${id}` })] as const;
    const made = [engines[0].ensure(specs[0]), engines[1].ensure(specs[1])];
    const ends = await Promise.allSettled(made);
    const first = ends.findIndex(({ status }) => status === 'fulfilled') ? 1 : 0;
    await engines[first].verify(specs[first]);
    expect(ends[1 - first]).toMatchObject({
      reason: { code: 'workspace/path-taken', hint: expect.stringContaining('try again') },
    });
    expect(git(first ? repo : all.repo, 'rev-parse', `ticket/${id}`)).toBe(all.first);
  }
});
