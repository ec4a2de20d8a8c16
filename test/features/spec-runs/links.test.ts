import { lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { add, done, git, it, runSpec, stateFile, tasks, type World, work } from './support.ts';

const TICKED = tasks('One').replaceAll('[ ]', '[x]');

/** A spec whose list is a link to one in `docs`, committed unless it is told otherwise. */
function linkedList(world: World, target = '../../../docs/list.md', commit = true): string {
  const dir = join(world.repo, '.kiro/specs/limits');
  mkdirSync(dir, { recursive: true });
  mkdirSync(join(world.repo, 'docs'));
  writeFileSync(join(world.repo, 'docs/list.md'), tasks('One'));
  symlinkSync(target, join(dir, 'tasks.md'));
  if (commit) {
    git(world.repo, 'add', '--all');
    git(world.repo, 'commit', '--quiet', '--message=Add a spec');
  }
  return dir;
}

describe.concurrent('a task list that is a link', () => {
  it.for([
    [[], 'spec/limits'],
    [['--in-place'], 'main'],
  ] as const)(
    'is ticked where it leads to, and stays a link %s',
    { tags: 'full' },
    async ([flags, branch], { world }) => {
      const dir = linkedList(world);
      const { code } = await runSpec(world, dir, ...flags);
      expect(code).toBe(0);
      expect(git(world.repo, 'ls-tree', branch, '.kiro/specs/limits/tasks.md')).toMatch(/^120000 /);
      expect(`${git(world.repo, 'show', `${branch}:docs/list.md`)}\n`).toBe(TICKED);
      expect(git(world.repo, 'status', '--porcelain')).toBe('');
      expect((await runSpec(world, dir, ...flags)).result.counts.attempts).toBe(0);
    },
  );

  it('of a spec that git does not have is ticked where it leads to', { tags: 'full' }, async ({ world }) => {
    const dir = linkedList(world, join(world.repo, 'docs/list.md'), false);
    expect((await runSpec(world, dir)).code).toBe(0);
    expect(lstatSync(join(dir, 'tasks.md')).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(world.repo, 'docs/list.md'), 'utf8')).toBe(TICKED);
    expect(git(world.repo, 'ls-tree', '-r', '--name-only', 'spec/limits')).not.toMatch(/kiro|docs/);
  });

  it('alone is no work of a unit', async ({ world }) => {
    world.rehearsal([{ when: { phase: 'implement' }, do: [...add('docs/list.md'), done()] }]);
    const { code, result } = await runSpec(world, linkedList(world), '--max-attempts', '1');
    expect({ code, complete: result.counts.complete }).toEqual({ code: 2, complete: 0 });
  });

  it('that an agent has pointed elsewhere leads nobody there', { tags: 'full' }, async ({ world }) => {
    const dir = linkedList(world);
    const elsewhere = join(world.dir, 'elsewhere.md');
    writeFileSync(elsewhere, 'mine\n');
    const point = { run: `ln -sf ${elsewhere} .kiro/specs/limits/tasks.md` };
    world.rehearsal([{ when: { ticket: '1', phase: 'implement' }, do: [point, ...add('a.txt'), done()] }]);
    await runSpec(world, dir);
    expect(readFileSync(elsewhere, 'utf8')).toBe('mine\n');
  });
});

describe.concurrent('a spec directory that is a link', () => {
  it('has its two files beside the link', { tags: 'full' }, async ({ world }) => {
    const real = join(world.repo, 'docs/limits-spec');
    mkdirSync(real, { recursive: true });
    mkdirSync(join(world.repo, '.kiro/specs'), { recursive: true });
    writeFileSync(join(real, 'tasks.md'), tasks('One'));
    const dir = join(world.repo, '.kiro/specs/limits');
    symlinkSync('../../docs/limits-spec', dir);
    git(world.repo, 'add', '--all');
    git(world.repo, 'commit', '--quiet', '--message=Add a spec');
    expect((await runSpec(world, dir)).code).toBe(0);
    expect(stateFile(world).specs.limits).toMatchObject({ completed: ['1'] });
    expect(world.exists('repo/docs/SEQUENTIAL_STATE.json')).toBe(false);
    expect(git(world.repo, 'status', '--porcelain')).toBe('');
    expect(work(world)).toHaveLength(2);
  });

  it('to another place is read and ticked there', async ({ world }) => {
    const real = join(world.dir, 'limits');
    mkdirSync(real);
    mkdirSync(join(world.repo, '.kiro/specs'), { recursive: true });
    writeFileSync(join(real, 'tasks.md'), tasks('One'));
    const dir = join(world.repo, '.kiro/specs/limits');
    symlinkSync(real, dir);
    git(world.repo, 'add', '--all');
    git(world.repo, 'commit', '--quiet', '--message=Add a spec');
    const { code, err } = await runSpec(world, dir, '--workdir', world.repo);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(readFileSync(join(real, 'tasks.md'), 'utf8')).toBe(TICKED);
    expect(stateFile(world).specs.limits).toMatchObject({ completed: ['1'] });
  });
});
