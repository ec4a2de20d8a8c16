import { lockMerges, type Repository } from '../git/context-and-locks.ts';
import { contains, remember } from '../git/history.ts';
import { checkedOutAt, listWorktrees } from '../git/inspect-worktrees.ts';
import { mergeCommits } from '../git/merge-commits-without-worktree.ts';
import { branchRef, checkBranch, requireTip } from '../git/refs.ts';
import { GitError } from '../git/run-git.ts';
import { WorkspaceError } from '../model/errors.ts';
import { integrationBranch } from '../model/ids-and-branch-names.ts';
import { shellWord } from '../model/text/quote-values-for-shell.ts';
import { baseToMergeInto } from './resolve-base.ts';
import type { BranchSpec } from './workspace-spec.ts';

type IntegrateSpec = BranchSpec & { message: string };
export type Integrated =
  /** `fastForward` is the command that brings it into the base branch's checkout. */
  | { target: string; commit: string; fastForward: string | null }
  /** Files that both sides changed; `target` is what has to be merged into the branch. */
  | { conflict: string[]; target: string };

const MAX_TRIES = 5;

/** Merges a ticket's branch into its base without touching any checkout. */
export async function integrateBranch(repo: Repository, spec: IntegrateSpec): Promise<Integrated> {
  checkBranch(spec.branch);
  if (spec.base !== null) checkBranch(spec.base, 'base branch');
  const merge = async () => {
    for (let tries = 1; ; tries += 1) {
      try {
        return await integrateOnce(repo, spec);
      } catch (error) {
        // The target was moved by another process since it was read.
        if (tries === MAX_TRIES || !(error instanceof GitError) || !/cannot lock ref/.test(error.stderr))
          throw error;
      }
    }
  };
  return lockMerges(repo, merge, repo.git.signal);
}

async function integrateOnce(repo: Repository, spec: IntegrateSpec): Promise<Integrated> {
  const tip = await requireTip(repo, spec.branch);
  const target = await findTarget(repo, spec);
  if (await contains(repo, target.tip, tip)) {
    await bringIntegrationUpToDate(repo, target);
    return done(target, target.old ? target.branch : target.name, target.tip);
  }
  const message = `Merge ${spec.branch}: ${spec.message}`;
  const merged = await mergeCommits(repo, { ours: target.tip, theirs: tip, message });
  if ('conflict' in merged) {
    await bringIntegrationUpToDate(repo, target);
    return { ...merged, target: target.old ? target.branch : target.name };
  }
  await moveBranch(repo, target, merged.commit);
  remember(repo, merged.commit, target.base, true);
  remember(repo, merged.commit, tip, true);
  return done(target, target.branch, merged.commit);
}

function done(target: MergeTarget, branch: string, commit: string): Integrated {
  return { target: branch, commit, fastForward: commit === target.base ? null : target.fastForward };
}

/** Where merged work goes. */
interface MergeTarget {
  /** The base branch. */
  name: string;
  /** What is moved: the base branch or its integration branch. */
  branch: string;
  /** The branch's commit; undefined if the branch has to be created. */
  old: string | undefined;
  /** What to merge into: `old`, brought up to the base. */
  tip: string;
  base: string;
  fastForward: string | null;
}

export async function findTarget(
  repo: Repository,
  spec: Pick<IntegrateSpec, 'base' | 'recordedBase'>,
): Promise<MergeTarget> {
  const base = await baseToMergeInto(repo, spec);
  const { name, local } = base;
  const entries = await listWorktrees(repo.git, repo);
  const where = await checkedOutAt(repo, name, entries);
  if (local && !where) return { name, branch: name, old: local, tip: local, base: local, fastForward: null };

  const branch = integrationBranch(name);
  const busy = await checkedOutAt(repo, branch, entries);
  if (busy)
    throw new WorkspaceError(
      'workspace/target-busy',
      `The branch ${branch} is checked out in ${busy.path}.`,
      {
        hint: `Work is merged into that branch; free it with git -C ${busy.path} switch --detach.`,
        details: { branch, path: busy.path },
      },
    );
  const old = base.integrated;
  const from = local ?? base.commit;
  const tip = await integrationWithBase(repo, { old, base: from, name });
  if (typeof tip !== 'string') {
    const theirs = local ? name : base.ref;
    const how = where
      ? `git -C ${shellWord(where.path)} merge ${branch}`
      : `git -C ${shellWord(repo.workTree)} switch ${branch}, git merge ${theirs}`;
    throw new WorkspaceError(
      'merge/base-conflict',
      `${branch} and its base ${theirs} conflict in ${tip.conflict.join(', ')}.`,
      { hint: `Merge them by hand: ${how}, resolve and commit.`, details: { ...tip, target: branch } },
    );
  }
  const fastForward = where
    ? `git -C ${shellWord(where.path)} merge --ff-only ${branch}`
    : `git -C ${shellWord(repo.workTree)} branch ${name} ${branch}`;
  return { name, branch, old, tip, base: from, fastForward };
}

/** The integration branch with everything the base got since; the same commit until one of them moves. */
async function integrationWithBase(
  repo: Repository,
  { old, base, name }: { old: string | undefined; base: string; name: string },
): Promise<string | { conflict: string[] }> {
  if (old === undefined || (await contains(repo, base, old))) return base;
  if (await contains(repo, old, base)) return old;
  const message = `Merge ${name} into ${integrationBranch(name)}`;
  const merged = await mergeCommits(repo, { ours: old, theirs: base, message, reproducible: true });
  return 'conflict' in merged ? merged : merged.commit;
}

/** Brings the integration branch up to the base, because the message asks the user to merge it. */
export async function bringIntegrationUpToDate(repo: Repository, target: MergeTarget): Promise<void> {
  if (target.old && target.old !== target.tip) await moveBranch(repo, target, target.tip);
}

/** Moves the branch, unless another process has moved it meanwhile. */
export async function moveBranch(repo: Repository, target: MergeTarget, commit: string): Promise<void> {
  const expected = target.old ?? '0'.repeat(commit.length);
  const args = ['update-ref', '-m', 'signalbox: integrate', branchRef(target.branch), commit, expected];
  await repo.git(args, { at: repo, write: true });
}
