import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Context, lockRepo } from '../git/context.ts';
import { retryRaces } from '../git/git.ts';
import type { Repo } from '../git/repository.ts';
import { register, type Worktree } from '../git/worktrees.ts';
import { WorkspaceError } from '../model/errors.ts';
import { cleanAround, cutLinkedCaches } from './warm/caches.ts';

const LOCKFILES = [
  'npm-shrinkwrap.json',
  'package-lock.json',
  'pnpm-lock.yaml',
  'yarn.lock',
  'bun.lock',
  'bun.lockb',
  'uv.lock',
  'poetry.lock',
  'Cargo.lock',
  'go.sum',
  'Gemfile.lock',
  'composer.lock',
];

export interface Target {
  branch: string;
  /** The branch's own commit when it exists; it is created at `start` otherwise. */
  tip: string | undefined;
  start: string;
}

/** Fills a detached worktree with a branch. Fails when somebody's changes would be carried along. */
export async function checkOut(context: Context, worktree: Worktree, target: Target): Promise<void> {
  const args =
    target.tip === undefined
      ? ['switch', '--no-track', '--create', target.branch, target.start]
      : ['switch', '--no-guess', target.branch];
  const { stdout } = await retryRaces(() => context.git(args, { at: worktree.at, write: true }));
  const carried = stdout.split('\n').filter((line) => /^[MADTU]\t/.test(line));
  if (carried.length > 0)
    throw new WorkspaceError(
      'workspace/slot-dirty',
      `The reused worktree ${worktree.path} has uncommitted changes.`,
      {
        details: { files: carried.map((line) => line.slice(2)) },
      },
    );
}

/** Checks a slot out; its caches stay only while every lockfile is the same in both commits. */
export async function checkOutSlot(
  context: Context,
  worktree: Worktree,
  target: Target & { caches: boolean; keep: readonly string[] },
): Promise<void> {
  const next = target.tip ?? target.start;
  const [stale] = await Promise.all([
    target.caches && (target.keep.length === 0 || lockfilesDiffer(context, worktree, next)),
    checkOut(context, worktree, target),
  ]);
  if (stale) await cleanAround(context, worktree, []);
  else await cutLinkedCaches(context, worktree, target.keep);
}

export async function lockfilesDiffer(context: Context, worktree: Worktree, next: string): Promise<boolean> {
  const before = worktree.head.oid;
  if (before === undefined) return true;
  if (before === next) return false;
  const pathspecs = LOCKFILES.map((name) => `:(glob)**/${name}`);
  const { stdout } = await context.git(['diff-tree', '-r', '--name-only', before, next, '--', ...pathspecs], {
    at: worktree.at,
  });
  return stdout !== '';
}

/** Makes a worktree whose checkout was interrupted whole again: it was never handed out, so nothing in it is work. */
export async function repairCheckout(
  context: Context,
  repo: Repo,
  worktree: Worktree,
  path: string,
): Promise<Worktree> {
  const registered =
    worktree.registeredAt === path ? worktree : await lockRepo(repo, () => register(worktree, path));
  for (const file of ['index.lock', 'HEAD.lock']) rmSync(join(worktree.adminDir, file), { force: true });
  await context.git(['reset', '--hard', '--quiet'], { at: registered.at, write: true });
  return registered;
}
