import { existsSync, rmSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Context, lockRepo, type Repository } from '../git/context-and-locks.ts';
import { isReachable, type LogEntry } from '../git/history.ts';
import {
  find,
  hasKeptBranch,
  inspect,
  isUnderWay,
  listOwnRefs,
  listWorktrees,
  type Worktree,
} from '../git/inspect-worktrees.ts';
import { branchRef, readRef } from '../git/refs.ts';
import { GitError } from '../git/run-git.ts';
import { readStatus, type Status } from '../git/status-and-index-marks.ts';
import { processesIn } from '../machine/process-identity-and-signals.ts';
import { messageOf } from '../model/errors.ts';
import { firstOf } from '../model/text/clean-escape-quote-plural.ts';
import { shellWord } from '../model/text/quote-values-for-shell.ts';
import { lockPlace, removeWorktree } from './add-remove-repair-worktree.ts';
import { commitsOnlyHere, sayCommits } from './find-hidden-work-lost-with-worktree.ts';
import { hadEnclave } from './private-git-directory.ts';
import {
  canonical,
  realDirectory,
  removeEmptyParents,
} from './resolve-symlinks-make-and-remove-directories.ts';
import { type ReturnToBranchSpec, returnToBranch, rewindTree } from './rewind-or-return-to-branch.ts';
import { withoutCopies } from './setup/copy-untracked-files.ts';
import {
  deleteLinkedCaches,
  deleteUntrackedFiles,
  hasCommittedModes,
  hasOwnState,
  ignoredFilesToDelete,
  operationIn,
} from './warm/remove-leftover-state.ts';
import { putWarm } from './warm/warm-worktrees.ts';
import { type Owner, readOwner, writeOwner } from './workspace-owner.ts';
import type { WorkspaceSpec } from './workspace-spec.ts';

export type ReleaseSpec = Pick<
  WorkspaceSpec,
  'repo' | 'branch' | 'path' | 'owner' | 'caches' | 'slots' | 'worktreeRoot'
>;
type Released = { released: true; slot: boolean } | { released: false; reason: string };

/** Releases a finished ticket's worktree: it is kept warm or removed, unless something would be lost. */
export function releaseWorkspace(repo: Repository, given: ReleaseSpec): Promise<Released> {
  const spec = { ...given, path: canonical(given.path), worktreeRoot: realDirectory(given.worktreeRoot) };
  return repo.inTurn(spec.path, () => releaseAt(repo, spec));
}

async function releaseAt(repo: Repository, spec: ReleaseSpec): Promise<Released> {
  const candidate = await candidateAt(repo, spec);
  if (candidate === undefined) return { released: true, slot: false };
  if (typeof candidate === 'string') return keep(candidate);
  const reason = await reasonToKeep(repo, candidate);
  if (reason) return keep(reason);
  return removeOrKeepWarm(repo, candidate);
}

/** The worktree at the path, the reason why Signalbox may not release it, or undefined if there is none. */
export async function candidateAt(
  repo: Repository,
  spec: ReleaseSpec,
): Promise<Candidate | string | undefined> {
  const found = await inspect(repo.git, spec.path, spec.branch);
  if (found.kind === 'absent') return undefined;
  if (found.kind !== 'worktree' || found.worktree.commonDir !== repo.commonDir)
    return 'it is not a worktree of this repository';
  const { worktree } = found;
  if (worktree.registeredAt !== worktree.workTree) return 'git has it registered elsewhere';
  const owner = readOwner(worktree.gitDir);
  if (!owner?.created) return 'it was there before Signalbox used it';
  if (owner.owner !== spec.owner) return `it belongs to ${owner.owner}`;
  const all = Object.keys(owner.copied).length > 0;
  const status = await readStatus(repo.git, worktree, { ignored: true, all });
  const ownRefs = worktree.ownRefs ?? (await listOwnRefs(repo.git, worktree));
  const log = hasKeptBranch(repo.git, worktree) ? [] : undefined;
  return { worktree, owner, status, ownRefs, log, spec };
}

const keep = (reason: string): Released => ({ released: false, reason });

interface Candidate {
  worktree: Worktree;
  owner: Owner;
  status: Status;
  ownRefs: readonly string[];
  log: readonly LogEntry[] | undefined;
  spec: ReleaseSpec;
}

/** Why a worktree must stay, or undefined when nothing in it is unique and no process works in it. */
export async function reasonToKeep(repo: Repository, candidate: Candidate): Promise<string | undefined> {
  const { worktree, owner, status, spec } = candidate;
  if (status.head === undefined) return 'its branch has no commit';
  if (status.branch !== undefined && status.branch !== spec.branch) return `it is on branch ${status.branch}`;
  const loose = [
    ...status.changed,
    ...(await withoutCopies(worktree.workTree, status.untracked, owner.copied)),
  ];
  if (loose.length > 0) return `it has uncommitted files: ${some(loose, status.hidden)}`;
  if (isUnderWay(worktree.gitDir, ['locked'])) return sayLocked(repo, worktree.workTree);
  const underWay = operationIn(worktree.gitDir);
  if (underWay) return `${underWay} is under way in it`;
  const nested = await repositoryInside(candidate, ignoredFilesToDelete(status.ignored, spec.caches));
  if (nested) return nested;
  if (status.branch === undefined && !(await isReachable(repo, status.head)))
    return `no branch holds its commit ${status.head}`;
  const left = await commitsThatWouldBeLost(repo, candidate);
  if (left.length > 0) return sayCommits(left);
  const [pid] = processesIn(worktree.workTree);
  if (pid !== undefined) return `process ${pid} works in it`;
  return undefined;
}

/** The words for a submodule or another repository in the worktree, which no commit of it can hold. */
async function repositoryInside(
  { worktree, status }: Candidate,
  directories: string[],
): Promise<string | undefined> {
  if (status.marks.links.length > 0 || existsSync(join(worktree.gitDir, 'modules')))
    return 'it has submodules';
  const nested = await nestedRepo(worktree.workTree, directories);
  return nested && `it holds another git repository, ${nested}`;
}

type SetAsideSpec = ReleaseSpec & Pick<ReturnToBranchSpec, 'to' | 'keepAt' | 'message'>;

/**
 * Commits what is uncommitted in a worktree to a ref, so that it can be released. Returns why it was left as it is: Signalbox
 * may not release it anyway, or a commit could not hold all of it.
 */
export function setAside(repo: Repository, given: SetAsideSpec): Promise<string | undefined> {
  const spec = { ...given, path: canonical(given.path) };
  return repo.inTurn(spec.path, async () => {
    const candidate = await candidateAt(repo, spec);
    if (candidate === undefined || typeof candidate === 'string') return candidate;
    const { worktree, owner } = candidate;
    // Every file by name: a directory that is left in the list is a repository of its own.
    const status = await readStatus(repo.git, worktree, { ignored: true, all: true });
    const ignored = ignoredFilesToDelete(status.ignored, spec.caches);
    const directories = [...status.untracked.filter((file) => file.endsWith('/')), ...ignored];
    const nested = await repositoryInside({ ...candidate, status }, directories);
    if (nested) return nested;
    const [pid] = processesIn(worktree.workTree);
    if (pid !== undefined) return `process ${pid} works in it`;
    const own = await withoutCopies(worktree.workTree, status.untracked, owner.copied);
    // Copies of the user's files, which may be secret, belong into no commit.
    for (const file of status.untracked)
      if (!own.includes(file)) rmSync(join(worktree.workTree, file), { force: true });
    await returnToBranch(repo, spec);
    const tip = await readRef(repo, branchRef(spec.branch));
    if (tip !== undefined) await rewindTree(repo, { ...spec, to: tip });
    return undefined;
  });
}

/** Commits that would be lost with the worktree. */
export function commitsThatWouldBeLost(
  repo: Repository,
  { worktree, ownRefs, log, status, spec }: Candidate,
): Promise<string[]> {
  const tip = status.branch === spec.branch ? status.head : undefined;
  return commitsOnlyHere(repo, worktree, { branch: spec.branch, tip, ownRefs, log });
}

async function sayLocked(repo: Repository, path: string): Promise<string> {
  const why = (await listWorktrees(repo.git, repo)).find((each) => each.path === path)?.locked ?? '';
  const unlock = `git -C ${shellWord(repo.workTree)} worktree unlock ${shellWord(path)}`;
  return `it is locked${why === '' ? '' : ` (${why.replace(/\s+/g, ' ')})`}; unlock it with: ${unlock}`;
}

function some(files: string[], hidden: string[]): string {
  const nameOf = (file: string) => (hidden.includes(file) ? `${file} (hidden from git status)` : file);
  return firstOf(files.map(nameOf), 3);
}

async function nestedRepo(root: string, paths: string[]): Promise<string | undefined> {
  for (const path of paths) {
    if (!path.endsWith('/')) continue;
    const entries = await readdir(join(root, path), { withFileTypes: true });
    if (entries.some((entry) => entry.name === '.git')) return path;
    const below = entries.filter((entry) => entry.isDirectory()).map((entry) => `${path}${entry.name}/`);
    const found = await nestedRepo(root, below);
    if (found) return found;
  }
  return undefined;
}

async function removeOrKeepWarm(repo: Repository, candidate: Candidate): Promise<Released> {
  const { worktree, owner, status, spec } = candidate;
  const { gitDir, workTree } = worktree;
  for (const file of status.untracked) {
    rmSync(join(workTree, file), { force: true });
    removeEmptyParents(join(workTree, file), workTree);
  }
  if (status.head && (await canBeWarm(repo, candidate))) {
    // What a sandboxed agent left in a cache would be run outside by the next ticket.
    const caches = hadEnclave(gitDir) ? [] : spec.caches;
    const rest = ignoredFilesToDelete(status.ignored, caches);
    const kept = rest.length < status.ignored.length;
    writeOwner(gitDir, { ...owner, state: 'slot', caches: kept, copied: {} });
    if (rest.length > 0) await deleteUntrackedFiles(repo, worktree, caches);
    deleteLinkedCaches(workTree, status.ignored, caches);
    const { head: commit } = status;
    if (await lockPlace(repo, spec, () => putWarm(repo, worktree, { ...spec, commit })))
      return { released: true, slot: true };
  }
  try {
    await lockRepo(repo, async () => {
      await removeWorktree(repo, workTree);
      removeEmptyParents(workTree, spec.worktreeRoot);
    });
    return { released: true, slot: false };
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    if (!('kind' in (await find(repo.git, workTree)))) {
      if (status.branch !== undefined)
        await repo.git(['symbolic-ref', 'HEAD', branchRef(status.branch)], { at: worktree, write: true });
      // Copied and ignored files are gone: they are made again when the ticket continues.
      writeOwner(gitDir, { ...owner, state: 'setup', copied: {} });
    }
    return keep(messageOf(error));
  }
}

/** Whether a worktree is like a new one, so that it can be kept warm. Others are deleted. */
async function canBeWarm(context: Context, { worktree, ownRefs, status, spec }: Candidate): Promise<boolean> {
  if (spec.slots === 0 || ownRefs.length > 0 || existsSync(join(worktree.workTree, '.gitmodules')))
    return false;
  return !(await hasOwnState(context, worktree, status.marks)) && hasCommittedModes(context, worktree);
}
