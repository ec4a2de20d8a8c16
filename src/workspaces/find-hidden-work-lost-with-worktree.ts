import { readdirSync } from 'node:fs';
import type { Context, Repository } from '../git/context-and-locks.ts';
import { type LogEntry, readReflog } from '../git/history.ts';
import { listOwnRefs } from '../git/inspect-worktrees.ts';
import type { GitLocation } from '../git/locate-git-directories.ts';
import { branchRef, isOid } from '../git/refs.ts';
import { readStatus } from '../git/status-and-index-marks.ts';

/** What is known about a worktree before it is searched. */
interface Known {
  /** Its branch, whose history and reflog hold commits, too. */
  branch?: string | undefined;
  tip?: string | undefined;
  /** The commits of its own refs. */
  ownRefs?: readonly string[];
  /** Its reflog with that of the branch. */
  log?: readonly LogEntry[] | undefined;
}

/** Reflog messages of temporary copies that a rebase makes; their originals are in the branch's reflog. */
const REBASED = /^(rebase|pull)\b[^:]*\((pick|fixup|squash|reword)\)/;

/**
 * Commits that are deleted with a worktree, because only its HEAD's reflog or its own refs name them: those made on a
 * detached HEAD that was left, say.
 */
export async function commitsOnlyHere(
  repo: Repository,
  at: GitLocation,
  known: Known = {},
): Promise<string[]> {
  const { branch, tip } = known;
  const log = known.log ?? (await readReflog(repo.git, at, branch));
  const isOfHead = (ref: string) => branch === undefined || ref !== branchRef(branch);
  const named = [
    ...log.flatMap(({ ref, commit, message }) => (isOfHead(ref) && !REBASED.test(message) ? [commit] : [])),
    ...(known.ownRefs ?? (await listOwnRefs(repo.git, at))),
    ...(await pseudoRefs(repo, at)),
  ];
  const held = new Set([tip, ...log.flatMap(({ ref, commit }) => (isOfHead(ref) ? [] : [commit]))]);
  const open = new Set(named.filter((commit) => !held.has(commit)));
  if (open.size === 0) return [];
  const { stdout } = await repo.git(
    ['rev-list', '--ignore-missing', '--stdin', '--single-worktree', '--not', '--all'],
    { at: repo, input: `${[...open].join('\n')}\n` },
  );
  return stdout.split('\n').filter(isOid);
}

/** Refs to commits from elsewhere, or to no commit. */
const FOREIGN = ['HEAD', 'FETCH_HEAD', 'AUTO_MERGE'];

/** The commits of refs such as ORIG_HEAD, which a worktree has outside of `refs/`. Git cannot list them before 2.45, only read them. */
async function pseudoRefs(context: Context, at: GitLocation): Promise<string[]> {
  const names = readdirSync(at.gitDir).filter(
    (name) => /^[A-Z][A-Z0-9_]*$/.test(name) && !FOREIGN.includes(name) && !name.endsWith('_EDITMSG'),
  );
  if (names.length === 0) return [];
  const input = `${names.map((name) => `${name}^{commit}`).join('\n')}\n`;
  const { stdout } = await context.git(['cat-file', '--batch-check=%(objectname)'], { at, input });
  return stdout.split('\n').filter(isOid);
}

/** Whether deleting a worktree would lose work that git does not check: hidden edits, or commits that no other ref holds. */
export async function wouldLoseHiddenWork(repo: Repository, at: GitLocation): Promise<boolean> {
  const { hidden } = await readStatus(repo.git, at);
  return hidden.length > 0 || (await commitsOnlyHere(repo, at)).length > 0;
}

export function sayCommits(commits: readonly string[]): string {
  const first = commits[0]?.slice(0, 10);
  const count = commits.length === 1 ? 'a commit' : `${commits.length} commits`;
  return `no branch holds ${count} made in it, ${first}; save with: git branch <name> ${first}`;
}
