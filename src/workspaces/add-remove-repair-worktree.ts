import { existsSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Context, lockRepo, type Repository } from '../git/context-and-locks.ts';
import { isReachable } from '../git/history.ts';
import type { Registered, Worktree } from '../git/inspect-worktrees.ts';
import {
  checkedOutAt,
  describe,
  find,
  gitDirOfEntry,
  inspect,
  listWorktrees,
} from '../git/inspect-worktrees.ts';
import type { GitLocation } from '../git/locate-git-directories.ts';
import { type Git, GitError, retryRaces } from '../git/run-git.ts';
import { withLock } from '../machine/file-lock.ts';
import { ifPossible } from '../machine/files/read-and-remove-files.ts';
import { isInside } from '../machine/paths-and-user-home.ts';
import { processesIn } from '../machine/process-identity-and-signals.ts';
import type { ProgramResult } from '../machine/run-process.ts';
import { orError, shortageOf, WorkspaceError } from '../model/errors.ts';
import { commitsOnlyHere } from './find-hidden-work-lost-with-worktree.ts';
import { MADE_MEANWHILE, pathTaken, refuseInside } from './find-worktree-obstacles.ts';
import { canonical, makePath, noPlace } from './resolve-symlinks-make-and-remove-directories.ts';
import { type Owner, readOwner, writeOwner } from './workspace-owner.ts';

/** Locks the directory of worktrees, too: git would let two repositories that share it use one path at the same moment. */
export function lockPlace<T>(
  repo: GitLocation,
  { path, worktreeRoot }: { path: string; worktreeRoot: string },
  fn: () => Promise<T>,
): Promise<T> {
  return lockRepo(repo, async () => {
    if (!isInside(path, worktreeRoot)) return fn();
    makePath(worktreeRoot);
    const lock = join(worktreeRoot, '.signalbox.lock');
    return withLock(lock, fn, { timeoutMs: 60_000 }).catch((error: NodeJS.ErrnoException) => {
      throw error.path === lock ? noPlace(worktreeRoot, 'write to', error) : error;
    });
  });
}

/** Registers a new, still empty worktree; filling it needs no lock. */
export async function addWorktree(
  repo: Repository,
  spec: { path: string; worktreeRoot: string; commit: string; owner: Owner },
): Promise<GitLocation> {
  const { path, commit } = spec;
  await refuseInside(repo, path, spec.worktreeRoot);
  const before = await find(repo.git, path);
  const kind = 'kind' in before ? before.kind : 'worktree';
  if (kind === 'worktree') throw pathTaken(path, kind, MADE_MEANWHILE);
  if (kind !== 'absent' && kind !== 'empty') throw pathTaken(path, kind);
  makePath(dirname(path));
  if (kind === 'empty') rmSync(join(path, '.git'), { force: true });
  await register(repo, path, commit);
  const at = await repo.git.locate(path);
  if (!at) throw pathTaken(path, 'directory');
  writeOwner(at.gitDir, spec.owner);
  return at;
}

async function register(repo: Repository, path: string, commit: string): Promise<void> {
  const args = ['worktree', 'add', '--quiet', '--no-checkout', '--detach', path, commit];
  const add = () => retryRaces(() => repo.git(args, { at: repo, write: true }));
  const error = await orError(GitError, add);
  if (!(error instanceof GitError)) return;
  const entries = /already registered/.test(error.stderr) ? await listWorktrees(repo.git, repo) : [];
  const stale = entries.find((entry) => entry.path === path);
  if (!stale) throw notMade(repo, path, error);
  await dropEntry(repo, stale, entries);
  await add();
}

function notMade({ commonDir }: GitLocation, path: string, cause: GitError): WorkspaceError {
  return new WorkspaceError('workspace/not-made', `Cannot create the worktree ${path}: ${cause.message}.`, {
    hint: `Free disk space or fix the permissions of ${path} and ${commonDir}, then retry the ticket.`,
    details: { path },
    cause,
  });
}

/** Refuses a branch that is checked out elsewhere; an entry whose directory is gone no longer counts. */
export async function freeBranch(repo: Repository, branch: string): Promise<void> {
  const entries = await listWorktrees(repo.git, repo);
  const entry = await checkedOutAt(repo, branch, entries);
  if (!entry) return;
  if (existsSync(entry.path))
    throw new WorkspaceError(
      'workspace/branch-elsewhere',
      `The branch ${branch} is checked out in ${entry.path}.`,
      {
        hint: `Free it with git -C ${entry.path} switch --detach, or give the ticket another branch.`,
        details: { branch, path: entry.path },
      },
    );
  await lockRepo(repo, () => dropEntry(repo, entry, entries));
}

/** Removes git's entry of a worktree whose directory is gone, unless only its HEAD or reflog holds some commits. */
async function dropEntry(repo: Repository, entry: Registered, entries: readonly Registered[]): Promise<void> {
  const { path, head } = entry;
  const gitDir = await gitDirOfEntry(repo, entry, entries);
  const branch = head.branch ?? (gitDir === undefined ? undefined : readOwner(gitDir)?.branch);
  const at = gitDir === undefined ? undefined : { ...repo, gitDir };
  const [left] = at ? await commitsOnlyHere(repo, at, { branch }) : [];
  const isDetached = head.branch === undefined && head.commit !== undefined;
  const lost = isDetached && head.commit && !(await isReachable(repo, head.commit)) ? head.commit : left;
  if (lost !== undefined)
    throw new WorkspaceError(
      'workspace/lost-commit',
      `The worktree ${path} is gone, but only its HEAD or reflog holds ${lost}.`,
      {
        hint: `Save it with git -C ${repo.workTree} branch rescued ${lost}, or drop it with git -C ${repo.workTree} worktree prune.`,
        details: { path, commit: lost },
      },
    );
  // Creating the worktree was interrupted and left an empty directory, which git does not take for a worktree.
  const found = await find(repo.git, path);
  if ('kind' in found && found.kind === 'empty') rmSync(path, { recursive: true });
  await removeWorktree(repo, path);
}

/** Deletes a worktree by git's own rules: git refuses while anything in it is uncommitted. */
export async function removeWorktree(repo: Repository, path: string): Promise<void> {
  await retryRaces(() => repo.git(['worktree', 'remove', path], { at: repo, write: true }));
}

/** The branch to check out in a worktree. */
export interface Checkout {
  branch: string;
  /** The branch's own commit when it exists; it is created at `start` otherwise. */
  tip: string | undefined;
  start: string;
}

/** Checks a branch out in a detached worktree. Fails if uncommitted changes would be carried along. */
export async function checkOut(context: Context, at: GitLocation, wanted: Checkout): Promise<void> {
  const { branch, tip, start } = wanted;
  const args =
    tip === undefined
      ? ['switch', '--no-track', '--create', branch, start]
      : ['switch', '--no-guess', branch];
  const { stdout } = await retryRaces(() => fill(context.git, at, args));
  const carried = stdout.split('\n').filter((line) => CARRIED.test(line));
  if (carried.length > 0)
    throw new WorkspaceError(
      'workspace/slot-dirty',
      `The reused worktree ${at.workTree} has uncommitted changes.`,
      { details: { files: carried.map((line) => line.slice(2)) } },
    );
}

/** What `git switch` prints for each file that is not as in the commit. */
const CARRIED = /^[MADTU]\t/m;

/** Writes files with git. Where it is short of something for that, `git switch` only says so and succeeds. */
async function fill(git: Git, at: GitLocation, args: readonly string[]): Promise<ProgramResult> {
  const result = await git(args, { at, write: true, ok: [0, 1, 128] });
  const failed = new GitError(args, result);
  const isWhole = result.code === 0 && !CARRIED.test(result.stdout);
  if (!isWhole && shortageOf(failed)) throw notMade(at, at.workTree, failed);
  if (result.code !== 0) throw failed;
  return result;
}

/** Repairs a worktree whose checkout was interrupted. No ticket had it yet, so nothing in it is work. */
export async function repairCheckout(repo: Repository, worktree: Worktree): Promise<Worktree> {
  const repaired = await repairEntry(repo, worktree);
  // Locks of a killed git, which git never removes itself.
  for (const file of ['index.lock', 'HEAD.lock']) rmSync(join(worktree.gitDir, file), { force: true });
  await fill(repo.git, repaired, ['reset', '--hard', '--quiet']);
  return repaired;
}

/** Corrects the path in git's list of worktrees after an interrupted move. */
export async function repairEntry(repo: Repository, worktree: Worktree): Promise<Worktree> {
  const { workTree } = worktree;
  if (worktree.registeredAt === workTree) return worktree;
  await lockRepo(repo, () => repo.git(['worktree', 'repair', workTree], { at: repo, write: true }));
  return { ...worktree, registeredAt: workTree };
}

/** A linked worktree, or a repository's own checkout in the same form; undefined for anything else. */
export async function openTree(git: Git, path: string, likely?: string): Promise<Worktree | undefined> {
  const clean = canonical(path);
  const found = await inspect(git, clean, likely);
  if (found.kind === 'worktree') return found.worktree;
  const at = found.kind === 'checkout' ? await git.locate(realpathSync.native(clean)) : undefined;
  return at && describe(git, at);
}

const WAIT_MS = 10_000;

/** Waits for git calls of a killed engine: they must end before another command changes the same files. */
export async function waitForGit(path: string): Promise<void> {
  const deadline = performance.now() + WAIT_MS;
  for (;;) {
    // One may have ended meanwhile.
    const nameOf = (each: string) => ifPossible(() => readFileSync(`/proc/${each}/comm`, 'utf8').trim());
    const pid = processesIn(path).find((each) => nameOf(each) === 'git');
    if (pid === undefined) return;
    if (performance.now() > deadline)
      throw new WorkspaceError('workspace/busy', `A git command (process ${pid}) still works in ${path}.`, {
        hint: 'Wait for it or end it, then retry the ticket.',
        details: { path, pid },
      });
    await delay(20);
  }
}
