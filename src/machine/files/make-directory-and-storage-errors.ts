import { existsSync, lstatSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SignalboxError } from '../../model/errors.ts';

/**
 * Creates a directory and its parents, for its owner alone unless another mode is given. One by one: with `recursive`, Node
 * reports "no such file" on a read-only file system, and never returns in `/proc`.
 */
export function makeDirectory(path: string, mode = 0o700): void {
  const missing: string[] = [];
  for (let at = path; !existsSync(at); at = dirname(at)) missing.push(at);
  for (const dir of missing.reverse()) makeOne(dir, path, mode);
}

function makeOne(dir: string, wanted: string, mode: number): void {
  try {
    mkdirSync(dir, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Another process created it first.
    if (code === 'EEXIST' && existsSync(dir)) return;
    if (code === 'EEXIST' && lstatSync(dir).isSymbolicLink())
      throw cannotCreate(wanted, `${dir} is a link that leads nowhere`, error);
    if (code === 'ENOENT') throw cannotCreate(wanted, `${dirname(dir)} takes no directories`, error);
    throw error;
  }
}

function cannotCreate(path: string, why: string, cause: unknown): SignalboxError {
  return new SignalboxError('state/storage', `Cannot create the directory ${path}: ${why}.`, {
    hint: 'Fix that, or choose another place.',
    details: { path },
    cause,
  });
}

const REASONS: Record<string, string> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the limit on file sizes is reached',
  EROFS: 'it is on a read-only file system',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EMFILE: 'too many files are open',
  ENFILE: 'too many files are open',
};

/** Whether the permission to write is missing. */
export function isForbidden(error: unknown): boolean {
  return ['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '');
}

/** What could not be written, and the setting that names another place for it. */
interface Place {
  name: string;
  setting: string;
}

const STATE: Place = { name: 'the state directory', setting: 'stateDir' };

/** Whether an error says that nothing can be written: a full or read-only disk, missing rights, no file left to open. */
export function isStorageTrouble(error: unknown): boolean {
  return Object.hasOwn(REASONS, (error as NodeJS.ErrnoException).code ?? '');
}

/** The same for an error that `asStorageError` has explained. */
export function isStorageError(error: unknown): error is SignalboxError {
  return error instanceof SignalboxError && error.code === 'state/storage';
}

/** Explains a full or read-only disk; returns any other error as it is. */
export function asStorageError(error: unknown, root: string, { name, setting } = STATE): unknown {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  const reason = REASONS[code];
  if (!reason) return error;
  return new SignalboxError('state/storage', `Cannot write ${name} ${root}: ${reason}.`, {
    hint: `The previous state is intact. ${wayOut(code, setting)}, then start again.`,
    details: { path: root },
    cause: error,
  });
}

const shortOfFiles = (error: unknown) =>
  ['EMFILE', 'ENFILE'].includes((error as NodeJS.ErrnoException).code ?? '');

function wayOut(code: string, setting: string): string {
  if (code.endsWith('FILE')) return 'Raise the limit on open files (ulimit -n) or close other programs';
  const way = ['EROFS', 'EACCES', 'EPERM'].includes(code) ? 'Make it writable' : 'Make room';
  return `${way} or choose another ${setting}`;
}

/** Explains a write that failed inside a directory; returns any other error as it is. */
export function asStorageErrorIn(error: unknown, root: string): unknown {
  const { path } = error as NodeJS.ErrnoException;
  // Without a file to open, reading fails as well.
  return path?.startsWith(`${root}/`) && !shortOfFiles(error) ? asStorageError(error, root) : error;
}

/** Creates a missing directory, and throws if nothing can be written to it. Leaves no file behind. */
export function assertWritable(dir: string, place: Place = STATE): void {
  const file = join(dir, `.${process.pid}.tmp`);
  try {
    makeDirectory(dir);
    try {
      // Writes a whole block: an empty file may still fit on a full disk.
      writeFileSync(file, Buffer.alloc(4096), { mode: 0o600 });
    } finally {
      rmSync(file, { force: true });
    }
  } catch (error) {
    throw asStorageError(error, dir, place);
  }
}
