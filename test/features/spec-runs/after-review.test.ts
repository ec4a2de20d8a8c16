import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { add, done, git, it, runSpec, story, tasks, withoutWaits, work, writeSpec } from './support.ts';

const at = (ticket: string, phase: string, more: object, ...steps: unknown[]) => ({
  when: { ticket, phase, ...more },
  do: steps,
});
const boom = { fail: { class: 'exit', message: 'boom' } };
const away = (branch: string) => ({ run: `git switch --quiet --create ${branch}` });
const detach = { run: 'git checkout --quiet --detach && git branch --quiet -D spec/limits' };

describe.concurrent('an agent that leaves its branch', () => {
  it('or deletes it is brought back and gets the reason, for one attempt', { tags: 'full' }, async ({
    world,
  }) => {
    withoutWaits(world);
    const ways = [
      ['2', away('feature/x'), done()],
      ['3', away('feature/y'), boom],
      ['4', detach, done()],
    ] as const;
    world.rehearsal(
      ways.flatMap(([id, leave, end]) => [
        at(id, 'implement', { attempt: 1 }, leave, ...add('b.txt'), end),
        at(id, 'implement', {}, ...add(`c${id}.txt`), done()),
      ]),
    );
    const dir = writeSpec(world, tasks('One', 'Two', 'Three', 'Four'));
    expect((await runSpec(world, dir)).code).toBe(0);
    for (const [id] of ways) {
      expect(world.ticket('spec-limits', id).tries).toEqual({ implement: 2 });
      expect(world.promptOf('spec-limits', id, 'implement.1.2')).toContain('Stay on spec/limits');
      expect(git(world.repo, 'show', `refs/signalbox/failed/spec-limits/${id}-1:b.txt`)).toBe('x');
    }
    expect(work(world).slice(2)).toEqual(ways.flatMap(([id]) => [`Add c${id}.txt`, `Tick ${id} of limits`]));
  });

  it('is brought back in the checkout, too', async ({ world }) => {
    withoutWaits(world);
    world.rehearsal([
      at('1', 'implement', { attempt: 1 }, away('feature/x'), ...add('b.txt'), done()),
      at('1', 'implement', {}, ...add('c.txt'), done()),
    ]);
    const dir = writeSpec(world, tasks('One'));
    expect((await runSpec(world, dir, '--in-place')).code).toBe(0);
    expect(git(world.repo, 'symbolic-ref', '--short', 'HEAD')).toBe('main');
    expect(git(world.repo, 'log', '--format=%s', '-2')).toBe('Tick 1 of limits\nAdd c.txt');
  });
});

describe.concurrent('a unit that need not change anything', () => {
  const review = { result: { data: { outcome: 'review', owner: 'default', criticality: 'standard' } } };

  it('needs no commit after it has halted, and goes on as a review', { tags: 'full' }, async ({ world }) => {
    const asks = { result: 'Shall I look at B?\n\n<promise>HALT</promise>' };
    world.rehearsal([
      at('1', 'assign', {}, review),
      at('1', 'review', { visit: 1 }, asks),
      at('1', 'review', {}, done('All is well.')),
    ]);
    const dir = writeSpec(world, tasks('Review it'), { assigned: false });
    expect((await runSpec(world, dir)).code).toBe(2);
    expect((await world.cli('resume', '--answer', 'No need.', '--no-tmux')).code).toBe(0);
    expect(world.promptOf('spec-limits', '1', 'review.2.1')).toContain('No need.');
  });

  it('needs none after its checks have failed', async ({ world }) => {
    withoutWaits(world);
    const flag = join(world.home, 'ok');
    world.config({ checks: [`test -e ${flag}`] });
    world.rehearsal([at('1', 'implement', {}, { run: `touch ${flag}` }, done('Restarted it.'))]);
    const dir = writeSpec(world, tasks('Checkpoint - Ensure all tests pass'));
    expect((await runSpec(world, dir)).code).toBe(0);
    expect(existsSync(flag)).toBe(true);
    expect(story(world.ticket('spec-limits', '1'))).toEqual([
      'checks failure',
      'implement success',
      'checks success',
      'tick success',
    ]);
  });
});

describe.concurrent('a repetition', () => {
  it('is told the error, and not what was decided about the unit', async ({ world }) => {
    withoutWaits(world);
    world.rehearsal([at('1', 'implement', { attempt: 1 }, boom)]);
    const dir = writeSpec(world, tasks('One'));
    expect((await runSpec(world, dir)).code).toBe(0);
    const prompt = world.promptOf('spec-limits', '1', 'implement.1.2');
    expect(prompt).toContain('boom');
    expect(prompt).not.toContain('"criticality"');
  });
});
