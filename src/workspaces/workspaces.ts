import { renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Context, createTurns, type Repository } from '../git/context-and-locks.ts';
import type { ConfigEntry } from '../git/environment-and-config.ts';
import { rememberTrunk } from '../git/fetch-and-find-trunk.ts';
import { findRepo } from '../git/find-repository.ts';
import { isAncestor } from '../git/history.ts';
import type { GitLocation } from '../git/locate-git-directories.ts';
import { branchRef, readRef } from '../git/refs.ts';
import { type CallLimits, type CreateGit, createGit, type Git, GitError } from '../git/run-git.ts';
import { readStatus } from '../git/status-and-index-marks.ts';
import { makeDirectory } from '../machine/files/make-directory-and-handle-storage-errors.ts';
import { removeTree } from '../machine/files/read-and-remove-files.ts';
import { catchUp } from './catch-up-ticket-branch-with-origin.ts';
import { commitPaths, isTracked, readCommitted } from './commit-and-read-files.ts';
import { branchAhead, branchHas, deleteBranch, examineBranch } from './delete-branches-and-protect-trunk.ts';
import {
  ensureWorkspace,
  refreshWorkspace,
  verifyReady,
  verifyWorkspace,
} from './ensure-and-verify-workspace.ts';
import {
  changedFiles,
  diffWork,
  gatherEvidence,
  headAt,
  shortStats,
  takeFingerprint,
} from './evidence-and-diff.ts';
import { originBranch } from './find-start-and-merge-prerequisites.ts';
import { baseHas, branchWithSameChanges, findWorkInBase, placesOfWork } from './find-work-in-base.ts';
import { findObstacles } from './find-worktree-obstacles.ts';
import {
  fetchHandedOver,
  originHandOver,
  ownHandOver,
  pushHandOver,
  restoreUncommitted,
  snapshotWork,
  takeOverWork,
} from './hand-over-work-by-origin.ts';
import { integrateBranch } from './integrate-branch.ts';
import { examineWorktree, listWorktrees } from './list-owned-worktrees-and-what-removal-loses.ts';
import { openTrains, withTrainLock } from './merge-and-land-trains.ts';
import { closeEnclave, openEnclave } from './private-git-directory.ts';
import { pushBranch, pushUrl, remoteTips } from './push-branch.ts';
import { releaseWorkspace, setAside } from './release-workspace.ts';
import { basedOn, checkBase, resolveBase, startingPoint } from './resolve-base.ts';
import { canonical } from './resolve-symlinks-make-and-remove-directories.ts';
import { returnToBranch, rewindTree } from './rewind-or-return-to-branch.ts';
import { type Scratch, type ScratchSpec, withBaseScratch } from './scratch-worktree.ts';
import { endSetup, isReady } from './setup/set-up-worktree.ts';
import { deleteFreeWarm } from './warm/warm-worktrees.ts';
import { leaveToNextTicket } from './workspace-owner.ts';
import type { WorkspaceSpec } from './workspace-spec.ts';

export { GitError } from '../git/run-git.ts';
export type { CaughtUp } from './catch-up-ticket-branch-with-origin.ts';
export { whyKeepBranch } from './delete-branches-and-protect-trunk.ts';
export { isSpecStateFile } from './evidence-and-diff.ts';
export type { Whereabouts } from './find-work-in-base.ts';
export type { HandOverRefs } from './hand-over-work-by-origin.ts';
export type { Integrated } from './integrate-branch.ts';
export type { KnownWorktree } from './list-owned-worktrees-and-what-removal-loses.ts';
export type { Track, TrackSpec, Trains } from './merge-and-land-trains.ts';
export type { Pushed } from './push-branch.ts';
export type { ReleaseSpec } from './release-workspace.ts';
export type { BasedOn } from './resolve-base.ts';

export type { Scratch, ScratchSpec } from './scratch-worktree.ts';
export type { BranchSpec, PrerequisiteOnOrigin, WorkspaceSpec } from './workspace-spec.ts';

/** Whether the config plainly names the user, and nothing else does: then git need not be asked who commits. */
function namesUser(config: readonly ConfigEntry[], env: Context['env']): boolean {
  const isOther = (name: string) => /^(author\.|committer\.|GIT_AUTHOR_|GIT_COMMITTER_)/.test(name);
  if ([...config.map(({ key }) => key), ...Object.keys(env)].some(isOther)) return false;
  return ['user.name', 'user.email'].every((wanted) =>
    /\w/.test(config.findLast(({ key }) => key === wanted)?.value ?? ''),
  );
}

/** Everything that is done with repositories and worktrees; each call is described where it is defined. */
export interface Workspaces extends ReturnType<typeof callsOf> {
  /** The same with other limits for git calls. */
  patient(limits: CallLimits): Workspaces;
}

export function createWorkspaces(options: CreateGit): Workspaces {
  const repos = new Map<string, Promise<GitLocation>>();
  const shared = {
    env: options.env,
    inTurn: createTurns(),
    ancestry: new Map(),
    fetches: new Map(),
    trunks: new Map(),
    recordedTrunks: new Map(),
  };
  const locate = (git: Git, path: string) => {
    const known = repos.get(path);
    if (known) return known;
    const opening = findRepo(git, path).then(({ originHead, ...repo }) => {
      rememberTrunk(shared, repo, originHead);
      return repo;
    });
    repos.set(path, opening);
    // A failed check is not remembered: the user may have fixed the repository.
    opening.catch(() => repos.delete(path));
    return opening;
  };
  const contextOf = (git: Git): Context => {
    const repo = async (path: string) => ({ ...context, ...(await locate(git, path)) });
    const context: Context = { ...shared, git, repo };
    return context;
  };
  const open = (git: Git): Workspaces => ({
    ...callsOf(contextOf(git)),
    patient: (limits) => open(git.limited(limits)),
  });
  return open(createGit(options));
}

function callsOf(context: Context) {
  const { git } = context;
  const bind =
    <In extends unknown[], Out>(call: (context: Context, ...rest: In) => Out) =>
    (...rest: In) =>
      call(context, ...rest);
  /** Binds a call to the repository that its spec names. */
  const inRepo =
    <Spec extends { repo: string }, Rest extends unknown[], Out>(
      call: (repo: Repository, spec: Spec, ...rest: Rest) => Out | Promise<Out>,
    ) =>
    async (spec: Spec, ...rest: Rest): Promise<Out> =>
      call(await context.repo(spec.repo), spec, ...rest);
  return {
    /** Throws a WorkspaceError unless it is the checkout of a git repository with a commit. Remembered per path. */
    async checkRepo(path: string) {
      const { workTree, commonDir } = await context.repo(path);
      return { root: workTree, commonDir };
    },
    /** True when there is an `origin` to push to. */
    async hasRemote(path: string) {
      const { stdout } = await git(['remote'], { at: await context.repo(path) });
      return stdout.split('\n').includes('origin');
    },
    /** The address of `origin` without a login; undefined where there is none. */
    async originAddress(path: string) {
      const options = { at: await context.repo(path), ok: [0, 2, 128] };
      const { code, stdout } = await git(['remote', 'get-url', 'origin'], options);
      return code === 0 ? stdout.trim().replace(/^(https?:\/\/)[^@/]*@/i, '$1') : undefined;
    },
    /** Starts what the first worktree of a repository will wait for. Errors are reported when one is created. */
    warm({ repo, base }: { repo: string; base: string | null }) {
      const fetch = async () => resolveBase(await context.repo(repo), base, { fetch: true });
      fetch().catch(() => undefined);
    },
    /** The branch that a checkout is on, and its commit. */
    async head(path: string) {
      const status = await readStatus(git, await context.repo(path));
      return { branch: status.branch, commit: status.head ?? '' };
    },
    /** Detaches a worktree from its branch without changing its files: later commits are on no branch. */
    async detach(path: string) {
      const at = await git.locate(canonical(path));
      if (!at) return;
      const { stdout } = await git(['rev-parse', '--verify', 'HEAD'], { at });
      await git(['update-ref', '--no-deref', 'HEAD', stdout.trim()], { at, write: true });
    },
    /** Git directories that a commit in this worktree writes to. */
    async gitDirs(path: string) {
      const at = await git.locate(canonical(path));
      return at ? [...new Set([at.gitDir, at.commonDir])] : [];
    },
    /** Why nothing can be committed in a repository: git's message about a missing name or e-mail address. */
    async identityProblem(path: string) {
      const at = await context.repo(path);
      if (namesUser(await git.config(at), context.env)) return undefined;
      const asked = ['GIT_AUTHOR_IDENT', 'GIT_COMMITTER_IDENT'].map((name) =>
        git(['var', name], { at, ok: [0, 128] }),
      );
      const failed = (await Promise.all(asked)).find(({ code }) => code !== 0);
      return failed && (/^fatal: (.*)$/m.exec(failed.stderr)?.[1] ?? failed.stderr.trim());
    },
    /** Where a push to origin goes; throws when there is no origin. */
    pushUrl: async (path: string) => pushUrl(await context.repo(path)),
    /** True when both commits are here and `ancestor` is in the other's history. */
    contains: inRepo((repo, spec: { repo: string; commit: string; ancestor: string }) =>
      isAncestor(repo, spec.ancestor, spec.commit),
    ),
    /** A branch as origin has it this moment; undefined when it has none of that name. Throws when it cannot be asked. */
    originTip: inRepo((repo, { branch }: { repo: string; branch: string }) => originBranch(repo, branch)),
    /** The commits that branches have on origin; those that are not there are left out. */
    remoteTips: inRepo((repo, { branches }: { repo: string; branches: readonly string[] }) =>
      remoteTips(repo, branches),
    ),
    /** The commit that a branch is at, here; undefined when there is no such branch. */
    tip: inRepo((repo, { branch }: { repo: string; branch: string }) => readRef(repo, branchRef(branch))),
    /** The branch that work would be merged into, as far as it is known here; undefined where there is none. */
    mergeTarget: inRepo(async (repo, { base }: { repo: string; base: string | null }) => {
      return (await resolveBase(repo, base, { fetch: false })).name;
    }),
    /** The commit that new work starts from, as origin has it now. */
    startingPoint: inRepo(async (repo, spec: Pick<WorkspaceSpec, 'repo' | 'base' | 'inPlace'>) => {
      if (spec.inPlace) {
        const { branch, head = '' } = await readStatus(git, repo);
        return { ref: branch ?? head, commit: head };
      }
      const found = await resolveBase(repo, spec.base, { fetch: true });
      return { ref: found.ref, commit: await startingPoint(repo, found) };
    }),
    /** What work would start from, as far as it is known here: `origin/main`. */
    async startsFrom(path: string, base: string | null) {
      return (await resolveBase(await context.repo(path), base, { fetch: false })).ref;
    },
    withTrainLock: <T>(path: string, fn: () => Promise<T>) => withTrainLock(context, path, fn),
    /** Clones a repository to a path where nothing is yet. The clone is there as a whole or not at all. One at a time. */
    async clone({ url, path }: { url: string; path: string }) {
      makeDirectory(dirname(path), 0o777);
      const unfinished = `${path}.unfinished`;
      await removeTree(unfinished);
      const args = ['clone', '--quiet', '--no-recurse-submodules', '--', url, unfinished];
      const { code, stderr } = await git.discover(args, dirname(path));
      if (code !== 0) throw new GitError(args, { code, stderr });
      renameSync(unfinished, path);
    },
    isReady,
    endSetup,
    ensure: inRepo(ensureWorkspace),
    verify: bind(verifyWorkspace),
    verifyReady: bind(verifyReady),
    refresh: bind(refreshWorkspace),
    headAt: bind(headAt),
    rewind: inRepo(rewindTree),
    returnToBranch: inRepo(returnToBranch),
    commitPaths: bind(commitPaths),
    isTracked: bind(isTracked),
    readCommitted: inRepo(readCommitted),
    evidence: bind(gatherEvidence),
    fingerprint: bind(takeFingerprint),
    release: inRepo(releaseWorkspace),
    setAside: inRepo(setAside),
    /** The refs below a name: what is kept of work that was taken out of a worktree. */
    keptAt: inRepo(async (repo, { below }: { repo: string; below: string }) => {
      const { stdout } = await git(['for-each-ref', '--format=%(refname)', `${below}/`], { at: repo });
      return stdout.split('\n').filter(Boolean);
    }),
    giveUp: inRepo(leaveToNextTicket),
    integrate: inRepo(integrateBranch),
    openEnclave: bind(openEnclave),
    closeEnclave: bind(closeEnclave),
    diff: inRepo(diffWork),
    shortStats: bind(shortStats),
    sweep: inRepo(deleteFreeWarm),
    push: inRepo(pushBranch),
    snapshotWork: inRepo(snapshotWork),
    originHandOver: inRepo(originHandOver),
    ownHandOver: inRepo(ownHandOver),
    pushHandOver: inRepo(pushHandOver),
    takeOverWork: inRepo(takeOverWork),
    restoreUncommitted: bind(restoreUncommitted),
    fetchHandedOver: inRepo(fetchHandedOver),
    catchUp: inRepo(catchUp),
    branchAhead: inRepo(branchAhead),
    findWorkInBase: inRepo(findWorkInBase),
    placesOfWork: inRepo(
      (repo, spec: { repo: string; base: string; works: Parameters<typeof placesOfWork>[1]['works'] }) =>
        placesOfWork(repo, spec),
    ),
    branchHas: inRepo(branchHas),
    checkBase: inRepo(checkBase),
    basedOn: inRepo(basedOn),
    baseHas: inRepo(baseHas),
    takenIn: inRepo(branchWithSameChanges),
    changedFiles: bind(changedFiles),
    list: bind(listWorktrees),
    examine: inRepo(examineWorktree),
    examineBranch: inRepo(examineBranch),
    findObstacles: bind(findObstacles),
    deleteBranch: inRepo(deleteBranch),
    trains: bind(openTrains),
    withBaseScratch: <T>(path: string, spec: ScratchSpec, fn: (scratch: Scratch, id: string) => Promise<T>) =>
      withBaseScratch(context, path, spec, fn),
  };
}
