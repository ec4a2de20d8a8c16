import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect } from 'vitest';
import { it, type World, waitFor } from '../support/index.ts';
import { isRunning } from '../support/processes.ts';
import { firstOnly } from '../support/tiers.ts';

function prepare(world: World): void {
  world.agent('agent', 'sleep 300 & note child; go; kill $!; commit');
  world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build.' }]);
  world.config({ maxConcurrency: 4, pollInterval: 1 });
  world.plan('bad', { tickets: { gone: {} } });
  world.plan('good', { tickets: { other: {} } });
}

const planDir = (world: World) => dirname(world.planFile('bad'));

const TROUBLE: [string, (world: World) => void][] = [
  ['its plan is removed', (world) => rmSync(planDir(world), { recursive: true })],
  ['its plan is moved', (world) => renameSync(planDir(world), `${planDir(world)}x`)],
  [
    'a directory takes the place of its file',
    (world) => {
      rmSync(world.ticketFile('bad', 'gone'));
      mkdirSync(world.ticketFile('bad', 'gone'));
    },
  ],
  [
    'a file takes the place of all tickets',
    (world) => {
      rmSync(join(planDir(world), 'tickets'), { recursive: true });
      writeFileSync(join(planDir(world), 'tickets'), 'x');
    },
  ],
];

describe('a ticket that runs while its files go out of reach', () => {
  for (const [index, [what, happens]] of TROUBLE.entries())
    it.concurrent(`is ended, and no other: ${what}`, firstOnly(index), async ({ world }) => {
      prepare(world);
      const daemon = world.start(['daemon', '--plain']);
      const { pid } = await world.call('child', { ticket: 'bad/gone' });
      await world.call('child', { ticket: 'good/other' });
      happens(world);
      await waitFor('the end of its agent', () => !isRunning(pid), { state: () => daemon.soFar });
      await daemon.says(/✗ .*bad\/gone/);
      world.go('other');
      await world.reaches('good', 'other', 'complete');
      world.plan('later', { tickets: { more: {} } });
      world.go('more');
      await world.reaches('later', 'more', 'complete');
      expect(world.calls('start', { ticket: 'good/other' })).toHaveLength(1);
      expect(daemon.alive).toBe(true);
      expect((await daemon.kill('SIGTERM')).out).not.toMatch(/ENOENT|EISDIR|ENOTDIR/);
    });

  it.concurrent('goes on once its plan is back', { tags: 'full' }, async ({ world }) => {
    prepare(world);
    const daemon = world.start(['daemon', '--plain']);
    const { pid } = await world.call('child', { ticket: 'bad/gone' });
    renameSync(planDir(world), `${planDir(world)}x`);
    await waitFor('the end of its agent', () => !isRunning(pid), { state: () => daemon.soFar });
    await daemon.says('✗ bad/gone');
    renameSync(`${planDir(world)}x`, planDir(world));
    world.go();
    await world.reaches('bad', 'gone', 'complete');
    expect(daemon.soFar).not.toContain('needs attention');
    await world.reaches('good', 'other', 'complete');
    await daemon.kill('SIGTERM');
  });

  it.concurrent('leaves the run of another plan alone', { tags: 'full' }, async ({ world }) => {
    prepare(world);
    const run = world.invoke(['run', 'good', '--plain']);
    const other = world.invoke(['run', 'bad', '--plain']);
    await world.call('child', { ticket: 'good/other' });
    await world.call('child', { ticket: 'bad/gone' });
    rmSync(planDir(world), { recursive: true });
    const ended = await other.ended;
    expect(ended.code).not.toBe(0);
    expect(ended.err).toContain('There is no plan "bad".');
    world.go();
    expect(await run.ended).toMatchObject({ code: 0, err: '' });
  });
});
