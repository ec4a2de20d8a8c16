import { existsSync } from 'node:fs';
import { WorkspaceError } from '../model/errors.ts';
import { checkedOutAt, type Entry, inspect, listEntries, type Worktree } from './admin.ts';
import { type Context, lockRepo } from './context.ts';
import { retryRaces } from './git.ts';
import { commitsOnlyHere } from './only-here.ts';
import { type Owner, readOwner, writeOwner } from './owner.ts';
import { pathTaken, refuseInside } from './place.ts';
import type { Repo } from './repo.ts';
import { isReachable, removeWorktree } from './slots.ts';

/** Registers a new, still empty worktree; filling it needs no lock. */
export async function addWorktree(
  context: Context,
  repo: Repo,
  spec: { path: string; worktreeRoot: string; commit: string; owner: Owner },
): Promise<Worktree> {
  refuseInside(repo, spec.path, spec.worktreeRoot);
  for (const entry of listEntries(repo.commonDir)) {
    if (entry.path === spec.path && !existsSync(entry.path)) await dropEntry(context, repo, entry);
  }
  const { kind } = inspect(spec.path);
  if (kind !== 'absent' && kind !== 'empty') throw pathTaken(spec.path, kind);
  const args = ['worktree', 'add', '--quiet', '--no-checkout', '--detach', spec.path, spec.commit];
  await retryRaces(() => context.git(args, { at: repo, write: true }));
  const found = inspect(spec.path);
  if (found.kind !== 'worktree') throw pathTaken(spec.path, found.kind);
  writeOwner(found.worktree.adminDir, spec.owner);
  return found.worktree;
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
  await removeWorktree(context, repo, entry.path);
}
