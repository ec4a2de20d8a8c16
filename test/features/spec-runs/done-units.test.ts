import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import {
  add,
  done,
  git,
  it,
  runSpec,
  stateFile,
  story,
  tasks,
  tasksOn,
  withoutWaits,
  work,
  writeSpec,
} from './support.ts';

const TASKS = '.kiro/specs/limits/tasks.md';
const unit = (ticket: string, ...steps: unknown[]) => ({ when: { ticket, phase: 'implement' }, do: steps });
const edit = (dir: string, change: (text: string) => string) => {
  const file = join(dir, 'tasks.md');
  writeFileSync(file, change(readFileSync(file, 'utf8')));
};

describe.concurrent('what is done', () => {
  it('stays so when the parent gains a task', { tags: 'full' }, async ({ world }) => {
    const dir = writeSpec(world, '- [ ] 2. B\n  - [ ] 2.1 B1\n');
    expect((await runSpec(world, dir)).code).toBe(0);
    edit(dir, (text) => `${text}  - [ ] 2.2 B2\n`);
    world.rehearsal([unit('2', ...add('b2.txt'), done())]);
    expect((await runSpec(world, dir)).code).toBe(0);
    expect(tasksOn(world)).toBe('- [x] 2. B\n  - [x] 2.1 B1\n  - [x] 2.2 B2');
    expect(world.promptOf('spec-limits', '2', 'implement.1.2')).toContain('B2');
  });

  it('is done anew when its details have changed, also when nothing else is open', { tags: 'full' }, async ({
    world,
  }) => {
    const dir = writeSpec(world, '- [ ] 1. A\n  - Use port 80\n- [x] 2. B\n');
    expect((await runSpec(world, dir)).code).toBe(0);
    edit(dir, (text) => text.replace('80', '8080'));
    world.rehearsal([unit('1', ...add('port.txt'), done())]);
    const { code, result } = await runSpec(world, dir);
    expect({ code, attempts: result.counts.attempts }).toEqual({ code: 0, attempts: 1 });
    expect(tasksOn(world)).toBe('- [x] 1. A\n  - Use port 8080\n- [x] 2. B');
  });

  it('is brought to the branch when the person ticks the last one', { tags: 'full' }, async ({ world }) => {
    const dir = writeSpec(world, tasks('One', 'Two'));
    expect((await runSpec(world, dir, '--max-iterations', '1')).code).toBe(1);
    edit(dir, (text) => text.replace('[ ] 2', '[x] 2'));
    expect((await runSpec(world, dir)).code).toBe(0);
    expect(tasksOn(world)).toBe('# Tasks\n\n- [x] 1. One\n- [x] 2. Two');
  });

  it('is what the person ticks, whatever an agent calls it on the branch', { tags: 'full' }, async ({
    world,
  }) => {
    const rename = { run: `sed -i 's/Two/Two renamed/' ${TASKS}` };
    world.rehearsal([unit('2', rename, ...add('a.txt'), { result: 'No signal.' })]);
    const dir = writeSpec(world, tasks('One', 'Two', 'Three').replace('[ ] 1', '[x] 1'));
    expect((await runSpec(world, dir, '--max-attempts', '1')).code).toBe(2);
    edit(dir, (text) => text.replace('[ ] 2', '[x] 2'));
    expect((await runSpec(world, dir)).code).toBe(0);
    expect(tasksOn(world)).toBe('# Tasks\n\n- [x] 1. One\n- [x] 2. Two renamed\n- [x] 3. Three');
  });

  it('stays in the list when an agent deletes it there', { tags: 'full' }, async ({ world }) => {
    const cut = { run: `sed -i '/One/d;/Three/d' ${TASKS}` };
    world.rehearsal([unit('2', cut, ...add('a.txt'), done())]);
    const dir = writeSpec(world, tasks('One', 'Two', 'Three'));
    expect((await runSpec(world, dir)).code).toBe(0);
    expect(tasksOn(world)).toBe('# Tasks\n\n- [x] 1. One\n- [x] 2. Two\n- [x] 3. Three');
  });

  it('is told with a summary when its branch is gone', async ({ world }) => {
    const dir = writeSpec(world, tasks('One'));
    expect((await runSpec(world, dir)).code).toBe(0);
    git(world.repo, 'merge', '--quiet', 'spec/limits');
    git(world.repo, 'branch', '--quiet', '-D', 'spec/limits');
    const { code, out } = await world.cli('spec', dir, '--no-tmux');
    expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining('spec/limits (gone') });
    writeFileSync(join(dir, 'tasks.md'), '- [x] 1. One\n- [ ] 2. Two\n- [ ] 2. Two\n');
    const { code: second, err } = await world.cli('spec', dir, '--no-tmux');
    expect({ second, err }).toEqual({ second: 5, err: expect.stringContaining('tasks.md:3:') });
  });
});

describe.concurrent('a branch that was deleted between two runs', () => {
  it('is missed before anything goes on, with the ways out', { tags: 'full' }, async ({ world }) => {
    const dir = writeSpec(world, tasks('One'));
    expect((await runSpec(world, dir)).code).toBe(0);
    const tip = git(world.repo, 'rev-parse', 'spec/limits');
    git(world.repo, 'branch', '--quiet', '-D', 'spec/limits');
    edit(dir, (text) => `${text}- [ ] 2. Two\n`);
    const { code, err } = await runSpec(world, dir);
    expect(code).toBe(5);
    expect(err).toContain('is gone, and with it 1 unit that is complete.');
    expect(err).toContain('--fresh');
    const way = `git -C ${world.repo} branch spec/limits ${tip}`;
    expect(err).toContain(way);
    git(world.repo, ...way.split(' ').slice(3));
    expect((await runSpec(world, dir)).code).toBe(0);
    expect(work(world)).toContain('Rehearse implement of 1');
  });

  it('is not missed after it was merged, squashed or not', { tags: 'full' }, async ({ world }) => {
    const dir = writeSpec(world, tasks('One'));
    expect((await runSpec(world, dir)).code).toBe(0);
    for (const [how, next] of [
      [[], '2'],
      [['--squash'], '3'],
    ] as const) {
      git(world.repo, 'restore', '.');
      git(world.repo, 'merge', '--quiet', ...how, 'spec/limits');
      if (how.length > 0) git(world.repo, 'commit', '--quiet', '--message=Squashed');
      git(world.repo, 'branch', '--quiet', '-D', 'spec/limits');
      edit(dir, (text) => `${text}- [ ] ${next}. More\n`);
      expect((await runSpec(world, dir)).code).toBe(0);
      expect(work(world)).toContain(`Rehearse implement of ${next}`);
    }
  });
});

describe.concurrent('an assignment of an earlier run', () => {
  const says = (outcome: string) => ({
    when: { ticket: '1', phase: 'assign' },
    do: [{ result: { data: { outcome, owner: 'default', criticality: 'standard' } } }],
  });
  const looked = { when: { phase: 'review' }, do: [done()] };

  it('is not that of another text, also with --fresh', { tags: 'full' }, async ({ world }) => {
    world.rehearsal([says('review'), looked]);
    const dir = writeSpec(world, tasks('Review it'), { assigned: false });
    expect((await runSpec(world, dir)).code).toBe(0);
    world.rehearsal([says('code'), unit('1', { run: 'date +%N > built.txt' }, { commit: 'Build' }, done())]);
    for (const [was, now, flags] of [
      ['Review it', 'Build it', []],
      ['Build it', 'Build it again', ['--fresh']],
    ] as const) {
      edit(dir, (text) => text.replace(was, now));
      const { code, result } = await runSpec(world, dir, ...flags);
      expect(code).toBe(0);
      expect(story(world.ticket(result.planId, '1')).slice(-4)).toEqual([
        'assign success',
        'implement success',
        'checks success',
        'tick success',
      ]);
      expect(stateFile(world).specs.limits?.assignments[1]).toMatchObject({ type: 'code', by: 'agent' });
    }
  });

  it('is kept with --fresh where the text is the same, unless it was a fallback', { tags: 'full' }, async ({
    world,
  }) => {
    withoutWaits(world);
    const prose = { when: { ticket: '2', phase: 'assign' }, do: [{ result: 'Somebody.' }] };
    world.rehearsal([says('ui'), prose]);
    const dir = writeSpec(world, tasks('One', 'Two'), { assigned: false });
    expect((await runSpec(world, dir)).code).toBe(0);
    world.rehearsal([]);
    const { result } = await runSpec(world, dir, '--fresh');
    expect(story(world.ticket(result.planId, '1'))[0]).toBe('implement success');
    expect(story(world.ticket(result.planId, '2'))[0]).toBe('assign success');
  });
});
