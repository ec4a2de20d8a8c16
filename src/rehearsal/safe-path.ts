import { lstatSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, normalize, relative, sep } from 'node:path';
import { InputError } from '../model/errors.ts';

/** True when a path, as written, is no file below the directory it is relative to. */
export function escapes(path: string): boolean {
  if (path === '' || path.includes('\0') || path.endsWith('/') || isAbsolute(path)) return true;
  const parts = normalize(path).split(sep);
  return parts[0] === '..' || parts[0] === '.' || parts.some((part) => part.toLowerCase() === '.git');
}

/** The absolute path of a file to write below `cwd`, or an error when it or a link on the way leads out. */
export function safePath(cwd: string, path: string): string {
  if (escapes(path)) throw outside(path);
  const root = realpathSync(cwd);
  const target = join(root, path);
  let existing = target;
  while (!lstatSync(existing, { throwIfNoEntry: false })) existing = dirname(existing);
  const inside = relative(root, realTarget(existing, path));
  if (inside !== '' && escapes(inside)) throw outside(path);
  return target;
}

/** A link to nothing is refused: writing through it would make a file wherever it points. */
function realTarget(existing: string, path: string): string {
  try {
    return realpathSync(existing);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw outside(path);
    throw error;
  }
}

function outside(path: string): InputError {
  return new InputError('rehearsal/path', `The path ${JSON.stringify(path)} leads out of the worktree.`, {
    hint: 'Write only below the working directory, and not into .git.',
  });
}
