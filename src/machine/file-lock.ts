import { unlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { HeldError } from '../model/errors.ts';
import { requireId } from '../model/ids-and-branch-names.ts';
import {
  asStorageError,
  makeDirectory,
  writeSmallFile,
} from './files/make-directory-and-handle-storage-errors.ts';
import { readJson, statIfVisible, unlessCode } from './files/read-and-remove-files.ts';
import { isAlive, ownIdentity, type ProcessIdentity } from './process-identity-and-signals.ts';

const queues = new Map<string, Promise<unknown>>();

export interface LockOptions {
  /** Give up after this long; the error names the holder. */
  timeoutMs?: number;
  /** Aborting ends the wait with the signal's reason; what already holds the lock runs to its end. */
  signal?: AbortSignal | undefined;
}

/**
 * Runs `fn` while this process alone holds the lock file: first come, first served inside the process,
 * an exclusive file between processes. A lock whose holder is dead is taken over.
 */
export async function withLock<T>(
  path: string,
  fn: () => T | Promise<T>,
  options: LockOptions = {},
): Promise<T> {
  const before = queues.get(path);
  let done = (): void => undefined;
  const turn = new Promise<void>((resolve) => {
    done = resolve;
  });
  const tail = before ? before.then(() => turn) : turn;
  queues.set(path, tail);
  try {
    if (before) await untilAborted(before, options.signal);
    await acquire(path, options);
    try {
      return await fn();
    } finally {
      remove(path);
    }
  } finally {
    done();
    if (queues.get(path) === tail) queues.delete(path);
  }
}

/** The file of a lock in a state directory. `name` is an id, or `plan+ticket`. */
export function stateLock(stateDir: string, name: string): string {
  for (const part of name.split('+')) requireId(part, 'lock');
  return join(stateDir, 'locks', `${name}.lock`);
}

/** Runs `fn` while this process alone holds that lock; explains a full or read-only disk. */
export async function withStateLock<T>(stateDir: string, name: string, fn: () => T | Promise<T>): Promise<T> {
  const lock = stateLock(stateDir, name);
  try {
    makeDirectory(dirname(lock));
    return await withLock(lock, fn);
  } catch (error) {
    throw asStorageError(error, stateDir);
  }
}

/** Waits for a promise that never rejects, or rejects at once when the wait is aborted. */
function untilAborted(wait: Promise<unknown>, signal: AbortSignal | undefined): Promise<unknown> {
  if (!signal) return wait;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    wait.then(resolve).finally(() => signal.removeEventListener('abort', abort));
  });
}

async function acquire(path: string, { timeoutMs = 10_000, signal }: LockOptions): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (let wait = 1; !tryCreate(path); wait = Math.min(wait * 2, 50)) {
    signal?.throwIfAborted();
    if (breakStale(path)) continue;
    if (performance.now() > deadline) {
      const holder = readJson<ProcessIdentity>(path);
      const who = holder ? `pid ${holder.pid} on ${holder.host}` : 'an unknown process';
      throw new HeldError('lock/held', `${path} is locked by ${who}.`, {
        hint: `If that process is gone for good, delete ${path}.`,
        details: { holder, path },
      });
    }
    await delay(wait);
  }
}

function tryCreate(path: string): boolean {
  try {
    writeSmallFile(path, JSON.stringify(ownIdentity()), 'wx');
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    // Created but not written, as on a full disk: no process holds it. One that could not be opened may be another's.
    if ((error as NodeJS.ErrnoException).syscall !== 'open') remove(path);
    throw error;
  }
}

/** Every write calls this, and `rmSync` is several times slower. */
function remove(path: string): void {
  unlessCode(['ENOENT'], () => unlinkSync(path));
}

/** Removes a dead holder's lock. Only the holder of the second file may do so, after another check. */
function breakStale(path: string): boolean {
  if (!isStale(path)) return false;
  const breaker = `${path}.break`;
  if (!tryCreate(breaker)) {
    if (olderThan(breaker, 5_000)) remove(breaker);
    return false;
  }
  try {
    if (!isStale(path)) return false;
    remove(path);
    return true;
  } finally {
    remove(breaker);
  }
}

function isStale(path: string): boolean {
  const holder = readJson<ProcessIdentity>(path);
  // An empty or torn lock file was left by a crash between create and write, or is being written right now.
  if (!holder) return olderThan(path, 2_000);
  const alive = isAlive(holder);
  return alive === undefined ? olderThan(path, 60_000) : !alive;
}

function olderThan(path: string, ms: number): boolean {
  const stat = statIfVisible(path);
  return stat !== undefined && Date.now() - stat.mtimeMs > ms;
}
