import { lockRepo, type Repository } from '../git/context-and-locks.ts';
import { fetchNow } from '../git/fetch-and-find-trunk.ts';
import { countCommits, isCommit, mergeBase } from '../git/history.ts';
import type { GitLocation } from '../git/locate-git-directories.ts';
import { mergeCommits } from '../git/merge-commits-without-worktree.ts';
import { branchRef, originRef, readRef, readRefs } from '../git/refs.ts';
import { GitError } from '../git/run-git.ts';
import { messageOf, orError, WorkspaceError } from '../model/errors.ts';
import { hasWork } from './find-work-in-base.ts';
import { resolveBase, startingPoint } from './resolve-base.ts';
import type { WorkspaceSpec } from './workspace-spec.ts';

/** Where a ticket's branch begins. */
export interface Start {
  /** The commit that an existing branch should have; undefined for a new branch. */
  tip: string | undefined;
  /** The commit of that branch now, if prerequisites have to be added first. */
  movesFrom?: string;
  base: { ref: string; commit: string };
  notes: string[];
}

/** Finds the commit with every finished prerequisite that a branch starts at, whether it is new or exists already. */
export async function findStart(repo: Repository, spec: WorkspaceSpec): Promise<Start> {
  const tip = await readRef(repo, branchRef(spec.branch));
  const { recordedBase, formerBase = null, stackTips = {}, prerequisitesOnOrigin = {}, mergedOn = [] } = spec;
  if (tip && recordedBase) return { tip, base: recordedBase, notes: [] };
  const alone = spec.stackOn.length + mergedOn.length === 0;
  if (tip && formerBase && alone) return { tip, base: formerBase, notes: [] };
  const wanted = (recordedBase ?? formerBase)?.ref ?? spec.base;
  const base = await resolveBase(repo, wanted, { fetch: true });
  const { ref, notes } = base;
  if (tip && alone) return { tip, base: { ref, commit: await forkPoint(repo, tip, base.commit) }, notes };
  const start = await startingPoint(repo, base);
  const there = mergedOn.length > 0 ? await originTip(repo, base.name) : { tips: [], notes: [] };
  // If origin cannot be reached, the local branch of a merged prerequisite is used.
  const stackOn = there.tips.length > 0 ? spec.stackOn : [...spec.stackOn, ...mergedOn];
  const before = await prerequisiteTips(repo, { start, stackOn, stackTips, prerequisitesOnOrigin });
  const tips = [...there.tips, ...before.tips];
  const stackSpec = { branch: spec.branch, start, tips, withStart: there.tips.length > 0 };
  const allNotes = [...notes, ...there.notes, ...before.notes];
  const missing = tip ? await notContained(repo, tip, tips) : [];
  if (tip && missing.length === 0) {
    if (formerBase && (await notContained(repo, formerBase.commit, tips)).length === 0)
      return { tip, base: formerBase, notes: allNotes };
    const commit =
      (await prerequisiteWithAllOthers(repo, stackSpec)) ?? (await forkPoint(repo, tip, base.commit));
    return { tip, base: { ref, commit }, notes: allNotes };
  }
  const commit = await mergePrerequisites(repo, stackSpec);
  if (!tip) return { tip, base: { ref, commit }, notes: allNotes };
  const known = [base.commit, start, ...(formerBase ? [formerBase.commit] : [])];
  // A squashed prerequisite would conflict with its own commits: only later commits count as the branch's own.
  const from = there.tips.length > 0 ? formerBase?.commit : undefined;
  const own = { branch: spec.branch, tip, known, from };
  const to = await mergeWithPrerequisites(repo, { ...own, stacked: commit, missing });
  return { tip: to, movesFrom: tip, base: { ref, commit }, notes: allNotes };
}

/** Moves a branch to its starting commit; `worktree` is where it is checked out. Uncommitted files there are kept. */
export async function moveToStart(
  repo: Repository,
  { branch, start, worktree }: { branch: string; start: Start; worktree: GitLocation | undefined },
): Promise<void> {
  const { tip, movesFrom } = start;
  if (tip === undefined || movesFrom === undefined) return;
  if (!worktree) {
    const args = ['update-ref', '-m', 'signalbox: prerequisites', branchRef(branch), tip, movesFrom];
    await lockRepo(repo, () => repo.git(args, { at: repo, write: true }));
    return;
  }
  const reset = () => repo.git(['reset', '--keep', '--quiet', tip], { at: worktree, write: true });
  if ((await orError(GitError, reset)) instanceof GitError)
    throw new WorkspaceError(
      'workspace/dirty',
      `Cannot bring the prerequisites of ${branch} into ${worktree.workTree}: uncommitted files would be overwritten.`,
      { hint: 'Commit or remove them, then retry this ticket.', details: { path: worktree.workTree } },
    );
}

async function forkPoint(repo: Repository, tip: string, base: string): Promise<string> {
  return (await mergeBase(repo, tip, base)) ?? tip;
}

interface Tip {
  name: string;
  commit: string;
}

interface StackSpec {
  branch: string;
  /** Where the branch would begin without prerequisites. */
  start: string;
  tips: readonly Tip[];
  /** Merges the start, too, even if it contains no prerequisite. */
  withStart?: boolean;
}

/** The starting commit of a branch with prerequisites: the start with all of them merged in. */
async function mergePrerequisites(repo: Repository, spec: StackSpec): Promise<string> {
  const { tips } = spec;
  const open = await notContained(repo, spec.start, tips);
  if (open.length === 0) return spec.start;
  // Other branches may lack a prerequisite that is already in the base, so the base is merged, too.
  const candidates =
    spec.withStart || open.length < tips.length ? [...open, { name: 'the base', commit: spec.start }] : open;
  const [first, ...rest] = await withoutContainedTips(repo, candidates);
  let commit = first?.commit ?? spec.start;
  const names = [first?.name ?? ''];
  for (const tip of rest) {
    const message = `Merge ${tip.name} as a prerequisite of ${spec.branch}`;
    const merged = await mergeCommits(repo, { ours: commit, theirs: tip.commit, message });
    if ('conflict' in merged)
      throw conflict(
        `The prerequisites of ${spec.branch} do not merge: ${tip.name} conflicts with ${names.join(', ')} in ${merged.conflict.join(', ')}.`,
        'Merge them into the base branch by hand, then retry this ticket.',
        { branches: [...names, tip.name], files: merged.conflict },
      );
    commit = merged.commit;
    names.push(tip.name);
  }
  return commit;
}

/** The prerequisite outside the base that contains all the others, if there is one. */
async function prerequisiteWithAllOthers(repo: Repository, spec: StackSpec): Promise<string | undefined> {
  const open = await notContained(repo, spec.start, spec.tips);
  const [first, ...others] = open.length > 0 ? await withoutContainedTips(repo, open) : [];
  return others.length === 0 ? first?.commit : undefined;
}

interface MergeSpec {
  branch: string;
  /** Where the branch is now. */
  tip: string;
  /** Commits of these are not the branch's own. */
  known: readonly string[];
  /** Where it would begin if it were new. */
  stacked: string;
  missing: readonly Tip[];
  /** The commit where its own work began; the stack contains everything before it in another form. */
  from?: string | undefined;
}

/** Adds missing prerequisites to a branch: without commits of its own it moves to the stack, else both are merged. */
async function mergeWithPrerequisites(repo: Repository, spec: MergeSpec): Promise<string> {
  const { branch, tip, stacked, missing } = spec;
  const known = [...new Set([...spec.known, stacked])];
  if ((await countCommits(repo, tip, known)) === 0) return stacked;
  const names = missing.map(({ name }) => name).join(', ');
  const message = `Merge ${names} as a prerequisite of ${branch}`;
  const merged = await mergeCommits(repo, { ours: tip, theirs: stacked, message, from: spec.from });
  if ('conflict' in merged)
    throw conflict(
      `${branch} has commits of its own and does not merge with its prerequisite ${names}: both changed ${merged.conflict.join(', ')}.`,
      `Merge ${names} into ${branch} by hand, or delete ${branch} to start over; then retry this ticket.`,
      { branches: [branch, ...missing.map(({ name }) => name)], files: merged.conflict },
    );
  return merged.commit;
}

function conflict(message: string, hint: string, details: Record<string, unknown>): WorkspaceError {
  return new WorkspaceError('workspace/stack-conflict', message, { hint, details });
}

type PrerequisiteSpec = Pick<StackSpec, 'start'> &
  Required<Pick<WorkspaceSpec, 'stackOn' | 'stackTips' | 'prerequisitesOnOrigin'>>;

async function prerequisiteTips(
  repo: Repository,
  spec: PrerequisiteSpec,
): Promise<{ tips: Tip[]; notes: string[] }> {
  const tips: Tip[] = [];
  const notes: string[] = [];
  const names = spec.stackOn.flatMap((name) => [branchRef(name), originRef(name)]);
  const refs = await readRefs(repo, names);
  for (const name of spec.stackOn) {
    const there = spec.prerequisitesOnOrigin[name];
    if (there) tips.push({ name: `origin/${name}`, commit: there.commit });
    if (there?.replacesLocal) continue;
    const commit =
      refs.get(branchRef(name)) ??
      refs.get(originRef(name)) ??
      (await tipOfDeletedBranch(repo, spec.start, spec.stackTips[name]));
    if (commit) tips.push({ name, commit });
    else notes.push(`The prerequisite's branch ${name} is gone; it is taken as merged.`);
  }
  return { tips, notes };
}

/** A branch as origin has it this moment; undefined when it has none of that name. Throws when it cannot be asked. */
export async function originBranch(repo: Repository, name: string): Promise<string | undefined> {
  try {
    await fetchNow(repo, name);
  } catch (error) {
    if (error instanceof GitError && /couldn't find remote ref/.test(error.stderr)) return undefined;
    throw error;
  }
  return readRef(repo, originRef(name));
}

/** The base as origin has it this moment; none where origin cannot be asked or does not have it. */
async function originTip(
  repo: Repository,
  name: string | undefined,
): Promise<{ tips: Tip[]; notes: string[] }> {
  if (name === undefined) return { tips: [], notes: [] };
  try {
    await fetchNow(repo, name);
  } catch (error) {
    return { tips: [], notes: [`origin/${name} was not fetched: ${messageOf(error)}`] };
  }
  const commit = await readRef(repo, originRef(name));
  return { tips: commit ? [{ name: `origin/${name}`, commit }] : [], notes: [] };
}

/** The last commit of a deleted branch, if it still exists and its work is not in the base. */
async function tipOfDeletedBranch(
  repo: Repository,
  base: string,
  tip: string | undefined,
): Promise<string | undefined> {
  if (tip === undefined || !(await isCommit(repo, tip))) return undefined;
  return (await hasWork(repo, base, tip)) ? undefined : tip;
}

/** Those of the tips that are not in the history of a commit. */
async function notContained(repo: Repository, start: string, tips: readonly Tip[]): Promise<Tip[]> {
  const others = tips.filter((tip) => tip.commit !== start);
  if (others.length === 0) return [];
  const args = ['rev-list', ...others.map((tip) => tip.commit), '--not', start];
  const { stdout } = await repo.git(args, { at: repo });
  const open = new Set(stdout.split('\n'));
  return others.filter((tip) => open.has(tip.commit));
}

/** Leaves out tips that others contain, in the given order. */
async function withoutContainedTips(repo: Repository, tips: Tip[]): Promise<Tip[]> {
  if (tips.length === 1) return tips;
  const args = ['merge-base', '--independent', ...tips.map((tip) => tip.commit)];
  const { stdout } = await repo.git(args, { at: repo });
  const left = new Set(stdout.split('\n'));
  return tips.filter((tip) => left.delete(tip.commit));
}
