import { existsSync, mkdirSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Context, lockRepo } from '../git/context.ts';
import { retryRaces } from '../git/git.ts';
import type { Repo } from '../git/repository.ts';
import { inspect, type Worktree } from '../git/worktrees.ts';
import { lockfilesDiffer } from './checkout.ts';
import { pathTaken, realDirectory, refuseInside } from './place.ts';
import { waitForGit } from './processes.ts';
import { copyUntracked } from './setup/copy.ts';
import { endHooks, runHooks, runInstall } from './setup/hooks.ts';
import { dueInstall, install } from './setup/installed.ts';
import { cleanAround, cutLinkedCaches } from './warm/caches.ts';

export interface ScratchSpec {
  worktreeRoot: string;
  hooks: string[];
  install?: { packageManager: string | null } | undefined;
  copy: string[];
  caches: string[];
  signal: AbortSignal;
}

/** A worktree that belongs to no ticket and in which nothing is ever unique. */
export interface Scratch {
  path: string;
  /** Makes it look like a fresh worktree of the commit. */
  show(commit: string): Promise<void>;
  /** Removes it; calling it again changes nothing. */
  close(): Promise<void>;
}

export async function openScratch(
  context: Context,
  repo: Repo,
  { id, ...spec }: ScratchSpec & { id: string },
): Promise<Scratch> {
  const root = realDirectory(spec.worktreeRoot);
  const path = join(root, '.train', id);
  refuseInside(repo, path, root);
  const clear = () => lockRepo(repo, () => remove(repo, path, id));
  // Of a train that was killed.
  await endHooks(path);
  await waitForGit(path);
  await clear();
  let worktree: Worktree | undefined;
  return {
    path,
    async show(commit) {
      if (worktree) await change(context, worktree, commit, spec.caches);
      else await add(context, repo, path, commit);
      const found = inspect(path);
      if (found.kind !== 'worktree') throw pathTaken(path, found.kind);
      worktree = found.worktree;
      await copyUntracked(context.git, repo, { patterns: spec.copy, to: path });
      const options = { cwd: path, env: context.env, signal: spec.signal };
      await runHooks(spec.hooks, options);
      if (!spec.install) return;
      const wish = { wanted: spec.install.packageManager, fresh: true };
      const due = await dueInstall(context.git, worktree, wish);
      if (due) await install(worktree, due, (command) => runInstall(command, options));
    },
    close: clear,
  };
}

async function add(context: Context, repo: Repo, path: string, commit: string): Promise<void> {
  mkdirSync(dirname(path), { recursive: true });
  const args = ['worktree', 'add', '--quiet', '--detach', path, commit];
  await lockRepo(repo, () => retryRaces(() => context.git(args, { at: repo, write: true })));
}

/** Goes on to another commit; of what the checks left only the caches stay, and those only while no lockfile differs. */
async function change(
  context: Context,
  worktree: Worktree,
  commit: string,
  caches: readonly string[],
): Promise<void> {
  const stale = await lockfilesDiffer(context, worktree, commit);
  const args = ['checkout', '--quiet', '--force', '--detach', commit];
  await context.git(args, { at: worktree.at, write: true });
  await cleanAround(context, worktree, stale ? [] : caches);
  await cutLinkedCaches(context, worktree, caches);
}

/** By hand and not by git: a train that was killed may have left half a worktree, which git would not touch. */
function remove(repo: Repo, path: string, id: string): void {
  rmSync(path, { recursive: true, force: true, maxRetries: 3 });
  const entries = join(repo.commonDir, 'worktrees');
  for (const name of existsSync(entries) ? readdirSync(entries) : [])
    if (name.startsWith(id) && /^\d*$/.test(name.slice(id.length)))
      rmSync(join(entries, name), { recursive: true, force: true });
  const parent = dirname(path);
  if (existsSync(parent) && readdirSync(parent).length === 0) rmdirSync(parent);
}
