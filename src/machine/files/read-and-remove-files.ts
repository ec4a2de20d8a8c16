import type { Dirent, Stats } from 'node:fs';
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs';
import { type FileHandle, open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { InputError, shortageOf, WorkspaceError } from '../../model/errors.ts';
import { parseJson } from '../../model/text/parse-json-and-find-places.ts';
import { run } from '../run-process.ts';

const LARGEST = 256 * 1024 * 1024;
const MAX_ENTRIES = 200_000;
/** Characters shown of a name that is too long. */
const SHOWN_NAME_CHARS = 40;

/** The result of `look`; undefined where that fails with one of these error codes. */
export function unlessCode<T>(codes: readonly string[], look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (codes.includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}

/** The same for any error: what is looked at may be gone, or hidden from this user. */
export function ifPossible<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}

/** The first of these numbered paths that does not exist. */
export function firstFree(pathOf: (number: number) => string, from = 1): string {
  let number = from;
  while (existsSync(pathOf(number))) number += 1;
  return pathOf(number);
}

/** The stat of a path; undefined if it does not exist, also below a file. */
export function statOf(path: string): Stats | undefined {
  return unlessCode(['ENOTDIR'], () => lstatSync(path, { throwIfNoEntry: false }));
}

/** The stat of a file; undefined if it does not exist or access is denied. */
export function statIfVisible(file: string): Stats | undefined {
  return ifPossible(() => statSync(file, { throwIfNoEntry: false }));
}

export function realOf(path: string): string | undefined {
  return ifPossible(() => realpathSync.native(path));
}

export function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

/** The text of one of Signalbox's own files; undefined if it cannot be read. Throws when no file can be opened at the moment. */
export function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (shortageOf(error)) throw error;
    return undefined;
  }
}

/** The same as JSON; undefined also while it is being written. */
export function readJson<T>(path: string): T | undefined {
  return parseJson(readText(path) ?? '') as T | undefined;
}

/** Opens a file for reading. Opening a named pipe in the usual way would wait until a process writes to it. */
export function withOpened<T>(path: string, use: (fd: number, stat: Stats) => T): T {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return use(fd, fstatSync(fd));
  } finally {
    closeSync(fd);
  }
}

const NOT_A_FILE = ['ENOENT', 'ENOTDIR', 'EISDIR', 'ENXIO', 'ELOOP', 'EPERM', 'ENAMETOOLONG'];

/** The content of a file that an agent may have made; undefined when it is no regular file: a device has no end. */
export function readRegular(path: string): Buffer | undefined {
  const read = (fd: number, stat: Stats) => {
    if (!stat.isFile() || stat.size > LARGEST) return undefined;
    // Reads at most its size: files in /proc have size 0, and some never end.
    const content = Buffer.allocUnsafe(stat.size);
    return content.subarray(0, readSync(fd, content, 0, stat.size, 0));
  };
  return unlessCode(NOT_A_FILE, () => withOpened(path, read));
}

/** The same as trimmed text. */
export function readRegularText(path: string): string | undefined {
  return readRegular(path)?.toString('utf8').trim();
}

/**
 * The first entry of a git directory that git would wait for: neither file nor directory. A link is one of them, too,
 * unless links may lead to what is not; and a directory that is too deep for a path.
 */
export async function findUnreadableEntry(
  root: string,
  links: 'odd' | 'followed' = 'odd',
): Promise<string | undefined> {
  let left = MAX_ENTRIES;
  const search = async (below: string): Promise<string | undefined> => {
    const entries = await entriesOf(join(root, below));
    if (entries === null) return `${below.slice(0, SHOWN_NAME_CHARS)}…`;
    for (const entry of entries) {
      const name = join(below, entry.name);
      left -= 1;
      if (left < 0) return name;
      if (!entry.isDirectory() && !entry.isFile() && !(links === 'followed' && leadsOn(root, name)))
        return name;
      const found = entry.isDirectory() ? await search(name) : undefined;
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return search('');
}

function leadsOn(root: string, name: string): boolean {
  const stat = ifPossible(() => statSync(join(root, name)));
  // Git ignores a broken link.
  return !stat || stat.isFile() || stat.isDirectory();
}

/** Removes named pipes, sockets and devices below a directory. They hold nothing, and the process that made them has ended. */
export async function removeSpecial(root: string): Promise<void> {
  for (const entry of (await entriesOf(root)) ?? []) {
    const path = join(root, entry.name);
    if (entry.isDirectory()) await removeSpecial(path);
    else if (!entry.isFile() && !entry.isSymbolicLink()) await rm(path, { force: true });
  }
}

/** Entries of a directory; none if it cannot be read, since git cannot read it either. Null: the path is too long. */
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

/**
 * Removes directory trees that an agent may have filled without limit, or nested deeper than a path allows. A separate process
 * does it while the engine continues.
 */
export async function removeTree(...paths: readonly string[]): Promise<void> {
  const directories = paths.filter((path) => {
    const stat = statOf(path);
    if (stat && !stat.isDirectory()) rmSync(path, { force: true });
    return stat?.isDirectory();
  });
  if (directories.length === 0) return;
  const { code, stderr, error } = await run('rm', ['-rf', '--', ...directories], { timeoutMs: null });
  if (code === 0) return;
  const reason = error?.message ?? (stderr.trim().split('\n')[0] || 'rm was killed');
  throw new WorkspaceError('workspace/sandbox', `What an agent left cannot be removed: ${reason}.`, {
    hint: `Remove ${directories.join(' ')}.`,
  });
}

const MAX_FILE = 4 * 1024 * 1024;

interface Purpose {
  /** The error code if the file cannot be used. */
  code: string;
  /** What it is to an agent: "an issue". */
  what: string;
}

/** Reads a text that a person wrote for an agent: UTF-8, limited in size, byte order mark kept. */
export async function readTextFile(path: string, purpose: Purpose): Promise<string> {
  const unreadable = (why: string, hint: string, cause?: unknown) =>
    new InputError(purpose.code, `${path} ${why}.`, { hint, cause, details: { file: path } });
  let bytes: Uint8Array;
  try {
    bytes = await readBytes(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code ?? 'unknown error'})`;
    throw unreadable(why, `Check it: ls -l ${path}`, error);
  }
  if (bytes.length > MAX_FILE)
    throw unreadable('is larger than 4 MB', `Shorten it: ${purpose.what} is what an agent has to read.`);
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    if (!text.includes('\0')) return text;
  } catch (error) {
    throw unreadable('is not UTF-8 text', 'Save it as UTF-8.', error);
  }
  throw unreadable('is not a text file', 'Name a Markdown file.');
}

async function readBytes(path: string): Promise<Uint8Array> {
  let file: FileHandle | undefined;
  try {
    file = await open(path);
    const { size } = await file.stat();
    const buffer = Buffer.alloc(Math.min(size, MAX_FILE) + 1);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file?.close();
  }
}

/** The text of one of Signalbox's own files; empty if it does not exist. */
export function readOrEmpty(file: string): string {
  return unlessCode(['ENOENT'], () => readFileSync(file, 'utf8')) ?? '';
}

/** Reads a file from an offset to its end, and returns where that is. */
export function readFrom(file: string, start: number, take: (chunk: Buffer) => void): number {
  if (!statSync(file, { throwIfNoEntry: false })) return start;
  const fd = openSync(file, 'r');
  try {
    const buffer = Buffer.alloc(64 * 1024);
    for (let offset = start; ; ) {
      const count = readSync(fd, buffer, 0, buffer.length, offset);
      if (count === 0) return offset;
      offset += count;
      take(buffer.subarray(0, count));
    }
  } finally {
    closeSync(fd);
  }
}
