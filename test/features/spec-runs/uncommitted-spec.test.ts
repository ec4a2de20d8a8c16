import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { add, done, git, it, runSpec, tasks, work, writeSpec } from './support.ts';

const SEEN =
  'for f in requirements design; do cat .kiro/specs/limits/$f.md; done > seen-$SIGNALBOX_TICKET.txt';
const looks = (ticket: string, ...more: unknown[]) => ({
  when: { ticket, phase: 'implement' },
  do: [{ run: SEEN }, ...more, { commit: 'See them' }, done()],
});

describe.concurrent('requirements and design', () => {
  it('that are not committed are as the user has them, for the agent too', async ({ world }) => {
    world.rehearsal([looks('1')]);
    const dir = writeSpec(world, tasks('One'), { files: { 'requirements.md': 'Old\n' } });
    writeFileSync(join(dir, 'requirements.md'), 'New\n');
    writeFileSync(join(dir, 'design.md'), 'A design\n');
    expect((await runSpec(world, dir)).code).toBe(0);
    expect(git(world.repo, 'show', 'spec/limits:seen-1.txt')).toBe('New\nA design');
    expect(work(world).slice(0, 2)).toEqual([
      'Bring requirements.md of limits up to date',
      'Bring design.md of limits up to date',
    ]);
    expect(readFileSync(join(dir, 'requirements.md'), 'utf8')).toBe('New\n');
  });

  it('that git has beside a list which it has not are up to date, too', { tags: 'full' }, async ({
    world,
  }) => {
    world.rehearsal([looks('1')]);
    const dir = writeSpec(world, '', { files: { 'requirements.md': 'Old\n', 'design.md': 'Plan\n' } });
    git(world.repo, 'rm', '--quiet', '--cached', '.kiro/specs/limits/tasks.md');
    git(world.repo, 'commit', '--quiet', '--message=Only the others');
    writeFileSync(join(dir, 'tasks.md'), tasks('One'));
    writeFileSync(join(dir, 'requirements.md'), 'New\n');
    expect((await runSpec(world, dir)).code).toBe(0);
    expect(git(world.repo, 'show', 'spec/limits:seen-1.txt')).toBe('New\nPlan');
    expect(git(world.repo, 'ls-tree', '-r', '--name-only', 'spec/limits')).not.toContain('tasks.md');
  });

  it('keep what an agent wrote until the user changes theirs', { tags: 'full' }, async ({ world }) => {
    world.rehearsal([
      {
        when: { ticket: '1', phase: 'implement' },
        do: [{ write: { path: '.kiro/specs/limits/design.md', text: 'Better\n' } }, ...add('a.txt'), done()],
      },
      looks('2'),
      looks('3'),
    ]);
    const files = { 'requirements.md': 'Wanted\n', 'design.md': 'Plan\n' };
    const dir = writeSpec(world, tasks('One', 'Two', 'Three'), { files });
    const one = ['--max-iterations', '1'];
    for (const _ of [1, 2]) expect((await runSpec(world, dir, ...one)).code).toBe(1);
    expect(git(world.repo, 'show', 'spec/limits:seen-2.txt')).toBe('Wanted\nBetter');
    writeFileSync(join(dir, 'design.md'), 'Mine\n');
    expect((await runSpec(world, dir, ...one)).code).toBe(0);
    expect(git(world.repo, 'show', 'spec/limits:seen-3.txt')).toBe('Wanted\nMine');
  });
});
