import type { Context } from '../git/context-and-locks.ts';
import { fetchAnew } from '../git/fetch-and-find-trunk.ts';
import { countCommits, isAncestor } from '../git/history.ts';
import type { GitLocation } from '../git/location.ts';
import { mergeCommits } from '../git/merge.ts';
import { branchRef, checkBranch, originRef, readRefs } from '../git/refs.ts';
import { readStatus } from '../git/status-and-index-marks.ts';
import { WorkspaceError } from '../model/errors.ts';
import { openTree } from './open-add-repair-worktree.ts';
import { rewindTree } from './rewind-worktree.ts';

export interface CatchUpSpec {
  repo: string;
  path: string;
  branch: string;
  /** What origin is known to have had last: it still has it unless the branch was rewritten there. */
  known: string | null;
  /** Also fetched, so that it can be merged where there is no network. */
  base: string | null;
  /** Takes the branch as it is on origin where it cannot be merged; ours is kept on a ref. */
  takeTheirs: boolean;
}

/** What came of it. */
type Met =
  /** No other commits were pushed. */
  | { state: 'same'; commit: string }
  /** Their commits came on top of ours. */
  | { state: 'advanced'; commit: string; by: number }
  /** Their commits and ours were merged; that is not pushed yet. */
  | { state: 'merged'; commit: string; by: number }
  | { state: 'conflict'; files: string[] }
  /** What it had is not in it any more. */
  | { state: 'rewritten' }
  | { state: 'taken'; commit: string; keptAt: string | null };

/** `there` is what origin had. */
export type CaughtUp = Met & { there: string };

/** Brings a ticket's worktree to what its branch is on origin. A tree with uncommitted files is left as it is. */
export async function catchUp(context: Context, spec: CatchUpSpec): Promise<CaughtUp> {
  checkBranch(spec.branch);
  const repo = await context.repo(spec.repo);
  await fetchAnew(context, repo, spec.branch);
  if (spec.base !== null) await fetchAnew(context, repo, spec.base);
  const names = [branchRef(spec.branch), originRef(spec.branch)];
  const refs = await readRefs(context.git, repo, names);
  const [ours, theirs] = names.map((name) => refs.get(name));
  if (!ours || !theirs)
    throw new WorkspaceError(
      'workspace/branch-missing',
      `The branch ${spec.branch} is not ${ours ? 'on origin' : 'here'}.`,
    );
  const end = await meet(context, repo, spec, { ours, theirs });
  return { ...end, there: theirs };
}

async function meet(
  context: Context,
  repo: GitLocation,
  spec: CatchUpSpec,
  { ours, theirs }: { ours: string; theirs: string },
): Promise<Met> {
  if (ours === theirs) return { state: 'same', commit: ours };
  const has = (commit: string, ancestor: string) => isAncestor(context, repo, ancestor, commit);
  const { known } = spec;
  const kept = known !== null && (known === theirs || (await has(theirs, known)));
  // Commits that were taken away there are not missing there: bringing them back is not ours to decide.
  const rewound = known !== null && !kept;
  if (!rewound && (await has(ours, theirs))) return { state: 'same', commit: ours };
  const tree = await cleanTree(context, repo, spec);
  const by = await countCommits(context, repo, theirs, [ours]);
  if (!rewound && (await has(theirs, ours))) {
    await context.git(['merge', '--ff-only', '--quiet', theirs], { at: tree, write: true });
    return { state: 'advanced', commit: theirs, by };
  }
  if (!kept) return spec.takeTheirs ? takeTheirs(context, spec, theirs) : { state: 'rewritten' };
  const message = `Merge what was pushed to ${spec.branch}`;
  const merged = await mergeCommits(context, repo, { ours, theirs, message });
  if ('conflict' in merged)
    return spec.takeTheirs
      ? takeTheirs(context, spec, theirs)
      : { state: 'conflict', files: merged.conflict };
  await context.git(['merge', '--ff-only', '--quiet', merged.commit], { at: tree, write: true });
  return { state: 'merged', commit: merged.commit, by };
}

async function takeTheirs(context: Context, spec: CatchUpSpec, theirs: string): Promise<Met> {
  const keepAt = `refs/signalbox/replaced/${spec.branch}`;
  const { keptAt } = await rewindTree(context, { ...spec, to: theirs, keepAt, message: 'Replaced' });
  return { state: 'taken', commit: theirs, keptAt };
}

async function cleanTree(context: Context, repo: GitLocation, { path, branch }: CatchUpSpec) {
  const tree = await openTree(context.git, path, branch);
  if (tree?.commonDir !== repo.commonDir || tree.head.branch !== branch)
    throw new WorkspaceError('workspace/unexpected', `${path} is not on branch ${branch}.`, {
      hint: 'Check that branch out there again, then continue.',
      details: { path, branch },
    });
  const status = await readStatus(context.git, tree);
  if (status.changed.length + status.untracked.length > 0)
    throw new WorkspaceError(
      'workspace/dirty',
      `${path} has uncommitted files, so nothing is merged into it.`,
      {
        hint: 'Commit or remove them, then continue.',
        details: { path },
      },
    );
  return tree;
}
