import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/** Makes a directory, and those above it, for its owner alone. */
export function makeDirectory(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    // Making several at once, Node says so of a read-only file system too; making the first one alone tells the truth.
    let first = path;
    while (!existsSync(dirname(first))) first = dirname(first);
    mkdirSync(first, { mode: 0o700 });
    mkdirSync(path, { recursive: true, mode: 0o700 });
  }
}
