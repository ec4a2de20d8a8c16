import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { add, done, git, it, runSpec, tasksOn, withoutWaits, work, writeSpec } from './support.ts';

const TEXT = `- [ ] 1. Contract
  - _Blocked: waiting for the lawyers_
- [ ] 2. Page
  - _Depends: 1_
- [ ] 3. Store
`;

describe.concurrent('a unit with `_Blocked: reason_`', () => {
  it('waits for a person with that reason and holds back only its dependents', async ({ world }) => {
    const dir = writeSpec(world, TEXT);
    const { code, out, err } = await world.cli('spec', dir, '--no-tmux', '--delay', '0');
    expect(code).toBe(2);
    expect(err).toContain('tasks.md:1: Unit 1 is blocked: waiting for the lawyers.');
    expect(work(world)).toEqual(['Rehearse implement of 3', 'Tick 3 of limits']);
    expect(out).toMatch(/! {2}1 +needs attention +Contract +waiting for the lawyers/);
    expect(out).toMatch(/2 +queued +Page +waits for 1 \(needs attention\)/);
    expect(out).toContain('1 of 3 units done · 1 blocked · 1 to do');
    const status = await world.cli('status', 'spec-limits');
    expect(status.out).toContain('blocked: waiting for the lawyers');
    expect(status.out).toContain('→ delete the `_Blocked_` line of 1 and run the spec again');
  });

  it('stays blocked when the run is resumed, and is done once the line is gone', { tags: 'full' }, async ({
    world,
  }) => {
    const dir = writeSpec(world, TEXT);
    expect((await runSpec(world, dir)).code).toBe(2);
    const resumed = await world.cli('resume', 'spec-limits');
    expect({ ...resumed, out: '' }).toMatchObject({ code: 2, err: '' });
    expect(work(world)).not.toContain('Rehearse implement of 1');
    writeFileSync(join(dir, 'tasks.md'), TEXT.replace(/ {2}- _Blocked.*\n/, ''));
    expect((await runSpec(world, dir)).code).toBe(0);
    expect(work(world)).toContain('Rehearse implement of 2');
  });

  it('that had begun lets go of the worktree', { tags: 'full' }, async ({ world }) => {
    withoutWaits(world);
    const boom = { fail: { class: 'exit', message: 'boom' } };
    world.rehearsal([{ when: { ticket: '1', phase: 'implement' }, do: [...add('half.txt'), boom] }]);
    const open = '- [ ] 1. One\n- [ ] 2. Two\n';
    const dir = writeSpec(world, open);
    expect((await runSpec(world, dir, '--max-attempts', '1')).code).toBe(2);
    writeFileSync(join(dir, 'tasks.md'), open.replace('One\n', 'One\n  - _Blocked: no key_\n'));
    world.rehearsal([{ when: { ticket: '2', phase: 'implement' }, do: [...add('two.txt'), done()] }]);
    const { code, result } = await runSpec(world, dir);
    expect({ code, counts: result.counts }).toMatchObject({ code: 2, counts: { complete: 1, blocked: 1 } });
    expect(tasksOn(world)).toContain('- [x] 2. Two');
    expect(work(world)).not.toContain('Add half.txt');
    expect(git(world.repo, 'show', 'refs/signalbox/failed/spec-limits/1-1:half.txt')).toBe('x');
  });
});

describe.concurrent('warnings of `spec check`', () => {
  it('are repeated by a run, twenty at most', async ({ world }) => {
    const wrong = Array.from(
      { length: 22 },
      (_, index) => `- [x] ${index + 2}. Task\n  - _Requirements: 9.${index}_\n`,
    );
    const text = `- [ ] 1. One\n${wrong.join('')}\n## 40. A\n- [x] 40.1 a\n## 41. Empty\n`;
    const dir = writeSpec(world, text, {
      files: { 'requirements.md': '### Requirement 1\n\n1. WHEN a THEN b\n' },
    });
    const checked = await world.cli('spec', 'check', dir);
    const { code, err } = await world.cli('spec', dir, '--no-tmux', '--delay', '0');
    expect(code).toBe(0);
    expect(checked.out).toContain('23 warnings.');
    expect(err).toContain('"41. Empty" has no check box of its own, so it is not read as a task.');
    expect(err).toContain('tasks.md:3: Task 2 names unknown requirements: 9.0.');
    expect(err).toContain(`… and 3 more warnings: signalbox spec check ${dir}`);
  });
});

describe.concurrent('warnings of a run that continues', () => {
  it('are the same, those about requirements too', { tags: 'full' }, async ({ world }) => {
    const dir = writeSpec(world, '- [ ] 1. One\n- [ ] 2. Two\n  - _Requirements: 1.1_\n');
    const said = 'Tasks name requirements, and there is no requirements.md or bugfix.md.';
    expect((await runSpec(world, dir, '--max-iterations', '1')).err).toContain(said);
    expect((await runSpec(world, dir)).err).toContain(said);
  });
});

describe.concurrent('required boxes that are open in a ticked parent', () => {
  const text = `- [x] 1. Base\n${Array.from({ length: 9 }, (_, index) => `  - [ ] 1.${index + 1} Part\n`).join('')}- [ ] 2. Store\n`;

  it('are counted at the end and never ticked', async ({ world }) => {
    const dir = writeSpec(world, text);
    const { code, out } = await world.cli('spec', dir, '--no-tmux', '--delay', '0');
    expect(code).toBe(0);
    expect(out).toContain('1 of 2 units done · 1 partly · 9 required boxes open');
    expect(out).toMatch(/1 +partly +Base +not ticked, in a parent that is: 1\.1, 1\.2/);
    expect(tasksOn(world)).toBe(text.replace('[ ] 2', '[x] 2').trimEnd());
    expect((await world.cli('status', 'spec-limits')).out).toContain('1/2 complete, 1 partly complete');
  });

  it('are no longer counted once they are ticked', { tags: 'full' }, async ({ world }) => {
    const dir = writeSpec(world, text);
    expect((await runSpec(world, dir)).result.counts).toMatchObject({ partly: 1, openBoxes: 9 });
    writeFileSync(
      join(dir, 'tasks.md'),
      readFileSync(join(dir, 'tasks.md'), 'utf8').replaceAll('[ ] 1', '[x] 1'),
    );
    const { code, result } = await runSpec(world, dir);
    expect({ code, counts: result.counts }).toMatchObject({ code: 0, counts: { partly: 0, openBoxes: 0 } });
  });
});
