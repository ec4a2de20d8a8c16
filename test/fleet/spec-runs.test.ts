import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { add, done, tasks, withoutWaits, writeSpec } from '../features/spec-runs/support.ts';
import { FleetWorld } from '../support/fleet.ts';
import { git } from '../support/repo.ts';

const SUBJECTS = ['log', '--reverse', '--format=%s', 'main..FETCH_HEAD'] as const;

it('workers run a spec one after the other, and each continues on the branch of the one before', {
  tags: 'full',
}, async () => {
  const fleet = await FleetWorld.open();
  const { world } = fleet;
  withoutWaits(world);
  world.rehearsal(
    ['1', '2'].map((ticket) => ({
      when: { ticket, phase: 'implement' },
      do: [...add(`${ticket}.txt`), done()],
    })),
  );
  const dir = writeSpec(world, tasks('One', 'Two'), { files: { 'design.md': 'Old.\n' } });
  const homes = [fleet.machineWithClone(), fleet.machineWithClone()];
  writeFileSync(join(dir, 'design.md'), 'New.\n');
  const spec = (...more: string[]) =>
    world.invoke(['spec', dir, '--plain', '--delay', '0', ...more], fleet.env(), world.repo).ended;

  const first = await fleet.worker(homes[0] ?? '');
  expect(await spec('--max-iterations', '1')).toMatchObject({ code: 1, err: '' });
  expect(await first.kill('SIGINT')).toMatchObject({ code: 0 });
  const other = await fleet.worker(homes[1] ?? '');
  const ended = await spec();
  expect(ended).toMatchObject({ code: 0, err: '' });
  expect(ended.out).toContain('git -C');

  await fleet.store.refresh();
  const tickets = fleet.store.tickets('spec-limits');
  expect(new Set(tickets.map(({ machine }) => machine?.state)).size).toBe(2);
  git(world.repo, 'fetch', '--quiet', 'origin', 'refs/signalbox/spec-limits/@tree');
  expect(git(world.repo, ...SUBJECTS).split('\n')).toEqual([
    'Bring design.md of limits up to date',
    'Add 1.txt',
    'Tick 1 of limits',
    'Add 2.txt',
    'Tick 2 of limits',
  ]);
  expect(git(world.repo, 'show', 'FETCH_HEAD:.kiro/specs/limits/tasks.md')).not.toContain('[ ]');
  // The files that show a run are with the person's spec, and nowhere else.
  expect(readFileSync(join(world.repo, '.kiro/specs/SEQUENTIAL_STATE.json'), 'utf8')).toMatch(
    /"completed": \[\s*"1",\s*"2"/,
  );
  expect(existsSync(join(`${homes[1]}-clone`, '.kiro/specs/SEQUENTIAL_STATE.json'))).toBe(false);
  await other.kill('SIGINT');
});

it('a spec that only this machine has is refused', async () => {
  const fleet = await FleetWorld.open();
  const { world } = fleet;
  const dir = writeSpec(world, tasks('One'), { commit: false });
  const spec = (...more: string[]) =>
    world.invoke(['spec', dir, '--plain', ...more], fleet.env(), world.repo).ended;
  expect(await spec()).toMatchObject({ code: 5, err: expect.stringContaining('is not in git') });
  expect(await spec('--in-place')).toMatchObject({ code: 5, err: expect.stringContaining('--in-place') });
});
