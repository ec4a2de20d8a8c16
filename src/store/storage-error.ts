import { SignalboxError } from '../model/errors.ts';

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

/** A full or read-only disk told as such; any other error as it is. */
export function asStorageError(error: unknown, root: string): unknown {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  const reason = REASONS[code];
  if (!reason) return error;
  return new SignalboxError('state/storage', `Cannot write the state directory ${root}: ${reason}.`, {
    hint: `The previous state is intact. ${FORBIDDEN.has(code) ? 'Make it writable' : 'Make room'} or choose another stateDir, then start again.`,
    details: { path: root },
    cause: error,
  });
}
