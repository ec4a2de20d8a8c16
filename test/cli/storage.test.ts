import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect } from 'vitest';
import { SmallDisk } from './small-disk.ts';
import { it as base, errorIn, refusal, setUp, type World } from './support.ts';

const it = base.extend<{ disk: SmallDisk }>({
  disk: async ({ world }, use) => {
    setUp(world, 'note working; go; commit', { a: {}, b: {} });
    const disk = await SmallDisk.mount(world);
    try {
      await use(disk);
    } finally {
      world.go();
      await disk.unmount();
    }
  },
});

/** All files of plans and tickets with their text; a half-written one would show. */
function contents(world: World, disk: SmallDisk): Record<string, string> {
  const plans = disk.path(`${world.stateDir}/plans`);
  const files = (readdirSync(plans, { recursive: true }) as string[]).filter((name) =>
    /\.json|tmp/.test(name),
  );
  return Object.fromEntries(files.map((name) => [name, readFileSync(`${plans}/${name}`, 'utf8')]));
}

const FULL = 'the disk is full.\n   The previous state is intact. Make room or choose another stateDir';

describe('a disk that holds the logs as well', () => {
  const TROUBLE: [string, (disk: SmallDisk) => void | Promise<void>, string][] = [
    ['full', (disk) => disk.fill(), 'the disk is full'],
    ['read-only', (disk) => disk.readOnly(), 'it is on a read-only file system'],
  ];
  for (const logs of ['logs', 'new/logs'])
    for (const [what, happens, reason] of TROUBLE)
      it(`keeps no daemon from saying why it does not start: ${what}, ${logs}`, async ({ world, disk }) => {
        const env = { SIGNALBOX_LOG_DIR: `${world.stateDir}/${logs}` };
        if (logs === 'logs') mkdirSync(disk.path(env.SIGNALBOX_LOG_DIR));
        await happens(disk);
        const ended = await disk.cliWith(env, 'daemon', '--detach');
        expect(ended.code).toBe(4);
        expect(refusal(ended)).toContain(
          `Cannot write the state directory ${world.stateDir}: ${reason}.\n   The`,
        );
        expect(readdirSync(disk.path(world.stateDir)).filter((name) => name.includes('tmp'))).toEqual([]);
      });

  for (const [what, happens, reason] of TROUBLE)
    it(`keeps what was trusted: ${what}`, async ({ world, disk }) => {
      const env = { SIGNALBOX_HOME: world.stateDir };
      await disk.cliWith(env, 'config', 'trust', world.dir);
      const files = () => readdirSync(disk.path(world.stateDir)).filter((name) => name.includes('trusted'));
      await happens(disk);
      const ended = await disk.cliWith(env, 'config', 'trust', '/');
      expect(ended.code).toBe(4);
      expect(refusal(ended)).toContain(`Cannot write the home directory ${world.stateDir}: ${reason}.`);
      expect(ended.err).toContain('or choose another SIGNALBOX_HOME, then start again.');
      expect(files()).toEqual(['trusted.json']);
    });
});

describe('a state directory on a full disk', () => {
  it('ends every command that writes with 4 and one clear error; the previous state is intact', {
    tags: 'full',
  }, async ({ world, disk }) => {
    disk.fill();
    const before = contents(world, disk);
    for (const command of ['pause p a', 'run p', 'tick', 'daemon', 'daemon --detach', 'pause-plan p']) {
      const ended = await disk.cli(command);
      expect(ended.code, command).toBe(4);
      expect(refusal(ended), command).toContain(
        `Cannot write the state directory ${world.stateDir}: ${FULL}`,
      );
    }
    expect(contents(world, disk)).toEqual(before);
    expect(world.calls()).toEqual([]);
    expect((await disk.cli('status')).code).toBe(0);
    disk.free();
    expect((await disk.cli('pause', 'p', 'a')).out).toBe('p/a is paused.\n');
  });

  it('ends a run that is under way with 4; with room again the next one completes it', async ({
    world,
    disk,
  }) => {
    const run = disk.cliWith({ SIGNALBOX_STORAGE_WAIT_SECONDS: '0' }, ...['run', 'p', '--concurrency', '1']);
    await world.call('working');
    disk.fill();
    const before = contents(world, disk);
    world.go();
    const ended = await run;
    expect(ended.code).toBe(4);
    expect(ended.err).toContain(FULL);
    expect(contents(world, disk)).toEqual(before);
    disk.free();
    expect((await disk.cli('run', 'p')).code).toBe(0);
    expect(world.calls('start', { ticket: 'p/b' })).toHaveLength(1);
  });
});

describe('a state directory on a read-only file system', () => {
  it('can be looked at, and everything else ends with 4', async ({ world, disk }) => {
    await disk.readOnly();
    for (const args of [['status'], ['plan', 'list'], ['logs', 'p'], ['daemon', 'stop']])
      expect((await disk.cli(...args)).code, args.join(' ')).toBe(0);
    const before = contents(world, disk);
    for (const args of [['pause', 'p', 'a'], ['run', 'p'], ['plan', 'archive', 'p'], ['tick'], ['daemon']]) {
      const ended = await disk.cli(...args, '--json');
      expect(ended.code, args.join(' ')).toBe(4);
      expect(errorIn(ended)).toMatchObject({
        code: 'state/storage',
        message: `Cannot write the state directory ${world.stateDir}: it is on a read-only file system.`,
      });
    }
    expect(contents(world, disk)).toEqual(before);
    expect(world.calls()).toEqual([]);
  });
});
