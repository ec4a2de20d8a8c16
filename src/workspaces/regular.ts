import { closeSync, constants, type Dirent, fstatSync, openSync, readFileSync, statSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

const LARGEST = 256 * 1024 * 1024;
const MOST_ENTRIES = 200_000;

/**
 * The content of a file that an agent may have put there, or undefined when there is no regular file: opening a named
 * pipe would wait for ever, and a device has no end.
 */
export function readRegular(path: string): Buffer | undefined {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'ENOTDIR', 'EISDIR', 'ENXIO', 'ELOOP'].includes(code ?? '')) return undefined;
    throw error;
  }
  try {
    const stat = fstatSync(fd);
    return stat.isFile() && stat.size <= LARGEST ? readFileSync(fd) : undefined;
  } finally {
    closeSync(fd);
  }
}

/**
 * The first entry of a git directory that git would wait for: neither file nor directory. A link is one of them, too,
 * unless links may lead to what is not.
 */
export async function oddEntry(root: string, links: 'odd' | 'followed' = 'odd'): Promise<string | undefined> {
  let left = MOST_ENTRIES;
  const look = async (below: string): Promise<string | undefined> => {
    for (const entry of await entriesOf(join(root, below))) {
      const name = join(below, entry.name);
      left -= 1;
      if (left < 0) return name;
      if (!entry.isDirectory() && !entry.isFile() && !(links === 'followed' && leadsOn(root, name)))
        return name;
      const found = entry.isDirectory() ? await look(name) : undefined;
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return look('');
}

function leadsOn(root: string, name: string): boolean {
  try {
    const stat = statSync(join(root, name));
    return stat.isFile() || stat.isDirectory();
  } catch {
    // It leads nowhere, and so does git.
    return true;
  }
}

/** Removes named pipes, sockets and devices below a directory. They hold nothing, and whoever made them has ended. */
export async function removeSpecial(root: string): Promise<void> {
  for (const entry of await entriesOf(root)) {
    const path = join(root, entry.name);
    if (entry.isDirectory()) await removeSpecial(path);
    else if (!entry.isFile() && !entry.isSymbolicLink()) await rm(path, { force: true });
  }
}

/** What cannot be read by us cannot be read by our git either. */
async function entriesOf(path: string): Promise<Dirent[]> {
  try {
    return await readdir(path, { withFileTypes: true });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'ENOTDIR', 'EACCES'].includes(code ?? '')) return [];
    throw error;
  }
}
