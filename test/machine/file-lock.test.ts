import { existsSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withLock } from '../../src/machine/file-lock.ts';
import {
  bootId,
  isAlive,
  ownIdentity,
  processStart,
} from '../../src/machine/process-identity-and-signals.ts';
import { HeldError } from '../../src/model/errors.ts';
import { scratch } from '../store/scratch.ts';
import { Fixture } from '../support/fixture.ts';
import { within } from '../support/within.ts';

let worker: Fixture;
beforeAll(async () => {
  worker = await Fixture.build(new URL('../store/worker.ts', import.meta.url));
});
afterAll(() => worker.remove());

/** Writes a lock file of somebody else, this many seconds old. */
function lockOf(holder: unknown, secondsOld = 0): string {
  const path = join(scratch(), 'x.lock');
  writeFileSync(path, typeof holder === 'string' ? holder : JSON.stringify(holder));
  const time = Date.now() / 1000 - secondsOld;
  utimesSync(path, time, time);
  return path;
}

const heldError = (path: string, timeoutMs = 100) =>
  withLock(path, () => 'got it', { timeoutMs }).catch((error: unknown) => error as HeldError);

it('a lock of another process stays where no file can be opened', { tags: 'full' }, async () => {
  const path = lockOf(ownIdentity());
  const few = ['sh', '-c', 'ulimit -n 64; exec "$@"', 'sh'];
  expect(await worker.run(['crowded', path], few)).toBe('EMFILE');
  expect(existsSync(path)).toBe(true);
});

describe('withLock in one process', () => {
  it('lets one in after the other, first come, first served', async () => {
    const path = join(scratch(), 'x.lock');
    const order: number[] = [];
    let inside = 0;
    const visit = (n: number) =>
      withLock(path, async () => {
        expect(++inside).toBe(1);
        await new Promise((resolve) => setImmediate(resolve));
        order.push(n);
        inside--;
      });
    await Promise.all([0, 1, 2, 3, 4, 5].map(visit));
    expect(order).toEqual([0, 1, 2, 3, 4, 5]);
    expect(existsSync(path)).toBe(false);
  });

  it('gives back what the function gives, and lets go when it throws', async () => {
    const path = join(scratch(), 'x.lock');
    expect(await withLock(path, () => 42)).toBe(42);
    await expect(withLock(path, () => Promise.reject(new Error('inside')))).rejects.toThrow('inside');
    const after = await withLock(path, () => JSON.parse(readFileSync(path, 'utf8')) as unknown);
    expect(after).toEqual(ownIdentity());
    expect(existsSync(path)).toBe(false);
  });

  it('a failure of one does not keep the next from its turn', async () => {
    const path = join(scratch(), 'x.lock');
    const first = withLock(path, () => Promise.reject(new Error('first')));
    const second = withLock(path, () => 'second');
    await expect(first).rejects.toThrow('first');
    expect(await second).toBe('second');
  });

  it('different locks do not wait for each other', async () => {
    const dir = scratch();
    await withLock(join(dir, 'a.lock'), async () => {
      expect(await withLock(join(dir, 'b.lock'), () => 'b')).toBe('b');
    });
  });
});

describe('withLock between processes', () => {
  it('loses no count, and never lets two in', { tags: 'full' }, async () => {
    const dir = scratch();
    writeFileSync(join(dir, 'number'), '0');
    const workers = [1, 2, 3].map(() => worker.start(['count', dir, '80']));
    for (const each of workers) expect(await each.ended, each.err).toMatchObject({ code: 0 });
    expect(readFileSync(join(dir, 'number'), 'utf8')).toBe('240');
    expect(existsSync(join(dir, 'number.lock'))).toBe(false);
  });

  it('goes on when many wait for a lock whose holder is killed', { tags: 'full' }, async () => {
    const dir = scratch();
    writeFileSync(join(dir, 'number'), '0');
    const lock = join(dir, 'number.lock');
    for (let round = 1; round <= 3; round++) {
      const holder = worker.start(['hold', lock]);
      await holder.line(0);
      const workers = [1, 2, 3, 4].map(() => worker.start(['count', dir, '10']));
      holder.kill('SIGKILL');
      for (const each of workers) expect(await each.ended, each.err).toMatchObject({ code: 0 });
      expect(readFileSync(join(dir, 'number'), 'utf8')).toBe(String(round * 40));
    }
  });

  it('waits for a holder that lives, and names it when it gives up', async () => {
    const path = join(scratch(), 'x.lock');
    const holder = worker.start(['hold', path]);
    await holder.line(0);
    const error = await heldError(path);
    expect(error).toBeInstanceOf(HeldError);
    expect(error).toMatchObject({ code: 'lock/held', details: { path, holder: { pid: holder.pid } } });
    expect((error as HeldError).message).toContain(`pid ${holder.pid} on`);
    holder.kill('SIGKILL');
    await holder.ended;
    expect(await withLock(path, () => 'got it')).toBe('got it');
  });
});

describe('a lock that was left behind', () => {
  it.each<[string, () => string]>([
    ['by a process that is gone', () => lockOf({ ...ownIdentity(), pid: 2 ** 22 + 1 })],
    ['by an earlier process of our own number', () => lockOf({ ...ownIdentity(), started: '1' })],
    ['before the machine was started again', () => lockOf({ ...ownIdentity(), boot: 'an earlier one' })],
    ['empty, by a crash', () => lockOf('', 3)],
    ['torn, by a crash', () => lockOf('{"host":', 3)],
    [
      'by another host, long ago',
      () => lockOf({ ...ownIdentity(), host: 'elsewhere', machine: 'other', boot: 'theirs' }, 61),
    ],
  ])('%s is taken over at once', async (_name, make) => {
    const path = make();
    expect(await withLock(path, () => 'got it', { timeoutMs: 0 })).toBe('got it');
    expect(existsSync(path)).toBe(false);
    expect(existsSync(`${path}.break`)).toBe(false);
  });

  it.each<[string, () => string, string]>([
    ['is ours, alive', () => lockOf(ownIdentity(), 9999), `pid ${process.pid}`],
    ['is being written right now', () => lockOf(''), 'an unknown process'],
    [
      'belongs to another host that we cannot see',
      () => lockOf({ ...ownIdentity(), host: 'elsewhere', machine: 'other', boot: 'theirs' }, 30),
      'elsewhere',
    ],
  ])('is left alone while it %s', async (_name, make, who) => {
    const path = make();
    const before = readFileSync(path, 'utf8');
    const error = await heldError(path);
    expect(error).toBeInstanceOf(HeldError);
    expect((error as HeldError).message).toContain(who);
    expect((error as HeldError).hint).toContain(path);
    expect(readFileSync(path, 'utf8')).toBe(before);
  });

  it('is taken over even when whoever cleared it before died while doing so', async () => {
    const path = lockOf({ ...ownIdentity(), pid: 2 ** 22 + 1 });
    writeFileSync(`${path}.break`, '');
    utimesSync(`${path}.break`, Date.now() / 1000 - 6, Date.now() / 1000 - 6);
    expect(await withLock(path, () => 'got it', { timeoutMs: within(2_000) })).toBe('got it');
  });
});

describe('identity', () => {
  it('knows this process, and that it lives', () => {
    expect(ownIdentity()).toMatchObject({ pid: process.pid, boot: bootId() });
    expect(isAlive(ownIdentity())).toBe(true);
  });

  it('does not take a reused number, another boot or a dead process for alive', async () => {
    expect(isAlive({ ...ownIdentity(), started: 'other' })).toBe(false);
    expect(isAlive({ ...ownIdentity(), boot: 'other' })).toBe(false);
    const path = join(scratch(), 'x.lock');
    const other = worker.start(['hold', path]);
    await other.line(0);
    const identity = JSON.parse(readFileSync(path, 'utf8')) as ReturnType<typeof ownIdentity>;
    expect(isAlive(identity)).toBe(true);
    expect(processStart(other.pid)).toBe(identity.started);
    other.kill('SIGKILL');
    await other.ended;
    expect(isAlive(identity)).toBe(false);
    expect(processStart(other.pid)).toBeUndefined();
  });

  it('cannot know about other hosts', () => {
    expect(
      isAlive({ ...ownIdentity(), host: 'elsewhere', machine: 'other', boot: 'theirs' }),
    ).toBeUndefined();
  });
});
