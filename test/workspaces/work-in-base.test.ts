import { describe, expect, it } from 'vitest';
import { bench, commit, git } from './helpers.ts';

interface Story {
  name: string;
  /** What happened on main after the branch had its two commits. */
  main(repo: string): void;
  into: string | null;
}

const squash = (repo: string) => {
  git(repo, 'merge', '--quiet', '--squash', 'work');
  git(repo, 'commit', '--quiet', '--message=Squashed');
};

const STORIES: Story[] = [
  { name: 'nothing happened', main: () => undefined, into: null },
  { name: 'it was squashed', main: squash, into: 'main' },
  {
    name: 'it was squashed, and somebody changed the same lines later',
    main: (repo) => {
      squash(repo);
      commit(repo, { 'a.txt': 'something else\n', 'new.txt': 'and here\n' });
    },
    into: 'main',
  },
  {
    name: 'it was squashed together with a change of another file, and changed later',
    main: (repo) => {
      git(repo, 'merge', '--quiet', '--squash', 'work');
      commit(repo, { other: '1' });
      commit(repo, { 'a.txt': 'something else\n' });
    },
    into: 'main',
  },
  {
    name: 'each commit was picked, and somebody changed the same lines later',
    main: (repo) => {
      git(repo, 'cherry-pick', 'work~1', 'work');
      git(repo, 'commit', '--quiet', '--amend', '--message=Another commit');
      commit(repo, { 'a.txt': 'something else\n' });
    },
    into: 'main',
  },
  {
    name: 'only the first commit was picked',
    main: (repo) => void git(repo, 'cherry-pick', 'work~1'),
    into: null,
  },
  {
    name: 'somebody changed the same lines in another way',
    main: (repo) => void commit(repo, { 'a.txt': 'something else\n' }),
    into: null,
  },
  {
    name: 'it was squashed on origin',
    main: (repo) => {
      squash(repo);
      git(repo, 'update-ref', 'refs/remotes/origin/main', 'main');
      git(repo, 'reset', '--quiet', '--hard', 'main~1');
    },
    into: 'origin/main',
  },
];

describe('where the changes of a branch are', () => {
  it.each(STORIES)('$name: $into', async ({ main, into }) => {
    const { repo, workspaces } = bench();
    git(repo, 'switch', '--quiet', '-c', 'work');
    commit(repo, { 'a.txt': 'changed\n' });
    commit(repo, { 'new.txt': 'new\n' });
    git(repo, 'switch', '--quiet', 'main');
    main(repo);
    const objects = git(repo, 'count-objects');
    const spec = { repo, branch: 'work', base: 'main', recordedBase: null };
    expect(await workspaces.takenIn(spec)).toBe(into);
    expect(git(repo, 'count-objects')).toBe(objects);
  });

  it('is not told from a patch that hides what is in a binary file', { tags: 'full' }, async () => {
    const { repo, workspaces } = bench({ image: 'a\0b' });
    git(repo, 'switch', '--quiet', '-c', 'work');
    commit(repo, { image: 'a\0c' });
    git(repo, 'switch', '--quiet', 'main');
    commit(repo, { image: 'a\0d' });
    const spec = { repo, branch: 'work', base: 'main', recordedBase: null };
    expect(await workspaces.takenIn(spec)).toBeNull();
  });
});
