import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { add, done, git, it, put, runSpec, stateFile, tasks, writeSpec } from './support.ts';

const flags = ['--no-tmux', '--delay', '0'];

describe.concurrent('what a run of a spec says', () => {
  it('of a repository without a commit names the repository and the way out', async ({ world }) => {
    const root = join(world.dir, 'empty');
    put(join(root, '.kiro/specs/limits/tasks.md'), tasks('One'));
    git(root, 'init', '--quiet');
    const { code, err } = await world.cli('spec', join(root, '.kiro/specs/limits'), ...flags);
    expect(code).toBe(5);
    expect(err).toContain(`The repository ${root} has no commit to start from.`);
    expect(err).toContain(`git -C ${root} commit --allow-empty`);
  });

  it('of a state file that is a directory, which is moved aside', { tags: 'full' }, async ({ world }) => {
    const dir = writeSpec(world, tasks('One'), { assigned: false });
    mkdirSync(join(dir, '..', 'SEQUENTIAL_STATE.json'));
    const { code, err } = await runSpec(world, dir);
    expect({ code, err }).toEqual({
      code: 0,
      err: expect.stringContaining('SEQUENTIAL_STATE.json is not a file.'),
    });
    expect(stateFile(world).specs.limits?.completed).toEqual(['1']);
    expect(statSync(join(dir, '..', 'SEQUENTIAL_STATE.json.broken-1')).isDirectory()).toBe(true);
  });

  it('of names in other scripts has them as they are, and a plan of its own for each', {
    tags: 'full',
  }, async ({ world }) => {
    world.rehearsal([{ when: { phase: 'implement' }, do: [...add('日本.txt'), done()] }]);
    const dirs = ['日本語', '中文'].map((name) => writeSpec(world, tasks('One'), { name }));
    const { result } = await runSpec(world, dirs[0] ?? '');
    expect(result.planId).toMatch(/^spec-[0-9a-f]{8}$/);
    expect(result.changes).toContain('日本.txt');
    const other = await runSpec(world, dirs[1] ?? '', '--dry-run');
    expect(other.out).not.toContain(`"${result.planId}"`);
  });

  it('counts no attempt that met a usage limit, and tells the branch from the run', { tags: 'full' }, async ({
    world,
  }) => {
    world.rehearsal([
      { when: { phase: 'implement', resumed: false }, do: [{ say: 'Too much.' }, { limit: 1 }] },
    ]);
    const dir = writeSpec(world, tasks('One'));
    const { code, out } = await world.cli('spec', dir, ...flags, '--max-iterations', '1');
    expect(code).toBe(0);
    expect(out).toContain('1 attempt in this run');
    expect(out).toContain('Changes of the branch since it began:');
  });

  it('of a unit that halts without a word, and of the others', { tags: 'full' }, async ({ world }) => {
    world.rehearsal([{ when: { phase: 'implement' }, do: [{ result: '<promise>HALT</promise>' }] }]);
    const dir = writeSpec(world, tasks('One', 'Two'));
    const { out } = await world.cli('spec', dir, ...flags);
    expect(out).toContain('! 1 halted and gave no reason');
    expect(out).toContain('◌ 2 waits for 1: it needs attention');
  });

  it('at Ctrl-C while nothing is at work is that the run is stopped', async ({ world }) => {
    world.rehearsal([{ when: { phase: 'implement' }, do: [{ say: 'Too much.' }, { limit: 900 }] }]);
    const dir = writeSpec(world, tasks('One'));
    const run = world.start(['spec', dir, ...flags]);
    await run.says('waits until');
    await world.reaches('spec-limits', '1', ({ claim }) => claim === null);
    await run.kill('SIGINT');
    const { err } = await run.ended;
    expect(err).toContain('Stopping the run…');
  });

  it('of one task is in the singular', async ({ world }) => {
    const dir = writeSpec(world, tasks('One'));
    writeFileSync(join(dir, 'tasks.md'), tasks('One'));
    expect((await world.cli('spec', 'check', dir)).out).toContain('1 task, 0 done');
  });
});
