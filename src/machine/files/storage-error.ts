import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SignalboxError } from '../../model/errors.ts';
import { makeDirectory } from './directory.ts';

const REASONS: Record<string, string> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the limit on file sizes is reached',
  EROFS: 'it is on a read-only file system',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
};

/** More room would not help. */
const FORBIDDEN = new Set(['EROFS', 'EACCES', 'EPERM']);

/** What could not be written, and the setting that names another place for it. */
export interface Place {
  name: string;
  setting: string;
}

const STATE: Place = { name: 'the state directory', setting: 'stateDir' };

/** A full or read-only disk told as such; any other error as it is. */
export function asStorageError(error: unknown, root: string, { name, setting } = STATE): unknown {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  const reason = REASONS[code];
  if (!reason) return error;
  return new SignalboxError('state/storage', `Cannot write ${name} ${root}: ${reason}.`, {
    hint: `The previous state is intact. ${FORBIDDEN.has(code) ? 'Make it writable' : 'Make room'} or choose another ${setting}, then start again.`,
    details: { path: root },
    cause: error,
  });
}

/** Throws when nothing can be written to a directory, which is made where it is missing. Leaves nothing behind. */
export function assertWritable(dir: string, place: Place = STATE): void {
  const file = join(dir, `.${process.pid}.tmp`);
  try {
    makeDirectory(dir);
    try {
      // As much as a disk gives at once: a name alone may still find room on a full one.
      writeFileSync(file, Buffer.alloc(4096), { mode: 0o600 });
    } finally {
      rmSync(file, { force: true });
    }
  } catch (error) {
    throw asStorageError(error, dir, place);
  }
}
