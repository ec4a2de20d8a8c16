import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { Bench } from '../features/pull-requests/bench.ts';
import { IssueWorld } from './issue-world.ts';
import { it, refusal } from './support.ts';

/** The order in which issues began and ended, by the lines of a run. */
function course(out: string): string[] {
  return out.split('\n').flatMap((line) => {
    const [, name, what] = /^(?:● |✓ Issue )(\S+?):? (exec started|completed)/.exec(line) ?? [];
    return name && what ? [`${name} ${what.replace('exec ', '')}`] : [];
  });
}

describe.concurrent('batches', () => {
  it('may name issues in any form, Markdown files by any path', { tags: 'full' }, async ({ world }) => {
    const issues = new IssueWorld(world)
      .write('issues/one.md', '# One\n', { id: 'first' })
      .write('issues/two.md', '# Two\n')
      .write('three.md', '# Three\n');
    const batches = ['--batch', './three.md', '--batch', 'issues/../issues/one.md issues/two.md'];
    const { code, out, err } = await issues.cli('run', ...batches, '--phases', 'exec', '--concurrency', '1');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(course(out)).toEqual([
      'three started',
      'three completed',
      'first started',
      'first completed',
      'two started',
      'two completed',
    ]);
    const [run = ''] = issues.runs();
    const groups = world.readPlan(run).tickets.map(({ ticketId, group }) => [ticketId, group]);
    expect(Object.fromEntries(groups)).toEqual({ three: 0, first: 1, two: 1 });
  });

  it('go on after a failed one; what no batch names runs last', { tags: 'full' }, async ({ world }) => {
    world.agent('agent', 'case $SIGNALBOX_TICKET in bad) exit 1 ;; esac\ncommit');
    const issues = new IssueWorld(world)
      .write('last.md', '# Last\n')
      .write('bad.md', '# Bad\n')
      .write('good.md', '# Good\n');
    const { code, out } = await issues.cli(
      'run',
      'last.md',
      ...['--batch', 'bad.md', '--batch', 'good.md', '--phases', 'exec'],
    );
    expect(code).toBe(1);
    expect(course(out)).toEqual([
      'bad started',
      'good started',
      'good completed',
      'last started',
      'last completed',
    ]);
  });

  it('stop at a failure with --sequential, the later ones too', { tags: 'full' }, async ({ world }) => {
    world.agent('agent', 'case $SIGNALBOX_TICKET in a) exit 1 ;; esac\ncommit');
    const issues = new IssueWorld(world);
    for (const name of ['a', 'b', 'c']) issues.write(`${name}.md`, `# ${name}\n`);
    const batches = ['--batch', 'a.md b.md', '--batch', 'c.md'];
    const { code, out } = await issues.cli('run', '--sequential', ...batches, '--phases', 'exec');
    expect(code).toBe(1);
    expect(course(out)).toEqual(['a started']);
    expect(out).toMatch(/◌ +b +not started .*stops at the first failure, and a failed/);
    expect(out).toMatch(/◌ +c +not started .*stops at the first failure, and a failed/);
    expect(out).toContain('0 of 3 done · 1 needs you · 2 waiting');
  });

  it.for([
    [
      'an issue before one it depends on',
      ['--batch', 'two.md', '--batch', 'one.md'],
      /❌ two is in batch 1 and depends on one, which is in batch 2\.\n {3}Put one into batch 1 or an earlier one\./,
    ],
    [
      'an issue before one it depends on that no batch names',
      ['one.md', '--batch', 'two.md'],
      /❌ two is in batch 1 and depends on one, which is in no batch and so runs after all of them\./,
    ],
    [
      'an issue in two batches, in two forms',
      ['--batch', 'one.md', '--batch', './one.md'],
      /❌ \.\/one\.md is in batch 1 and in batch 2\.\n {3}Name each issue once\./,
    ],
  ] as const)('refuse %s, before anything starts', async ([, args, message], { world }) => {
    const issues = new IssueWorld(world)
      .write('one.md', '# One\n')
      .write('two.md', '# Two\n', { dependsOn: ['one'] });
    const ended = await issues.cli('run', ...args);
    expect(ended.code).toBe(2);
    expect(refusal(ended)).toMatch(message);
    expect(issues.runs()).toEqual([]);
  });
});

describe.concurrent('dependencies', () => {
  it('that cannot be read are not said to be open', { tags: 'full' }, async ({ world }) => {
    const bench = new Bench(world);
    bench.gh.issues({ number: 3, title: 'Three', body: 'Depends on: #9' });
    const { code, out } = await new IssueWorld(world, bench.env).cli('run', '3', '--phases', 'exec');
    expect(code).toBe(1);
    expect(out).toMatch(/✗ +#3 .*depends on #9, and it is not known whether that is closed: #9 .*not exist/);
    expect(out).toContain('#3: Correct the dependency, or use --force.\n');
  });

  it('that are refused take with them what depends on them', async ({ world }) => {
    const issues = new IssueWorld(world)
      .write('a.md', '# A\n')
      .write('b.md', '# B\n', { dependsOn: ['elsewhere'] })
      .write('c.md', '# C\n', { dependsOn: ['b'] });
    const { code, out } = await issues.cli('run', 'c.md', 'b.md', 'a.md', '--phases', 'exec');
    expect(code).toBe(1);
    expect(course(out)).toEqual(['a started', 'a completed']);
    expect(out).toMatch(/✗ +b .*depends on elsewhere, which is not closed and not part of this run/);
    expect(out).toMatch(/✗ +c .*depends on b, which cannot be run either/);
    expect(out).toContain('b: Run elsewhere too, or use --force.\n');
  });
});

describe.concurrent('--dry-run', () => {
  it('tells of each issue its phases, whom it waits for, branch and worktree, and what is done before', {
    tags: 'full',
  }, async ({ world }) => {
    const issues = new IssueWorld(world)
      .write('one.md', '# One\n')
      .write('two.md', '# Two it is\n', { labels: ['Security', 'tests'], dependsOn: ['one'] })
      .write('old.md', '# Old\n')
      .write('bad.md', '# Bad\n', { dependsOn: ['nowhere'] });
    expect((await issues.cli('run', 'old.md')).code).toBe(0);
    const before = issues.runs();
    const { code, out } = await issues.cli('run', 'two.md', 'one.md', 'old.md', 'bad.md', '--dry-run');
    expect(code).toBe(0);
    expect(out).toBe(`Would run one: One
  phases    spec → exec → smart_tests → checks → qa
  branch    feature/one-one
  worktree  ${world.worktrees}/feature/one-one
Would run two: Two it is
  phases    spec → testgen → exec → smart_tests → security_review → checks → qa
  labels    Security, tests → testgen, security_review
  after     one
  branch    feature/two-two-it-is
  worktree  ${world.worktrees}/feature/two-two-it-is
Done before old: Old
  branch    feature/old-old
Would not run bad: depends on nowhere, which is not closed and not part of this run
  Run nowhere too, or use --force.

mode        parallel, at most 3 at once
agent       rehearsal
models      as the agent chooses
forge       not needed
estimate    none: it needs three earlier attempts of the same phase and agent
`);
    expect(issues.runs()).toEqual(before);
    expect(world.exists('worktrees/feature')).toBe(false);
  });

  it('tells the same as JSON, with batches', async ({ world }) => {
    const issues = new IssueWorld(world).write('one.md', '# One\n').write('two.md', '# Two\n');
    const args = ['--batch', 'two.md', '--batch', 'one.md', '--phases', 'exec', '--no-smart-tests'];
    const { out } = await issues.cli('run', ...args, '--dry-run', '--json');
    const { dryRun, planId, ok } = JSON.parse(out) as { dryRun: unknown; planId: unknown; ok: boolean };
    expect({ planId, ok }).toEqual({ planId: null, ok: true });
    const common = { issueNumber: 0, done: false, phases: ['exec', 'checks'], after: [], afterNames: [] };
    const at = (name: string) => join(world.worktrees, 'feature', name);
    expect(dryRun).toEqual([
      { ...common, issue: 'two', title: 'Two', batch: 1, branch: 'feature/two-two', worktree: at('two-two') },
      { ...common, issue: 'one', title: 'One', batch: 2, branch: 'feature/one-one', worktree: at('one-one') },
    ]);
  });
});
