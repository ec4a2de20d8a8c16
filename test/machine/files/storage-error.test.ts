import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  asStorageError,
  StorageWait,
} from '../../../src/machine/files/make-directory-and-handle-storage-errors.ts';
import { SignalboxError } from '../../../src/model/errors.ts';
import { scratch } from '../../store/scratch.ts';

it.each([
  ['ENOSPC', 'the disk is full', 'Make room or'],
  ['EROFS', 'it is on a read-only file system', 'Make it writable or'],
  ['EACCES', 'permission denied', 'Make it writable or'],
  ['EIO', 'the disk reports an error', 'Check its disk or'],
  ['ESTALE', 'its file system does not answer', 'Check its disk or'],
])('%s is told with a way out that helps', (code, reason, way) => {
  const told = asStorageError(Object.assign(new Error('x'), { code }), '/state') as SignalboxError;
  expect(told.message).toContain(reason);
  expect(told.hint).toContain(way);
});

it('leaves any other error as it is', () => {
  const error = new Error('x');
  expect(asStorageError(error, '/state')).toBe(error);
});

describe('a disk on which a write succeeds only now and then', () => {
  const full = () => asStorageError(Object.assign(new Error('x'), { code: 'ENOSPC' }), '/state');

  /** Writes that each fail once, as long as that is possible. Returns how often the trouble was reported. */
  async function write(times: number, waitMs: number): Promise<{ reports: number; written: number }> {
    const storage = new StorageWait(join(scratch(), 'mark'));
    let reports = 0;
    let written = 0;
    storage.begin({ waitMs, onTrouble: () => void reports++ });
    onTestFinished(() => storage.end());
    const once = () => {
      let failed = false;
      return () => {
        if (failed) return written++;
        failed = true;
        throw full();
      };
    };
    while (written < times) await storage.write(once());
    return { reports, written };
  }

  it('is reported once', async () => {
    expect(await write(3, 60_000)).toEqual({ reports: 1, written: 3 });
  });

  it('is waited for no longer than one on which nothing can be written', async () => {
    await expect(write(20, 250)).rejects.toThrow('the disk is full');
  });
});

it('a disk that fails until the process gives up is known to the next one, until that begins', async () => {
  const mark = join(scratch(), 'mark');
  const storage = new StorageWait(mark);
  storage.begin({ waitMs: 250, onTrouble: () => undefined });
  const full = () => Promise.reject(new SignalboxError('state/storage', 'The disk is full.'));
  await expect(storage.write(full)).rejects.toThrow('The disk is full.');
  storage.end();
  const [before, after] = [Date.now() - 1000, Date.now() + 60_000];
  const next = new StorageWait(mark);
  await expect(next.write(full)).rejects.toThrow('The disk is full.');
  // Agents that still ran may have ended since then.
  expect([before, after].map((time) => next.failedSince(time))).toEqual([true, true]);
  next.begin({ waitMs: 250, onTrouble: () => undefined });
  expect([before, after].map((time) => next.failedSince(time))).toEqual([true, false]);
});

it('a command that cannot write says nothing about the jobs of engines', async () => {
  const storage = new StorageWait(join(scratch(), 'mark'));
  const full = () => Promise.reject(new SignalboxError('state/storage', 'The disk is full.'));
  await expect(storage.write(full)).rejects.toThrow('The disk is full.');
  expect(storage.failedSince(Date.now() - 60_000)).toBe(false);
});

it('an engine that can write takes the trouble of one that ended for over', async () => {
  const mark = join(scratch(), 'mark');
  const [one, other] = [new StorageWait(mark), new StorageWait(mark)];
  for (const each of [one, other]) each.begin({ waitMs: 250, onTrouble: () => undefined });
  onTestFinished(() => other.end());
  const full = () => Promise.reject(new SignalboxError('state/storage', 'The disk is full.'));
  await expect(one.write(full)).rejects.toThrow('The disk is full.');
  one.end();
  expect(other.failedSince(Date.now())).toBe(true);
  expect(other.failedSince(Date.now() + 60_000)).toBe(false);
});

it('a database that was away says nothing about records on the disk', async () => {
  for (const [details, hasFailed] of [
    [{ isDatabase: true }, false],
    [{}, true],
  ] as const) {
    const storage = new StorageWait(join(scratch(), 'mark'));
    storage.begin({ waitMs: 60_000, onTrouble: () => undefined });
    onTestFinished(() => storage.end());
    const before = Date.now() - 1000;
    let tries = 0;
    await storage.write(() => {
      tries += 1;
      if (tries > 1) expect(storage.failedSince(before)).toBe(hasFailed);
      if (tries < 3) throw new SignalboxError('state/storage', 'Away.', { details });
    });
    expect(storage.failedSince(before)).toBe(hasFailed);
  }
});
