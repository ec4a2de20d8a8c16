import { join } from 'node:path';
import { type LockOptions, withLock } from '../machine/file-lock.ts';
import { storageReason } from '../machine/files/make-directory-and-handle-storage-errors.ts';
import { WorkspaceError } from '../model/errors.ts';
import type { GitLocation } from './locate-git-directories.ts';
import type { Git } from './run-git.ts';

export interface Trunk {
  /** Of the branch, without `origin/`; undefined where there is no origin, or its default branch is unknown. */
  name: string | undefined;
  note?: string;
}

/** What one `createWorkspaces` shares between its calls. */
export interface Context {
  git: Git;
  env: Record<string, string | undefined>;
  repo(path: string): Promise<Repository>;
  /** Runs calls about one path one after the other. */
  inTurn<T>(path: string, fn: () => Promise<T>): Promise<T>;
  /** Known answers to "does `commit` contain `ancestor`?"; commits never change, so they stay true. */
  ancestry: Map<string, boolean>;
  fetches: Map<string, { at: number; note: Promise<string | undefined> }>;
  /** What origins said is their default branch, by repository. */
  trunks: Map<string, { at: number; trunk: Promise<Trunk> }>;
  /** Default branches of origin as they are recorded here, by repository. */
  recordedTrunks: Map<string, { at: number; name: string }>;
}

/** A repository, and all that its calls need. */
export interface Repository extends Context, GitLocation {}

// A fetch may be under way in another process.
const LOCK_TIMEOUT_MS = 180_000;

/** Serialises what git races with itself on: add, move, remove, prune and fetch of one repository. */
export function lockRepo<T>(repo: GitLocation, fn: () => T | Promise<T>, signal?: AbortSignal): Promise<T> {
  return withLock(join(repo.commonDir, 'signalbox.lock'), fn, { timeoutMs: LOCK_TIMEOUT_MS, signal });
}

/** Serialises merges, which neither wait for worktrees nor hold them up. */
export function lockMerges<T>(repo: GitLocation, fn: () => T | Promise<T>, signal?: AbortSignal): Promise<T> {
  return withLock(join(repo.commonDir, 'signalbox-merge.lock'), fn, { timeoutMs: LOCK_TIMEOUT_MS, signal });
}

/** The lock of this name, for work that a person waits for: an error says why the lock cannot be written. */
export async function lockNamed<T>(
  { commonDir }: GitLocation,
  name: string,
  fn: () => Promise<T>,
  options: LockOptions,
): Promise<T> {
  return withLock(join(commonDir, name), fn, options).catch((error: unknown) => {
    throw cannotWrite(commonDir, error);
  });
}

/** Explains a write that failed inside a directory; returns any other error as it is. */
export function cannotWrite(dir: string, error: unknown): unknown {
  const reason = (error as NodeJS.ErrnoException).path?.startsWith(`${dir}/`) && storageReason(error);
  if (!reason) return error;
  return new WorkspaceError('workspace/no-place', `Cannot write to the directory ${dir}: ${reason}.`, {
    hint: 'Fix that, then try again.',
    details: { path: dir },
    cause: error,
  });
}

export function createTurns(): Context['inTurn'] {
  const tails = new Map<string, Promise<unknown>>();
  return async (path, fn) => {
    const before = tails.get(path);
    const turn = (async () => {
      if (before) await Promise.allSettled([before]);
      return fn();
    })();
    tails.set(path, turn);
    try {
      return await turn;
    } finally {
      if (tails.get(path) === turn) tails.delete(path);
    }
  };
}
