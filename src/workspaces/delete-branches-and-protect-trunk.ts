import { lockRepo, type Repository } from '../git/context-and-locks.ts';
import { askDefaultBranch, originTrunk } from '../git/fetch-and-find-trunk.ts';
import { contains, countCommits } from '../git/history.ts';
import { checkedOutAt, readHead } from '../git/inspect-worktrees.ts';
import { branchRef, checkBranch, originRef, readRef, readRefs } from '../git/refs.ts';
import { WorkspaceError } from '../model/errors.ts';
import { namesAbove, ownBranchProblem, type Trunks } from '../model/ids-and-branch-names.ts';
import { baseBranchesOf } from './find-work-in-base.ts';
import type { BranchSpec } from './workspace-spec.ts';

export interface BranchState {
  tip: string;
  /** Commits that neither the base, here or on origin, nor its integration branch has. */
  unmerged: number;
  /** Origin had all of its commits at the last fetch. */
  pushed: boolean;
  /** The branch that was compared with. */
  base: string;
  /** Where it is checked out. */
  checkedOut: string | null;
  /** A branch that others start from. */
  lasting: boolean;
}

const LONG_LIVED_BRANCHES =
  /^(main|master|trunk|dev|develop|development|staging|production|release([/-].*)?|signalbox\/.*)$/;

/** What deleting a branch would mean; undefined when there is no such branch. */
export async function examineBranch(repo: Repository, spec: BranchSpec): Promise<BranchState | undefined> {
  checkBranch(spec.branch);
  const names = [branchRef(spec.branch), originRef(spec.branch)];
  const refs = await readRefs(repo, names);
  const [tip, there] = names.map((name) => refs.get(name));
  if (!tip) return undefined;
  const { base, holders } = await baseBranchesOf(repo, spec);
  const trunk = (await originTrunk(repo)).name;
  return {
    tip,
    unmerged: await countCommits(repo, tip, holders),
    pushed: there !== undefined && (await contains(repo, there, tip)),
    base: base.ref,
    checkedOut: (await checkedOutAt(repo, spec.branch))?.path ?? null,
    lasting: LONG_LIVED_BRANCHES.test(spec.branch) || spec.branch === base.name || spec.branch === trunk,
  };
}

type DeletedBranch = { deleted: true } | { deleted: false; reason: string };

/** Deletes a branch that its base contains and that is not checked out, unless it has moved since it was examined. */
export async function deleteBranch(repo: Repository, spec: BranchSpec): Promise<DeletedBranch> {
  return lockRepo(repo, async () => {
    const state = await examineBranch(repo, spec);
    if (!state) return { deleted: true };
    const reason = whyKeepBranch(state);
    if (reason) return { deleted: false, reason };
    await repo.git(['update-ref', '-d', branchRef(spec.branch), state.tip], { at: repo, write: true });
    return { deleted: true };
  });
}

/** Why a branch must stay; `going` are worktrees that are about to be removed. */
export function whyKeepBranch(state: BranchState, going: readonly string[] = []): string | undefined {
  if (state.lasting) return 'it is a branch that others start from';
  if (state.unmerged > 0) {
    const one = state.unmerged === 1;
    const there = state.pushed ? `, though origin has ${one ? 'it' : 'them'}` : '';
    return `${state.unmerged} ${one ? 'commit is' : 'commits are'} not in ${state.base}${there}`;
  }
  if (state.checkedOut !== null && !going.includes(state.checkedOut))
    return `it is checked out in ${state.checkedOut}`;
  return undefined;
}

/** A branch's commit and how many commits it has that another lacks; undefined when there is no such branch. */
export async function branchAhead(
  repo: Repository,
  spec: { repo: string; branch: string; of: string },
): Promise<{ tip: string; ahead: number } | undefined> {
  const tip = await readRef(repo, branchRef(spec.branch));
  if (!tip) return undefined;
  return { tip, ahead: tip === spec.of ? 0 : await countCommits(repo, tip, [spec.of]) };
}

/** True when the branch, here or on origin at the last fetch, has the commit. */
export async function branchHas(
  repo: Repository,
  spec: { repo: string; branch: string; commit: string },
): Promise<boolean> {
  const refs = await readRefs(repo, [branchRef(spec.branch), originRef(spec.branch)]);
  for (const tip of refs.values()) if (await contains(repo, tip, spec.commit)) return true;
  return false;
}

type Wish = Pick<BranchSpec, 'branch'> & Partial<Pick<BranchSpec, 'base' | 'recordedBase'>>;

/** Refuses work on the branch that it would be merged into. */
export async function refuseTrunk(repo: Repository, wish: Wish): Promise<void> {
  const base = wish.base ?? null;
  const trunk = (await originTrunk(repo)).name ?? null;
  // Without both, new work starts from the current branch.
  const start =
    base ?? (trunk || wish.recordedBase ? null : ((await readHead(repo.git, repo)).branch ?? null));
  refuse(wish.branch, { base: start, trunk });
}

/** Refuses to push to the base or to what origin says is its default branch at this moment. */
export async function refusePushToTrunk(repo: Repository, wish: Wish & { url: string }): Promise<void> {
  const base = wish.base ?? null;
  refuse(wish.branch, { base, trunk: (await originTrunk(repo)).name ?? null });
  refuse(wish.branch, { base, trunk: (await askDefaultBranch(repo, wish.url)) ?? null });
}

/** Refuses a name that git cannot have beside an existing branch, such as `x/y` beside `x`. */
export async function refuseConflictingName(repo: Repository, branch: string): Promise<void> {
  const above = namesAbove(branch);
  const refs = await readRefs(repo, above.map(branchRef));
  for (const name of above) if (refs.has(branchRef(name))) throw besides(branch, name);
  const { stdout } = await repo.git(
    ['for-each-ref', '--count=1', '--format=%(refname)', `${branchRef(branch)}/`],
    { at: repo },
  );
  const below = stdout.trim();
  if (below !== '') throw besides(branch, below.slice(branchRef('').length));
}

function refuse(branch: string, trunks: Trunks): void {
  const problem = ownBranchProblem(branch, trunks);
  if (!problem) return;
  throw new WorkspaceError('workspace/branch-is-base', `The branch ${branch} ${problem}.`, {
    hint: 'Give the ticket a `branch` of its own, or its plan another base; of an issue, name another --base.',
    details: { branch, ...trunks },
  });
}

function besides(branch: string, other: string): WorkspaceError {
  return new WorkspaceError(
    'workspace/branch-name',
    `The branch ${branch} cannot be there together with the branch ${other}.`,
    { hint: 'Give the ticket another `branch`.', details: { branch, other } },
  );
}
