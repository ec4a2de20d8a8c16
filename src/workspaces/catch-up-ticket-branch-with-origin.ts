import type { Repository } from '../git/context-and-locks.ts';
import { fetchNow } from '../git/fetch-and-find-trunk.ts';
import { countCommits, isAncestor } from '../git/history.ts';
import { mergeCommits } from '../git/merge-commits-without-worktree.ts';
import { branchRef, checkBranch, originRef, readRefs } from '../git/refs.ts';
import { readStatus } from '../git/status-and-index-marks.ts';
import { WorkspaceError } from '../model/errors.ts';
import { openTree } from './add-remove-repair-worktree.ts';
import { rewindTree } from './rewind-or-return-to-branch.ts';
import type { TreeSpec } from './workspace-spec.ts';

export interface CatchUpSpec extends TreeSpec {
  /** What origin is known to have had last: it still has it unless the branch was rewritten there. */
  known: string | null;
  /** Also fetched, so that it can be merged where there is no network. */
  base: string | null;
  /** Takes origin's branch if the two cannot be merged; the local one is kept on a ref. */
  takeTheirs: boolean;
}

/** How the local branch and origin's were brought together. */
type Comparison =
  /** No other commits were pushed. */
  | { state: 'same'; commit: string }
  /** Origin's commits were added on top of the local ones. */
  | { state: 'advanced'; commit: string; by: number }
  /** Origin's commits and the local ones were merged; the merge is not pushed yet. */
  | { state: 'merged'; commit: string; by: number }
  | { state: 'conflict'; files: string[] }
  /** Origin's branch no longer contains the commit that it was known to have. */
  | { state: 'rewritten' }
  | { state: 'taken'; commit: string; keptAt: string | null };

/** `there` is the commit of origin's branch. */
export type CaughtUp = Comparison & { there: string };

/** Updates a ticket's worktree to origin's state of its branch. A tree with uncommitted files is left as it is. */
export async function catchUp(repo: Repository, spec: CatchUpSpec): Promise<CaughtUp> {
  checkBranch(spec.branch);
  await fetchNow(repo, spec.branch);
  if (spec.base !== null) await fetchNow(repo, spec.base);
  const names = [branchRef(spec.branch), originRef(spec.branch)];
  const refs = await readRefs(repo, names);
  const [ours, theirs] = names.map((name) => refs.get(name));
  if (!ours || !theirs)
    throw new WorkspaceError(
      'workspace/branch-missing',
      `The branch ${spec.branch} is not ${ours ? 'on origin' : 'here'}.`,
    );
  const end = await mergeWithOrigin(repo, spec, { ours, theirs });
  return { ...end, there: theirs };
}

async function mergeWithOrigin(
  repo: Repository,
  spec: CatchUpSpec,
  { ours, theirs }: { ours: string; theirs: string },
): Promise<Comparison> {
  if (ours === theirs) return { state: 'same', commit: ours };
  const has = (commit: string, ancestor: string) => isAncestor(repo, ancestor, commit);
  const { known } = spec;
  const kept = known !== null && (known === theirs || (await has(theirs, known)));
  // Commits that a person removed from origin's branch must not be pushed again.
  const rewound = known !== null && !kept;
  if (!rewound && (await has(ours, theirs))) return { state: 'same', commit: ours };
  const tree = await cleanTree(repo, spec);
  const by = await countCommits(repo, theirs, [ours]);
  if (!rewound && (await has(theirs, ours))) {
    await repo.git(['merge', '--ff-only', '--quiet', theirs], { at: tree, write: true });
    return { state: 'advanced', commit: theirs, by };
  }
  if (!kept) return spec.takeTheirs ? takeTheirs(repo, spec, theirs) : { state: 'rewritten' };
  const message = `Merge what was pushed to ${spec.branch}`;
  const merged = await mergeCommits(repo, { ours, theirs, message });
  if ('conflict' in merged)
    return spec.takeTheirs ? takeTheirs(repo, spec, theirs) : { state: 'conflict', files: merged.conflict };
  await repo.git(['merge', '--ff-only', '--quiet', merged.commit], { at: tree, write: true });
  return { state: 'merged', commit: merged.commit, by };
}

async function takeTheirs(repo: Repository, spec: CatchUpSpec, theirs: string): Promise<Comparison> {
  const keepAt = `refs/signalbox/replaced/${spec.branch}`;
  const { keptAt } = await rewindTree(repo, { ...spec, to: theirs, keepAt, message: 'Replaced' });
  return { state: 'taken', commit: theirs, keptAt };
}

async function cleanTree(repo: Repository, { path, branch }: CatchUpSpec) {
  const tree = await openTree(repo.git, path, branch);
  if (tree?.commonDir !== repo.commonDir || tree.head.branch !== branch)
    throw new WorkspaceError('workspace/unexpected', `${path} is not on branch ${branch}.`, {
      hint: 'Check that branch out there again, then continue.',
      details: { path, branch },
    });
  const status = await readStatus(repo.git, tree);
  if (status.changed.length + status.untracked.length > 0)
    throw new WorkspaceError(
      'workspace/dirty',
      `${path} has uncommitted files, so nothing is merged into it.`,
      { hint: 'Commit or remove them, then continue.', details: { path } },
    );
  return tree;
}
