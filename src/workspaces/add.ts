import { existsSync, mkdirSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type Context, lockRepo } from '../git/context.ts';
import { retryRaces } from '../git/git.ts';
import { hasFileRefs, readText } from '../git/refs.ts';
import type { Repo } from '../git/repository.ts';
import { checkedOutAt, type Entry, inspect, listEntries, type Worktree } from '../git/worktrees.ts';
import { messageOf, WorkspaceError } from '../model/errors.ts';
import { type Owner, readOwner, writeOwner } from './owner.ts';
import { makePath, pathTaken, refuseInside } from './place.ts';
import { commitsOnlyHere } from './unique-commits.ts';
import { isReachable, removeWorktree } from './warm/slots.ts';

/** Registers a new, still empty worktree; filling it needs no lock. */
export async function addWorktree(
  context: Context,
  repo: Repo,
  spec: { path: string; worktreeRoot: string; commit: string; owner: Owner },
): Promise<Worktree> {
  refuseInside(repo, spec.path, spec.worktreeRoot);
  for (const entry of listEntries(repo.commonDir)) {
    if (entry.path === spec.path && isGone(entry.path)) await dropEntry(context, repo, entry);
  }
  const { kind } = inspect(spec.path);
  if (kind !== 'absent' && kind !== 'empty') throw pathTaken(spec.path, kind);
  if (isOrdinary(repo.commonDir)) writeEntry(repo.commonDir, spec);
  else {
    const args = ['worktree', 'add', '--quiet', '--no-checkout', '--detach', spec.path, spec.commit];
    await retryRaces(() => context.git(args, { at: repo, write: true }));
  }
  const found = inspect(spec.path);
  if (found.kind !== 'worktree') throw pathTaken(spec.path, found.kind);
  if (!readOwner(found.worktree.adminDir)) writeOwner(found.worktree.adminDir, spec.owner);
  return found.worktree;
}

function isGone(path: string): boolean {
  const { kind } = inspect(path);
  return kind === 'absent' || kind === 'empty';
}

/** False where git would do more for a new worktree than `writeEntry` does. */
function isOrdinary(commonDir: string): boolean {
  const config = readText(join(commonDir, 'config')) ?? '';
  const isSparse = existsSync(join(commonDir, 'info', 'sparse-checkout'));
  return hasFileRefs(commonDir) && !isSparse && !/\[\s*extensions|sharedrepository/i.test(config);
}

/**
 * What `git worktree add --no-checkout --detach` does, as four small files: two processes less while others wait for
 * the lock. The entry appears with its owner in it, at once and whole.
 */
function writeEntry(commonDir: string, spec: { path: string; commit: string; owner: Owner }): void {
  makePath(spec.path);
  const draft = join(commonDir, 'signalbox-worktree');
  rmSync(draft, { recursive: true, force: true });
  const made = [draft];
  try {
    mkdirSync(draft);
    writeFileSync(join(draft, 'commondir'), '../..\n');
    writeFileSync(join(draft, 'HEAD'), `${spec.commit}\n`);
    writeFileSync(join(draft, 'gitdir'), `${join(spec.path, '.git')}\n`);
    writeOwner(draft, spec.owner);
    const adminDir = takeName(commonDir, spec.path);
    made.push(adminDir, join(spec.path, '.git'));
    renameSync(draft, adminDir);
    writeFileSync(join(spec.path, '.git'), `gitdir: ${adminDir}\n`);
  } catch (error) {
    // The directory was empty, and its name among the entries is ours: nothing here is anybody else's.
    for (const path of made) rmSync(path, { recursive: true, force: true });
    throw new WorkspaceError(
      'workspace/not-made',
      `The worktree ${spec.path} cannot be made: ${messageOf(error)}.`,
      {
        hint: `Make room or give the rights there and in ${commonDir}, then retry the ticket.`,
        details: { path: spec.path },
      },
    );
  }
}

/** A free name among git's entries, taken as git takes it: by making the directory. */
function takeName(commonDir: string, path: string): string {
  const root = join(commonDir, 'worktrees');
  mkdirSync(root, { recursive: true });
  const stem = basename(path).replace(/[^\w-]/g, '-');
  for (let number = 0; ; number += 1) {
    const name = join(root, number === 0 ? stem : `${stem}${number}`);
    try {
      mkdirSync(name);
      return name;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

/** Refuses a branch that is checked out elsewhere; an entry whose directory is gone no longer counts. */
export async function freeBranch(context: Context, repo: Repo, branch: string): Promise<void> {
  const entry = checkedOutAt(repo.commonDir, branch);
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
  await lockRepo(repo, () => dropEntry(context, repo, entry));
}

/** Forgets a worktree whose directory is gone, unless its HEAD is all that holds some commits. */
async function dropEntry(context: Context, repo: Repo, entry: Entry): Promise<void> {
  const { oid } = entry.head;
  const branch = entry.head.branch ?? readOwner(entry.adminDir)?.branch;
  const left = await commitsOnlyHere(
    context,
    repo,
    entry.adminDir,
    branch === undefined ? branch : { branch },
  );
  const lost = oid !== undefined && !(await isReachable(context, repo, oid)) ? oid : left[0];
  if (lost !== undefined)
    throw new WorkspaceError(
      'workspace/lost-commit',
      `The worktree ${entry.path} is gone, but only its HEAD or reflog holds ${lost}.`,
      {
        hint: `Save it with git -C ${repo.workTree} branch rescued ${lost}, or drop it with git -C ${repo.workTree} worktree prune.`,
        details: { path: entry.path, commit: lost },
      },
    );
  // An engine that died while it made the entry left an empty directory, which git does not take for a worktree.
  if (inspect(entry.path).kind === 'empty') {
    rmSync(join(entry.path, '.git'), { force: true });
    rmdirSync(entry.path);
  }
  await removeWorktree(context, repo, entry.path);
}
