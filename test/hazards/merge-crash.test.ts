import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { MERGE_CRASH_POINTS } from '../../src/engine/crash-points.ts';
import { check, checkoutOf, complete, filesIn, leftovers } from '../cli/merge-world.ts';
import { git, isRunning, it, type World, waitFor } from '../support/index.ts';
import { firstOnly } from '../support/tiers.ts';

/** Two good branches, one that is red, and one that conflicts. */
function prepare(world: World): void {
  check(world, '[ ! -f bad ]');
  complete(world, {
    a: { files: { a: '1', 'README.md': 'a\n' } },
    bad: { files: { bad: '1' } },
    conflict: { files: { 'README.md': 'c\n' } },
    d: { files: { d: '1' } },
  });
}

function tip(world: World): string {
  return git(world.repo, 'for-each-ref', '--format=%(objectname)', 'refs/heads/signalbox/main');
}

/** As if nothing had happened in between. */
async function expectConverged(world: World, before: string[]): Promise<void> {
  for (let times = 0; times < 2; times++) await world.cli('merge', 'p');
  expect(filesIn(world, 'signalbox/main')).toEqual(['README.md', 'a', 'd']);
  expect(
    git(world.repo, 'log', '--merges', '--format=%s', 'main..signalbox/main').split('\n').sort(),
  ).toEqual(['Merge ticket/p/a: Title of a', 'Merge ticket/p/d: Title of d']);
  for (const id of ['bad', 'conflict']) {
    const ticket = world.ticket('p', id);
    expect(ticket).toMatchObject({ status: 'ready', currentPhase: 'build' });
    expect(ticket.phaseHistory.filter((entry) => entry.error?.class === 'merge')).toHaveLength(1);
  }
  for (const id of ['a', 'd']) expect(world.ticket('p', id).status).toBe('complete');
  expect(checkoutOf(world)).toEqual(before);
  expect(leftovers(world)).toEqual([]);
}

describe('kill -9 of a merge', () => {
  for (const [index, point] of MERGE_CRASH_POINTS.entries())
    it.concurrent(
      `at ${point}: the base is the old or the new one, and the next merge converges`,
      firstOnly(index),
      async ({ world }) => {
        prepare(world);
        const before = checkoutOf(world);
        const crashed = await world.start(['merge', 'p'], { SIGNALBOX_CRASH_AT: point }).ended;
        expect(crashed.signal).toBe('SIGKILL');
        const now = tip(world);
        if (point === 'merge:checked') expect(now).toBe('');
        else expect(filesIn(world, 'signalbox/main')).toEqual(['README.md', 'a', 'd']);
        await expectConverged(world, before);
      },
    );

  it.concurrent('during the checks: what it left running is ended and its worktree is cleared away', {
    tags: 'full',
  }, async ({ world }) => {
    const [on, pid] = ['on', 'check.pid'].map((name) => join(world.dir, name));
    prepare(world);
    check(world, `if [ ! -e '${on}' ]; then echo $$ > '${pid}'; exec sleep 300; fi; [ ! -f bad ]`);
    const before = checkoutOf(world);
    const running = world.start(['merge', 'p']);
    await waitFor(
      'the check to run',
      () => world.exists('check.pid') && world.read('check.pid').endsWith('\n'),
    );
    await running.kill('SIGKILL');
    const left = Number(world.read('check.pid'));
    expect(isRunning(left)).toBe(true);
    expect(tip(world)).toBe('');
    writeFileSync(on as string, '');
    await expectConverged(world, before);
    expect(isRunning(left)).toBe(false);
  });
});
