import { describe, expect } from 'vitest';
import { ENDINGS, type FakeIssue } from '../../support/gh/fake-gh.ts';
import { EXEC, EXEC_FLAGS, git, IssueWorld, it, linesOf, NumberedWorld, refusal, titled } from './support.ts';

describe.concurrent('what is no issue', () => {
  const REFUSED: [string[], RegExp][] = [
    [['abc'], /abc/],
    [['0'], /\b0\b/],
    [['1', '12x'], /12x/],
    [['--batch', ''], /^❌ --batch "" names no issue\.\n {3}Separate issues .*: --batch "123,456"/],
    [['--batch', '1,x'], /"x" is not an issue reference/],
    [[], /Name a plan, or one or more issues/],
  ];

  it('is refused with 2, and nothing starts', { tags: 'full' }, async ({ world }) => {
    const issues = new NumberedWorld(world, ...titled(1));
    for (const [args, message] of REFUSED) {
      const ended = await issues.cli('run', ...args, ...EXEC_FLAGS);
      expect(ended.code).toBe(2);
      expect(refusal(ended)).toMatch(message);
    }
    expect(issues.runs()).toEqual([]);
  });

  it('throws in code, and an empty list too', async ({ world }) => {
    const issues = new NumberedWorld(world, ...titled(1));
    for (const references of [['abc'], ['1', 'abc'], []])
      await expect(issues.library({ options: { ...EXEC } }, references)).rejects.toMatchObject({
        name: 'InputError',
        hint: expect.any(String),
      });
    expect(issues.runs()).toEqual([]);
  });
});

describe.concurrent('issues that cannot be run', () => {
  it('because they wait for each other are called as everywhere else', async ({ world }) => {
    const [one, two] = titled(1, 2);
    const issues = new NumberedWorld(world, { ...one, body: 'Depends on: #2' } as FakeIssue, {
      ...(two as FakeIssue),
      body: 'Depends on: #1',
    });
    const ended = await issues.cli('run', '1', '2', ...EXEC_FLAGS);
    expect(refusal(ended)).toContain('These issues wait for each other: #1 → #2 → #1.');
  });

  it('because nobody knows them are called alike in lines and table', { tags: 'full' }, async ({ world }) => {
    world.agent('agent', 'commit');
    const issues = new NumberedWorld(world, ...titled(1));
    const { out } = await issues.cli('run', '1', '77', ...EXEC_FLAGS);
    expect(out).toMatch(/^! #77 is not run: /m);
    expect(out).toMatch(/^✗ {2}#77 /m);
    expect(out).not.toMatch(/(^|[^#\d])77 /m);
  });

  it('are called by their id where that is a number of a file, refused or not', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent('agent', 'commit');
    const issues = new IssueWorld(world)
      .write('five.md', '# Five\n', { id: 5, dependsOn: ['nowhere'] })
      .write('six.md', '# Six\n', { id: 6 });
    const { out } = await issues.cli('run', 'five.md', 'six.md', ...EXEC_FLAGS);
    expect(out).toMatch(/^! 5 is not run: depends on nowhere/m);
    expect(out).toMatch(/^✗ {2}5 /m);
    expect(out).toMatch(/^✓ {2}6 /m);
    expect(out).not.toContain('#5');
    const dry = await issues.cli('run', 'five.md', '--dry-run', ...EXEC_FLAGS);
    expect(dry.out).toContain('Would not run 5: ');
  });

  it('because they wait for an issue of another repository call that by its whole name', async ({
    world,
  }) => {
    const issues = new NumberedWorld(
      world,
      { number: 1, title: 'One', body: 'Depends on: acme/api#9' },
      { number: 2, title: 'Two', body: 'Depends on: #3' },
      { number: 3, title: 'Three' },
    );
    const { out } = await issues.cli('run', '1', '2', '--dry-run', ...EXEC_FLAGS);
    expect(out).toContain('Would not run #1: depends on acme/api#9, ');
    expect(out).toContain('Would not run #2: depends on #3, ');
  });

  it('make a dry run end with 1 when there is nothing else', { tags: 'full' }, async ({ world }) => {
    const issues = new NumberedWorld(world, ...titled(1), { number: 2, title: 'Two', state: 'CLOSED' });
    const closed = await issues.cli('run', '2', '--dry-run', ...EXEC_FLAGS);
    expect(closed).toMatchObject({ code: 1, out: expect.stringContaining('Would not run #2: ') });
    expect((await issues.cli('run', '1', '2', '--dry-run', ...EXEC_FLAGS)).code).toBe(0);
  });
});

describe.concurrent('a tracker that does not answer', () => {
  it('is an error; no title is made up, no branch and no worktree are made', async ({ world }) => {
    world.agent('agent', 'commit');
    const issues = new NumberedWorld(world, ...titled(72));
    issues.bench.gh.fail({ call: 'api graphql', times: null, ...ENDINGS.network });
    const ended = await issues.cli('run', '72', ...EXEC_FLAGS);
    expect(ended.code).toBe(2);
    expect(refusal(ended)).toMatch(/github\.com/i);
    expect(issues.runs()).toEqual([]);
    expect(git(world.repo, 'branch', '--list', 'feature/*')).toBe('');
    expect(world.exists('worktrees')).toBe(false);
  });

  it('about one issue does not stop the others, and the result says so', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent('agent', 'commit');
    const issues = new NumberedWorld(world, ...titled(1));
    const { code, out } = await issues.cli('run', '1', '99', ...EXEC_FLAGS, '--json');
    expect(code).toBe(1);
    expect(linesOf(out).at(-1)).toMatchObject({
      ok: false,
      results: [
        { issueNumber: 1, success: true },
        { issueNumber: 99, success: false, abortReason: expect.stringContaining('99'), branch: null },
      ],
    });
  });
});

describe.concurrent('an issue that is done', () => {
  it('is left out of its batch, and only it', { tags: 'full' }, async ({ world }) => {
    world.agent('agent', 'commit');
    const issues = new NumberedWorld(world, ...titled(1, 2, 3));
    expect((await issues.library({ options: { ...EXEC } }, ['1'])).exitCode).toBe(0);
    const done = git(world.repo, 'rev-parse', 'feature/1-issue-1');
    const main = git(world.repo, 'rev-parse', 'main');
    const run = await issues.library({ options: { ...EXEC, batch: ['1 2', '3'] } }, []);
    expect(run.exitCode).toBe(0);
    expect(run.results.map(({ id, skipped = false }) => [id, skipped])).toEqual([
      ['1', true],
      ['2', false],
      ['3', false],
    ]);
    expect(world.calls('start').map(({ ticket }) => ticket.split('/')[1])).toEqual(['1', '2', '3']);
    expect(git(world.repo, 'rev-parse', 'feature/1-issue-1')).toBe(done);
    expect(git(world.repo, 'rev-parse', 'main')).toBe(main);
  });

  it('with a closed issue beside it is refused for the closed one alone', async ({ world }) => {
    world.agent('agent', 'commit');
    const issues = new NumberedWorld(world, ...titled(1), { number: 2, title: 'Over', state: 'CLOSED' });
    const run = await issues.library({ options: { ...EXEC } }, ['1', '2']);
    expect(run.results.map(({ id, success, abortReason }) => [id, success, abortReason])).toEqual([
      ['1', true, undefined],
      ['2', false, 'the issue is closed'],
    ]);
  });
});
