import { existsSync, lstatSync, readdirSync, realpathSync, renameSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { overwrite } from '../machine/files/atomic.ts';
import { statOf } from '../machine/files/regular.ts';
import type { Place } from './git.ts';
import { isOid, readText } from './refs.ts';

/** Where HEAD is: on a branch, or detached at a commit. */
export interface Head {
  branch: string | undefined;
  oid: string | undefined;
}

/** A linked worktree as its files describe it. `at` is what git calls need. */
export interface Worktree {
  path: string;
  adminDir: string;
  commonDir: string;
  head: Head;
  /** Where git believes it to be; differs from `path` after an unfinished move. */
  registeredAt: string;
  at: Place;
}

export type Found =
  | { kind: 'absent' | 'empty' | 'file' | 'symlink' | 'directory' | 'checkout' }
  | { kind: 'worktree'; worktree: Worktree };

/** Says what is at a path, by reading files alone. */
export function inspect(path: string): Found {
  const stat = statOf(path);
  if (!stat) return { kind: 'absent' };
  if (stat.isSymbolicLink()) return { kind: 'symlink' };
  if (!stat.isDirectory()) return { kind: 'file' };
  const dotGit = lstatSync(join(path, '.git'), { throwIfNoEntry: false });
  if (dotGit?.isDirectory()) return { kind: 'checkout' };
  const worktree = dotGit?.isFile() ? readWorktree(path) : undefined;
  if (worktree) return { kind: 'worktree', worktree };
  return { kind: isVoid(path) ? 'empty' : 'directory' };
}

/** Nothing is in it, or no more than the beginning of a pointer that could not be written. */
function isVoid(path: string): boolean {
  const [first, ...more] = readdirSync(path);
  if (first === undefined) return true;
  const stat = first === '.git' && more.length === 0 ? lstatSync(join(path, first)) : undefined;
  return stat?.isFile() === true && stat.size === 0;
}

function readWorktree(path: string): Worktree | undefined {
  const link = /^gitdir: (.+)$/.exec(readText(join(path, '.git')) ?? '')?.[1];
  const adminDir = link === undefined ? undefined : realOf(resolve(path, link));
  if (adminDir === undefined) return undefined;
  const back = readText(join(adminDir, 'gitdir'));
  const common = readText(join(adminDir, 'commondir'));
  if (back === undefined || common === undefined) return undefined;
  const commonDir = common === '../..' ? dirname(dirname(adminDir)) : realOf(resolve(adminDir, common));
  if (commonDir === undefined) return undefined;
  const real = realpathSync.native(path);
  const registeredAt = dirname(resolve(adminDir, back));
  return {
    path: real,
    adminDir,
    commonDir,
    head: readHead(adminDir),
    registeredAt: registeredAt === real ? real : (realOf(registeredAt) ?? registeredAt),
    at: { gitDir: adminDir, workTree: real },
  };
}

function realOf(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}

export function readHead(gitDir: string): Head {
  const text = readText(join(gitDir, 'HEAD')) ?? '';
  const branch = /^ref: refs\/heads\/(.+)$/.exec(text)?.[1];
  return { branch, oid: isOid(text) ? text : undefined };
}

/** Sets HEAD of a worktree that nobody works in. Only where refs are files. */
export function writeHead(gitDir: string, value: string): void {
  overwrite(join(gitDir, 'HEAD'), `${value}\n`);
}

/** An entry of git's list of linked worktrees, whether or not its directory is still there. */
export interface Entry {
  path: string;
  adminDir: string;
  head: Head;
}

export function listEntries(commonDir: string): Entry[] {
  const root = join(commonDir, 'worktrees');
  if (!existsSync(root)) return [];
  return readdirSync(root).flatMap((id) => {
    const adminDir = join(root, id);
    const back = readText(join(adminDir, 'gitdir'));
    if (back === undefined) return [];
    return [{ path: dirname(resolve(adminDir, back)), adminDir, head: readHead(adminDir) }];
  });
}

/** Where a branch is checked out, a rebase or bisect of it included; undefined when nowhere. */
export function checkedOutAt(commonDir: string, branch: string): Entry | undefined {
  const main = basename(commonDir) === '.git' ? dirname(commonDir) : commonDir;
  const all = [{ path: main, adminDir: commonDir, head: readHead(commonDir) }, ...listEntries(commonDir)];
  return all.find(
    ({ adminDir, head }) => head.branch === branch || (head.oid && isBusyWith(adminDir, branch)),
  );
}

function isBusyWith(adminDir: string, branch: string): boolean {
  return ['rebase-merge/head-name', 'rebase-apply/head-name', 'BISECT_START'].some((file) => {
    const text = readText(join(adminDir, file));
    return text === branch || text === `refs/heads/${branch}`;
  });
}

/** True when both pointers are plain absolute paths, so that a rename and one small write move the worktree. */
export function isPlain(worktree: Worktree): boolean {
  const link = /^gitdir: (.+)$/.exec(readText(join(worktree.path, '.git')) ?? '')?.[1] ?? '';
  return isAbsolute(link) && isAbsolute(readText(join(worktree.adminDir, 'gitdir')) ?? '');
}

/** Moves a worktree by renaming its directory and telling git's entry. */
export function renameWorktree(worktree: Worktree, path: string): Worktree {
  renameSync(worktree.path, path);
  return register(worktree, path);
}

/** Makes git's entry say that the worktree is at `path`. */
export function register(worktree: Worktree, path: string): Worktree {
  overwrite(join(worktree.adminDir, 'gitdir'), `${join(path, '.git')}\n`);
  return { ...worktree, path, registeredAt: path, at: { gitDir: worktree.adminDir, workTree: path } };
}
