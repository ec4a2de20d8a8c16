import { existsSync, readdirSync, renameSync, rmdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Context, lockRepo, type Repository } from '../../git/context-and-locks.ts';
import { find, inspect, isUnderWay, listOwnRefs } from '../../git/inspect-worktrees.ts';
import type { GitLocation } from '../../git/locate-git-directories.ts';
import { branchRef, readRef } from '../../git/refs.ts';
import { GitError, retryRaces } from '../../git/run-git.ts';
import { firstFree } from '../../machine/files/read-and-remove-files.ts';
import { ignoring, orError, WorkspaceError } from '../../model/errors.ts';
import { type Checkout, checkOut, removeWorktree } from '../add-remove-repair-worktree.ts';
import { wouldLoseHiddenWork } from '../find-hidden-work-lost-with-worktree.ts';
import {
  makePath,
  realDirectory,
  removeEmptyParents,
  warmRoot,
} from '../resolve-symlinks-make-and-remove-directories.ts';
import { type Owner, readOwner, writeOwner } from '../workspace-owner.ts';
import {
  clearGitState,
  deleteLinksToCaches,
  deleteUntrackedFiles,
  hasOwnState,
  lockfilesDiffer,
  removeLeftFiles,
  stampOf,
} from './remove-leftover-state.ts';

/** The repository's free worktrees under a root. One that a killed engine was about to use is still free. */
async function listFree(repo: Repository, worktreeRoot: string): Promise<GitLocation[]> {
  const all = await listWarm(repo, warmRoot(worktreeRoot));
  return all.filter(({ gitDir }) => {
    if (isUnderWay(gitDir, ['locked', 'index.lock', 'HEAD.lock'])) return false;
    const owner = readOwner(gitDir);
    return owner?.created === true && (owner.state === 'slot' || owner.state === 'checkout');
  });
}

/** All warm worktrees of the repository, in any state; several repositories may share a root. */
async function listWarm(repo: Repository, directory: string): Promise<GitLocation[]> {
  const found = await Promise.all(namesIn(directory).map((name) => find(repo.git, join(directory, name))));
  return found.flatMap((each) => ('kind' in each || each.commonDir !== repo.commonDir ? [] : [each]));
}

function namesIn(directory: string): string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory).filter((name) => /^\d+$/.test(name));
}

export interface Taken {
  at: GitLocation;
  caches: boolean;
  /** It may have been changed while it was free. */
  mayDiffer: boolean;
}

/** Moves a warm worktree to where the ticket wants it; undefined when there is none that can be moved there. */
export async function takeWarm(
  repo: Repository,
  spec: { worktreeRoot: string; path: string; owner: Owner },
): Promise<Taken | undefined> {
  for (const free of await listFree(repo, spec.worktreeRoot)) {
    const before = readOwner(free.gitDir);
    const caches = before?.caches !== false;
    const mayDiffer = before?.stamp !== stampOf(free.gitDir);
    writeOwner(free.gitDir, { ...spec.owner, caches });
    const at = await moveWorktree(repo, free, spec.path);
    if (at) return { at, caches, mayDiffer };
  }
  return undefined;
}

/** Keeps a worktree for the next ticket if there is room. The caller has checked its reflog for unique commits. */
export async function putWarm(
  repo: Repository,
  at: GitLocation,
  spec: { worktreeRoot: string; slots: number; commit: string },
): Promise<boolean> {
  const directory = warmRoot(spec.worktreeRoot);
  const isFull = namesIn(directory).length >= spec.slots;
  if (isFull && (await listWarm(repo, directory)).length >= spec.slots) return false;
  const path = firstFree((number) => join(directory, String(number)), 0);
  makePath(directory);
  const { commands, input } = clearGitState(spec.commit);
  const all = [...commands, ['worktree', 'move', at.workTree, path]];
  const moving = () => retryRaces(() => repo.git.sequence(all, { at, write: true, input }));
  if ((await orError(GitError, moving)) instanceof GitError) return false;
  removeLeftFiles(at.gitDir);
  const owner = readOwner(at.gitDir);
  if (owner) writeOwner(at.gitDir, { ...owner, stamp: stampOf(at.gitDir) });
  removeEmptyParents(at.workTree, spec.worktreeRoot);
  return true;
}

/** Undefined when it cannot be moved there: the caller has a slower way. */
async function moveWorktree(
  repo: Repository,
  at: GitLocation,
  path: string,
): Promise<GitLocation | undefined> {
  const git = (...args: string[]) =>
    retryRaces(() => repo.git(['worktree', ...args], { at: repo, write: true }));
  try {
    makePath(dirname(path));
    // Git would move it into an existing directory.
    if (existsSync(path)) rmdirSync(path);
    try {
      await git('move', at.workTree, path);
    } catch (error) {
      if (!(error instanceof GitError) || !/is not a working tree/.test(error.stderr)) throw error;
      // An earlier move was interrupted.
      await git('repair', at.workTree);
      await git('move', at.workTree, path);
    }
    return { ...at, workTree: path };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (error instanceof GitError || ['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(code ?? '')) return undefined;
    throw error;
  }
}

/** Refuses a worktree that was changed while it was free, so that it is not like a new one. */
export async function refuseOwnState(context: Context, { at, mayDiffer }: Taken): Promise<void> {
  if (!mayDiffer) return;
  if ((await hasOwnState(context, at)) || (await listOwnRefs(context.git, at)).length > 0)
    throw new WorkspaceError(
      'workspace/slot-dirty',
      `The reused worktree ${at.workTree} has a state of its own.`,
    );
}

/** Checks a taken worktree out; its caches stay only while every lockfile is the same in both commits. */
export async function checkOutWarm(
  context: Context,
  { at, caches }: Taken,
  wanted: Checkout & { keep: readonly string[] },
): Promise<void> {
  const next = wanted.tip ?? wanted.start;
  const stale = caches && (wanted.keep.length === 0 || (await lockfilesDiffer(context, at, next)));
  await checkOut(context, at, wanted);
  if (stale) await deleteUntrackedFiles(context, at, []);
  else await deleteLinksToCaches(context, at, wanted.keep);
}

/** Deletes a warm worktree that could not be used, or sets it aside if it holds something. */
export async function discardWarm(
  repo: Repository,
  at: GitLocation,
  spec: { worktreeRoot: string; branch: string },
): Promise<string | undefined> {
  const isRemoved = await ignoring(GitError, async () => {
    if (await wouldLoseHiddenWork(repo, at)) return false;
    await removeWorktree(repo, at.workTree);
    return true;
  });
  if (isRemoved) return undefined;
  const found = await inspect(repo.git, at.workTree);
  const tip = await readRef(repo, branchRef(spec.branch));
  if (found.kind === 'worktree' && found.worktree.head.branch === spec.branch && tip)
    await repo.git(['update-ref', '--no-deref', 'HEAD', tip], { at, write: true });
  const aside = firstFree((number) => join(warmRoot(spec.worktreeRoot), `kept-${number}`));
  makePath(dirname(aside));
  // Moved without git, which refuses a worktree with a broken index.
  renameSync(at.workTree, aside);
  const owner = readOwner(at.gitDir);
  if (owner) writeOwner(at.gitDir, { ...owner, state: 'ready', created: false });
  await repo.git(['worktree', 'repair', aside], { at: repo, write: true, ok: [0, 1, 128] });
  return `A warm worktree could not be reused; it is kept in ${aside} because something in it would be lost.`;
}

/** Deletes the repository's free warm worktrees under a root and returns how many there were. */
export function deleteFreeWarm(
  repo: Repository,
  spec: { repo: string; worktreeRoot: string },
): Promise<number> {
  return lockRepo(repo, async () => {
    let swept = 0;
    for (const at of await listFree(repo, realDirectory(spec.worktreeRoot))) {
      if (await wouldLoseHiddenWork(repo, at)) continue;
      await removeWorktree(repo, at.workTree);
      swept += 1;
    }
    return swept;
  });
}
