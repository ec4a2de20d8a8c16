import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { bench, git, makeRepo } from './helpers.ts';

async function told(
  work: ReturnType<ReturnType<typeof bench>['workspaces']['findObstacles']>,
): Promise<string[]> {
  return (await work).map(({ field, message }) => `${field}: ${message}`);
}

it('sees nothing in the way of a fresh worktree, an empty directory, or a slot', async () => {
  const { workspaces, spec } = bench();
  expect(await workspaces.findObstacles(spec('a'))).toEqual([]);
  mkdirSync(spec('b').path, { recursive: true });
  expect(await workspaces.findObstacles(spec('b'))).toEqual([]);
  await workspaces.ensure(spec('a'));
  await workspaces.release(spec('a'));
  expect(await workspaces.findObstacles(spec('a'))).toEqual([]);
});

it('sees its own worktree as its own, and that of another ticket as taken', async () => {
  const { workspaces, spec } = bench();
  await workspaces.ensure(spec('a'));
  expect(await workspaces.findObstacles(spec('a'))).toEqual([]);
  const other = { ...spec('a'), owner: 'plan/other' };
  expect(await told(workspaces.findObstacles(other))).toEqual([
    `worktree: The worktree ${other.path} belongs to plan/a.`,
  ]);
  expect(await workspaces.findObstacles({ ...other, takesOver: ['plan/a'] })).toEqual([]);
});

it('sees what lies at the path', async () => {
  const { workspaces, spec, root } = bench();
  const { path } = spec('a');
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, '');
  expect(await told(workspaces.findObstacles(spec('a')))).toEqual([
    `worktree: The worktree path ${path} is taken by a file.`,
  ]);
  makeRepo(join(root, 'elsewhere'));
  expect(await told(workspaces.findObstacles(spec('b', { path: join(root, 'elsewhere') })))).toEqual([
    `worktree: The worktree path ${join(root, 'elsewhere')} is taken by another git repository.`,
  ]);
  expect(
    (await told(workspaces.findObstacles(spec('c', { path: join(root, 'repo', 'inside') }))))[0],
  ).toMatch(/^worktree: .* is inside a checkout of its own repository/);
});

it('sees a file where a directory above the path has to be, and which field leads there', async () => {
  const { workspaces, spec, root } = bench();
  const file = join(root, 'afile');
  writeFileSync(file, '');
  const below = spec('a', { path: join(file, 'ticket', 'a'), worktreeRoot: file });
  const message = `Cannot create the worktree ${below.path}: ${file} is not a directory.`;
  expect(await workspaces.findObstacles(below)).toEqual([
    {
      field: 'worktreeRoot',
      message,
      hint: `Move ${file} away, or set \`worktreeRoot\` of the plan or the settings to another place.`,
    },
  ]);
  await expect(workspaces.ensure(below)).rejects.toMatchObject({ code: 'workspace/below-file', message });
  expect(await workspaces.findObstacles(spec('a', { path: join(file, 'a') }))).toMatchObject([
    { field: 'worktree', hint: `Move ${file} away, or set \`worktree\` of the ticket to another place.` },
  ]);
});

it('sees a branch that is checked out elsewhere, and a base that is not there', async () => {
  const { workspaces, spec, repo, root } = bench();
  const at = join(root, 'mine');
  git(repo, 'worktree', 'add', '--quiet', '-b', 'ticket/a', at);
  expect(await told(workspaces.findObstacles(spec('a', { base: 'nope' })))).toEqual([
    `base: The base branch nope does not exist in ${repo}.`,
    `branch: The branch ticket/a is checked out in ${at}.`,
  ]);
  expect(await told(workspaces.findObstacles(spec('b', { branch: 'main' })))).toEqual([
    'branch: The branch main is the base that its work is merged into.',
  ]);
});

it('leaves everything as it is', async () => {
  const { workspaces, spec, repo } = bench();
  const before = git(repo, 'for-each-ref') + git(repo, 'worktree', 'list');
  await workspaces.findObstacles(spec('a'));
  expect(git(repo, 'for-each-ref') + git(repo, 'worktree', 'list')).toBe(before);
});

it('sees a branch that is the base or the default branch, or that git cannot have beside another', async () => {
  const { workspaces, spec, repo } = bench();
  git(repo, 'branch', 'x');
  git(repo, 'branch', 'y/z');
  git(repo, 'update-ref', 'refs/remotes/origin/trunk', 'HEAD');
  git(repo, 'symbolic-ref', 'refs/remotes/origin/HEAD', 'refs/remotes/origin/trunk');
  git(repo, 'switch', '--quiet', '--create', 'feature');
  const of = (branch: string, base: string | null) =>
    told(workspaces.findObstacles(spec('a', { branch, base })));
  expect(await of('main', 'main')).toEqual([
    'branch: The branch main is the base that its work is merged into.',
  ]);
  expect(await of('trunk', 'main')).toEqual(["branch: The branch trunk is the repository's default branch."]);
  expect(await of('trunk', null)).toEqual(["branch: The branch trunk is the repository's default branch."]);
  expect(await of('x/a', 'main')).toEqual([
    'branch: The branch x/a cannot be there together with the branch x.',
  ]);
  expect(await of('y', 'main')).toEqual([
    'branch: The branch y cannot be there together with the branch y/z.',
  ]);
  expect(await of('main', null)).toEqual([]);
});
