import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { git, it, put, runSpec, stateFile, tasks, tasksOn, work, writeSpec } from './support.ts';

const FOUR = tasks('Part 1', 'Part 2', 'Part 3', 'Part 4');

/** Holds the agent of one unit until the test lets it go. */
const held = (ticket: string, file: string) => ({
  when: { ticket, phase: 'implement' },
  do: [
    { write: { path: `part-${ticket}.txt`, append: 'begun\n' } },
    { run: `until [ -e ${file} ]; do sleep 0.05; done` },
    { commit: `Do ${ticket}` },
  ],
});

describe.concurrent('contract 6: a run that is killed', () => {
  it('goes on where it was: nothing is done twice and nothing is lost', { tags: 'full' }, async ({
    world,
  }) => {
    world.rehearsal([held('2', `${world.dir}/go-2`)]);
    const dir = writeSpec(world, FOUR);
    const first = world.start(['spec', dir, '--no-tmux', '--delay', '0', '--json']);
    await first.says('"part-2.txt"');
    await first.kill('SIGKILL');
    world.append('go-2', '');
    const { code, result } = await runSpec(world, dir);
    expect(code).toBe(0);
    expect(result.counts).toMatchObject({ units: 4, complete: 4, before: 1 });
    const ids = ['1', '2', '3', '4'];
    expect(work(world)).toEqual(
      ids.flatMap((id) => [id === '2' ? 'Do 2' : `Rehearse implement of ${id}`, `Tick ${id} of limits`]),
    );
    expect(git(world.repo, 'show', 'spec/limits:part-2.txt')).toBe('begun');
    expect(tasksOn(world)).toBe(FOUR.replaceAll('[ ]', '[x]').trimEnd());
    expect(stateFile(world).specs.limits?.completed).toEqual(ids);
    for (const id of ids) {
      const attempts = world.ticket('spec-limits', id).phaseHistory;
      expect(
        attempts.filter(({ phase, status }) => phase === 'implement' && status === 'success'),
      ).toHaveLength(1);
    }
  });

  it.for([
    'ticket:claimed',
    'workspace:ready',
    'attempt:recorded',
    'attempt:running',
    'attempt:performed',
    'attempt:closed',
    'tick:ready',
    'tick:written',
    'tick:done',
    'action:done',
  ])('at %s of its second unit converges', { tags: 'full' }, async (point, { world }) => {
    const dir = writeSpec(world, tasks('One', 'Two'));
    expect((await runSpec(world, dir, '--max-iterations', '1')).code).toBe(1);
    const env = { SIGNALBOX_CRASH_AT: point };
    expect((await world.start(['spec', dir, '--no-tmux', '--delay', '0'], env).ended).signal).toBe('SIGKILL');
    const { code, result } = await runSpec(world, dir);
    expect(code, JSON.stringify(result)).toBe(0);
    expect(work(world)).toEqual(
      ['1', '2'].flatMap((id) => [`Rehearse implement of ${id}`, `Tick ${id} of limits`]),
    );
  });

  it('in the middle of a unit, and whose tasks are edited then, does what they say now', {
    tags: 'full',
  }, async ({ world }) => {
    world.rehearsal([held('1', `${world.dir}/go-1`)]);
    const dir = writeSpec(world, tasks('One', 'Two'));
    const first = world.start(['spec', dir, '--no-tmux', '--delay', '0', '--json']);
    await first.says('"part-1.txt"');
    await first.kill('SIGKILL');
    put(join(dir, 'tasks.md'), tasks('One', 'Two in another way', 'Three'));
    world.append('go-1', '');
    const { code, err, result } = await runSpec(world, dir);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(result.counts).toMatchObject({ units: 3, complete: 3, failed: 0 });
    expect(tasksOn(world)).toBe(
      tasks('One', 'Two in another way', 'Three').replaceAll('[ ]', '[x]').trimEnd(),
    );
    expect(work(world)).toContain('Bring the tasks of limits up to date');
  });

  it('by Ctrl-C leaves everything for resume', async ({ world }) => {
    world.rehearsal([held('1', `${world.dir}/go-1`)]);
    const dir = writeSpec(world, tasks('One', 'Two'));
    const run = world.start(['spec', dir, '--no-tmux', '--delay', '0', '--json']);
    await run.says('"part-1.txt"');
    expect((await run.kill('SIGINT')).code).toBe(130);
    world.append('go-1', '');
    expect(world.ticket('spec-limits', '1').status).toBe('paused');
    const { code, out } = await world.cli('resume', '--no-tmux');
    expect(code).toBe(0);
    expect(out).toContain('2 of 2 units done');
  });
});
