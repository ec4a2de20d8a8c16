import {
  closeSync,
  fsyncSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { parseJson } from '../../model/text/parse-json-and-find-places.ts';
import { asRecord } from '../../model/text/values-of-unknown-type.ts';
import { isAlive, type ProcessIdentity, sendSignal } from '../process-identity-and-signals.ts';
import { makeDirectory } from './make-directory-and-handle-storage-errors.ts';
import { readJson, readOrEmpty, unlessCode } from './read-and-remove-files.ts';

let counter = 0;

/**
 * Replaces a file so that a reader sees the old or the new text and a crash keeps one of them:
 * temporary file, fsync, rename, fsync of the directory. Synchronous on purpose: half a millisecond,
 * and a thread-pool round trip costs more than the write.
 */
export function writeAtomic(path: string, text: string, mode = 0o600): void {
  const temporary = `${path}.${process.pid}.${++counter}.tmp`;
  try {
    // Not exclusive: a process with the same pid, before a restart, may have left the file.
    const fd = openSync(temporary, 'w', mode);
    try {
      // Repeats until everything is written: a single write call may write less on a nearly full disk.
      writeFileSync(fd, text);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  syncDirectory(dirname(path));
}

function syncDirectory(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Reads a small JSON file of values by key; empty if it does not exist. */
export function readFacts(file: string): Record<string, unknown> {
  return asRecord(parseJson(readOrEmpty(file)));
}

/** Sets one value and keeps the newest `most` of all. */
export function noteFact(file: string, key: string, value: object, most = Number.POSITIVE_INFINITY): void {
  makeDirectory(dirname(file));
  const { [key]: _, ...others } = readFacts(file);
  const all = [...Object.entries(others), [key, value]].slice(-most);
  writeAtomic(file, `${JSON.stringify(Object.fromEntries(all), null, 1)}\n`);
}

/**
 * Deletes files in a directory that a process which is gone left half written, or a lock that it was breaking, before a time in
 * milliseconds.
 */
export function removeStray(dir: string, before: number): void {
  const names = unlessCode(['EACCES', 'EPERM', 'ENOENT', 'ENOTDIR'], () => readdirSync(dir)) ?? [];
  for (const name of names) if (isStray(join(dir, name), before)) rmSync(join(dir, name), { force: true });
}

function isStray(path: string, before: number): boolean {
  const [, pid] = /\.(\d+)(?:\.\d+)?\.tmp$/.exec(path) ?? [];
  if (pid === undefined && !path.endsWith('.break')) return false;
  const at = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? before;
  if (at >= before) return false;
  if (pid !== undefined) return !sendSignal(Number(pid), 0);
  const writer = readJson<ProcessIdentity>(path);
  return !writer || isAlive(writer) === false;
}
