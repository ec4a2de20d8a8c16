import type { Repository } from '../git/context-and-locks.ts';
import { contains, isCommit, isReachable, mergeBase } from '../git/history.ts';
import { addsNothing, withTemporaryObjects } from '../git/merge-commits-without-worktree.ts';
import { branchRef, originRef, readRefs } from '../git/refs.ts';
import { GitError, NO_DIFF_PROGRAMS } from '../git/run-git.ts';
import { ignoring } from '../model/errors.ts';
import { integrationBranch } from '../model/ids-and-branch-names.ts';
import { resolveBase } from './resolve-base.ts';
import type { BranchSpec } from './workspace-spec.ts';

/** How many commits of the base are compared with a branch's changes as a whole. */
const MAX_COMMITS = 200;
/** More names do not fit into a command line. */
const MAX_FILES = 2000;

/** The base of a branch, and the commits that hold merged work: the base, here and on origin, and its integration branch. */
export async function baseBranchesOf(repo: Repository, spec: BranchSpec) {
  const base = await resolveBase(repo, spec.recordedBase?.ref ?? spec.base, { fetch: false });
  const { name, local, integrated } = base;
  const others = [name === spec.branch ? undefined : local, integrated];
  return { base, holders: [base.commit, ...others.filter((commit) => commit !== undefined)] };
}

/** True when the base, here or on origin, or its integration branch has the commit. */
export async function baseHas(repo: Repository, spec: BranchSpec, commit: string): Promise<boolean> {
  const { holders } = await baseBranchesOf(repo, spec);
  for (const holder of holders) if (await contains(repo, holder, commit)) return true;
  return false;
}

/** True when a commit has another in its history, or all of its changes. */
export async function hasWork(repo: Repository, commit: string, work: string): Promise<boolean> {
  return (await contains(repo, commit, work)) || addsNothing(repo, commit, work);
}

/** Where finished work is: on its branch, here or on origin; in the base; on another ref (`kept`); or nowhere. */
export type Whereabouts = 'branch' | 'merged' | 'kept' | 'gone';

/** `tip` is the last commit of the work, if known. */
export async function findWorkInBase(
  repo: Repository,
  spec: BranchSpec & { tip: string | null },
): Promise<Whereabouts> {
  const { branch, tip } = spec;
  const refs = await readRefs(repo, [branchRef(branch), originRef(branch)]);
  if (refs.size > 0) return 'branch';
  if (tip === null || !(await isCommit(repo, tip))) return 'gone';
  const { holders } = await baseBranchesOf(repo, spec);
  for (const holder of holders) if (await hasWork(repo, holder, tip)) return 'merged';
  return (await isReachable(repo, tip)) ? 'kept' : 'gone';
}

/** Finished work: its branch, where that began, and its last commit, if known. */
interface Finished {
  branch: string;
  start: string;
  tip: string | null;
}

/**
 * Where finished work is by now, if it is not on its branch alone: the base or its integration branch, by name, or null where the
 * branch was deleted. Undefined for the others, and in a clone that has not even the commit where the work began.
 */
export async function placesOfWork(
  repo: Repository,
  { base, works }: { base: string; works: readonly Finished[] },
): Promise<(string | null | undefined)[]> {
  const name = base.replace(/^origin\//, '');
  const places = [
    [name, branchRef(name)],
    [`origin/${name}`, originRef(name)],
    [integrationBranch(name), branchRef(integrationBranch(name))],
  ] as const;
  const own = works.flatMap(({ branch }) => [branchRef(branch), originRef(branch)]);
  const refs = await readRefs(repo, [...places.map(([, ref]) => ref), ...own]);
  const holders: { place: string; own: string; commit: string; merged: Set<string> }[] = [];
  for (const [place, ref] of places) {
    const commit = refs.get(ref);
    if (commit === undefined) continue;
    const below = ['refs/heads', 'refs/remotes/origin'];
    const args = ['for-each-ref', `--merged=${commit}`, '--format=%(refname)', ...below];
    const merged = new Set((await repo.git(args, { at: repo })).stdout.split('\n'));
    holders.push({ place, own: ref, commit, merged });
  }
  const found: (string | null | undefined)[] = [];
  for (const { branch, start, tip } of works) {
    const ref = [branchRef(branch), originRef(branch)].find((each) => refs.has(each));
    if (ref !== undefined) {
      found.push(holders.find(({ own: holder, merged }) => holder !== ref && merged.has(ref))?.place);
      continue;
    }
    let place: string | null | undefined = (await isCommit(repo, start)) ? null : undefined;
    if (place === null && tip !== null && (await isCommit(repo, tip)))
      for (const holder of holders)
        if (place === null && (await contains(repo, holder.commit, tip))) place = holder.place;
    found.push(place);
  }
  return found;
}

/**
 * The branch that has a branch's changes although it lacks its commits, as after a squash or a rebase: the base, here or on
 * origin, or its integration branch. Null where nothing shows that.
 */
export async function branchWithSameChanges(repo: Repository, spec: BranchSpec): Promise<string | null> {
  const { base } = await baseBranchesOf(repo, spec);
  if (base.name === undefined) return null;
  const integrated = integrationBranch(base.name);
  const places = [
    [base.name, branchRef(base.name)],
    [`origin/${base.name}`, originRef(base.name)],
    [integrated, branchRef(integrated)],
  ] as const;
  const own = branchRef(spec.branch);
  const refs = await readRefs(repo, [own, ...places.map(([, ref]) => ref)]);
  const tip = refs.get(own);
  if (!tip) return null;
  const temporary = withTemporaryObjects(repo);
  try {
    const seen = new Set<string>();
    for (const [name, ref] of places) {
      const commit = refs.get(ref);
      if (!commit || seen.has(commit)) continue;
      seen.add(commit);
      if (await hasChanges(temporary.repo, commit, tip)) return name;
    }
    return null;
  } finally {
    temporary.remove();
  }
}

async function hasChanges(repo: Repository, base: string, tip: string): Promise<boolean> {
  const start = await mergeBase(repo, base, tip);
  if (start === undefined || start === base) return false;
  const changes = await changesOf(repo, { start, base, tip });
  // Usually the base has not changed these files since.
  if (changes.since === '') return false;
  return (
    (await addsNothing(repo, base, tip)) ||
    (await isCherryPicked(repo, base, tip)) ||
    (await isSquashed(repo, changes))
  );
}

interface Changes {
  /** The branch's changes as one patch; undefined for binary files, whose content a patch does not show. */
  whole: string | undefined;
  /** Patches of the base's commits to the same files since then; null if there are too many. */
  since: string | null;
}

async function changesOf(
  repo: Repository,
  { start, base, tip }: { start: string; base: string; tip: string },
): Promise<Changes> {
  const stat = ['diff', '--numstat', '--no-renames', '-z', start, tip, '--'];
  const changed = (await repo.git(stat, { at: repo })).stdout.split('\0').filter((line) => line !== '');
  const files = changed.map((line) => line.split('\t').slice(2).join('\t'));
  const form = ['--no-renames', ...NO_DIFF_PROGRAMS, '--no-color', '--full-index'];
  const options = { at: repo, env: { GIT_LITERAL_PATHSPECS: '1' } };
  const log = ['log', '--patch', '--no-merges', `--max-count=${MAX_COMMITS}`, '--format=commit %H', ...form];
  const binary = files.length === 0 || changed.some((line) => line.startsWith('-\t-\t'));
  const unknown = { whole: undefined, since: null };
  if (files.length > MAX_FILES) return unknown;
  const changes = await ignoring(GitError, async () => {
    const { stdout: since } = await repo.git([...log, `${start}..${base}`, '--', ...files], options);
    if (since === '' || binary) return { whole: undefined, since };
    const whole = await repo.git(['diff', ...form, start, tip, '--', ...files], options);
    return { whole: whole.stdout, since };
  });
  // Where the output is too large to read, the other comparisons are made without it.
  return changes ?? unknown;
}

/** The base has an equal patch for each of its commits. Merges cannot be compared that way. */
async function isCherryPicked(repo: Repository, base: string, tip: string): Promise<boolean> {
  const merges = ['rev-list', '--merges', '--count', `${base}..${tip}`, '--'];
  if ((await repo.git(merges, { at: repo })).stdout.trim() !== '0') return false;
  const { stdout } = await repo.git(['cherry', base, tip], { at: repo });
  const lines = stdout.split('\n').filter((line) => line !== '');
  return lines.length > 0 && lines.every((line) => line.startsWith('- '));
}

/** One commit of the base has all of its changes, whatever came later. */
async function isSquashed(repo: Repository, { whole, since }: Changes): Promise<boolean> {
  if (whole === undefined || since === null) return false;
  const [wanted] = await patchIds(repo, whole);
  return wanted !== undefined && (await patchIds(repo, since)).includes(wanted);
}

async function patchIds(repo: Repository, patches: string): Promise<string[]> {
  const { stdout } = await repo.git(['patch-id', '--stable'], { at: repo, input: patches });
  return stdout.split('\n').flatMap((line) => (line === '' ? [] : [line.split(' ')[0] as string]));
}
