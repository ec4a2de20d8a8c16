import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { commitsOf, EXEC_FLAGS, git, IssueWorld, it, NumberedWorld, story, titled } from './support.ts';

function pair(...args: ConstructorParameters<typeof IssueWorld>): IssueWorld {
  return new IssueWorld(...args).write('a.md', '# A\n').write('b.md', '# B\n', { dependsOn: ['a'] });
}

describe.concurrent('an issue is done before', () => {
  it('only when earlier runs did what is wanted now; what they did is not repeated', {
    tags: 'full',
  }, async ({ world }) => {
    world.agent('agent', 'case $SIGNALBOX_PHASE in spec) echo "the plan" ;; *) commit ;; esac');
    const issues = new IssueWorld(world).write('a.md', '# A\n');
    expect((await issues.cli('run', 'a.md', '--phases', 'spec')).code).toBe(0);
    const dry = await issues.cli('run', 'a.md', '--phases', 'spec,exec', '--no-smart-tests', '--dry-run');
    expect(dry.out).toContain('Would run a: A\n  phases    exec → checks\n');
    const { code, out } = await issues.cli('run', 'a.md', '--phases', 'spec,exec');
    expect({ code, done: out.includes('done before') }).toEqual({ code: 0, done: false });
    expect(commitsOf(world.repo, 'feature/a-a')).toHaveLength(1);
    const ticket = world.ticket(issues.runs().at(-1) ?? '', 'a');
    expect(story(ticket).filter((line) => line.startsWith('spec'))).toEqual([]);
    expect(ticket.context.spec_plan).toContain('the plan');
    expect((await issues.cli('run', 'a.md', '--phases', 'spec,exec')).out).toContain('done before');
  });

  it('and nothing is built upon one of which only the plan was made', { tags: 'full' }, async ({ world }) => {
    world.agent('agent', 'test $SIGNALBOX_PHASE = spec || commit "$SIGNALBOX_TICKET"');
    const issues = pair(world);
    expect((await issues.cli('run', 'a.md', '--phases', 'spec')).code).toBe(0);
    const refused = await issues.cli('run', 'b.md', ...EXEC_FLAGS);
    expect(refused.out).toContain('depends on a, which is not closed and not part of this run');
    expect((await issues.cli('run', 'a.md', 'b.md', ...EXEC_FLAGS)).code).toBe(0);
    expect(commitsOf(world.repo, 'feature/b-b')).toEqual(['a', 'b']);
  });

  it('and gets the pull request that was left out', async ({ world }) => {
    world.agent('agent', 'commit work');
    const issues = new NumberedWorld(world, ...titled(1));
    const options = { phases: 'exec', smartTests: false } as const;
    await issues.library({ options: { ...options, pr: false } }, ['1']);
    const second = await issues.library({ options }, ['1']);
    expect(second.results).toMatchObject([{ success: true, prNumber: 2 }]);
    expect(second.results[0]?.phaseResults.map(({ phase }) => phase)).toEqual(['pull_request']);
    expect(commitsOf(world.repo, 'feature/1-issue-1')).toEqual(['work']);
    expect((await issues.library({ options }, ['1'])).results).toMatchObject([
      { skipped: true, prNumber: 2 },
    ]);
  });

  it('not when its branch was deleted unmerged; merged as one commit it is', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent('agent', 'echo "$SIGNALBOX_TICKET" > "$SIGNALBOX_TICKET.txt"; commit "$SIGNALBOX_TICKET"');
    const issues = pair(world);
    const args = ['run', 'a.md', 'b.md', ...EXEC_FLAGS];
    expect((await issues.cli('run', 'a.md', ...EXEC_FLAGS)).code).toBe(0);
    git(world.repo, 'branch', '-D', 'feature/a-a');
    const again = await issues.cli(...args);
    expect({ code: again.code, done: again.out.includes('done before') }).toEqual({ code: 0, done: false });
    expect(commitsOf(world.repo, 'feature/b-b')).toEqual(['a', 'b']);
    git(world.repo, 'merge', '--quiet', '--squash', 'feature/a-a');
    git(world.repo, 'commit', '--quiet', '--message=squashed');
    git(world.repo, 'branch', '-D', 'feature/a-a');
    expect((await issues.cli('run', 'a.md', ...EXEC_FLAGS)).out).toMatch(/✓ +a +done before/);
  });

  it('when its pull request was merged, whatever the base has become since', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent('agent', 'echo mine > a.txt; commit work');
    const issues = new NumberedWorld(world, ...titled(1));
    const options = { phases: 'exec', smartTests: false } as const;
    const merged = (state: 'CLOSED' | 'MERGED') =>
      issues.bench.gh.change(({ repositories }) => {
        for (const pull of repositories.flatMap((each) => each.pullRequests ?? [])) pull.state = state;
      });
    expect((await issues.library({ options }, ['1'])).exitCode).toBe(0);
    issues.write('a.txt', 'later\n');
    git(world.repo, 'push', '--quiet', 'origin', 'main', ':feature/1-issue-1');
    git(world.repo, 'branch', '-D', 'feature/1-issue-1');
    const dry = async () =>
      (await issues.library({ options: { ...options, dryRun: true } }, ['1'])).dryRun?.map(
        ({ done }) => done,
      );
    merged('MERGED');
    expect(await dry()).toEqual([true]);
    merged('CLOSED');
    expect(await dry()).toEqual([false]);
  });

  it('also seen from another worktree; a base that does not exist is refused, and it is merged when that is wanted later', {
    tags: 'full',
  }, async ({ world }) => {
    world.agent('agent', 'commit work');
    const issues = new IssueWorld(world).write('a.md', '# A\n').write('b.md', '# B\n', { id: 'b' });
    expect((await issues.cli('run', 'a.md', 'b.md', ...EXEC_FLAGS)).code).toBe(0);
    const linked = join(world.dir, 'linked');
    git(world.repo, 'worktree', 'add', '--quiet', '--detach', linked);
    const args = ['run', 'a.md', 'b.md', '--dry-run', ...EXEC_FLAGS];
    const { out } = await world.invoke(args, issues.env, linked).ended;
    expect(out).toContain('Done before a');
    expect(out).toContain('Done before b');
    expect((await issues.cli('run', 'a.md', '--base', 'nosuch', ...EXEC_FLAGS)).code).toBe(2);
    const merged = await issues.cli('run', 'a.md', '--integrate', ...EXEC_FLAGS);
    expect(merged.code).toBe(0);
    expect(merged.out).toContain(
      `To bring it into your checkout: git -C ${world.repo} merge --ff-only signalbox/main\n`,
    );
    const tip = git(world.repo, 'rev-parse', 'feature/a-a');
    git(world.repo, 'merge-base', '--is-ancestor', tip, 'signalbox/main');
  });
});

describe.concurrent('an issue whose title changes', () => {
  it('keeps its branch and worktree, and goes on with its work', { tags: 'full' }, async ({ world }) => {
    world.agent('agent', 'test $SIGNALBOX_PHASE = spec || commit "$SIGNALBOX_TICKET $SIGNALBOX_PHASE"');
    const issues = new IssueWorld(world)
      .write('t1.md', '# First title\n', { id: 't1' })
      .write('t2.md', '# Second\n', { id: 't2', dependsOn: ['t1'] });
    expect((await issues.cli('run', 't1.md', '--phases', 'spec')).code).toBe(0);
    issues.write('t1.md', '# Better title\n', { id: 't1' });
    const dry = await issues.cli('run', 't1.md', '--dry-run', ...EXEC_FLAGS);
    expect(dry.out).toContain('feature/t1-first-title');
    expect((await issues.cli('run', 't1.md', ...EXEC_FLAGS)).code).toBe(0);
    issues.write('t1.md', '# Third title\n', { id: 't1' });
    const last = await issues.cli('run', 't1.md', 't2.md', ...EXEC_FLAGS);
    expect(last.out).toMatch(/✓ +t1 +done before/);
    expect(commitsOf(world.repo, 'feature/t2-second')).toEqual(['t1 exec', 't2 exec']);
    expect(git(world.repo, 'branch', '--list', 'feature/t1-*').split('\n')).toHaveLength(1);
  });

  it('has one pull request', async ({ world }) => {
    world.agent('agent', 'commit work');
    const issues = new NumberedWorld(world, ...titled(8));
    const options = { phases: 'exec', smartTests: false } as const;
    await issues.library({ options: { ...options, pr: false } }, ['8']);
    issues.bench.gh.repository((repository) => {
      repository.issues[0] = { number: 8, title: 'Renamed' };
    });
    const { results } = await issues.library({ options }, ['8']);
    expect(results).toMatchObject([{ success: true, prNumber: expect.any(Number) }]);
    expect(issues.bench.pulls()).toMatchObject([{ headRefName: 'feature/8-issue-8' }]);
  });
});

describe.concurrent('an issue that depends on one which is done and not named', () => {
  it('is built upon it, with --force too', { tags: 'full' }, async ({ world }) => {
    world.agent('agent', 'commit "$SIGNALBOX_TICKET"');
    const issues = pair(world).write('c.md', '# C\n', { dependsOn: ['a'] });
    expect((await issues.cli('run', 'a.md', ...EXEC_FLAGS)).code).toBe(0);
    for (const [id, flags] of [
      ['b', []],
      ['c', ['--force']],
    ] as const) {
      const dry = await issues.cli('run', `${id}.md`, '--dry-run', ...flags, ...EXEC_FLAGS);
      expect(dry.out).toContain('  after     a\n');
      const { code, out } = await issues.cli('run', `${id}.md`, ...flags, ...EXEC_FLAGS);
      expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining('1 of 1 done') });
      expect(commitsOf(world.repo, `feature/${id}-${id}`)).toEqual(['a', id]);
    }
  });
});

describe.concurrent('a branch that was there before', () => {
  it('gets what its issue depends on, though it has commits of its own', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent('agent', 'commit "$SIGNALBOX_TICKET"; test -e "$HOME/mended" || exit 1');
    const issues = new IssueWorld(world).write('a.md', '# A\n').write('b.md', '# B\n');
    expect((await issues.cli('run', 'b.md', ...EXEC_FLAGS)).code).toBe(1);
    world.append('user/mended', '');
    issues.write('b.md', '# B\n', { dependsOn: ['a'] });
    expect((await issues.cli('run', 'a.md', 'b.md', ...EXEC_FLAGS)).code).toBe(0);
    expect(commitsOf(world.repo, 'feature/b-b')).toContain('a');
  });

  it('of a link in a chain begins at the link before, and its pull request targets that', {
    tags: 'full',
  }, async ({ world }) => {
    world.agent('agent', 'test -e "$HOME/mended" && commit "$SIGNALBOX_TICKET"');
    const issues = new NumberedWorld(world, ...titled(1, 2));
    const options = { phases: 'exec', smartTests: false, retry: false } as const;
    expect((await issues.library({ options }, ['2'])).exitCode).toBe(1);
    world.append('user/mended', '');
    expect((await issues.library({ options: { ...options, chain: true } }, ['1', '2'])).exitCode).toBe(0);
    expect(commitsOf(world.repo, 'feature/2-issue-2')).toEqual(['1', '2']);
    const pull = issues.bench.pulls().find(({ headRefName }) => headRefName === 'feature/2-issue-2');
    expect(pull?.baseRefName).toBe('feature/1-issue-1');
  });
});
