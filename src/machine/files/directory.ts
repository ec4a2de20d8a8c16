import { existsSync, lstatSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { SignalboxError } from '../../model/errors.ts';

/**
 * Makes a directory, and those above it, for its owner alone unless another mode is given. One after the other: making
 * several at once, Node says "no such file" of a read-only file system, and never comes to an end in `/proc`.
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
    // Somebody else was quicker.
    if (code === 'EEXIST' && existsSync(dir)) return;
    if (code === 'EEXIST' && lstatSync(dir).isSymbolicLink())
      throw unmakeable(wanted, `${dir} is a link that leads nowhere`, error);
    if (code === 'ENOENT') throw unmakeable(wanted, `${dirname(dir)} takes no directories`, error);
    throw error;
  }
}

function unmakeable(path: string, why: string, cause: unknown): SignalboxError {
  return new SignalboxError('state/storage', `The directory ${path} cannot be made: ${why}.`, {
    hint: 'Put that right, or choose another place.',
    details: { path },
    cause,
  });
}
