import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { done, git, it, put, runSpec, story, tasks, withoutWaits, writeSpec } from './support.ts';

const fails = (ticket: string, ...before: unknown[]) => ({
  when: { ticket, phase: 'implement' },
  do: [...before, { fail: { class: 'exit', message: 'boom' } }],
});
const RUN = ['--in-place', '--max-attempts', '1'];
const status = (repo: string) => git(repo, 'status', '--porcelain');

describe.concurrent('--in-place after a unit has failed', () => {
  it('refuses what a person has put there since, and touches nothing', async ({ world }) => {
    withoutWaits(world);
    world.rehearsal([fails('1')]);
    const dir = writeSpec(world, tasks('One', 'Two'));
    expect((await runSpec(world, dir, ...RUN)).code).toBe(2);
    expect(status(world.repo)).toBe('');
    put(join(world.repo, '.env.local'), 'SECRET=1\n');
    put(join(world.repo, 'README.md'), 'mine\n');
    const before = status(world.repo);
    for (const way of ['stop', 'continue']) {
      const { code, err } = await runSpec(world, dir, ...RUN, '--on-failure', way);
      expect({ code, err }).toEqual({ code: 5, err: expect.stringContaining('.env.local') });
      expect(status(world.repo)).toBe(before);
      expect(git(world.repo, 'for-each-ref', 'refs/signalbox')).toBe('');
    }
  });

  it('goes on with what the unit left, and refuses it once a person has changed it', {
    tags: 'full',
  }, async ({ world }) => {
    withoutWaits(world);
    const half = { write: { path: 'half.txt', text: 'half\n' } };
    world.rehearsal([fails('1', half)]);
    const dir = writeSpec(world, tasks('One'));
    expect((await runSpec(world, dir, ...RUN)).code).toBe(2);
    put(join(world.repo, 'half.txt'), 'mine\n');
    expect((await runSpec(world, dir, ...RUN)).code).toBe(5);
    put(join(world.repo, 'half.txt'), 'half\n');
    world.rehearsal([{ when: { phase: 'implement' }, do: [{ commit: 'Finish it' }, done()] }]);
    expect((await runSpec(world, dir, ...RUN)).code).toBe(0);
    expect(readFileSync(join(world.repo, 'half.txt'), 'utf8')).toBe('half\n');
  });

  it('leaves commits of a person where they are when the unit is given up', { tags: 'full' }, async ({
    world,
  }) => {
    withoutWaits(world);
    world.rehearsal([fails('1')]);
    const dir = writeSpec(world, tasks('One', 'Two'));
    expect((await runSpec(world, dir, ...RUN)).code).toBe(2);
    put(join(world.repo, 'mine.txt'), 'mine\n');
    git(world.repo, 'add', 'mine.txt');
    git(world.repo, 'commit', '--quiet', '--message=Mine');
    const { code } = await runSpec(world, dir, ...RUN, '--on-failure', 'continue');
    expect(code).toBe(2);
    expect(story(world.ticket('spec-limits', '2'))).toContain('implement success');
    expect(git(world.repo, 'log', '--format=%s')).toContain('Mine');
  });
});
