import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import {
  git,
  it,
  progressFile,
  put,
  runSpec,
  stateFile,
  story,
  tasks,
  tasksOn,
  tree,
  work,
  writeSpec,
} from './support.ts';

const NESTED = `# Plan

- [x] 1. Base
- [ ] 2. Store
  - [ ] 2.1 Table
    - _Requirements: 1.1_
  - [ ]* 2.2 Tests
- [ ] 3. Page
  - _Depends: 2.1_
`;

describe.concurrent('contract 2 and 10: a run of a spec', () => {
  it('does one unit after the other on a branch of its own, ticks them, sums up and does nothing twice', {
    tags: 'full',
  }, async ({ world }) => {
    const dir = writeSpec(world, NESTED, {
      assigned: false,
      files: { 'requirements.md': '### Requirement 1\n\n1. WHEN a row is asked for THEN it is there\n' },
    });
    const { code, out, err } = await world.cli('spec', dir, '--no-tmux', '--delay', '0');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(work(world)).toEqual([
      'Rehearse implement of 2',
      'Tick 2 of limits',
      'Rehearse implement of 3',
      'Tick 3 of limits',
    ]);
    expect(tasksOn(world)).toBe(NESTED.replaceAll('[ ] ', '[x] ').trimEnd());
    expect(readFileSync(join(dir, 'tasks.md'), 'utf8')).toBe(NESTED);
    expect(git(world.repo, 'branch', '--show-current')).toBe('main');
    expect(story(world.ticket('spec-limits', '2'))).toEqual([
      'assign success',
      'implement success',
      'checks success',
      'tick success',
    ]);
    expect(world.promptOf('spec-limits', '2', 'implement.1.1')).toContain('WHEN a row is asked for');
    expect(out).toMatch(/✓ {2}2 +complete +Store/);
    expect(out).toContain('3 files changed');
    expect(out).toContain('To look at it: signalbox diff spec-limits 2\n');
    const merge = `git -C ${world.repo} merge spec/limits`;
    expect((await world.cli('status', 'spec-limits')).out).toContain(`  Work: on one branch → ${merge}\n`);
    expect((await world.cli('report')).out).toContain(`  To merge all of spec-limits\n    → ${merge}\n`);
    expect((await world.cli('merge', 'spec-limits')).out).toBe(
      `The branch of a spec is merged by git: ${merge}\n`,
    );
    const refused = await world.cli('integrate', 'spec-limits', '2');
    expect(refused.code).toBeGreaterThan(0);
    expect(refused.err).toBe(
      `❌ spec/limits is the branch that 2 started from.\n   To merge it into the branch that is checked out: ${merge}\n`,
    );
    expect(out).toMatch(/3 of 3 units done · 2 attempts in this run · .*tokens/);
    expect(existsSync(tree(world))).toBe(false);
    // The two files beside the spec show the run, and git does not see them.
    expect(git(world.repo, 'status', '--porcelain')).toBe('');
    const { version, specs } = stateFile(world);
    expect(version).toBe(1);
    expect(specs.limits).toMatchObject({
      spec: dir,
      plan: 'spec-limits',
      completed: ['1', '2', '2.1', '3'],
      failed: [],
      halted: false,
      halt_reason: null,
      assignments: { 2: { type: 'code', owner_agent: 'default', criticality: 'standard', by: 'agent' } },
    });
    expect(specs.limits?.completed_at).not.toBeNull();
    const progress = progressFile(world);
    expect(progress).toMatch(/## Iteration 1\n\n- \*\*Task:\*\* 2 - Store\n- \*\*Status:\*\* Completed/);
    expect(progress).toMatch(/\*\*Completed:\*\* \d{4}-.*\n- Units: 3 of 3 complete \(1 before this run\)/);
    expect(progress).toContain('- Changes: 3 files changed');
    // Called again, it is complete.
    const before = git(world.repo, 'rev-parse', 'spec/limits');
    const again = await runSpec(world, dir);
    expect(again.code).toBe(0);
    expect(again.result.counts).toMatchObject({ units: 3, complete: 3, before: 3, attempts: 0 });
    expect(git(world.repo, 'rev-parse', 'spec/limits')).toBe(before);
  });

  it('carries what a unit has learned to those after it', { tags: 'full' }, async ({ world }) => {
    world.rehearsal([
      {
        when: { ticket: '1', phase: 'implement' },
        do: [
          { write: { path: 'a.txt', text: 'a\n' } },
          { commit: 'Add a' },
          { result: 'Added a.\nLearned: the store is slow, use the cache.\n\n<promise>TASK_DONE</promise>' },
        ],
      },
    ]);
    const dir = writeSpec(world, tasks('One', 'Two'));
    await runSpec(world, dir);
    expect(world.promptOf('spec-limits', '2', 'implement.1.1')).toContain(
      '- 1: the store is slow, use the cache.',
    );
  });

  it('stops at the most units it may begin with 1, and goes on with the next call', { tags: 'full' }, async ({
    world,
  }) => {
    const dir = writeSpec(world, tasks('One', 'Two'));
    const first = await runSpec(world, dir, '--max-iterations', '1');
    expect(first.code).toBe(1);
    expect(first.result.counts).toMatchObject({ complete: 1, left: 1, failed: 0 });
    expect(world.ticket('spec-limits', '2').hold).toMatchObject({ kind: 'starts' });
    const second = await runSpec(world, dir, '--max-iterations', '1');
    expect(second.code).toBe(0);
    expect(second.result.counts).toMatchObject({ complete: 2, before: 1, attempts: 1 });
  });

  it('waits between units, and says so', { tags: 'full' }, async ({ world }) => {
    const dir = writeSpec(world, tasks('One', 'Two'));
    // Long enough not to be over before it is seen on a busy machine.
    const run = world.invoke(['spec', dir, '--no-tmux', '--delay', '1000']);
    await run.says('pause of about 1000 s between tickets');
    const { code, out } = await run.kill('SIGINT');
    expect(code).toBe(130);
    expect(out).toMatch(/◌ 2 waits until .*: pause of about 1000 s between tickets/);
    expect(world.ticket('spec-limits', '2').phaseHistory).toEqual([]);
    expect((await world.cli('spec', dir, '--no-tmux', '--fresh', '--delay', '0.5')).code).toBe(0);
    const [one, two] = ['1', '2'].map((id) => world.ticket('spec-limits-2', id));
    const gap = Date.parse(two?.phaseHistory[0]?.startedAt ?? '') - Date.parse(one?.since ?? '');
    expect(gap).toBeGreaterThanOrEqual(400);
  });

  it('runs only what is selected, and the rest later', { tags: 'full' }, async ({ world }) => {
    const dir = writeSpec(world, tasks('One', 'Two', 'Three'));
    expect((await runSpec(world, dir, '--only', '2')).result.counts).toMatchObject({ units: 1, complete: 1 });
    expect((await runSpec(world, dir, '--skip', '3')).result.counts).toMatchObject({ units: 2, complete: 2 });
    expect(work(world)).toContain('Tick 2 of limits');
    const { code, result } = await runSpec(world, dir);
    expect({ code, counts: result.counts.complete }).toEqual({ code: 0, counts: 3 });
  });

  it('does new units of a task list that was edited, and keeps the ticks of its branch', {
    tags: 'full',
  }, async ({ world }) => {
    world.rehearsal([
      {
        when: { ticket: '2', phase: 'implement' },
        do: [{ write: { path: 'two.txt', append: 'two\n' } }, { commit: 'Do two' }],
      },
    ]);
    const dir = writeSpec(world, tasks('One', 'Two'));
    await runSpec(world, dir);
    put(join(dir, 'tasks.md'), '# Tasks\n\n- [ ] 1. One\n- [ ] 2. Two\n  - [ ] 2.1 More\n- [ ] 3. Three\n');
    const { code } = await runSpec(world, dir);
    expect(code).toBe(0);
    expect(work(world).slice(4)).toEqual([
      'Bring the tasks of limits up to date',
      'Do two',
      'Tick 2 of limits',
      'Rehearse implement of 3',
      'Tick 3 of limits',
    ]);
    expect(tasksOn(world)).toBe('# Tasks\n\n- [x] 1. One\n- [x] 2. Two\n  - [x] 2.1 More\n- [x] 3. Three');
  });

  it('starts over on another branch with --fresh', { tags: 'full' }, async ({ world }) => {
    const dir = writeSpec(world, tasks('One'));
    await runSpec(world, dir);
    const { code, result } = await runSpec(world, dir, '--fresh');
    expect({ code, planId: result.planId }).toEqual({ code: 0, planId: 'spec-limits-2' });
    expect(work(world, 'spec/limits-2')).toEqual(['Rehearse implement of 1', 'Tick 1 of limits']);
    expect(world.readPlan('spec-limits').status).toBe('archived');
  });

  it('says what it would do with --dry-run and does nothing', async ({ world }) => {
    const dir = writeSpec(world, NESTED, { assigned: false });
    const { code, out } = await world.cli('spec', dir, '--dry-run');
    expect(code).toBe(0);
    expect(out).toContain('Would run 2 of 3 units as plan spec-limits, on branch spec/limits.');
    expect(existsSync(world.planFile('spec-limits'))).toBe(false);
    expect(existsSync(join(dir, '..', 'SEQUENTIAL_STATE.json'))).toBe(false);
    expect(git(world.repo, 'branch', '--list', 'spec/*')).toBe('');
  });

  it('can be named by --spec, and by run', { tags: 'full' }, async ({ world }) => {
    const dir = writeSpec(world, tasks('One'));
    expect((await world.cli('--spec', dir, '--dry-run')).out).toContain('Would run 1 of 1 units');
    const run = await world.cli('run', dir, '--dry-run');
    expect(run.out).toContain('Would run 1 of 1 units');
  });

  it('checks a checkpoint without an agent', { tags: 'full' }, async ({ world }) => {
    const dir = writeSpec(world, tasks('Checkpoint - ensure all tests pass'));
    expect((await runSpec(world, dir)).code).toBe(0);
    expect(story(world.ticket('spec-limits', '1'))).toEqual(['checks success', 'tick success']);
    expect(progressFile(world)).toContain('**Status:** Completed');
  });

  it('warns of a checkpoint for which there is nothing to run, before and after', { tags: 'full' }, async ({
    world,
  }) => {
    const dir = writeSpec(world, tasks('One', 'Checkpoint - ensure all tests pass'));
    const checked = await world.cli('spec', 'check', dir);
    expect(checked.code).toBe(0);
    expect(checked.out).toContain('tasks.md:4:1: warning: checkpoint 2 has nothing to run');
    const { out, err } = await world.cli('spec', dir, '--no-tmux', '--delay', '0');
    expect(err).toContain('tasks.md:4: checkpoint 2 has nothing to run');
    expect(out).toContain('checkpoint 2 was ticked without a check');
    world.config({ checks: ['true'] });
    expect((await world.cli('spec', 'check', dir)).out).toContain('No problems.');
  });
});
