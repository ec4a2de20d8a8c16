import { describe, expect } from 'vitest';
import { IssueWorld } from '../cli/issue-world.ts';
import { tasks, tasksOn, work, writeSpec } from '../features/spec-runs/support.ts';
import { git, it, startOld, story, type World, worktreesOf } from './support.ts';

/** The rehearsal agent notes that it works, waits where the test says so, and commits. */
function rehearse(world: World, phase: string, waits: string): void {
  const note =
    'echo "start $SIGNALBOX_PLAN/$SIGNALBOX_TICKET $SIGNALBOX_PHASE.$SIGNALBOX_VISIT.$SIGNALBOX_ATTEMPT $$ $PWD"';
  const begin = { run: `${note} >> ${world.dir}/agents.log` };
  const wait = { run: `until [ -e ${world.dir}/go/all ]; do sleep 0.03; done` };
  const end = [{ run: 'echo done >> "work-$SIGNALBOX_TICKET.txt"' }, { commit: 'Work' }];
  world.rehearsal([
    { when: { ticket: waits, phase }, do: [begin, wait, ...end] },
    { when: { phase }, do: [begin, ...end] },
  ]);
}

const attempts = (world: World) => world.calls('start').map(({ ticket, attempt }) => `${ticket} ${attempt}`);

/** No new ticket could run with this; the ones that have begun do not see it. */
function replaceWorkflow(world: World, name: string): void {
  world.script('refuse.sh', 'exit 1');
  world.workflow(name, [{ id: 'refuse', type: 'script', command: 'refuse.sh' }]);
}

describe('a run of version 0.1 that was killed', () => {
  it('is finished with the workflows it began with: minimal and local', async ({ world }) => {
    rehearse(world, 'implement', '*');
    world.config({ checks: ['test -f README.md'] });
    world.plan('p', { tickets: { m: { workflow: 'minimal' }, l: { workflow: 'local' } } });
    const crashed = await startOld(world, ['run', 'p'], { SIGNALBOX_CRASH_AT: 'attempt:closed' }).ended;
    expect(crashed.signal).toBe('SIGKILL');
    const old = startOld(world, ['run', 'p']);
    for (const ticket of ['p/m', 'p/l']) await world.call('start', { ticket });
    await old.kill('SIGKILL');
    for (const name of ['minimal', 'local']) replaceWorkflow(world, name);
    world.go();
    const { code, out, err } = await world.cli('run', 'p');
    expect(code, out + err).toBe(0);
    expect(story(world.ticket('p', 'm'))).toEqual(['implement success']);
    expect(story(world.ticket('p', 'l'))).toEqual(
      ['setup', 'implement', 'checks', 'self_review', 'integrate', 'cleanup'].map((id) => `${id} success`),
    );
    expect(attempts(world).sort()).toEqual(['p/l implement.1.1', 'p/m implement.1.1']);
    expect(git(world.repo, 'show', 'signalbox/main:work-l.txt')).toBe('done');
    expect(git(world.repo, 'show', 'ticket/p/m:work-m.txt')).toBe('done');
    expect(world.readPlan('p')).toMatchObject({ status: 'complete', claim: null });
    expect(worktreesOf(world.repo)).toEqual([]);
  });

  it('is finished wherever it was killed, and no attempt is made twice', { tags: 'full' }, async ({
    world,
  }) => {
    const points = ['ticket:claimed', 'workspace:ready', 'workspace:released'].concat(
      ['recorded', 'running', 'performed', 'closed'].map((name) => `attempt:${name}`),
    );
    world.agent('agent', 'commit');
    world.config({ maxConcurrency: 10 });
    world.workflow('work', [
      { id: 'build', type: 'agent', prompt: 'Build it.', expect: { commits: true }, onSuccess: 'polish' },
      { id: 'polish', type: 'agent', prompt: 'Polish it.' },
    ]);
    const plans = points.map((point) => point.replace(':', '-'));
    for (const [index, SIGNALBOX_CRASH_AT] of points.entries()) {
      const id = plans[index] ?? '';
      world.plan(id, { tickets: { a: {} } });
      const { signal } = await startOld(world, ['run', id], { SIGNALBOX_CRASH_AT }).ended;
      expect(signal, id).toBe('SIGKILL');
    }
    const { code, out, err } = await world.cli('tick');
    expect(code, out + err).toBe(0);
    for (const id of plans) {
      expect(world.readPlan(id).status, id).toBe('complete');
      const ticket = world.ticket(id, 'a');
      expect(ticket.claim, id).toBeNull();
      expect(story(ticket), id).toEqual(['build success', 'polish success']);
      expect(world.calls('start', { ticket: `${id}/a` }), id).toHaveLength(2);
    }
    expect(worktreesOf(world.repo)).toEqual([]);
  });

  it('is resumed when it was one of issues', async ({ world }) => {
    rehearse(world, 'exec', 'two');
    const issues = new IssueWorld(world)
      .write('one.md', '# One\n')
      .write('two.md', '# Two\n', { dependsOn: ['one'] })
      .write('three.md', '# Three\n', { dependsOn: ['two'] });
    const args = ['run', 'one.md', 'two.md', 'three.md', '--phases', 'exec', '--no-smart-tests', '--no-pr'];
    const old = startOld(world, args, {}, world.repo);
    const { ticket } = await world.call('start', {}, 2);
    const run = await issues.run();
    expect(ticket).toBe(`${run}/two`);
    await old.kill('SIGKILL');
    replaceWorkflow(world, 'issue');
    world.go();
    const { code, out, err } = await issues.cli('resume', run);
    expect(code, out + err).toBe(0);
    expect(attempts(world)).toEqual(['one', 'two', 'three'].map((id) => `${run}/${id} exec.1.1`));
    expect(issues.log(run).summary).toMatchObject({ totalIssues: 3, passed: 3, failed: 0, aborted: false });
  });

  it('is resumed when it was one of a spec', { tags: 'full' }, async ({ world }) => {
    rehearse(world, 'implement', '2');
    const list = tasks('One', 'Two', 'Three');
    const dir = writeSpec(world, list);
    const old = startOld(world, ['spec', dir, '--no-tmux', '--delay', '0']);
    await world.call('start', { ticket: 'spec-limits/2' });
    await old.kill('SIGKILL');
    replaceWorkflow(world, 'spec-task');
    world.go();
    const { code, out, err } = await world.cli('resume', 'spec-limits', '--no-tmux');
    expect(code, out + err).toBe(0);
    expect(attempts(world)).toEqual(['1', '2', '3'].map((id) => `spec-limits/${id} implement.1.1`));
    expect(work(world)).toEqual(['1', '2', '3'].flatMap((id) => ['Work', `Tick ${id} of limits`]));
    expect(tasksOn(world)).toBe(list.replaceAll('[ ]', '[x]').trimEnd());
  });
});
