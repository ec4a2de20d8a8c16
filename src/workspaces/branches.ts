import { type Context, lockRepo } from '../git/context.ts';
import { branchRef, originRef, readRef, readSymref } from '../git/refs.ts';
import type { Repo } from '../git/repository.ts';
import { checkedOutAt } from '../git/worktrees.ts';
import { contains, integrationBranch, resolveBase } from './base.ts';
import { checkBranch } from './place.ts';

export interface BranchSpec {
  repo: string;
  branch: string;
  base: string | null;
  recordedBase: { ref: string; commit: string } | null;
}

export interface BranchState {
  tip: string;
  /** Commits that neither the base, here or on origin, nor its integration branch has. */
  unmerged: number;
  /** Origin had all of it when it was last seen from here. */
  pushed: boolean;
  /** The branch that was compared with. */
  base: string;
  /** Where it is checked out. */
  checkedOut: string | null;
  /** A branch that people live on, whoever works on it. */
  lasting: boolean;
}

const LASTING =
  /^(main|master|trunk|dev|develop|development|staging|production|release([/-].*)?|signalbox\/.*)$/;

/** What deleting a branch would mean; undefined when there is no such branch. */
export async function examineBranch(context: Context, spec: BranchSpec): Promise<BranchState | undefined> {
  checkBranch(spec.branch);
  const repo = await context.repo(spec.repo);
  const tip = await readRef(context.git, repo, branchRef(spec.branch));
  if (!tip) return undefined;
  const { base, holders } = await holdersOf(context, repo, spec);
  const { stdout } = await context.git(['rev-list', '--count', tip, '--not', ...holders], { at: repo });
  const there = await readRef(context.git, repo, originRef(spec.branch));
  const origin = await readSymref(context.git, repo, originRef('HEAD'));
  return {
    tip,
    unmerged: Number(stdout.trim()),
    pushed: there !== undefined && (there === tip || (await contains(context, repo, there, tip))),
    base: base.ref,
    checkedOut: checkedOutAt(repo.commonDir, spec.branch)?.path ?? null,
    lasting: LASTING.test(spec.branch) || spec.branch === base.name || origin === originRef(spec.branch),
  };
}

/** Commits that keep merged work: the base, here and on origin, and its integration branch. */
export async function holdersOf(context: Context, repo: Repo, spec: BranchSpec) {
  const base = await resolveBase(context, repo, spec.recordedBase?.ref ?? spec.base, { fetch: false });
  const holders = [base.commit];
  for (const name of base.name ? [base.name, integrationBranch(base.name)] : []) {
    const commit = await readRef(context.git, repo, branchRef(name));
    if (commit && name !== spec.branch) holders.push(commit);
  }
  return { base, holders };
}

/** True when the base, here or on origin, or its integration branch has the commit. */
export async function baseHas(context: Context, spec: BranchSpec, commit: string): Promise<boolean> {
  const repo = await context.repo(spec.repo);
  const { holders } = await holdersOf(context, repo, spec);
  for (const holder of holders) if (await contains(context, repo, holder, commit)) return true;
  return false;
}

export type DeletedBranch = { deleted: true } | { deleted: false; reason: string };

/** Deletes a branch that its base contains and nobody has checked out, exactly as it was when looked at. */
export async function deleteBranch(context: Context, spec: BranchSpec): Promise<DeletedBranch> {
  const repo = await context.repo(spec.repo);
  return lockRepo(repo, async () => {
    const state = await examineBranch(context, spec);
    if (!state) return { deleted: true };
    const reason = whyKeepBranch(state);
    if (reason) return { deleted: false, reason };
    await context.git(['update-ref', '-d', branchRef(spec.branch), state.tip], { at: repo, write: true });
    return { deleted: true };
  });
}

/** Why a branch must stay; `going` are checkouts that are about to go. */
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
  context: Context,
  spec: { repo: string; branch: string; of: string },
): Promise<{ tip: string; ahead: number } | undefined> {
  const repo = await context.repo(spec.repo);
  const tip = await readRef(context.git, repo, branchRef(spec.branch));
  if (!tip) return undefined;
  if (tip === spec.of) return { tip, ahead: 0 };
  const { stdout } = await context.git(['rev-list', '--count', `${spec.of}..${tip}`, '--'], { at: repo });
  return { tip, ahead: Number(stdout.trim()) };
}

/** True when the branch, here or as it was last seen on origin, has the commit. */
export async function branchHas(
  context: Context,
  spec: { repo: string; branch: string; commit: string },
): Promise<boolean> {
  const repo = await context.repo(spec.repo);
  for (const ref of [branchRef(spec.branch), originRef(spec.branch)]) {
    const tip = await readRef(context.git, repo, ref);
    if (tip !== undefined && (await contains(context, repo, tip, spec.commit))) return true;
  }
  return false;
}
