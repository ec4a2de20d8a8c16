import { existsSync, mkdirSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Context, lockNamed, lockRepo, type Repository } from '../git/context-and-locks.ts';
import type { GitLocation } from '../git/locate-git-directories.ts';
import { GitError, retryRaces } from '../git/run-git.ts';
import { digest } from '../model/ids-and-branch-names.ts';
import { waitForGit } from './add-remove-repair-worktree.ts';
import { pathTaken, refuseInside } from './find-worktree-obstacles.ts';
import { realDirectory } from './resolve-symlinks-make-and-remove-directories.ts';
import { copyUntracked } from './setup/copy-untracked-files.ts';
import { dueInstall, install } from './setup/install-packages.ts';
import { endHooks, runHooks, runInstall } from './setup/set-up-worktree.ts';
import { deleteLinksToCaches, deleteUntrackedFiles, lockfilesDiffer } from './warm/remove-leftover-state.ts';
import type { WorkspaceSpec } from './workspace-spec.ts';

export interface ScratchSpec
  extends Pick<WorkspaceSpec, 'worktreeRoot' | 'hooks' | 'install' | 'copy' | 'caches'> {
  signal: AbortSignal;
}

/** A worktree that belongs to no ticket and in which nothing is ever unique. */
export interface Scratch {
  path: string;
  /** Checks the commit out and removes everything else. */
  show(commit: string): Promise<void>;
  /** Removes it; calling it again changes nothing. */
  close(): Promise<void>;
}

/** Names a repository, for places that are kept by repository. */
export function repositoryId({ commonDir }: GitLocation): string {
  return digest(commonDir, 12);
}

/** Longer than checks may take. */
const WAIT_FOR_TURN_MS = 24 * 3_600_000;

/** A worktree for the checks of a base. Only one process at a time has that of a repository; the others wait. */
export async function withBaseScratch<T>(
  context: Context,
  path: string,
  spec: ScratchSpec,
  fn: (scratch: Scratch, id: string) => Promise<T>,
): Promise<T> {
  const repo = await context.repo(path);
  const id = `base-${repositoryId(repo)}`;
  const work = async () => {
    const scratch = await openScratch(repo, { ...spec, id });
    try {
      return await fn(scratch, id);
    } finally {
      await scratch.close();
    }
  };
  const { signal } = spec;
  return lockNamed(repo, 'signalbox-base.lock', work, { timeoutMs: WAIT_FOR_TURN_MS, signal });
}

export async function openScratch(
  repo: Repository,
  { id, ...spec }: ScratchSpec & { id: string },
): Promise<Scratch> {
  const root = realDirectory(spec.worktreeRoot);
  const path = join(root, '.train', id);
  await refuseInside(repo, path, root);
  const clear = () => lockRepo(repo, () => remove(repo, path));
  // Left by a killed train.
  await endHooks(path);
  await waitForGit(path);
  await clear();
  let worktree: GitLocation | undefined;
  return {
    path,
    async show(commit) {
      if (worktree) await change(repo, worktree, commit, spec.caches);
      else await add(repo, path, commit);
      worktree = await repo.git.locate(path);
      if (!worktree) throw pathTaken(path, 'directory');
      await copyUntracked(repo, { patterns: spec.copy, to: path });
      const options = { cwd: path, env: repo.env, signal: spec.signal };
      await runHooks(spec.hooks, options);
      if (!spec.install) return;
      const wish = { wanted: spec.install.packageManager, fresh: true };
      const due = await dueInstall(repo.git, worktree, wish);
      if (due) await install(worktree, due, (command) => runInstall(command, options));
    },
    close: clear,
  };
}

async function add(repo: Repository, path: string, commit: string): Promise<void> {
  mkdirSync(dirname(path), { recursive: true });
  const args = ['worktree', 'add', '--quiet', '--detach', path, commit];
  await lockRepo(repo, () => retryRaces(() => repo.git(args, { at: repo, write: true })));
}

/** Switches to another commit. Files that checks left are deleted, except caches if no lockfile differs. */
async function change(
  context: Context,
  at: GitLocation,
  commit: string,
  caches: readonly string[],
): Promise<void> {
  const stale = await lockfilesDiffer(context, at, commit);
  const args = ['checkout', '--quiet', '--force', '--detach', commit];
  await context.git(args, { at, write: true });
  await deleteUntrackedFiles(context, at, stale ? [] : caches);
  await deleteLinksToCaches(context, at, caches);
}

/** Removes the directory without git: a killed train may have left half a worktree, which git refuses to remove. */
async function remove(repo: Repository, path: string): Promise<void> {
  rmSync(path, { recursive: true, force: true, maxRetries: 3 });
  const args = ['worktree', 'remove', '--force', '--force', path];
  const result = await retryRaces(() => repo.git(args, { at: repo, write: true, ok: [0, 128] }));
  if (result.code !== 0 && !/is not a working tree/.test(result.stderr)) throw new GitError(args, result);
  const parent = dirname(path);
  if (existsSync(parent) && readdirSync(parent).length === 0) rmdirSync(parent);
}
