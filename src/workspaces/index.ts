import { isAncestor } from '../git/ancestor.ts';
import { type Context, createTurns, lockRepo } from '../git/context.ts';
import { type CreateGit, createGit, type Git } from '../git/git.ts';
import { branchRef, readRef } from '../git/refs.ts';
import { commonDirOf, findRepo, type Repo } from '../git/repository.ts';
import { isShownState, readStatus } from '../git/status.ts';
import { resolveBase } from './base.ts';
import { type BasedOn, type BasedOnSpec, basedOn, checkBase } from './based-on.ts';
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
import { type CatchUpSpec, type CaughtUp, catchUp } from './catch-up.ts';
import { type Changed, changedFiles } from './changed.ts';
import { commitPaths, isTracked, readCommitted } from './commit-paths.ts';
import { closeEnclave, openEnclave } from './enclave.ts';
import { type Ensured, ensureWorkspace, refreshWorkspace } from './ensure.ts';
import { type DiffSpec, diffWork, type Evidence, gatherEvidence, takeFingerprint } from './evidence.ts';
import { giveUpWorkspace } from './give-up.ts';
import { headAt } from './head-at.ts';
import { type Integrated, type IntegrateSpec, integrateBranch, isMerged } from './integrate.ts';
import { examineWorktree, type KnownWorktree, listWorktrees, type WouldLose } from './list.ts';
import { openTrains, withTrainLock } from './merge-train.ts';
import { realDirectory } from './place.ts';
import type { Workspaces } from './port.ts';
import { foresee } from './preflight.ts';
import { type Pushed, type PushSpec, pushBranch, pushUrl, remoteTips } from './push.ts';
import { type Released, type ReleaseSpec, releaseWorkspace } from './release.ts';
import { comeBack } from './return-to-branch.ts';
import { type RewindSpec, rewindTree } from './rewind.ts';
import { endSetup, isReady } from './setup/setup.ts';
import type { StackedThere, WorkspaceSpec } from './spec.ts';
import { originBranch } from './stack.ts';
import { openTree } from './tree.ts';
import { holdsUnseen } from './unique-commits.ts';
import { verifyReady, verifyWorkspace } from './verify.ts';
import { listSlots, removeWorktree } from './warm/slots.ts';
import { type Whereabouts, whereabouts } from './whereabouts.ts';

export { GitError } from '../git/git.ts';
export { isShownState } from '../git/status.ts';
export { whyKeepBranch } from './branches.ts';
export type { Coupled, Track, TrackSpec, Trains } from './merge-train.ts';
export type { Scratch, ScratchSpec } from './scratch-worktree.ts';
export type {
  BasedOn,
  BasedOnSpec,
  BranchSpec,
  BranchState,
  CatchUpSpec,
  CaughtUp,
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
  RewindSpec,
  StackedThere,
  Whereabouts,
  WorkspaceSpec,
  Workspaces,
  WouldLose,
};

export function createWorkspaces(options: CreateGit): Workspaces {
  const repos = new Map<string, Promise<Repo>>();
  const commonDirs = new Map<string, string>();

  const knownCommonDir = (path: string) => commonDirs.get(path) ?? commonDirOf(path);
  const shared = {
    env: options.env,
    inTurn: createTurns(),
    ancestry: new Map(),
    fetches: new Map(),
    trunks: new Map(),
  };
  const openRepo = async (git: Git, path: string) => {
    const repo = await findRepo(git, path);
    commonDirs.set(path, repo.commonDir);
    return repo;
  };
  const contextOf = (git: Git): Context => ({
    ...shared,
    git,
    repo(path) {
      const known = repos.get(path);
      if (known) return known;
      const opening = openRepo(git, path);
      repos.set(path, opening);
      // A repository that is put right is looked at again.
      opening.catch(() => repos.delete(path));
      return opening;
    },
  });
  const open = (git: Git): Workspaces => ({
    ...callsOf(contextOf(git), knownCommonDir),
    patient: (patience) => open(git.patient(patience)),
  });
  return open(createGit(options));
}

function callsOf(
  context: Context,
  knownCommonDir: (repo: string) => string | undefined,
): Omit<Workspaces, 'patient'> {
  const { git } = context;
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
      const status = await readStatus(git, await context.repo(path), { all: true });
      return [...status.changed, ...status.untracked].some((file) => !isShownState(file));
    },
    warm({ repo: path, base }) {
      const look = async () => resolveBase(context, await context.repo(path), base, { fetch: true });
      look().catch(() => undefined);
    },
    ensure: (spec) => ensureWorkspace(context, spec),
    verify: async (spec) => verifyWorkspace(spec, knownCommonDir(spec.repo)),
    isReady,
    verifyReady: async (spec) => verifyReady(spec, knownCommonDir(spec.repo)),
    refresh: (spec) => refreshWorkspace(context, spec),
    endSetup,
    async head(path) {
      const status = await readStatus(git, await context.repo(path));
      return { branch: status.branch, commit: status.head ?? '' };
    },
    headAt: async (path, time) => headAt(path, time),
    rewind: (spec) => rewindTree(context, spec),
    comeBack: (spec) => comeBack(context, spec),
    commitPaths: (spec) => commitPaths(context, spec),
    isTracked: (path, file) => isTracked(context, path, file),
    readCommitted: (spec) => readCommitted(context, spec),
    evidence: (path, baseCommit, wish) => gatherEvidence(context, path, baseCommit, wish),
    fingerprint: (path) => takeFingerprint(context, path),
    release: (spec) => releaseWorkspace(context, spec),
    giveUp: (spec) => giveUpWorkspace(context, spec),
    integrate: (spec) => integrateBranch(context, spec),
    isMerged: (spec) => isMerged(context, spec),
    openEnclave: (path, branch) => openEnclave(context, path, branch),
    closeEnclave: (path, branch) => closeEnclave(context, path, branch),
    async gitDirs(path) {
      const tree = openTree(path);
      return tree ? [...new Set([tree.adminDir, tree.commonDir])] : [];
    },
    diff: (spec, baseCommit, diffOptions) => diffWork(context, spec, baseCommit, diffOptions),
    async sweep({ repo: path, worktreeRoot }) {
      const repo = await context.repo(path);
      return lockRepo(repo, async () => {
        let swept = 0;
        for (const slot of listSlots(repo, realDirectory(worktreeRoot))) {
          if (await holdsUnseen(context, repo, slot)) continue;
          await removeWorktree(context, repo, slot.path);
          swept += 1;
        }
        return swept;
      });
    },
    push: (spec) => pushBranch(context, spec),
    catchUp: (spec) => catchUp(context, spec),
    pushUrl: async (path) => pushUrl(context, await context.repo(path)),
    remoteTips: (spec) => remoteTips(context, spec),
    contains: async ({ repo, commit, ancestor }) =>
      isAncestor(context, await context.repo(repo), ancestor, commit),
    originTip: async ({ repo, branch }) => originBranch(context, await context.repo(repo), branch),
    branchAhead: (spec) => branchAhead(context, spec),
    tip: async ({ repo, branch }) => readRef(git, await context.repo(repo), branchRef(branch)),
    whereabouts: (spec) => whereabouts(context, spec),
    branchHas: (spec) => branchHas(context, spec),
    async checkBase({ repo, base }) {
      await checkBase(context, await context.repo(repo), base);
    },
    basedOn: (spec) => basedOn(context, spec),
    baseHas: (spec, commit) => baseHas(context, spec, commit),
    changedFiles: (path, since) => changedFiles(context, path, since),
    list: (path) => listWorktrees(context, path),
    examine: (spec) => examineWorktree(context, spec),
    examineBranch: (spec) => examineBranch(context, spec),
    foresee: (spec) => foresee(context, spec),
    async mergeTarget({ repo: path, base }) {
      return (await resolveBase(context, await context.repo(path), base, { fetch: false })).name;
    },
    async startsFrom(path, base) {
      return (await resolveBase(context, await context.repo(path), base, { fetch: false })).ref;
    },
    deleteBranch: (spec) => deleteBranch(context, spec),
    trains: (path, options) => openTrains(context, path, options),
    withTrainLock: (path, fn) => withTrainLock(context, path, fn),
  };
}
