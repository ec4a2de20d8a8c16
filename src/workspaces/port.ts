import type { Patience } from '../git/git.ts';
import type { BasedOn, BasedOnSpec } from './based-on.ts';
import type { BranchSpec, BranchState, DeletedBranch } from './branches.ts';
import type { CatchUpSpec, CaughtUp } from './catch-up.ts';
import type { Changed } from './changed.ts';
import type { Enclave } from './enclave.ts';
import type { Ensured } from './ensure.ts';
import type { DiffSpec, Evidence, EvidenceWish } from './evidence.ts';
import type { Integrated, IntegrateSpec } from './integrate.ts';
import type { KnownWorktree, WouldLose } from './list.ts';
import type { Trains } from './merge-train.ts';
import type { Obstacle } from './preflight.ts';
import type { Pushed, PushSpec } from './push.ts';
import type { Released, ReleaseSpec } from './release.ts';
import type { CameBack, ComeBackSpec } from './return-to-branch.ts';
import type { RewindSpec } from './rewind.ts';
import type { WorkspaceSpec } from './spec.ts';
import type { VerifySpec } from './verify.ts';
import type { Whereabouts } from './whereabouts.ts';

export interface Workspaces {
  /** The same with git calls that have so much patience. */
  patient(patience: Patience): Workspaces;
  /** Throws a WorkspaceError unless it is the checkout of a git repository with a commit. Remembered per path. */
  checkRepo(repo: string): Promise<{ root: string; commonDir: string }>;
  /** True when there is an `origin` to push to. */
  hasRemote(repo: string): Promise<boolean>;
  /** True when the user's checkout has uncommitted or untracked files. */
  isDirty(repo: string): Promise<boolean>;
  /** Begins with what the first worktree of a repository will wait for; what is wrong shows when one is made. */
  warm(spec: { repo: string; base: string | null }): void;
  /** Makes the ticket's worktree or finds it as it was left; calling it again changes nothing. */
  ensure(spec: WorkspaceSpec): Promise<Ensured>;
  /** Throws unless the path is this repository's registered worktree on this branch. Reads files, starts nothing. */
  verify(spec: VerifySpec): Promise<void>;
  /** False when nothing is there, or while making it is not finished: then `ensure` has something to do. */
  isReady(path: string): boolean;
  /** Both in one look: false when it is not ready, and an error when it is ready but not the right one. */
  verifyReady(spec: VerifySpec): Promise<boolean>;
  /** Installs once more in a worktree that is ready where its lock file has changed since; starts nothing where it has not. */
  refresh(spec: WorkspaceSpec): Promise<void>;
  /** Ends setup commands that an engine which is gone left running in a worktree. */
  endSetup(path: string): Promise<void>;
  /** The branch that a checkout is on, and its commit. */
  head(path: string): Promise<{ branch: string | undefined; commit: string }>;
  /** The commit that a checkout was at when a time came, where git keeps a log of that. */
  headAt(path: string, time: Date): Promise<string | undefined>;
  /** Takes a tree back to a commit; what is given up is kept on a ref, whose name is given back. */
  rewind(spec: RewindSpec): Promise<{ keptAt: string | null }>;
  /** Takes a tree that is on another branch, or on none, back to its own; what is there is kept on a ref. */
  comeBack(spec: ComeBackSpec): Promise<CameBack>;
  /** Commits these files and nothing else; null when there is nothing to commit. */
  commitPaths(spec: { path: string; files: readonly string[]; message: string }): Promise<string | null>;
  isTracked(path: string, file: string): Promise<boolean>;
  /** A file as the tip of a branch has it. */
  readCommitted(spec: { repo: string; branch: string; file: string }): Promise<string | null>;
  evidence(path: string, baseCommit: string, wish?: EvidenceWish): Promise<Evidence>;
  /** Changes whenever HEAD or any file that is not ignored does. */
  fingerprint(path: string): Promise<string>;
  /** Never throws for what is in the worktree: what would be lost is kept, with the reason. */
  release(spec: ReleaseSpec): Promise<Released>;
  /** Touches nothing in the worktree: it has no owner any more, and the next one for its branch goes on in it. */
  giveUp(spec: Pick<ReleaseSpec, 'repo' | 'path' | 'owner'>): Promise<void>;
  integrate(spec: IntegrateSpec): Promise<Integrated>;
  /** True when the branch is gone or its base (or the base's integration branch) contains it. */
  isMerged(spec: Omit<IntegrateSpec, 'message'>): Promise<boolean>;
  /** Git directories that a commit in this worktree writes to. */
  gitDirs(path: string): Promise<string[]>;
  /** A git directory of its own for a sandboxed agent; see enclave.ts. */
  openEnclave(path: string, branch: string): Promise<Enclave>;
  /** Fetches the one branch of that directory back. */
  closeEnclave(path: string, branch: string): Promise<void>;
  diff(spec: DiffSpec, baseCommit: string, options?: { stat?: boolean }): Promise<string>;
  /** Deletes the repository's free slots under a root and returns how many there were. */
  sweep(spec: { repo: string; worktreeRoot: string }): Promise<number>;
  /** Pushes a branch to origin, never by force, and makes sure that it arrived. */
  push(spec: PushSpec): Promise<Pushed>;
  /** Takes over what people pushed to a branch on origin; their commits and ours are both kept. */
  catchUp(spec: CatchUpSpec): Promise<CaughtUp>;
  /** Where a push to origin goes; throws when there is no origin. */
  pushUrl(repo: string): Promise<string>;
  remoteTips(spec: { repo: string; branches: readonly string[] }): Promise<Map<string, string>>;
  /** A branch as origin has it this moment; undefined when it has none of that name. Throws when it cannot be asked. */
  originTip(spec: { repo: string; branch: string }): Promise<string | undefined>;
  branchAhead(spec: {
    repo: string;
    branch: string;
    of: string;
  }): Promise<{ tip: string; ahead: number } | undefined>;
  /** The commit that a branch is at, here; undefined when there is no such branch. */
  tip(spec: { repo: string; branch: string }): Promise<string | undefined>;
  /** Where the work of a branch is by now; `tip` is its last commit. */
  whereabouts(spec: BranchSpec & { tip: string | null }): Promise<Whereabouts>;
  branchHas(spec: { repo: string; branch: string; commit: string }): Promise<boolean>;
  /** True when both commits are here and `ancestor` is in the other's history. */
  contains(spec: { repo: string; commit: string; ancestor: string }): Promise<boolean>;
  /** Throws when neither the repository nor its origin has the base. */
  checkBase(spec: { repo: string; base: string }): Promise<void>;
  /** Whether a branch, if there is one, began at this base; throws when there is no such base. */
  basedOn(spec: BasedOnSpec): Promise<BasedOn>;
  /** True when the base that a branch is for has the commit. */
  baseHas(spec: BranchSpec, commit: string): Promise<boolean>;
  /** Files of a checkout that differ from a commit, or from where its branch began. */
  changedFiles(path: string, since: string | null): Promise<Changed>;
  /** Every worktree of the repository that has an owner. */
  list(repo: string): Promise<KnownWorktree[]>;
  /** What `release` would answer and what removing it would lose; touches nothing. */
  examine(spec: ReleaseSpec): Promise<WouldLose>;
  examineBranch(spec: BranchSpec): Promise<BranchState | undefined>;
  /** What would keep a worktree from being made; makes nothing. */
  foresee(spec: WorkspaceSpec): Promise<Obstacle[]>;
  /** The branch that work would be merged into, as far as it is known here; undefined where there is none. */
  mergeTarget(spec: { repo: string; base: string | null }): Promise<string | undefined>;
  /** What work would start from, as far as it is known here: `origin/main`. */
  startsFrom(repo: string, base: string | null): Promise<string>;
  /** Deletes a branch only when its base has all of it and nobody has it checked out. */
  deleteBranch(spec: BranchSpec): Promise<DeletedBranch>;
  /** Merging of many branches; `dry` leaves nothing behind in the repository. Close it in the end. */
  trains(repo: string, options?: { dry?: boolean }): Promise<Trains>;
  /** Runs `fn` while no other train runs in the repository; throws a HeldError when one does. */
  withTrainLock<T>(repo: string, fn: () => Promise<T>): Promise<T>;
}
