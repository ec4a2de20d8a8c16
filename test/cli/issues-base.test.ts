import { describe, expect } from 'vitest';
import { Bench } from '../features/pull-requests/bench.ts';
import { commitsOf, story } from '../support/index.ts';
import { IssueWorld } from './issue-world.ts';
import { git, it, refusal } from './support.ts';

const EXEC = ['--phases', 'exec', '--no-smart-tests', '--no-pr'];

describe.concurrent('--base', () => {
  it('is refused before anything is begun when no branch has that name', { tags: 'full' }, async ({
    world,
  }) => {
    const issues = new IssueWorld(world).write('a.md', '# A\n');
    for (const base of ['nope', 'a..b', '0'.repeat(40)])
      for (const more of [['--dry-run'], []]) {
        const ended = await issues.cli('run', 'a.md', '--base', base, ...more, ...EXEC);
        expect(ended.code).toBe(2);
        expect(refusal(ended)).toContain(base);
      }
    expect(issues.runs()).toEqual([]);
  });

  it('may be a branch that only origin has', async ({ world }) => {
    const issues = new IssueWorld(world, new Bench(world).env).write('a.md', '# A\n');
    git(world.repo, 'push', '--quiet', 'origin', 'main:develop');
    git(world.repo, 'update-ref', '-d', 'refs/remotes/origin/develop');
    const { code, out } = await issues.cli('run', 'a.md', '--base', 'develop', '--dry-run', ...EXEC);
    expect(code).toBe(0);
    expect(out).toContain('Would run a');
  });

  it.for([
    ['and its worktree', false],
    ['without a worktree', true],
  ] as const)(
    'is not ignored for a branch %s that began elsewhere',
    { tags: 'full' },
    async ([, gone], { world }) => {
      world.agent('agent', 'test -e "$HOME/mended" || { commit; exit 1; }; commit');
      const issues = new IssueWorld(world).write('a.md', '# A\n');
      git(world.repo, 'branch', 'develop');
      const args = ['run', 'a.md', '--agent', 'agent', ...EXEC];
      expect((await issues.cli(...args)).code).toBe(1);
      const [first = ''] = issues.runs();
      const { worktree, branch } = world.ticket(first, 'a');
      if (gone) git(world.repo, 'worktree', 'remove', '--force', worktree ?? '');
      const other = [...args, '--base', 'develop'];
      const dry = await issues.cli(...other, '--dry-run');
      expect(dry.out).toContain(`its branch ${branch} exists and began at main, not at develop`);
      const refused = await issues.cli(...other);
      expect(refused.code).toBe(1);
      expect(refused.out).toContain('--force');
      expect(refused.out).toContain('--base main');
      expect(issues.runs()).toEqual([first]);
      world.append('user/mended', '');
      const note = `Its branch ${branch} stays as it began, from main and not from develop.`;
      expect((await issues.cli(...other, '--force', '--dry-run')).out).toContain(`  note      ${note}`);
      const forced = await issues.cli(...other, '--force');
      expect(forced.out).toContain(`! a: ${note}`);
      expect(forced.code).toBe(0);
      expect(story(world.ticket(issues.runs().at(-1) ?? '', 'a'))).toContain('exec success');
      expect(commitsOf(world.repo, branch ?? '')).toHaveLength(2);
    },
  );

  it('goes on with a branch that began there, though the base has moved on', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent('agent', 'test -e "$HOME/mended" || { commit; exit 1; }; commit');
    const issues = new IssueWorld(world).write('a.md', '# A\n');
    const args = ['run', 'a.md', '--agent', 'agent', '--base', 'main', ...EXEC];
    expect((await issues.cli(...args)).code).toBe(1);
    issues.write('b.md', '# B\n');
    world.append('user/mended', '');
    expect((await issues.cli(...args)).code).toBe(0);
  });

  it('of a branch that nobody has a record of is seen by what it contains', async ({ world }) => {
    world.agent('agent', 'commit');
    const issues = new IssueWorld(world).write('a.md', '# A\n');
    git(world.repo, 'branch', 'feature/a-a');
    const args = ['run', 'a.md', '--agent', 'agent', '--dry-run', ...EXEC];
    expect((await issues.cli(...args, '--base', 'main')).out).toContain('Would run a');
    git(world.repo, 'switch', '--quiet', '--create', 'develop');
    issues.write('b.md', '# B\n');
    const { out } = await issues.cli(...args, '--base', 'develop');
    expect(out).toContain('its branch feature/a-a exists and began at another branch, not at develop');
  });
});
