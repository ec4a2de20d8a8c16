import { type Context, lockRepo } from '../git/context.ts';
import { GitError } from '../git/git.ts';
import { mergeBase } from '../git/history.ts';
import type { GitLocation } from '../git/location.ts';
import { branchRef, readRef } from '../git/refs.ts';
import { WorkspaceError } from '../model/errors.ts';
import { resolveBase, startingPoint } from './base.ts';
import type { StackedThere } from './spec.ts';
import { notContained, originTip, prerequisiteTips, stack, topmost, upon } from './stack.ts';

interface StartSpec {
  branch: string;
  base: string | null;
  stackOn: string[];
  stackTips?: Record<string, string> | undefined;
  stackThere?: Record<string, StackedThere> | undefined;
  /** Prerequisites that were merged on the forge. */
  mergedOn?: string[] | undefined;
  recordedBase: { ref: string; commit: string } | null;
  /** What the branch began at when it was another ticket's. */
  formerBase?: { ref: string; commit: string } | null;
}

/** Where a ticket's branch begins. */
export interface Start {
  /** The branch itself when it exists already, as it is to be. */
  tip: string | undefined;
  /** Where that branch still is, when its prerequisites are to come into it first. */
  movesFrom?: string;
  base: { ref: string; commit: string };
  notes: string[];
}

/** A branch contains every finished prerequisite when its ticket begins, whether it is new or was there before. */
export async function findStart(context: Context, repo: GitLocation, spec: StartSpec): Promise<Start> {
  const tip = await readRef(context.git, repo, branchRef(spec.branch));
  const { recordedBase, formerBase = null, stackTips = {}, stackThere = {}, mergedOn = [] } = spec;
  if (tip && recordedBase) return { tip, base: recordedBase, notes: [] };
  const alone = spec.stackOn.length + mergedOn.length === 0;
  if (tip && formerBase && alone) return { tip, base: formerBase, notes: [] };
  const wanted = (recordedBase ?? formerBase)?.ref ?? spec.base;
  const base = await resolveBase(context, repo, wanted, { fetch: true });
  const { ref, notes } = base;
  if (tip && alone)
    return { tip, base: { ref, commit: await forkPoint(context, repo, tip, base.commit) }, notes };
  const start = await startingPoint(context, repo, base);
  const there = mergedOn.length > 0 ? await originTip(context, repo, base.name) : { tips: [], notes: [] };
  // Where origin cannot be asked, what is here of a merged prerequisite is better than nothing.
  const stackOn = there.tips.length > 0 ? spec.stackOn : [...spec.stackOn, ...mergedOn];
  const before = await prerequisiteTips(context, repo, { start, stackOn, stackTips, stackThere });
  const tips = [...there.tips, ...before.tips];
  const stackSpec = { branch: spec.branch, start, tips, withStart: there.tips.length > 0 };
  const told = [...notes, ...there.notes, ...before.notes];
  const missing = tip ? await notContained(context, repo, tip, tips) : [];
  if (tip && missing.length === 0) {
    if (formerBase && (await notContained(context, repo, formerBase.commit, tips)).length === 0)
      return { tip, base: formerBase, notes: told };
    const commit =
      (await topmost(context, repo, stackSpec)) ?? (await forkPoint(context, repo, tip, base.commit));
    return { tip, base: { ref, commit }, notes: told };
  }
  const commit = await stack(context, repo, stackSpec);
  if (!tip) return { tip, base: { ref, commit }, notes: told };
  const known = [base.commit, start, ...(formerBase ? [formerBase.commit] : [])];
  // What was merged as one commit looks like somebody else's change of the same lines: only what came since counts as own.
  const from = there.tips.length > 0 ? formerBase?.commit : undefined;
  const to = await upon(context, repo, { branch: spec.branch, tip, known, stacked: commit, missing, from });
  return { tip: to, movesFrom: tip, base: { ref, commit }, notes: told };
}

/** Brings a branch to where it is to begin; `worktree` is where it is checked out. What is uncommitted there stays. */
export async function moveToStart(
  context: Context,
  repo: GitLocation,
  { branch, start, worktree }: { branch: string; start: Start; worktree: GitLocation | undefined },
): Promise<void> {
  const { tip, movesFrom } = start;
  if (tip === undefined || movesFrom === undefined) return;
  if (!worktree) {
    const args = ['update-ref', '-m', 'signalbox: prerequisites', branchRef(branch), tip, movesFrom];
    await lockRepo(repo, () => context.git(args, { at: repo, write: true }));
    return;
  }
  try {
    await context.git(['reset', '--keep', '--quiet', tip], { at: worktree, write: true });
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    throw new WorkspaceError(
      'workspace/dirty',
      `The prerequisites of ${branch} do not come into ${worktree.workTree}: uncommitted files are in the way.`,
      { hint: 'Commit or remove them, then retry this ticket.', details: { path: worktree.workTree } },
    );
  }
}

async function forkPoint(context: Context, repo: GitLocation, tip: string, base: string): Promise<string> {
  return (await mergeBase(context, repo, tip, base)) ?? tip;
}
