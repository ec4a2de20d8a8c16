import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { Ticket } from '../../src/model/ticket.ts';
import { SmallDisk } from '../cli/small-disk.ts';
import { it as base, isRunning, story, type World, waitFor } from '../support/index.ts';
import { firstOnly } from '../support/tiers.ts';

const it = base.extend<{ disk: SmallDisk }>({
  disk: async ({ world }, use) => {
    world.agent('agent', 'note working; go; commit');
    world.workflow('work', [
      { id: 'build', type: 'agent', prompt: 'Build.', expect: { commits: true }, onSuccess: 'polish' },
      { id: 'polish', type: 'agent', prompt: 'Polish.' },
    ]);
    world.plan('p', { tickets: { a: {}, b: {} } });
    const disk = await SmallDisk.mount(world);
    try {
      await use(disk);
    } finally {
      world.go();
      await disk.unmount();
    }
  },
});

const TROUBLE: {
  what: string;
  happens(disk: SmallDisk): void | Promise<void>;
  cure(disk: SmallDisk): void | Promise<void>;
  reason: string;
}[] = [
  {
    what: 'full',
    happens: (disk) => disk.fill(),
    cure: (disk) => disk.free(),
    reason: 'the disk is full',
  },
  {
    what: 'read-only',
    happens: (disk) => disk.readOnly(),
    cure: (disk) => disk.writable(),
    reason: 'it is on a read-only file system',
  },
];

const ticketOf = (world: World, disk: SmallDisk, id: string) =>
  JSON.parse(readFileSync(disk.path(world.ticketFile('p', id)), 'utf8')) as Ticket;

/** Starts a run whose output can be read while it runs, and waits until an agent of each ticket works. */
async function startRun(world: World, disk: SmallDisk, seconds: number) {
  const out = join(world.dir, 'out');
  const env = { SIGNALBOX_STORAGE_WAIT_SECONDS: String(seconds) };
  const ended = disk.cliWith(env, 'run', 'p', '--plain', '>', out);
  await world.call('working', { ticket: 'p/a' });
  await world.call('working', { ticket: 'p/b' });
  const said = () => readFileSync(out, 'utf8');
  const says = (text: string) => waitFor(`"${text}"`, () => said().includes(text), { state: said });
  return { ended, said, says };
}

/** All that ran for a ticket, in order. */
const ran = (world: World, id: string) =>
  world.calls('start', { ticket: `p/${id}` }).map(({ attempt }) => attempt);

describe.each(TROUBLE)(
  'a state directory that is $what while agents work',
  ({ what, happens, cure, reason }) => {
    it('nothing new starts, results wait in memory, and the run continues once it can be written', {
      tags: 'full',
    }, async ({ world, disk }) => {
      const run = await startRun(world, disk, 600);
      await happens(disk);
      world.go();
      await run.says('Nothing new starts');
      await world.call('end', { ticket: 'p/b' });
      expect([ran(world, 'a'), ran(world, 'b')]).toEqual([['build.1.1'], ['build.1.1']]);
      const cured = new Date().toISOString();
      await cure(disk);
      const { code, err } = await run.ended;
      expect(code, run.said() + err).toBe(0);
      const lines = run.said().split('\n');
      expect(lines.filter((line) => line.includes(reason))).toHaveLength(1);
      expect(run.said() + err).not.toMatch(/EROFS|ENOSPC/);
      for (const id of ['a', 'b']) {
        expect(ran(world, id)).toEqual(['build.1.1', 'polish.1.1']);
        expect(story(ticketOf(world, disk, id))).toEqual(['build success', 'polish success']);
      }
      // The wait for the disk is no part of the work.
      const history = ['a', 'b'].map((id) => ticketOf(world, disk, id).phaseHistory);
      expect(history.some(([build]) => (build?.completedAt ?? '') < cured)).toBe(true);
      expect(history.every(([, polish]) => (polish?.startedAt ?? '') > cured)).toBe(true);
    });

    it(
      'for too long: exit code 4 names the jobs that still run, and the next engine repeats nothing',
      firstOnly(what === 'full' ? 0 : 1),
      async ({ world, disk }) => {
        const run = await startRun(world, disk, 0.2);
        await happens(disk);
        world.go('a');
        const { code, err } = await run.ended;
        expect(code, run.said() + err).toBe(4);
        expect(err).toContain(reason);
        const left = /Still running, for the next engine to take over: .*p\/b build \(pid (\d+)\)\./.exec(
          err,
        );
        expect(isRunning(Number(left?.[1])), err).toBe(true);
        await cure(disk);
        world.go();
        const again = await disk.cli('run', 'p');
        expect(again.code, again.out + again.err).toBe(0);
        for (const id of ['a', 'b']) expect(ran(world, id)).toEqual(['build.1.1', 'polish.1.1']);
      },
    );

    it(
      'and the run is stopped before anything was written: exit code 4, and its agents live on',
      firstOnly(what === 'full' ? 0 : 1),
      async ({ world, disk }) => {
        const run = await startRun(world, disk, 600);
        await happens(disk);
        process.kill(ticketOf(world, disk, 'a').claim?.pid ?? 0, 'SIGTERM');
        const { code, err } = await run.ended;
        expect(code, run.said() + err).toBe(4);
        expect(err).toContain(reason);
        const left = [...err.matchAll(/p\/[ab] build \(pid (\d+)\)/g)].map(([, pid]) => Number(pid));
        expect(left.map(isRunning), err).toEqual([true, true]);
        await cure(disk);
        world.go();
        const again = await disk.cli('run', 'p');
        expect(again.code, again.out + again.err).toBe(0);
        for (const id of ['a', 'b']) expect(ran(world, id)).toEqual(['build.1.1', 'polish.1.1']);
      },
    );

    it('and the run is stopped: exit code 4, and its agents live on for the next engine', {
      tags: 'full',
    }, async ({ world, disk }) => {
      const run = await startRun(world, disk, 600);
      const pid = ticketOf(world, disk, 'a').claim?.pid ?? 0;
      await happens(disk);
      world.go('a');
      await run.says('Nothing new starts');
      process.kill(pid, 'SIGINT');
      const { code, err } = await run.ended;
      expect(code, run.said() + err).toBe(4);
      expect(err).toMatch(/Still running, for the next engine to take over: .*p\/b build \(pid \d+\)\./);
      await cure(disk);
      world.go();
      const again = await disk.cli('run', 'p');
      expect(again.code, again.out + again.err).toBe(0);
      for (const id of ['a', 'b']) expect(ran(world, id)).toEqual(['build.1.1', 'polish.1.1']);
    });
  },
);
