import { WorkspaceError } from '../model/errors.ts';
import { inspect } from './admin.ts';
import {
  type BranchSpec,
  type BranchState,
  baseHas,
  branchAhead,
  branchHas,
  type DeletedBranch,
  deleteBranch,
  examineBranch,
} from './branches.ts';
import { type Changed, changedFiles } from './changed.ts';
import { type Context, createTurns, lockRepo } from './context.ts';
import { type Ensured, ensureWorkspace } from './ensure.ts';
import {
  type DiffSpec,
  diffWork,
  type Evidence,
  type EvidenceWish,
  gatherEvidence,
  takeFingerprint,
} from './evidence.ts';
import { createGit } from './git.ts';
import { type Integrated, type IntegrateSpec, integrateBranch, isMerged } from './integrate.ts';
import { realDirectory } from './place.ts';
import { type Pushed, type PushSpec, pushBranch, pushUrl, remoteTips } from './push.ts';
import { type Released, type ReleaseSpec, releaseWorkspace } from './release.ts';
import { commonDirOf, findRepo, type Repo } from './repo.ts';
import { listSlots, removeWorktree } from './slots.ts';
import type { WorkspaceSpec } from './spec.ts';
import { readStatus } from './status.ts';
import { examineWorktree, type KnownWorktree, listWorktrees, type WouldLose } from './survey.ts';

export { whyKeepBranch } from './branches.ts';
export type {
  BranchSpec,
  BranchState,
  Changed,
  DeletedBranch,
  DiffSpec,
  Ensured,
  Evidence,
  Integrated,
  IntegrateSpec,
  KnownWorktree,
  Pushed,
  PushSpec,
  Released,
  ReleaseSpec,
  WorkspaceSpec,
  WouldLose,
};

export interface Workspaces {
  /** Throws a WorkspaceError unless it is the checkout of a git repository with a commit. Remembered per path. */
  checkRepo(repo: string): Promise<{ root: string; commonDir: string }>;
  /** True when there is an `origin` to push to. */
  hasRemote(repo: string): Promise<boolean>;
  /** True when the user's checkout has uncommitted or untracked files. */
  isDirty(repo: string): Promise<boolean>;
  /** Makes the ticket's worktree or finds it as it was left; calling it again changes nothing. */
  ensure(spec: WorkspaceSpec): Promise<Ensured>;
  /** Throws unless the path is this repository's registered worktree on this branch. Reads files, starts nothing. */
  verify(spec: { repo: string; path: string; branch: string }): void;
  evidence(path: string, baseCommit: string, wish?: EvidenceWish): Promise<Evidence>;
  /** Changes whenever HEAD or any file that is not ignored does. */
  fingerprint(path: string): Promise<string>;
  /** Never throws for what is in the worktree: what would be lost is kept, with the reason. */
  release(spec: ReleaseSpec): Promise<Released>;
  integrate(spec: IntegrateSpec): Promise<Integrated>;
  /** True when the branch is gone or its base (or the base's integration branch) contains it. */
  isMerged(spec: Omit<IntegrateSpec, 'message'>): Promise<boolean>;
  /** Git directories that a commit in this worktree writes to. */
  gitDirs(path: string): string[];
  diff(spec: DiffSpec, baseCommit: string, options?: { stat?: boolean }): Promise<string>;
  /** Deletes the repository's free slots under a root and returns how many there were. */
  sweep(spec: { repo: string; worktreeRoot: string }): Promise<number>;
  /** Pushes a branch to origin, never by force, and makes sure that it arrived. */
  push(spec: PushSpec): Promise<Pushed>;
  /** Where a push to origin goes; throws when there is no origin. */
  pushUrl(repo: string): Promise<string>;
  remoteTips(spec: { repo: string; branches: readonly string[] }): Promise<Map<string, string>>;
  branchAhead(spec: {
    repo: string;
    branch: string;
    of: string;
  }): Promise<{ tip: string; ahead: number } | undefined>;
  branchHas(spec: { repo: string; branch: string; commit: string }): Promise<boolean>;
  /** True when the base that a branch is for has the commit. */
  baseHas(spec: BranchSpec, commit: string): Promise<boolean>;
  /** Files of a checkout that differ from a commit, or from where its branch began. */
  changedFiles(path: string, since: string | null): Promise<Changed>;
  /** Every worktree of the repository that has an owner. */
  list(repo: string): Promise<KnownWorktree[]>;
  /** What `release` would answer and what removing it would lose; touches nothing. */
  examine(spec: ReleaseSpec): Promise<WouldLose>;
  examineBranch(spec: BranchSpec): Promise<BranchState | undefined>;
  /** Deletes a branch only when its base has all of it and nobody has it checked out. */
  deleteBranch(spec: BranchSpec): Promise<DeletedBranch>;
}

export function createWorkspaces(options: {
  env: Record<string, string | undefined>;
  git?: string;
}): Workspaces {
  const git = createGit(options);
  const repos = new Map<string, Promise<Repo>>();
  const commonDirs = new Map<string, string>();

  const openRepo = async (path: string) => {
    const repo = await findRepo(git, path);
    commonDirs.set(path, repo.commonDir);
    return repo;
  };
  const context: Context = {
    git,
    env: options.env,
    inTurn: createTurns(),
    ancestry: new Map(),
    fetches: new Map(),
    repo(path) {
      const known = repos.get(path);
      if (known) return known;
      const opening = openRepo(path);
      repos.set(path, opening);
      // A repository that is put right is looked at again.
      opening.catch(() => repos.delete(path));
      return opening;
    },
  };

  return {
    async checkRepo(path) {
      const { workTree, commonDir } = await context.repo(path);
      return { root: workTree, commonDir };
    },
    async hasRemote(path) {
      const { stdout } = await git(['remote'], { at: await context.repo(path) });
      return stdout.split('\n').includes('origin');
    },
    async isDirty(path) {
      const status = await readStatus(git, await context.repo(path));
      return status.changed.length + status.untracked.length > 0;
    },
    ensure: (spec) => ensureWorkspace(context, spec),
    verify: (spec) => verifyWorkspace(spec, commonDirs.get(spec.repo) ?? commonDirOf(spec.repo)),
    evidence: (path, baseCommit, wish) => gatherEvidence(context, path, baseCommit, wish),
    fingerprint: (path) => takeFingerprint(context, path),
    release: (spec) => releaseWorkspace(context, spec),
    integrate: (spec) => integrateBranch(context, spec),
    isMerged: (spec) => isMerged(context, spec),
    gitDirs(path) {
      const found = inspect(path);
      return found.kind === 'worktree' ? [found.worktree.adminDir, found.worktree.commonDir] : [];
    },
    diff: (spec, baseCommit, diffOptions) => diffWork(context, spec, baseCommit, diffOptions),
    async sweep({ repo: path, worktreeRoot }) {
      const repo = await context.repo(path);
      return lockRepo(repo, async () => {
        const slots = listSlots(repo, realDirectory(worktreeRoot));
        for (const slot of slots) await removeWorktree(context, repo, slot.path);
        return slots.length;
      });
    },
    push: (spec) => pushBranch(context, spec),
    pushUrl: async (path) => pushUrl(context, await context.repo(path)),
    remoteTips: (spec) => remoteTips(context, spec),
    branchAhead: (spec) => branchAhead(context, spec),
    branchHas: (spec) => branchHas(context, spec),
    baseHas: (spec, commit) => baseHas(context, spec, commit),
    changedFiles: (path, since) => changedFiles(context, path, since),
    list: (path) => listWorktrees(context, path),
    examine: (spec) => examineWorktree(context, spec),
    examineBranch: (spec) => examineBranch(context, spec),
    deleteBranch: (spec) => deleteBranch(context, spec),
  };
}

function verifyWorkspace(
  spec: { repo: string; path: string; branch: string },
  commonDir: string | undefined,
): void {
  const found = inspect(spec.path);
  const worktree = found.kind === 'worktree' ? found.worktree : undefined;
  const problem =
    worktree === undefined
      ? found.kind === 'absent'
        ? 'it does not exist'
        : 'it is not a git worktree'
      : worktree.commonDir !== commonDir
        ? `it is a worktree of ${worktree.commonDir}`
        : worktree.registeredAt !== worktree.path
          ? `git has it registered at ${worktree.registeredAt}`
          : worktree.head.branch !== spec.branch
            ? `it is on ${worktree.head.branch ? `branch ${worktree.head.branch}` : 'no branch'}`
            : undefined;
  if (problem === undefined) return;
  throw new WorkspaceError(
    'workspace/unexpected',
    `${spec.path} is not the worktree of branch ${spec.branch}: ${problem}.`,
    {
      hint: 'Put it right by hand or remove it, then retry the ticket.',
      details: { path: spec.path, branch: spec.branch },
    },
  );
}
