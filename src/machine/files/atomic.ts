import {
  closeSync,
  fstatSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';

let counter = 0;

/**
 * Replaces a file so that a reader sees the old or the new text and a crash keeps one of them:
 * temporary file, fsync, rename, fsync of the directory. Synchronous on purpose: half a millisecond,
 * and a thread-pool round trip costs more than the write.
 */
export function writeAtomic(path: string, text: string, mode = 0o600): void {
  const temporary = `${path}.${process.pid}.${++counter}.tmp`;
  try {
    // Not exclusively: a process of the same number, before a restart, may have left one behind.
    const fd = openSync(temporary, 'w', mode);
    try {
      // Writes on until everything is written; a single write call stops short on a disk that is nearly full.
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

/**
 * Replaces the text of a small existing file in one write, padded with newlines to its old length, so that
 * neither a reader nor a crash finds half of it. A new file and a rename would cost up to ten times as much.
 */
export function overwrite(path: string, text: string): void {
  const fd = openSync(path, 'r+');
  try {
    const bytes = Buffer.from(text);
    const padding = Math.max(0, fstatSync(fd).size - bytes.length);
    writeSync(fd, Buffer.concat([bytes, Buffer.alloc(padding, '\n')]), 0, undefined, 0);
  } finally {
    closeSync(fd);
  }
}
