import { existsSync, mkdirSync, readdirSync, realpathSync, rmdirSync } from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { isInside } from '../machine/paths-and-user-home.ts';
import { messageOf, WorkspaceError } from '../model/errors.ts';

/** Where the free warm worktrees of a root are. */
export const warmRoot = (worktreeRoot: string) => join(worktreeRoot, '.slots');

/** Creates a directory and its parents one by one: with `recursive`, Node never returns if one cannot be created. */
export function makePath(path: string): void {
  if (existsSync(path)) return;
  makePath(dirname(path));
  try {
    mkdirSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return;
    throw noPlace(path, 'create', error);
  }
}

export function noPlace(path: string, verb: string, error: unknown): WorkspaceError {
  const message = `Cannot ${verb} the directory ${path}: ${messageOf(error)}.`;
  return new WorkspaceError('workspace/no-place', message, {
    hint: 'Set `worktreeRoot` of the plan or the settings to a place that you can write to.',
    details: { path },
  });
}

/** An absolute path with the symlinks of everything that exists resolved, but not of its own last part. */
export function canonical(path: string): string {
  if (!isAbsolute(path))
    throw new WorkspaceError('workspace/path-relative', `The path ${path} is not absolute.`);
  const clean = join(path).replace(/(?<=.)\/+$/, '');
  return join(realDirectory(dirname(clean)), basename(clean));
}

/** A directory, existing or not yet, with symlinks resolved. */
export function realDirectory(path: string): string {
  if (existsSync(path)) return realpathSync.native(path);
  return join(realDirectory(dirname(path)), basename(path));
}

/** Removes directories that a moved worktree left empty, up to the root of all worktrees. */
export function removeEmptyParents(path: string, root: string): void {
  for (let at = dirname(path); at !== root && isInside(at, root); at = dirname(at)) {
    if (existsSync(at) && readdirSync(at).length > 0) return;
    try {
      rmdirSync(at);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOTEMPTY' || code === 'EEXIST') return;
      if (code !== 'ENOENT') throw error;
    }
  }
}
