import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { git, it, progressFile, runSpec, tasks, tree, work, writeSpec } from './support.ts';

const flags = ['--no-tmux', '--delay', '0'];

describe.concurrent('the end of a run of a spec', () => {
  it('says how to merge the work, and the command does it', async ({ world }) => {
    const dir = writeSpec(world, tasks('One'));
    const { code, out } = await world.cli('spec', dir, ...flags);
    expect(code).toBe(0);
    const command = `git -C ${world.repo} merge spec/limits`;
    const look = 'To look at it: signalbox diff spec-limits 1';
    expect(out).toContain(`Branch: spec/limits\n${look}\nMerge it with: ${command}`);
    expect(progressFile(world)).toContain(`- Merge: ${command}`);
    git(world.repo, ...command.split(' ').slice(3), '--quiet');
    expect(work(world)).toEqual([]);
    const again = await world.cli('spec', dir, ...flags);
    expect(again.out).not.toContain('Merge it with');
  });

  it('says how to merge the work also where its state was lost after the last unit', async ({ world }) => {
    const dir = writeSpec(world, tasks('One'));
    expect((await world.cli('spec', dir, ...flags)).code).toBe(0);
    rmSync(world.stateDir, { recursive: true });
    const { code, out } = await world.cli('spec', dir, ...flags);
    expect(code).toBe(0);
    expect(out).toContain(`Branch: spec/limits\nMerge it with: git -C ${world.repo} merge spec/limits`);
    expect(work(world)).not.toEqual([]);
  });

  it('says where the work is while some of it is left, and in a checkout', { tags: 'full' }, async ({
    world,
  }) => {
    const dir = writeSpec(world, tasks('One', 'Two'));
    const first = await world.cli('spec', dir, ...flags, '--max-iterations', '1');
    expect(first.out).toContain(`Branch: spec/limits\nWorktree: ${tree(world)}\n`);
    expect(first.out).not.toContain('Merge it with');
    const { out } = await world.cli('spec', dir, ...flags, '--in-place', '--fresh');
    expect(out).toContain(`Branch: main\nCheckout: ${world.repo}`);
    expect(out).not.toContain('Merge it with');
  });

  it('says what is still to do in a spec that was edited meanwhile', { tags: 'full' }, async ({ world }) => {
    const dir = writeSpec(world, tasks('One', 'Two'));
    const file = join(dir, 'tasks.md');
    const edited = '# Tasks\n\n- [ ] 1. One\n- [ ] 2. Two, but faster\n- [ ] 3. Three\n- [ ]* 4. Four\n';
    world.rehearsal([
      {
        when: { ticket: '2', phase: 'implement' },
        do: [
          { run: `printf '${edited.replaceAll('\n', '\\n')}' > ${file}` },
          { write: { path: 'a.txt', text: 'a' } },
          { commit: 'Add a' },
          { result: '<promise>TASK_DONE</promise>' },
        ],
      },
    ]);
    const { code, out } = await world.cli('spec', dir, ...flags);
    expect(code).toBe(0);
    expect(out).toContain(
      '! tasks.md was edited during this run. Run the spec again for: 2 Two, but faster, 3 Three',
    );
    world.rehearsal([]);
    const { result } = await runSpec(world, dir);
    expect(result).toMatchObject({ added: [], counts: { attempts: 2 } });
  });

  it('names the error that an edit meanwhile has made', async ({ world }) => {
    const dir = writeSpec(world, tasks('One'));
    world.rehearsal([
      {
        when: { phase: 'implement' },
        do: [
          { run: `printf -- '- [ ] 1. Again\\n' >> ${join(dir, 'tasks.md')}` },
          { write: { path: 'a.txt', text: 'a' } },
          { commit: 'Add a' },
          { result: '<promise>TASK_DONE</promise>' },
        ],
      },
    ]);
    const { code, out } = await world.cli('spec', dir, ...flags);
    expect(code, out).toBe(0);
    expect(out).toMatch(
      /! tasks\.md was edited during this run and cannot be run like this: tasks\.md:\d+: Task 1 is defined twice; the first is on line \d+\.\n/,
    );
    expect(out).not.toContain('Run the spec again');
  });

  it('says nothing of an edit that asks for nothing', { tags: 'full' }, async ({ world }) => {
    const dir = writeSpec(world, tasks('One'));
    world.rehearsal([
      {
        when: { phase: 'implement' },
        do: [
          { run: `printf '\\n## Notes\\n' >> ${join(dir, 'tasks.md')}` },
          { write: { path: 'a.txt', text: 'a' } },
          { commit: 'Add a' },
          { result: '<promise>TASK_DONE</promise>' },
        ],
      },
    ]);
    writeFileSync(join(dir, 'tasks.md'), tasks('One'));
    expect((await runSpec(world, dir)).result.added).toEqual([]);
  });
});
