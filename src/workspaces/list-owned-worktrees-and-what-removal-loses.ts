import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Context, Repository } from '../git/context-and-locks.ts';
import { gitDirOfEntry, listWorktrees as listRegistered } from '../git/inspect-worktrees.ts';
import { readStatus } from '../git/status-and-index-marks.ts';
import { candidateAt, commitsThatWouldBeLost, type ReleaseSpec, reasonToKeep } from './release-workspace.ts';
import { canonical, realDirectory } from './resolve-symlinks-make-and-remove-directories.ts';
import { withoutCopies } from './setup/copy-untracked-files.ts';
import { type Owner, readOwner } from './workspace-owner.ts';

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

/**
 * What removing a worktree would lose, without touching it: uncommitted files, untracked ones included; commits that no branch, tag
 * or remote has; ignored files other than those that were copied into it. `keep` is why it must stay, null if it can be removed.
 */
export async function examineWorktree(repo: Repository, given: ReleaseSpec) {
  const spec = { ...given, path: canonical(given.path), worktreeRoot: realDirectory(given.worktreeRoot) };
  const candidate = await candidateAt(repo, spec);
  if (candidate === undefined || typeof candidate === 'string')
    return { keep: candidate ?? null, files: 0, commits: 0, ignored: [] as string[] };
  const { worktree, owner } = candidate;
  const wish = { all: true, ignored: true };
  const { head, changed, untracked, ignored: hidden } = await readStatus(repo.git, worktree, wish);
  const ignored = await withoutCopies(worktree.workTree, hidden, owner.copied);
  const loose = await withoutCopies(worktree.workTree, untracked, owner.copied);
  const tips = [...(head ? [head] : []), ...(await commitsThatWouldBeLost(repo, candidate))];
  const args = ['rev-list', '--count', ...tips.slice(0, 1000), '--not', '--branches', '--tags', '--remotes'];
  const commits = tips.length > 0 ? Number((await repo.git(args, { at: repo })).stdout) : 0;
  const keep = await reasonToKeep(repo, candidate);
  return { keep: keep ?? null, files: changed.length + loose.length, commits, ignored };
}
