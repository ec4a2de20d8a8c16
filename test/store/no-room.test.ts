import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Fixture } from '../support/fixture.ts';
import { scratch } from './scratch.ts';

let worker: Fixture;
beforeAll(async () => {
  worker = await Fixture.build(new URL('worker.ts', import.meta.url));
});
afterAll(() => worker.remove());

interface Report {
  codes: Record<string, string>;
  intact: boolean;
  plans: [string, string][];
  problems: unknown[];
  pinned: boolean;
  half?: boolean;
  after?: string;
  events?: string[];
}

const REFUSED = {
  ticket: 'state/storage',
  plan: 'state/storage',
  event: 'state/storage',
  create: 'state/storage',
  pin: 'state/storage',
};

/** A mount namespace of its own: whatever is mounted in it is gone with the process. Null where the system forbids it. */
const NAMESPACE = [
  ['unshare', '--mount'],
  ['unshare', '--mount', '--map-root-user'],
].find(([command = '', ...args]) => {
  const probe = `mount -t tmpfs -o size=64k tmpfs /tmp && mount -o remount,ro /tmp`;
  return spawnSync(command, [...args, 'sh', '-c', probe]).status === 0;
});

/** Runs what follows with no file larger than 20 KB. */
const SMALL_FILES = ['sh', '-c', 'ulimit -f 40; exec "$@"', 'sh'];

/** Runs what follows with a file system of 128 KB at the directory. */
const smallDisk = (dir: string) =>
  NAMESPACE && [...NAMESPACE, 'sh', '-c', `mount -t tmpfs -o size=128k tmpfs '${dir}' && exec "$@"`, 'sh'];

describe('no room on the disk', () => {
  it('a limit on file sizes: every write says so, and the previous state is intact', async () => {
    const dir = scratch();
    await worker.run(['make', dir]);
    const report = await worker.run<Report>(['readOnlyMount', dir], SMALL_FILES);
    expect(report).toEqual({ codes: REFUSED, intact: true, plans: [['p', '']], problems: [], pinned: false });
    expect(readdirSync(join(dir, 'plans/p/tickets'))).toEqual(['t.json']);
    expect(readdirSync(join(dir, 'locks'))).toEqual([]);
  });

  it('a full disk: every write says so, the previous state is intact, and it goes on once there is room', async () => {
    const dir = scratch();
    const through = smallDisk(dir);
    // Where nothing can be mounted, the limit on file sizes has to do: it cuts writes short in the same way.
    const report = through
      ? await worker.run<Report>(['makeFull', dir], through)
      : await worker.run<Report>(['makeFull', dir], SMALL_FILES);
    expect(report).toMatchObject({
      codes: REFUSED,
      intact: true,
      plans: [['p', '']],
      problems: [],
      pinned: false,
      half: true,
      after: 'room again',
      events: ['later'],
    });
  });
});

describe('a state directory that cannot be written', () => {
  it('by its permissions: every write says so, and everything can be read', async () => {
    const dir = scratch();
    await worker.run(['make', dir]);
    mkdirSync(join(dir, 'locks'), { recursive: true });
    const all = ['.', ...(readdirSync(dir, { recursive: true }) as string[])].map((name) => join(dir, name));
    for (const path of all) chmodSync(path, statSync(path).isDirectory() ? 0o555 : 0o444);
    const report = await worker.run<Report>(['readOnly', dir]);
    for (const path of all) if (statSync(path).isDirectory()) chmodSync(path, 0o755);
    expect(report).toEqual({ codes: REFUSED, intact: true, plans: [['p', '']], problems: [], pinned: false });
  });

  it('by its mount: every write says so, and everything can be read', async () => {
    const dir = scratch();
    const steps = `mount -t tmpfs tmpfs '${dir}' && "$1" "$2" make '${dir}' && mount -o remount,ro '${dir}' && exec "$@"`;
    // Where nothing can be mounted, a directory without the right to write has to do.
    const report = NAMESPACE
      ? await worker.run<Report>(['readOnlyMount', dir], [...NAMESPACE, 'sh', '-c', steps, 'sh'])
      : await withoutRights(dir);
    expect(report).toEqual({ codes: REFUSED, intact: true, plans: [['p', '']], problems: [], pinned: false });
  });

  async function withoutRights(dir: string): Promise<Report> {
    await worker.run(['make', dir]);
    chmodSync(dir, 0o555);
    chmodSync(join(dir, 'plans/p'), 0o555);
    chmodSync(join(dir, 'plans/p/tickets'), 0o555);
    chmodSync(join(dir, 'locks'), 0o555);
    const report = await worker.run<Report>(['readOnly', dir]);
    for (const name of ['.', 'plans/p', 'plans/p/tickets', 'locks']) chmodSync(join(dir, name), 0o755);
    return report;
  }
});
