import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { variants } from '../../support/index.ts';
import {
  add,
  done,
  git,
  it,
  progressFile,
  runSpec,
  stateFile,
  tasks,
  tasksOn,
  withoutWaits,
  work,
  writeSpec,
} from './support.ts';

const boom = { fail: { class: 'exit', message: 'boom' } };
const half = { when: { ticket: '2', phase: 'implement' }, do: [...add('half.txt'), boom] };
const halts = {
  when: { ticket: '2', phase: 'implement' },
  do: [...add('half.txt'), { result: 'Which one?\n\n<promise>HALT</promise>' }],
};
const ref = 'refs/signalbox/failed/spec-limits/2-1';

describe.concurrent('a unit that has begun and is not selected', () => {
  it.for([
    ['--skip 2', half, ['--skip', '2']],
    ['--only 1,3', half, ['--only', '1,3']],
    ['a question and --skip 2', halts, ['--skip', '2']],
  ] as const)('is set aside with its work: %s', { tags: 'full' }, async ([, step, flags], { world }) => {
    withoutWaits(world);
    world.rehearsal([step]);
    const dir = writeSpec(world, tasks('One', 'Two', 'Three').replace('[ ] 1', '[x] 1'));
    expect((await runSpec(world, dir, '--max-attempts', '1')).code).toBe(2);
    const { code, result } = await runSpec(world, dir, '--max-attempts', '1', ...flags);
    expect({ code, counts: result.counts }).toMatchObject({
      code: 0,
      counts: { units: 2, complete: 2, unselected: 1 },
    });
    expect(git(world.repo, 'show', `${ref}:half.txt`)).toBe('x');
    expect(work(world)).not.toContain('Add half.txt');
    expect(stateFile(world).specs.limits).toMatchObject({ halted: false, completed_at: null });
    world.rehearsal([]);
    expect((await runSpec(world, dir)).code).toBe(0);
    expect(tasksOn(world)).toBe('# Tasks\n\n- [x] 1. One\n- [x] 2. Two\n- [x] 3. Three');
    expect(stateFile(world).specs.limits?.completed_at).not.toBeNull();
  });

  it('leaves the parent of a task that was left out for later', { tags: 'full' }, async ({ world }) => {
    world.rehearsal([{ when: { phase: 'implement' }, do: [...add('a.txt'), done()] }]);
    const text = '- [ ] 1. A\n  - [ ] 1.1 A1\n  - [ ] 1.2 A2\n- [ ] 2. B\n  - _Depends: 1.1_\n';
    const dir = writeSpec(world, text);
    const cut = await world.cli('spec', dir, '--no-tmux', '--delay', '0', '--skip', '1.1');
    expect(cut.code).toBe(0);
    expect(cut.out + cut.err).toContain('Task 2 depends on 1.1, which is not selected and not done');
    expect(cut.out).toMatch(/1 +partly +A .*not selected and not done: 1\.1/);
    expect(stateFile(world).specs.limits?.completed).toEqual(['1.2', '2']);
    expect((await runSpec(world, dir)).code).toBe(0);
    expect(stateFile(world).specs.limits?.completed.toSorted()).toEqual(['1', '1.1', '1.2', '2']);
  });

  it('is set aside when its task is gone, or cut in another way', { tags: 'full' }, async ({ world }) => {
    withoutWaits(world);
    world.rehearsal([half]);
    const text = '- [ ] 1. A\n- [ ] 2. B\n  - [ ] 2.1 B1\n  - [ ] 2.2 B2\n- [ ] 3. C\n';
    const dir = writeSpec(world, text);
    expect((await runSpec(world, dir, '--max-attempts', '1')).code).toBe(2);
    writeFileSync(join(dir, 'tasks.md'), '- [ ] 1. A\n- [ ] 3. C\n');
    const first = await runSpec(world, dir, '--max-attempts', '1');
    expect({ code: first.code, units: first.result.counts.units }).toEqual({ code: 0, units: 2 });
    writeFileSync(join(dir, 'tasks.md'), text);
    const second = await runSpec(world, dir, '--unit', 'leaf');
    expect(second.code).toBe(0);
    expect(second.result.tickets.map(({ ticketId }) => ticketId).sort()).toEqual(['1', '2.1', '2.2', '3']);
    expect(tasksOn(world)).toBe(text.replaceAll('[ ]', '[x]').trimEnd());
  });
});

describe.concurrent('a run of a part', () => {
  it('does not call the spec complete', async ({ world }) => {
    const dir = writeSpec(world, tasks('One', 'Two', 'Three'));
    const { code, result } = await runSpec(world, dir, '--only', '1');
    expect({ code, counts: result.counts }).toMatchObject({
      code: 0,
      counts: { complete: 1, unselected: 2 },
    });
    expect(stateFile(world).specs.limits?.completed_at).toBeNull();
    expect(progressFile(world)).not.toContain('**Completed:**');
    expect((await world.cli('status', 'spec-limits')).out).toContain('2 not selected');
  });

  it('counts a unit that goes on among --max-iterations', { tags: 'full' }, async ({ world }) => {
    withoutWaits(world);
    world.rehearsal([{ when: { ticket: '1', phase: 'implement' }, do: [boom] }]);
    const dir = writeSpec(world, tasks('One', 'Two'));
    expect((await runSpec(world, dir, '--max-attempts', '1')).code).toBe(2);
    world.rehearsal([{ when: { ticket: '1', phase: 'implement' }, do: [...add('a.txt'), done()] }]);
    const { code, result } = await runSpec(world, dir, '--max-iterations', '1');
    expect({ code, complete: result.counts.complete }).toEqual({ code: 1, complete: 1 });
  });
});

describe.concurrent('parents in the state file', () => {
  const NESTED =
    '- [ ] 1. A\n  - [ ] 1.1 A1\n    - [ ] 1.1.1 A11\n  - [ ] 1.2 A2\n- [ ] 2. B\n  - [ ] 2.1 B1\n  - [ ] 2.2 B2\n';

  variants([['leaf'], ['parent']] as const)(
    'are complete when they are ticked: --unit %s',
    async ([kind], { world }) => {
      const dir = writeSpec(world, NESTED);
      const { code } = await runSpec(world, dir, '--unit', kind, '--only', '1,2.1');
      expect(code).toBe(0);
      const completed = stateFile(world).specs.limits?.completed ?? [];
      expect(completed.filter((id) => id !== '2').sort()).toEqual(['1', '1.1', '1.1.1', '1.2', '2.1']);
      expect(tasksOn(world)).toContain('- [ ] 2. B');
      if (kind === 'leaf') expect(completed).not.toContain('2');
    },
  );
});
