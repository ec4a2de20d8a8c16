import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Context } from '../git/context-and-locks.ts';
import { gitDirOfEntry, listWorktrees as listRegistered } from '../git/inspect-worktrees.ts';
import { readStatus } from '../git/status-and-index-marks.ts';
import { candidateAt, commitsThatWouldBeLost, type ReleaseSpec, reasonToKeep } from './release-workspace.ts';
import { withoutCopies } from './setup/copy-untracked-files.ts';
import { type Owner, readOwner } from './workspace-owner.ts';
import { canonical, realDirectory } from './worktree-paths.ts';

/** A worktree that Signalbox has used, as git and its owner file describe it. */
export interface KnownWorktree {
  path: string;
  /** `<planId>/<ticketId>`. */
  owner: string;
  branch: string;
  base: Owner['base'];
  /** `slot`: a warm worktree; `aside`: one that was set aside because it could not be used again. */
  kind: 'worktree' | 'slot' | 'aside';
  /** False for a worktree that existed before the ticket. */
  created: boolean;
  /** Its ticket has released it. */
  left: boolean;
  /** False when only git's entry is left. */
  exists: boolean;
  /** When git last wrote something about it (ms). */
  usedAt: number;
}

/** The worktrees of a repository that have an owner. */
export async function listWorktrees(context: Context, path: string): Promise<KnownWorktree[]> {
  const repo = await context.repo(path);
  const [, ...linked] = await listRegistered(context.git, repo);
  const known: KnownWorktree[] = [];
  for (const entry of linked) {
    const gitDir = await gitDirOfEntry(repo, entry, linked);
    const record = gitDir === undefined ? undefined : readOwner(gitDir);
    if (gitDir === undefined || record === undefined) continue;
    const { owner, branch, base, created, left = false } = record;
    const about = { path: entry.path, owner, branch, base, created, left, exists: existsSync(entry.path) };
    known.push({ ...about, kind: kindOf(entry.path, record), usedAt: lastUse(gitDir) });
  }
  return known;
}

function kindOf(path: string, { state, created }: Owner): KnownWorktree['kind'] {
  if (basename(dirname(path)) !== '.slots') return 'worktree';
  return created && (state === 'slot' || state === 'checkout') ? 'slot' : 'aside';
}

function lastUse(gitDir: string): number {
  const names = ['', ...readdirSync(gitDir), 'logs/HEAD'];
  const times = names.map((name) => statSync(join(gitDir, name), { throwIfNoEntry: false })?.mtimeMs ?? 0);
  return Math.max(...times);
}

export interface WouldLose {
  /** Why it must stay; null when it can be removed and nothing is lost. */
  keep: string | null;
  /** Uncommitted files, untracked ones included. */
  files: number;
  /** Commits that no branch, tag or remote has. */
  commits: number;
  /** Ignored files and directories that go with it, other than those that were copied into it. */
  ignored: string[];
}

/** What removing a worktree would lose, without touching it. */
export async function examineWorktree(context: Context, given: ReleaseSpec): Promise<WouldLose> {
  const repo = await context.repo(given.repo);
  const spec = { ...given, path: canonical(given.path), worktreeRoot: realDirectory(given.worktreeRoot) };
  const candidate = await candidateAt(repo, spec);
  if (candidate === undefined) return { keep: null, files: 0, commits: 0, ignored: [] };
  if (typeof candidate === 'string') return { keep: candidate, files: 0, commits: 0, ignored: [] };
  const { worktree, owner } = candidate;
  const wish = { all: true, ignored: true };
  const { head, changed, untracked, ignored: hidden } = await readStatus(context.git, worktree, wish);
  const ignored = await withoutCopies(worktree.workTree, hidden, owner.copied);
  const loose = await withoutCopies(worktree.workTree, untracked, owner.copied);
  const rest = ['--not', '--branches', '--tags', '--remotes'];
  const tips = [...(head ? [head] : []), ...(await commitsThatWouldBeLost(repo, candidate))];
  const count =
    tips.length > 0
      ? (
          await context.git(['rev-list', '--count', ...tips.slice(0, 1000), ...rest], { at: repo })
        ).stdout.trim()
      : '0';
  const keep = await reasonToKeep(repo, candidate);
  return { keep: keep ?? null, files: changed.length + loose.length, commits: Number(count), ignored };
}
