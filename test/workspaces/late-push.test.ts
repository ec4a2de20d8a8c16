import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createWorkspaces } from '../../src/workspaces/workspaces.ts';
import { bench, commit, git, testEnv } from './helpers.ts';

it('origin refuses the push of a machine that does not know the latest hand-over, also where it only adds commits', async () => {
  const { root, repo } = bench();
  const bare = join(root, 'origin.git');
  git(root, 'clone', '--quiet', '--bare', repo, bare);
  const workspaces = createWorkspaces({ env: testEnv(root) });
  const [first, second] = ['first', 'second'].map((name) => {
    const path = join(root, name);
    git(root, 'clone', '--quiet', bare, path);
    return path;
  }) as [string, string];
  const name = 'p/a';
  const push = (from: string, commits: string, expected?: { commits: string; wip: string }) =>
    workspaces.pushHandOver({ repo: from, name, next: { commits, wip: commits }, expected });
  const refs = () => git(bare, 'for-each-ref', '--format=%(objectname)', 'refs/signalbox').split('\n');

  const begun = commit(first, { 'one.txt': 'one\n' }, 'one');
  const before = { commits: begun, wip: begun };
  expect(await push(first, begun)).toBe(true);
  git(second, 'fetch', '--quiet', 'origin', 'refs/signalbox/p/a');
  git(second, 'reset', '--quiet', '--hard', 'FETCH_HEAD');
  const continued = commit(second, { 'two.txt': 'two\n' }, 'two');
  expect(await push(second, continued, before)).toBe(true);

  const late = commit(first, { 'late.txt': 'late\n' }, 'late');
  expect(await push(first, late, before)).toBe(false);
  expect(await push(first, late)).toBe(false);
  git(first, 'fetch', '--quiet', 'origin', 'refs/signalbox/p/a');
  git(first, 'reset', '--quiet', '--hard', 'FETCH_HEAD');
  expect(await push(first, commit(first, { 'later.txt': 'later\n' }, 'later'), before)).toBe(false);
  expect(refs()).toEqual([continued, continued]);
});
