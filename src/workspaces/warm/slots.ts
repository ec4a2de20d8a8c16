import { existsSync, readdirSync, renameSync, rmdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Context } from '../../git/context.ts';
import { GitError, retryRaces } from '../../git/git.ts';
import { readMarks } from '../../git/index-file.ts';
import { branchRef, hasFileRefs, readRef } from '../../git/refs.ts';
import type { Repo } from '../../git/repository.ts';
import { inspect, isPlain, register, renameWorktree, type Worktree, writeHead } from '../../git/worktrees.ts';
import { WorkspaceError } from '../../model/errors.ts';
import { type Owner, readOwner, writeOwner } from '../owner.ts';
import { makePath, removeEmptyParents, slotsOf } from '../place.ts';
import { holdsUnseen } from '../unique-commits.ts';
import { isPristine } from './pristine.ts';

/** The repository's free worktrees under a root. One being taken when its engine died is as free as before. */
export function listSlots(repo: Repo, worktreeRoot: string): Worktree[] {
  const directory = slotsOf(worktreeRoot);
  return slotNames(directory).flatMap((name) => {
    const found = inspect(join(directory, name));
    return found.kind === 'worktree' && isFree(repo, found.worktree) ? [found.worktree] : [];
  });
}

function slotNames(directory: string): string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory).filter((name) => /^\d+$/.test(name));
}

function isFree(repo: Repo, worktree: Worktree): boolean {
  if (worktree.commonDir !== repo.commonDir) return false;
  if (['locked', 'index.lock', 'HEAD.lock'].some((file) => existsSync(join(worktree.adminDir, file))))
    return false;
  const owner = readOwner(worktree.adminDir);
  return owner?.created === true && (owner.state === 'slot' || owner.state === 'checkout');
}

/** Moves a slot to where the ticket wants it; undefined when there is none that can be moved there. */
export async function takeSlot(
  context: Context,
  repo: Repo,
  spec: { worktreeRoot: string; path: string; owner: Owner },
): Promise<{ worktree: Worktree; caches: boolean; isSlot: boolean } | undefined> {
  for (const slot of listSlots(repo, spec.worktreeRoot)) {
    const caches = readOwner(slot.adminDir)?.caches !== false;
    writeOwner(slot.adminDir, { ...spec.owner, caches });
    const worktree = await moveWorktree(context, repo, slot, spec.path);
    if (worktree) return { worktree, caches, isSlot: true };
  }
  return undefined;
}

/** Worktrees of this repository among the slots, whatever state they are in: several repositories may share a root. */
function countSlots(repo: Repo, directory: string, names: readonly string[]): number {
  return names.filter((name) => {
    const found = inspect(join(directory, name));
    return found.kind === 'worktree' && found.worktree.commonDir === repo.commonDir;
  }).length;
}

/** Puts a worktree among the slots if there is room. */
export async function putSlot(
  context: Context,
  repo: Repo,
  worktree: Worktree,
  spec: { worktreeRoot: string; slots: number },
): Promise<boolean> {
  const directory = slotsOf(spec.worktreeRoot);
  const names = slotNames(directory);
  if (names.length >= spec.slots && countSlots(repo, directory, names) >= spec.slots) return false;
  let number = 0;
  while (existsSync(join(directory, String(number)))) number += 1;
  if (!(await moveWorktree(context, repo, worktree, join(directory, String(number))))) return false;
  removeEmptyParents(worktree.path, spec.worktreeRoot);
  return true;
}

async function moveWorktree(
  context: Context,
  repo: Repo,
  worktree: Worktree,
  path: string,
): Promise<Worktree | undefined> {
  try {
    makePath(dirname(path));
    if (isPlain(worktree)) return renameWorktree(worktree, path);
    if (existsSync(path)) rmdirSync(path);
    await retryRaces(() => context.git(['worktree', 'move', worktree.path, path], { at: repo, write: true }));
    return { ...worktree, path, registeredAt: path, at: { gitDir: worktree.adminDir, workTree: path } };
  } catch (error) {
    // Another file system, or another repository was faster: the caller has a slower way.
    const { code } = error as NodeJS.ErrnoException;
    if (error instanceof GitError || ['EXDEV', 'ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(code ?? ''))
      return undefined;
    throw error;
  }
}

/** Frees the branch: HEAD stays at its commit but no longer names the branch. */
export async function detach(context: Context, worktree: Worktree, commit: string): Promise<void> {
  if (hasFileRefs(worktree.commonDir)) writeHead(worktree.adminDir, commit);
  else await context.git(['update-ref', '--no-deref', 'HEAD', commit], { at: worktree.at, write: true });
}

export async function attach(context: Context, worktree: Worktree, branch: string): Promise<void> {
  if (hasFileRefs(worktree.commonDir)) writeHead(worktree.adminDir, `ref: ${branchRef(branch)}`);
  else await context.git(['symbolic-ref', 'HEAD', branchRef(branch)], { at: worktree.at, write: true });
}

/** Refuses a slot that somebody has made different from a new worktree since it was given back. */
export async function checkSlot(context: Context, worktree: Worktree): Promise<void> {
  const { assumed, skipped } = await readMarks(context.git, worktree.at);
  if (assumed.length + skipped.length === 0 && isPristine(worktree.adminDir)) return;
  throw new WorkspaceError(
    'workspace/slot-dirty',
    `The reused worktree ${worktree.path} has a state of its own.`,
  );
}

/** Deletes a worktree by git's own rules: git refuses while anything in it is uncommitted. */
export async function removeWorktree(context: Context, repo: Repo, path: string): Promise<void> {
  await retryRaces(() => context.git(['worktree', 'remove', path], { at: repo, write: true }));
}

/** True when some ref holds the commit. */
export async function isReachable(context: Context, repo: Repo, commit: string): Promise<boolean> {
  const args = ['for-each-ref', '--count=1', '--format=%(refname)', `--contains=${commit}`];
  return (await context.git(args, { at: repo })).stdout !== '';
}

/** Gets a slot that could not be used out of the way: deleted, or set aside when it holds something after all. */
export async function discardSlot(
  context: Context,
  repo: Repo,
  worktree: Worktree,
  spec: { worktreeRoot: string; branch: string },
): Promise<string | undefined> {
  try {
    if (!(await holdsUnseen(context, repo, worktree))) {
      await removeWorktree(context, repo, worktree.path);
      return undefined;
    }
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
  }
  const found = inspect(worktree.path);
  const tip = await readRef(context.git, repo, branchRef(spec.branch));
  if (found.kind === 'worktree' && found.worktree.head.branch === spec.branch && tip)
    await detach(context, worktree, tip);
  const aside = freeName(join(slotsOf(spec.worktreeRoot), 'kept'));
  makePath(dirname(aside));
  renameSync(worktree.path, aside);
  if (found.kind === 'worktree') {
    const owner = readOwner(worktree.adminDir);
    if (owner) writeOwner(worktree.adminDir, { ...owner, state: 'ready', created: false });
    register(found.worktree, aside);
  }
  return `A slot could not be reused; it is kept in ${aside} because something in it would be lost.`;
}

function freeName(stem: string): string {
  let number = 1;
  while (existsSync(`${stem}-${number}`)) number += 1;
  return `${stem}-${number}`;
}
