import type { Context, Repository } from './context-and-locks.ts';
import type { GitLocation } from './locate-git-directories.ts';
import { branchRef } from './refs.ts';
import type { Git } from './run-git.ts';

/** True when both commits are here and the first is in the second's history. */
export async function isAncestor(repo: Repository, ancestor: string, commit: string): Promise<boolean> {
  const args = ['merge-base', '--is-ancestor', ancestor, commit];
  return (await repo.git(args, { at: repo, ok: [0, 1, 128] })).code === 0;
}

/** True when `ancestor` is reachable from `commit`; fails when one of them is not here. */
export async function contains(repo: Repository, commit: string, ancestor: string): Promise<boolean> {
  if (commit === ancestor) return true;
  const known = repo.ancestry.get(`${commit}:${ancestor}`);
  if (known !== undefined) return known;
  const answer =
    (await containsByRecentParents(repo, commit, ancestor)) ??
    (await repo.git(['merge-base', '--is-ancestor', ancestor, commit], { at: repo, ok: [0, 1] })).code === 0;
  remember(repo, commit, ancestor, answer);
  return answer;
}

/** Maximum number of commits that are compared one by one. */
const STEPS = Array.from({ length: 24 }, (_, index) => index);

/** Answers without a process if one of two commits is among the latest first parents of the other. */
async function containsByRecentParents(
  repo: Repository,
  commit: string,
  ancestor: string,
): Promise<boolean | undefined> {
  const parentsOf = (from: string) => STEPS.map((step) => `${from}~${step}`);
  const found = (await repo.git.resolve(repo, [...parentsOf(commit), ...parentsOf(ancestor)])) ?? [];
  if (found.slice(0, STEPS.length).includes(ancestor)) return true;
  return found.slice(STEPS.length).includes(commit) ? false : undefined;
}

/** How many single commits lead from one down to another; undefined where there are merges or more of them. */
export async function stepsTo(
  context: Context,
  at: GitLocation,
  from: string,
  to: string,
): Promise<number | undefined> {
  const names = STEPS.flatMap((step) => [`${from}~${step}`, `${from}~${step}^2`]);
  const found = (await context.git.resolve(at, names)) ?? [];
  const steps = STEPS.findIndex((step) => found[2 * step] === to);
  const isStraight = STEPS.slice(0, Math.max(steps, 0)).every((step) => found[2 * step + 1] === undefined);
  return steps >= 0 && isStraight ? steps : undefined;
}

export function remember(context: Context, commit: string, ancestor: string, answer: boolean): void {
  if (context.ancestry.size > 5000) context.ancestry.clear();
  context.ancestry.set(`${commit}:${ancestor}`, answer);
}

/** The commit where two histories part; undefined when they have nothing in common. */
export async function mergeBase(repo: Repository, one: string, other: string): Promise<string | undefined> {
  const { stdout } = await repo.git(['merge-base', one, other], { at: repo, ok: [0, 1] });
  return stdout.trim() || undefined;
}

export async function isCommit(repo: Repository, commit: string): Promise<boolean> {
  const args = ['cat-file', '-e', `${commit}^{commit}`];
  return (await repo.git(args, { at: repo, ok: [0, 1, 128] })).code === 0;
}

/** True when some ref holds the commit. */
export async function isReachable(repo: Repository, commit: string): Promise<boolean> {
  const args = ['for-each-ref', '--count=1', '--format=%(refname)', `--contains=${commit}`];
  return (await repo.git(args, { at: repo })).stdout !== '';
}

export async function treeOf(repo: Repository, commit: string): Promise<string> {
  const { stdout } = await repo.git(['rev-parse', '--verify', `${commit}^{tree}`], { at: repo });
  return stdout.trim();
}

/** How many commits are reachable from `from` and from none of `without`. */
export async function countCommits(
  repo: Repository,
  from: string,
  without: readonly string[],
): Promise<number> {
  const args = ['rev-list', '--count', from, '--not', ...without, '--'];
  return Number((await repo.git(args, { at: repo })).stdout.trim());
}

/** Where HEAD of a checkout has been, latest first, by its reflog; with another ref, also that one's. */
export interface LogEntry {
  commit: string;
  ref: string;
  message: string;
}

export async function readReflog(git: Git, at: GitLocation, branch?: string): Promise<LogEntry[]> {
  const refs = branch === undefined ? [] : [branchRef(branch)];
  const args = ['log', '--walk-reflogs', '--format=%H%x00%gD%x00%gs%x00', 'HEAD', ...refs, '--'];
  const { code, stdout } = await git(args, { at, ok: [0, 128] });
  // The branch may be gone.
  if (code !== 0) return branch === undefined ? [] : readReflog(git, at);
  const fields = stdout.split('\0').map((field) => field.replace(/^\n/, ''));
  const entries: LogEntry[] = [];
  for (let index = 0; index + 2 < fields.length; index += 3) {
    const [commit = '', selector = '', message = ''] = fields.slice(index, index + 3);
    entries.push({ commit, ref: selector.replace(/@\{.*$/, ''), message });
  }
  return entries;
}
