import { existsSync, mkdirSync, readdirSync, realpathSync, rmdirSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, sep } from 'node:path';
import { commonDirOf, type Repo } from '../git/repository.ts';
import { type Found, inspect } from '../git/worktrees.ts';
import { WorkspaceError } from '../model/errors.ts';
import { branchProblem } from '../model/ids.ts';
import { readOwner } from './owner.ts';

export const slotsOf = (worktreeRoot: string) => join(worktreeRoot, '.slots');

export function isInside(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory + sep);
}

export function checkBranch(branch: string, what = 'branch'): void {
  const problem = branchProblem(branch);
  if (problem)
    throw new WorkspaceError(
      'workspace/branch-name',
      `The ${what} ${JSON.stringify(branch.slice(0, 60))} ${problem}.`,
      {
        hint: 'Choose a name that git accepts, such as feature/12-short-title.',
        details: { branch },
      },
    );
}

/** Makes a directory and those above it. One by one: asked for all, Node tries for ever where none can be made. */
export function makePath(path: string): void {
  if (existsSync(path)) return;
  makePath(dirname(path));
  try {
    mkdirSync(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return;
    throw new WorkspaceError('workspace/no-place', `The directory ${path} cannot be made: ${message}.`, {
      hint: 'Set `worktreeRoot` of the plan or the settings to a place that you can write to.',
      details: { path },
    });
  }
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

/** Refuses a workspace in a checkout of the repository, in its git directory, in another ticket's worktree or among the slots. */
export function refuseInside(repo: Repo, path: string, worktreeRoot: string): void {
  refuseBelowFile(path, worktreeRoot);
  const around = checkoutsAround(path);
  const inside =
    isInside(path, repo.workTree) ||
    isInside(path, repo.commonDir) ||
    around.some((checkout) => commonDirOf(checkout) === repo.commonDir);
  for (const checkout of inside ? [] : around) {
    const found = inspect(checkout);
    const owner = found.kind === 'worktree' ? readOwner(found.worktree.adminDir) : undefined;
    if (owner) throw pathTaken(path, `${checkout}, the worktree of ${owner.owner}`);
  }
  if (inside)
    throw new WorkspaceError(
      'workspace/inside-checkout',
      `The worktree path ${path} lies inside a checkout of its own repository.`,
      {
        hint: 'Set `worktreeRoot` of the plan or `worktree` of the ticket to a place outside it.',
        details: { path, repo: repo.workTree },
      },
    );
  if (isInside(path, slotsOf(worktreeRoot)))
    throw new WorkspaceError(
      'workspace/inside-slots',
      `The worktree path ${path} is reserved for reused worktrees.`,
      {
        hint: 'Set `worktree` of the ticket to another place.',
        details: { path },
      },
    );
}

/** Refuses a path of which a part that has to be a directory is something else. */
function refuseBelowFile(path: string, worktreeRoot: string): void {
  let above = dirname(path);
  while (!existsSync(above)) above = dirname(above);
  if (statSync(above).isDirectory()) return;
  const field = isInside(worktreeRoot, above) && isInside(path, worktreeRoot) ? 'worktreeRoot' : 'worktree';
  const whose = field === 'worktreeRoot' ? 'the plan or the settings' : 'the ticket';
  throw new WorkspaceError(
    'workspace/below-file',
    `The worktree path ${path} cannot be: ${above} is not a directory.`,
    {
      hint: `Move ${above} away, or set \`${field}\` of ${whose} to another place.`,
      details: { path, above, field },
    },
  );
}

/** The directories above a path that have a `.git`. */
function checkoutsAround(path: string): string[] {
  const found: string[] = [];
  for (let at = dirname(path); ; at = dirname(at)) {
    if (existsSync(join(at, '.git'))) found.push(at);
    if (dirname(at) === at) return found;
  }
}

const WHAT: Record<Exclude<Found['kind'], 'absent' | 'worktree'>, string> = {
  empty: 'an empty directory',
  file: 'a file',
  symlink: 'a symbolic link',
  directory: 'a directory with other content',
  checkout: 'another git repository',
};

export function pathTaken(path: string, what: Found['kind'] | string, hint?: string): WorkspaceError {
  const said = what in WHAT ? WHAT[what as keyof typeof WHAT] : what;
  return new WorkspaceError('workspace/path-taken', `The worktree path ${path} is taken by ${said}.`, {
    hint:
      hint ?? 'Move it away, or set `worktree` of the ticket or the setting `worktreeRoot` to another place.',
    details: { path, what: said },
  });
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
