import type { Context, Repository } from '../git/context-and-locks.ts';
import type { GitLocation } from '../git/locate-git-directories.ts';
import { commitTree } from '../git/merge-commits-without-worktree.ts';
import { branchRef, isOid, readRef } from '../git/refs.ts';
import { clearMarks, readStatus, type Status, withScratchIndex } from '../git/status-and-index-marks.ts';
import { WorkspaceError } from '../model/errors.ts';
import { openTree } from './add-remove-repair-worktree.ts';
import { isSpecStateFile } from './evidence-and-diff.ts';
import type { TreeSpec } from './workspace-spec.ts';

export interface RewindSpec extends TreeSpec {
  /** The commit to go back to. */
  to: string;
  /** The ref that keeps the removed work; a number is added if it exists. */
  keepAt: string;
  message: string;
}

/** Takes a tree and its branch back to a commit. Everything that is not ignored is kept on a ref first. */
export async function rewindTree(repo: Repository, spec: RewindSpec): Promise<{ keptAt: string | null }> {
  const tree = await openTree(repo.git, spec.path, spec.branch);
  if (!isOid(spec.to) || tree?.commonDir !== repo.commonDir || tree.head.branch !== spec.branch)
    throw new WorkspaceError('workspace/unexpected', `${spec.path} is not on branch ${spec.branch}.`, {
      hint: 'Fix it by hand, then resume.',
      details: { path: spec.path, branch: spec.branch },
    });
  const status = await readStatus(repo.git, tree, { all: true });
  const head = status.head ?? '';
  const commit = await commitOf(repo, tree, status, { parent: head, message: spec.message });
  if (commit === spec.to) return { keptAt: null };
  const keptAt = await keepOn(repo, spec.keepAt, commit);
  await resetTo(repo, tree, spec.to);
  return { keptAt };
}

/** Keeps a commit on a ref of its own. */
export async function keepOn(repo: Repository, wanted: string, commit: string): Promise<string> {
  for (let number = 1; ; number += 1) {
    const ref = `${wanted}-${number}`;
    if (await readRef(repo, ref)) continue;
    await createRef(repo, ref, commit);
    return ref;
  }
}

async function createRef(repo: Repository, ref: string, commit: string): Promise<void> {
  await repo.git(['update-ref', ref, commit, '0'.repeat(commit.length)], { at: repo, write: true });
}

async function resetTo(context: Context, at: GitLocation, commit: string): Promise<void> {
  await context.git(['reset', '--hard', '--quiet', commit, '--'], { at, write: true });
  await context.git(['clean', '-ffdq'], { at, write: true });
}

/** A commit with everything in a tree: HEAD if it is clean, else a new commit on no branch. */
async function commitOf(
  context: Context,
  at: GitLocation,
  status: Status,
  { parent, message }: { parent: string; message: string },
): Promise<string> {
  if (status.hidden.length > 0) await clearMarks(context.git, at, status.marks);
  const isClean = [...status.changed, ...status.untracked].every(isSpecStateFile);
  return isClean ? parent : commitAll(context, at, parent, message);
}

/** The tree as it is, as a commit that no branch has; the real index stays as it is. */
async function commitAll(
  context: Context,
  at: GitLocation,
  parent: string,
  message: string,
): Promise<string> {
  return withScratchIndex(at, async (env) => {
    await context.git(['add', '--all', '--', ':(top)'], { at, env, write: true });
    const { stdout } = await context.git(['write-tree'], { at, env, write: true });
    return commitTree(context, at, { tree: stdout.trim(), parents: [parent], message });
  });
}

export interface ReturnToBranchSpec extends Omit<RewindSpec, 'to'> {
  /** The commit at which the branch is created again if it is gone. */
  to: string | null;
}

/**
 * Switches a tree back to its branch. Everything that is not ignored, and the commit it was on, is kept on a ref first. `from` is
 * where the tree was, in words; null when it was on its branch.
 */
export async function returnToBranch(repo: Repository, spec: ReturnToBranchSpec) {
  const tree = await openTree(repo.git, spec.path, spec.branch);
  if (!tree || tree.commonDir !== repo.commonDir || tree.registeredAt !== tree.workTree)
    return { from: null, keptAt: null };
  const wanted = branchRef(spec.branch);
  const { branch, commit: now } = tree.head;
  if (branch === spec.branch && now !== undefined) return { from: null, keptAt: null };
  const tip = await readRef(repo, wanted);
  const to = tip ?? spec.to;
  if (to === null || !isOid(to))
    throw new WorkspaceError('workspace/unexpected', `Branch ${spec.branch} of ${spec.path} is gone.`, {
      hint: 'Create it again where its work was (see git reflog), then resume.',
      details: { path: spec.path, branch: spec.branch },
    });
  const status = await readStatus(repo.git, tree, { all: true });
  const commit = await commitOf(repo, tree, status, { parent: status.head ?? to, message: spec.message });
  const keptAt = commit === to ? null : await keepOn(repo, spec.keepAt, commit);
  if (tip === undefined) await createRef(repo, wanted, to);
  // An unfinished operation, such as a rebase, would continue on the wrong branch.
  await repo.git(['rebase', '--quit'], { at: tree, write: true, ok: [0, 1, 128] });
  await repo.git(['symbolic-ref', 'HEAD', wanted], { at: tree, write: true });
  await resetTo(repo, tree, to);
  return { from: branch ? `branch ${branch}` : 'no branch', keptAt };
}
