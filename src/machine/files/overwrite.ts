import { closeSync, fstatSync, openSync, writeSync } from 'node:fs';

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
