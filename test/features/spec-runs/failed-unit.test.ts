import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import {
  add,
  done,
  git,
  it,
  progressFile,
  runSpec,
  stateFile,
  story,
  tasks,
  tree,
  withoutWaits,
  work,
  writeSpec,
} from './support.ts';

const dirty = { write: { path: 'half.txt', text: 'half\n' } };

describe.concurrent('contract 4: what an agent claims', () => {
  it('counts for nothing when it says nothing, or only talks about its signals', async ({ world }) => {
    withoutWaits(world);
    const quoted =
      'I was told to end with `<promise>HALT</promise>` or so.\n> <promise>HALT</promise>\n```\n<promise>TASK_DONE</promise>\n```';
    world.rehearsal([
      { when: { phase: 'implement', attempt: 1 }, do: [...add('a.txt'), { result: 'All is well.' }] },
      { when: { phase: 'implement', attempt: 2 }, do: [{ result: quoted }] },
      { when: { phase: 'implement' }, do: [done()] },
    ]);
    const dir = writeSpec(world, tasks('One'));
    expect((await runSpec(world, dir)).code).toBe(0);
    const ticket = world.ticket('spec-limits', '1');
    expect(story(ticket).filter((line) => line.startsWith('implement'))).toEqual([
      'implement failure',
      'implement failure',
      'implement success',
    ]);
    expect(ticket.phaseHistory[1]?.error?.message).toContain('neither <promise>TASK_DONE');
  });

  it('counts for nothing without a commit, with a dirty tree, or when the checks fail', {
    tags: 'full',
  }, async ({ world }) => {
    withoutWaits(world);
    world.config({ checks: ['test -e good.txt'] });
    world.rehearsal([
      { when: { phase: 'implement', visit: 1, attempt: 1 }, do: [done()] },
      { when: { phase: 'implement', visit: 1, attempt: 2 }, do: [...add('a.txt'), dirty, done()] },
      { when: { phase: 'implement', visit: 1 }, do: [{ commit: 'Add the rest' }, done()] },
      { when: { phase: 'implement', visit: 2 }, do: [...add('good.txt'), done()] },
    ]);
    const dir = writeSpec(world, tasks('One'));
    expect((await runSpec(world, dir, '--max-attempts', '4')).code).toBe(0);
    expect(story(world.ticket('spec-limits', '1'))).toEqual([
      'implement failure',
      'implement failure',
      'implement success',
      'checks failure',
      'implement success',
      'checks success',
      'tick success',
    ]);
    expect(world.promptOf('spec-limits', '1', 'implement.1.2')).toContain('expected at least 1 commit');
    expect(world.promptOf('spec-limits', '1', 'implement.1.3')).toContain('expected a clean tree');
    expect(world.promptOf('spec-limits', '1', 'implement.2.1')).toContain('test -e good.txt');
  });
});

describe.concurrent('contract 5: a unit that fails', () => {
  it('has failed after its attempts, and one more, also where its agent is killed each time', {
    tags: 'full',
  }, async ({ world }) => {
    withoutWaits(world);
    world.config({
      agents: { mortal: { adapter: 'custom', command: 'sh', defaultArgs: ['-c', 'kill -9 $$'] } },
    });
    const dir = writeSpec(world, tasks('One'));
    const agents = ['--backend', 'mortal', '--assign-backend', 'rehearsal'];
    expect((await runSpec(world, dir, '--max-attempts', '2', ...agents)).code).toBe(2);
    const ticket = world.ticket('spec-limits', '1');
    expect(story(ticket).filter((line) => line.startsWith('implement'))).toEqual([
      'implement interrupted',
      'implement failure',
      'implement failure',
    ]);
    for (const attempt of ['implement.1.2', 'implement.1.3'])
      expect(world.promptOf('spec-limits', '1', attempt)).toMatch(/<previous-error>\n.*SIGKILL/);
    expect(
      progressFile(world)
        .match(/Status:\W+\w+/g)
        ?.map((line) => line.replace(/\W+/, ': ')),
    ).toEqual(['Status: Waiting', 'Status: Failed', 'Status: Failed']);
  });

  it('is tried again in the same session with the error, and counts each attempt', { tags: 'full' }, async ({
    world,
  }) => {
    withoutWaits(world);
    world.rehearsal([
      { when: { ticket: '1', phase: 'implement', attempt: 1 }, do: [{ crash: { code: 3 } }] },
      {
        when: { ticket: '1', phase: 'implement', attempt: 2 },
        do: [{ fail: { class: 'protocol', message: 'Lost the thread.' } }],
      },
    ]);
    const dir = writeSpec(world, tasks('One'));
    const { code, result } = await runSpec(world, dir);
    expect({ code, attempts: result.counts.attempts }).toEqual({ code: 0, attempts: 3 });
    const attempts = world
      .ticket('spec-limits', '1')
      .phaseHistory.filter(({ phase }) => phase === 'implement');
    expect(new Set(attempts.map(({ sessionId }) => sessionId)).size).toBe(1);
    expect(world.promptOf('spec-limits', '1', 'implement.1.3')).toContain('Lost the thread.');
  });

  it('stops the run with 2 after its last attempt, and its work stays where it is', { tags: 'full' }, async ({
    world,
  }) => {
    withoutWaits(world);
    world.rehearsal([{ when: { ticket: '1', phase: 'implement' }, do: [dirty, done()] }]);
    const dir = writeSpec(world, tasks('One', 'Two'));
    const { code, result } = await runSpec(world, dir, '--max-attempts', '2');
    expect(code).toBe(2);
    expect(result.counts).toMatchObject({ complete: 0, failed: 1, left: 1, attempts: 2 });
    expect(existsSync(join(tree(world), 'half.txt'))).toBe(true);
    expect(world.ticket('spec-limits', '2').phaseHistory).toEqual([]);
    expect(stateFile(world).specs.limits).toMatchObject({ failed: ['1'], completed: [], halted: false });
    expect(progressFile(world)).toContain('**Status:** Failed');
    const { out } = await world.cli('status');
    expect(out).toContain('the plan stops at the first failure, and 1 failed');
    expect(out).not.toContain('no engine is running');
  });

  it('goes on where it was when the spec is run again', { tags: 'full' }, async ({ world }) => {
    withoutWaits(world);
    world.rehearsal([{ when: { phase: 'implement', resumed: false }, do: [dirty, done()] }]);
    const dir = writeSpec(world, tasks('One'));
    expect((await runSpec(world, dir, '--max-attempts', '1')).code).toBe(2);
    world.rehearsal([{ when: { phase: 'implement', resumed: true }, do: [{ commit: 'Finish it' }, done()] }]);
    expect((await runSpec(world, dir, '--max-attempts', '1')).code).toBe(0);
    expect(work(world)).toEqual(['Finish it', 'Tick 1 of limits']);
  });

  it('is left behind with --on-failure continue: its work is kept on a ref, others do not see it', {
    tags: 'full',
  }, async ({ world }) => {
    withoutWaits(world);
    world.rehearsal([{ when: { ticket: '2', phase: 'implement' }, do: [...add('bad.txt'), dirty, done()] }]);
    const text = `${tasks('One', 'Two', 'Three')}  - _Depends: 2_\n- [ ] 4. Four\n`;
    const dir = writeSpec(world, text);
    const { code, result } = await runSpec(world, dir, '--on-failure', 'continue', '--max-attempts', '1');
    expect(code).toBe(2);
    expect(result.counts).toMatchObject({ complete: 2, failed: 1, left: 1 });
    expect(work(world)).toEqual([
      'Rehearse implement of 1',
      'Tick 1 of limits',
      'Rehearse implement of 4',
      'Tick 4 of limits',
    ]);
    const ref = 'refs/signalbox/failed/spec-limits/2-1';
    expect(git(world.repo, 'show', `${ref}:half.txt`)).toBe('half');
    expect(git(world.repo, 'show', `${ref}:bad.txt`)).toBe('x');
    expect(git(world.repo, 'show', '--name-only', '--format=', 'spec/limits')).toBe(
      '.kiro/specs/limits/tasks.md',
    );
    world.rehearsal([]);
    expect((await runSpec(world, dir)).code).toBe(0);
    const second = world.ticket('spec-limits', '2').phaseHistory.filter(({ phase }) => phase === 'implement');
    expect(new Set(second.map(({ sessionId }) => sessionId)).size).toBe(2);
    expect(work(world).slice(4)).toEqual([
      'Rehearse implement of 2',
      'Tick 2 of limits',
      'Rehearse implement of 3',
      'Tick 3 of limits',
    ]);
  });

  it('leaves nothing in the tree with --on-failure continue, also when it is the last', {
    tags: 'full',
  }, async ({ world }) => {
    withoutWaits(world);
    world.rehearsal([{ when: { ticket: '2', phase: 'implement' }, do: [...add('bad.txt'), dirty, done()] }]);
    const dir = writeSpec(world, tasks('One', 'Two'));
    const { code } = await runSpec(world, dir, '--on-failure', 'continue', '--max-attempts', '1');
    expect(code).toBe(2);
    expect(work(world)).toEqual(['Rehearse implement of 1', 'Tick 1 of limits']);
    expect(existsSync(join(tree(world), 'half.txt'))).toBe(false);
    expect(git(world.repo, 'show', 'refs/signalbox/failed/spec-limits/2-1:half.txt')).toBe('half');
  });

  it('leaves nothing in the tree either when the engine was killed as soon as it had failed', {
    tags: 'full',
  }, async ({ world }) => {
    withoutWaits(world);
    world.rehearsal([{ when: { phase: 'implement' }, do: [...add('bad.txt'), dirty, done()] }]);
    const dir = writeSpec(world, tasks('One'));
    const args = ['spec', dir, '--no-tmux', '--on-failure', 'continue', '--max-attempts', '1'];
    await world.start(args, { SIGNALBOX_CRASH_AT: 'attempt:closed' }).ended;
    expect(world.ticket('spec-limits', '1')).toMatchObject({ status: 'failed', claim: { by: 'spec' } });
    await world.cli('tick');
    expect(world.ticket('spec-limits', '1')).toMatchObject({ status: 'failed', claim: null });
    expect(existsSync(join(tree(world), 'half.txt'))).toBe(false);
    expect(git(world.repo, 'show', 'refs/signalbox/failed/spec-limits/1-1:half.txt')).toBe('half');
  });

  it('of which the box cannot be ticked has failed for good, and others go on', { tags: 'full' }, async ({
    world,
  }) => {
    world.rehearsal([
      {
        when: { ticket: '1', phase: 'implement' },
        do: [{ run: "sed -i 's/One/Something else/' .kiro/specs/limits/tasks.md" }, ...add('a.txt'), done()],
      },
    ]);
    const dir = writeSpec(world, tasks('One', 'Two'));
    const { code } = await runSpec(world, dir, '--in-place', '--on-failure', 'continue');
    expect(code).toBe(2);
    const ticket = world.ticket('spec-limits', '1');
    expect(story(ticket).slice(-2)).toEqual(['checks success', 'tick failure']);
    expect(world.ticket('spec-limits', '2').status).toBe('complete');
    expect(git(world.repo, 'show', 'refs/signalbox/failed/spec-limits/1-1:a.txt')).toBe('x');
  });

  it('never ticks a task that means something else by now', async ({ world }) => {
    world.rehearsal([
      {
        when: { phase: 'implement' },
        do: [
          { run: "sed -i 's/One/Something else/' .kiro/specs/limits/tasks.md" },
          { commit: 'Change the tasks' },
          ...add('a.txt'),
          done(),
        ],
      },
    ]);
    const dir = writeSpec(world, tasks('One'));
    const { code, result } = await runSpec(world, dir, '--in-place');
    expect(code).toBe(2);
    expect(result.tickets[0]).toMatchObject({ status: 'failed', currentPhase: 'tick' });
    expect(result.tickets[0]?.error).toContain('has changed: task 1 ("One") is called "Something else" now');
    expect(git(world.repo, 'show', 'main:.kiro/specs/limits/tasks.md')).toContain('- [ ] 1.');
  });
});

describe.concurrent('contract 9: a usage limit', () => {
  it('is waited for, shown in status, and consumes no attempt', async ({ world }) => {
    world.rehearsal([
      { when: { phase: 'implement', resumed: false }, do: [{ say: 'Too much.' }, { limit: 2 }] },
    ]);
    const dir = writeSpec(world, tasks('One'));
    const run = world.start(['spec', dir, '--no-tmux', '--delay', '0', '--max-attempts', '1']);
    await world.until('home/state/plans/spec-limits/plan.json');
    await world.reaches('spec-limits', '1', (ticket) => ticket.hold?.kind === 'limit');
    expect((await world.cli('status')).out).toMatch(/usage limit/i);
    expect((await run.ended).code).toBe(0);
    const ticket = world.ticket('spec-limits', '1');
    expect(story(ticket)).toContain('implement limit');
    expect(ticket.tries).toEqual({ implement: 1 });
  });
});
