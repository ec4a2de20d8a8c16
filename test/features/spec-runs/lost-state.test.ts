import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { add, done, git, it, runSpec, tasks, tasksOn, type World, work, writeSpec } from './support.ts';

const loseState = (world: World) => rmSync(world.stateDir, { recursive: true });
const DONE = '# Tasks\n\n- [x] 1. One\n- [x] 2. Two\n- [x] 3. Three';

it('a spec that continues keeps what people added to the entries of its plan', async ({ world }) => {
  const dir = writeSpec(world, tasks('One', 'Two'));
  await runSpec(world, dir, '--max-iterations', '1');
  const [planId = ''] = readdirSync(join(world.stateDir, 'plans'));
  const file = join(world.stateDir, 'plans', planId, 'plan.json');
  const plan = JSON.parse(readFileSync(file, 'utf8'));
  const noted = (entry: object, index: number) => ({ note: `n${index}`, ...entry });
  writeFileSync(file, JSON.stringify({ ...plan, tickets: plan.tickets.map(noted) }));
  expect((await runSpec(world, dir)).code).toBe(0);
  const { tickets } = JSON.parse(readFileSync(file, 'utf8'));
  expect(tickets).toMatchObject([{ note: 'n0' }, { note: 'n1' }]);
  // Who began, continued and replaced it is recorded; that it is complete was decided by no one.
  await runSpec(world, dir, '--fresh', '--max-iterations', '1');
  const statuses = world.events(planId).flatMap((each) => (each.type === 'plan:status' ? [each] : []));
  expect(statuses.map(({ status, door }) => [status, door])).toEqual([
    ['active', 'cli'],
    ['active', 'cli'],
    ['complete', undefined],
    ['archived', 'cli'],
  ]);
});

describe.concurrent('a run whose state directory is lost', () => {
  it('neither unticks nor repeats what is done on the branch', async ({ world }) => {
    const dir = writeSpec(world, tasks('One', 'Two', 'Three'));
    expect((await runSpec(world, dir, '--max-iterations', '2')).code).toBe(1);
    loseState(world);
    const { code, err, result } = await runSpec(world, dir);
    expect({ code, counts: result.counts }).toMatchObject({
      code: 0,
      counts: { units: 3, complete: 3, before: 2, attempts: 1 },
    });
    expect(err).toContain('spec/limits has 2 ticked tasks of a run whose state is gone');
    expect(tasksOn(world)).toBe(DONE);
    expect(work(world).filter((subject) => subject.startsWith('Rehearse'))).toEqual([
      'Rehearse implement of 1',
      'Rehearse implement of 2',
      'Rehearse implement of 3',
    ]);
  });

  it('neither unmarks nor repeats tasks without boxes, on the branch and once it is merged', {
    tags: 'full',
  }, async ({ world }) => {
    const text = '# Tasks\n\n### Task 1: One\nDo one.\n\n### Task 2: Two ###\nDo two.\n\n### Task 3: Three\n';
    const dir = writeSpec(world, text);
    expect((await runSpec(world, dir, '--max-iterations', '1')).code).toBe(1);
    loseState(world);
    const second = await runSpec(world, dir, '--max-iterations', '1');
    expect(second.result.counts).toMatchObject({ units: 3, complete: 2, before: 1, attempts: 1 });
    const marked = text.replace('One\n', 'One ✅\n').replace('Two ###', 'Two ✅ ###');
    expect(tasksOn(world)).toBe(marked.trimEnd());
    git(world.repo, 'merge', '--quiet', '--no-edit', 'spec/limits');
    git(world.repo, 'worktree', 'remove', '--force', join(world.worktrees, 'spec/limits'));
    git(world.repo, 'branch', '--quiet', '--delete', 'spec/limits');
    loseState(world);
    const third = await runSpec(world, dir);
    expect(third.result.counts).toMatchObject({ complete: 3, before: 2, attempts: 1 });
    expect(work(world).filter((subject) => subject.startsWith('Rehearse'))).toEqual([
      'Rehearse implement of 3',
    ]);
  });

  it('trusts no check mark of an agent behind a task without a box', { tags: 'full' }, async ({ world }) => {
    const text = '# Tasks\n\n### Task 1: One\nDo one.\n\n### Task 2: Two\nDo two.\n';
    const forge = { run: "sed -i 's/Two$/Two ✅/' .kiro/specs/limits/tasks.md" };
    world.rehearsal([{ when: { phase: 'implement' }, do: [forge, ...add('a.txt'), done()] }]);
    const dir = writeSpec(world, text);
    expect((await runSpec(world, dir, '--max-iterations', '1')).code).toBe(1);
    expect(tasksOn(world)).toBe(text.replace('One\n', 'One ✅\n').trimEnd());
    loseState(world);
    const { code, result } = await runSpec(world, dir);
    expect({ code, attempts: result.counts.attempts }).toEqual({ code: 0, attempts: 1 });
  });

  it('continues inside a unit, does what has changed, and trusts no tick of an agent', {
    tags: 'full',
  }, async ({ world }) => {
    world.rehearsal([{ when: { phase: 'implement' }, do: [...add('a.txt'), done()] }]);
    const text = '- [ ] 1. A\n  - [ ] 1.1 B\n  - [ ] 1.2 C\n  - [ ] 1.3 D\n';
    const dir = writeSpec(world, text);
    expect((await runSpec(world, dir, '--unit', 'leaf', '--max-iterations', '2')).code).toBe(1);
    const tree = join(world.worktrees, 'spec/limits');
    const list = join(tree, '.kiro/specs/limits/tasks.md');
    writeFileSync(list, text.replaceAll('[ ] 1.', '[x] 1.'));
    git(tree, 'commit', '--quiet', '--all', '--message=Tick everything');
    writeFileSync(join(dir, 'tasks.md'), text.replace('1.2 C', '1.2 C, but faster'));
    loseState(world);
    const { code, result } = await runSpec(world, dir, '--unit', 'leaf');
    expect({ code, attempts: result.counts.attempts }).toEqual({ code: 0, attempts: 2 });
    expect(result.tickets.map(({ ticketId, phaseHistory }) => [ticketId, phaseHistory.length > 0])).toEqual([
      ['1.1', false],
      ['1.2', true],
      ['1.3', true],
    ]);
    expect(tasksOn(world)).toBe(
      text.replaceAll('[ ]', '[x]').replace('1.2 C', '1.2 C, but faster').trimEnd(),
    );
  });

  it('starts over on a new branch with --fresh, and the last branch is found again', {
    tags: 'full',
  }, async ({ world }) => {
    const dir = writeSpec(world, tasks('One', 'Two', 'Three'));
    expect((await runSpec(world, dir, '--max-iterations', '1')).code).toBe(1);
    const tip = git(world.repo, 'rev-parse', 'spec/limits');
    loseState(world);
    const fresh = await runSpec(world, dir, '--fresh', '--max-iterations', '2');
    expect(fresh.code).toBe(1);
    expect(fresh.result.tickets[0]?.branch).toBe('spec/limits-2');
    expect(git(world.repo, 'rev-parse', 'spec/limits')).toBe(tip);
    expect(work(world, 'spec/limits-2')).toHaveLength(4);
    loseState(world);
    const { code, result } = await runSpec(world, dir);
    expect({ code, attempts: result.counts.attempts }).toEqual({ code: 0, attempts: 1 });
    expect(tasksOn(world, 'spec/limits-2')).toBe(DONE);
  });
});
