import {
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  type Stats,
  statSync,
} from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

const LARGEST = 256 * 1024 * 1024;
const MOST_ENTRIES = 200_000;
/** So much of a name that is too long. */
const SHOWN = 40;

/** Below a file there is nothing. */
export function statOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return undefined;
    throw error;
  }
}

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
    if (['ENOENT', 'ENOTDIR', 'EISDIR', 'ENXIO', 'ELOOP', 'EPERM', 'ENAMETOOLONG'].includes(code ?? ''))
      return undefined;
    throw error;
  }
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile() || stat.size > LARGEST) return undefined;
    // No more than it says: files of /proc say that they are empty, and some have no end.
    const content = Buffer.allocUnsafe(stat.size);
    return content.subarray(0, readSync(fd, content, 0, stat.size, 0));
  } finally {
    closeSync(fd);
  }
}

/**
 * The first entry of a git directory that git would wait for: neither file nor directory. A link is one of them, too,
 * unless links may lead to what is not; and a directory that lies too deep for a path.
 */
export async function oddEntry(root: string, links: 'odd' | 'followed' = 'odd'): Promise<string | undefined> {
  let left = MOST_ENTRIES;
  const look = async (below: string): Promise<string | undefined> => {
    const entries = await entriesOf(join(root, below));
    if (entries === null) return `${below.slice(0, SHOWN)}…`;
    for (const entry of entries) {
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
  for (const entry of (await entriesOf(root)) ?? []) {
    const path = join(root, entry.name);
    if (entry.isDirectory()) await removeSpecial(path);
    else if (!entry.isFile() && !entry.isSymbolicLink()) await rm(path, { force: true });
  }
}

/** What cannot be read by us cannot be read by our git either. Null: no path leads there. */
async function entriesOf(path: string): Promise<Dirent[] | null> {
  try {
    return await readdir(path, { withFileTypes: true });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENAMETOOLONG') return null;
    if (['ENOENT', 'ENOTDIR', 'EACCES'].includes(code ?? '')) return [];
    throw error;
  }
}
