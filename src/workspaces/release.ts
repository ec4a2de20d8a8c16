import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Context, lockRepo } from '../git/context.ts';
import { GitError } from '../git/git.ts';
import type { Repo } from '../git/repository.ts';
import { readStatus, type Status } from '../git/status.ts';
import { inspect, type Worktree } from '../git/worktrees.ts';
import { messageOf } from '../model/errors.ts';
import { shellWord } from '../model/text/shell-quote.ts';
import { hadEnclave } from './enclave.ts';
import { type Owner, readOwner, writeOwner } from './owner.ts';
import { canonical, realDirectory, removeEmptyParents } from './place.ts';
import { processesIn } from './processes.ts';
import { withoutCopies } from './setup/copy.ts';
import type { WorkspaceSpec } from './spec.ts';
import { commitsOnlyHere, sayCommits } from './unique-commits.ts';
import { cleanAround, disposable, dropLinkedCaches } from './warm/caches.ts';
import { hasCommittedModes } from './warm/modes.ts';
import { isPristine, tidyAdmin } from './warm/pristine.ts';
import { attach, detach, isReachable, putSlot, removeWorktree } from './warm/slots.ts';

export type ReleaseSpec = Pick<
  WorkspaceSpec,
  'repo' | 'branch' | 'path' | 'owner' | 'caches' | 'slots' | 'worktreeRoot'
>;
export type Released = { released: true; slot: boolean } | { released: false; reason: string };

/** Gives a finished ticket's worktree back, to the slots or for good, unless something would be lost. */
export async function releaseWorkspace(context: Context, given: ReleaseSpec): Promise<Released> {
  const repo = await context.repo(given.repo);
  const spec = { ...given, path: canonical(given.path), worktreeRoot: realDirectory(given.worktreeRoot) };
  return context.inTurn(spec.path, () => releaseAt(context, repo, spec));
}

async function releaseAt(context: Context, repo: Repo, spec: ReleaseSpec): Promise<Released> {
  const candidate = await candidateAt(context, repo, spec);
  if (candidate === undefined) return { released: true, slot: false };
  if (typeof candidate === 'string') return keep(candidate);
  const reason = await unsafe(context, repo, candidate);
  if (reason) return keep(reason);
  return giveBack(context, repo, candidate);
}

/** The worktree at the path, the reason why it is not ours to give back, or undefined when there is none. */
export async function candidateAt(
  context: Context,
  repo: Repo,
  spec: ReleaseSpec,
): Promise<Candidate | string | undefined> {
  const found = inspect(spec.path);
  if (found.kind === 'absent') return undefined;
  if (found.kind !== 'worktree' || found.worktree.commonDir !== repo.commonDir)
    return 'it is not a worktree of this repository';
  const { worktree } = found;
  if (worktree.registeredAt !== worktree.path) return 'git has it registered elsewhere';
  const owner = readOwner(worktree.adminDir);
  if (!owner?.created) return 'it was there before Signalbox used it';
  if (owner.owner !== spec.owner) return `it belongs to ${owner.owner}`;
  const status = await readStatus(context.git, worktree.at, {
    ignored: true,
    all: Object.keys(owner.copied).length > 0,
  });
  return { worktree, owner, status, spec };
}

const keep = (reason: string): Released => ({ released: false, reason });

export interface Candidate {
  worktree: Worktree;
  owner: Owner;
  status: Status;
  spec: ReleaseSpec;
}

/** Why a worktree must stay, or undefined when nothing in it is unique and nobody is in it. */
export async function unsafe(
  context: Context,
  repo: Repo,
  candidate: Candidate,
): Promise<string | undefined> {
  const { worktree, owner, status, spec } = candidate;
  if (status.head === undefined) return 'its branch has no commit';
  if (status.branch !== undefined && status.branch !== spec.branch) return `it is on branch ${status.branch}`;
  const loose = [...status.changed, ...(await withoutCopies(worktree.path, status.untracked, owner.copied))];
  if (loose.length > 0) return `it has uncommitted files: ${some(loose, status.hidden)}`;
  const lock = join(worktree.adminDir, 'locked');
  if (existsSync(lock)) return sayLocked(repo, worktree.path, readFileSync(lock, 'utf8').trim());
  const underWay = operationIn(worktree.adminDir);
  if (underWay) return `${underWay} is under way in it`;
  if (status.marks.links.length > 0 || existsSync(join(worktree.adminDir, 'modules')))
    return 'it has submodules';
  const nested = await nestedRepo(worktree.path, disposable(status.ignored, spec.caches));
  if (nested) return `it holds another git repository, ${nested}`;
  if (status.branch === undefined && !(await isReachable(context, repo, status.head)))
    return `no branch holds its commit ${status.head}`;
  const left = await looseCommits(context, repo, candidate);
  if (left.length > 0) return sayCommits(left);
  const [pid] = processesIn(worktree.path);
  if (pid !== undefined) return `process ${pid} works in it`;
  return undefined;
}

/** Commits that would go with the worktree. */
export function looseCommits(
  context: Context,
  repo: Repo,
  { worktree, owner, status, spec }: Candidate,
): Promise<string[]> {
  const tip = status.branch === spec.branch ? status.head : undefined;
  return commitsOnlyHere(context, repo, worktree.adminDir, {
    branch: spec.branch,
    tip,
    base: owner.base?.commit,
  });
}

function sayLocked(repo: Repo, path: string, why: string): string {
  const unlock = `git -C ${shellWord(repo.workTree)} worktree unlock ${shellWord(path)}`;
  return `it is locked${why === '' ? '' : ` (${why.replace(/\s+/g, ' ')})`}; unlock it with: ${unlock}`;
}

function some(files: string[], hidden: string[]): string {
  const more = files.length > 3 ? ` and ${files.length - 3} more` : '';
  const named = files
    .slice(0, 3)
    .map((file) => (hidden.includes(file) ? `${file} (hidden from git status)` : file));
  return named.join(', ') + more;
}

const OPERATIONS: Record<string, string> = {
  MERGE_HEAD: 'a merge',
  CHERRY_PICK_HEAD: 'a cherry-pick',
  REVERT_HEAD: 'a revert',
  BISECT_LOG: 'a bisect',
  'rebase-merge': 'a rebase',
  'rebase-apply': 'a rebase',
  sequencer: 'a cherry-pick or revert',
  'index.lock': 'a git command',
  'HEAD.lock': 'a git command',
};

function operationIn(adminDir: string): string | undefined {
  const name = readdirSync(adminDir).find((file) => file in OPERATIONS);
  return name === undefined ? undefined : OPERATIONS[name];
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

async function giveBack(context: Context, repo: Repo, candidate: Candidate): Promise<Released> {
  const { worktree, owner, status, spec } = candidate;
  for (const file of status.untracked) {
    rmSync(join(worktree.path, file), { force: true });
    removeEmptyParents(join(worktree.path, file), worktree.path);
  }
  if (spec.slots > 0 && canBeSlot(worktree, status) && (await hasCommittedModes(context, worktree))) {
    // What a sandboxed agent left in a cache would be run outside by the next ticket.
    const caches = hadEnclave(worktree.adminDir) ? [] : spec.caches;
    const rest = disposable(status.ignored, caches);
    writeOwner(worktree.adminDir, {
      ...owner,
      state: 'slot',
      caches: rest.length < status.ignored.length,
      copied: {},
    });
    if (status.branch !== undefined && status.head) await detach(context, worktree, status.head);
    if (rest.length > 0) await cleanAround(context, worktree, caches);
    dropLinkedCaches(worktree.path, status.ignored, caches);
    tidyAdmin(worktree.adminDir);
    if (await lockRepo(repo, () => putSlot(context, repo, worktree, spec)))
      return { released: true, slot: true };
  }
  try {
    await lockRepo(repo, async () => {
      await removeWorktree(context, repo, worktree.path);
      removeEmptyParents(worktree.path, spec.worktreeRoot);
    });
    return { released: true, slot: false };
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    if (inspect(worktree.path).kind === 'worktree') {
      if (status.branch !== undefined) await attach(context, worktree, status.branch);
      // Copied and ignored files are gone: they are made again when the ticket goes on.
      writeOwner(worktree.adminDir, { ...owner, state: 'setup', copied: {} });
    }
    return keep(messageOf(error));
  }
}

/** A slot is like a new worktree; what is not is deleted instead. */
function canBeSlot(worktree: Worktree, { marks }: Status): boolean {
  const isMarked = marks.assumed.length + marks.skipped.length > 0;
  return !isMarked && isPristine(worktree.adminDir) && !existsSync(join(worktree.path, '.gitmodules'));
}
