import { join } from 'node:path';
import { type Context, lockMerges, lockNamed, type Repository } from '../git/context-and-locks.ts';
import { fetchNow, fetchRefs } from '../git/fetch-and-find-trunk.ts';
import { contains, treeOf } from '../git/history.ts';
import { mergeCommits, withTemporaryObjects } from '../git/merge-commits-without-worktree.ts';
import { branchRef, checkBranch, originRef, readRef, requireTip } from '../git/refs.ts';
import { GitError } from '../git/run-git.ts';
import { HeldError, WorkspaceError } from '../model/errors.ts';
import { bringIntegrationUpToDate, findTarget, moveBranch } from './integrate-branch.ts';
import { remoteTips } from './push-branch.ts';
import { baseToMergeInto } from './resolve-base.ts';
import { openScratch, repositoryId, type Scratch, type ScratchSpec } from './scratch-worktree.ts';
import type { BranchSpec } from './workspace-spec.ts';

export interface TrackSpec extends Pick<BranchSpec, 'base' | 'recordedBase'> {
  /** The base as origin has it, for work that lands there. */
  remote: boolean;
}

/** The branch that a train starts from and is merged into. */
export interface Track {
  /** The base branch. */
  name: string;
  /** What moves when it lands: the base, its integration branch, or `origin/<base>`. */
  branch: string;
  tip: string;
  /** The branch that can be merged to get what is there now. */
  from: string;
  /** The command that brings it into a checkout of the base. */
  fastForward: string | null;
}

type MergedCar =
  | { commit: string; tip: string }
  | { conflict: string[]; tip: string }
  /** Nothing would change: the work is there already, by another commit. */
  | { nothing: true; tip: string };

export interface Trains {
  /** Names the repository, for places that are kept by repository. */
  id: string;
  /** The name of the branch that work is merged into. */
  baseName(spec: Omit<TrackSpec, 'remote'>): Promise<string>;
  track(spec: TrackSpec): Promise<Track>;
  tipOf(branch: string): Promise<string | undefined>;
  /** True when `ancestor` is reachable from `commit`. */
  has(commit: string, ancestor: string): Promise<boolean>;
  /** Merges a branch into a commit, as a commit that no branch has yet. */
  mergeInto(ours: string, car: { branch: string; message: string }): Promise<MergedCar>;
  treeOf(commit: string): Promise<string>;
  /**
   * Moves the base; with the commit where the track began, only the integration branch up to that. `null` when it is no
   * longer where the track began, and then nothing changed.
   */
  land(spec: TrackSpec, track: Track, commit: string): Promise<Track | null>;
  /** A worktree of its own for the checks; what an earlier train left is cleared away first. */
  scratch(spec: ScratchSpec): Promise<Scratch>;
  close(): void;
}

/** Merges many branches of one repository. `dry`: objects that git writes go to a directory that is deleted. */
export async function openTrains(context: Context, path: string, { dry = false } = {}): Promise<Trains> {
  const repo = await context.repo(path);
  const temporary = dry ? withTemporaryObjects(repo) : undefined;
  const own = temporary?.repo ?? repo;
  const id = repositoryId(repo);
  return {
    id,
    baseName: async (spec) => (await baseToMergeInto(own, spec)).name,
    track: (spec) => (spec.remote ? remoteTrack(own, spec, dry) : localTrack(own, spec)),
    tipOf: (branch) => readRef(own, branchRef(branch)),
    has: (commit, ancestor) => contains(own, commit, ancestor),
    mergeInto: (ours, car) => mergeCar(own, ours, car),
    treeOf: (commit) => treeOf(own, commit),
    land: (spec, track, commit) => lockMerges(repo, () => land(repo, { spec, track, commit })),
    scratch: (spec) => openScratch(repo, { ...spec, id }),
    close: () => temporary?.remove(),
  };
}

/** Runs `fn` while no other train runs in the repository; throws a HeldError that names the process of one that does. */
export async function withTrainLock<T>(context: Context, path: string, fn: () => Promise<T>): Promise<T> {
  const repo = await context.repo(path);
  const lock = 'signalbox-train.lock';
  let begun = false;
  const run = () => {
    begun = true;
    return fn();
  };
  try {
    // Long enough to recognize the lock of a process that was killed while it wrote the lock.
    return await lockNamed(repo, lock, run, { timeoutMs: 2_500 });
  } catch (error) {
    if (begun || !(error instanceof HeldError)) throw error;
    const { holder } = error.details as { holder?: { pid: number; host: string } };
    const who = holder ? `process ${holder.pid} on ${holder.host}` : 'another process';
    throw new HeldError('merge/held', `${repo.workTree} is being merged by ${who}.`, {
      hint: `Wait for it. If that process is gone for good, delete ${join(repo.commonDir, lock)}.`,
      details: error.details,
    });
  }
}

async function localTrack(repo: Repository, spec: TrackSpec): Promise<Track> {
  const { name, branch, old, tip, fastForward } = await findTarget(repo, spec);
  return { name, branch, tip, from: old ? branch : name, fastForward };
}

async function remoteTrack(repo: Repository, spec: TrackSpec, dry: boolean): Promise<Track> {
  const { name } = await baseToMergeInto(repo, spec);
  const tip = dry ? await tipWithoutRef(repo, name) : await fetchedTip(repo, name);
  const branch = `origin/${name}`;
  if (tip) return { name, branch, tip, from: branch, fastForward: null };
  throw new WorkspaceError('workspace/base-missing', `origin has no branch ${name}.`, {
    hint: 'Push it first, or merge here, without pull requests.',
    details: { base: name },
  });
}

async function fetchedTip(repo: Repository, name: string): Promise<string | undefined> {
  await fetchNow(repo, name);
  return readRef(repo, originRef(name));
}

/** The same without writing a ref to the repository. */
async function tipWithoutRef(repo: Repository, name: string): Promise<string | undefined> {
  const tip = (await remoteTips(repo, [name])).get(name);
  if (tip) await fetchRefs(repo, [branchRef(name)]);
  return tip;
}

async function mergeCar(
  repo: Repository,
  ours: string,
  { branch, message }: { branch: string; message: string },
): Promise<MergedCar> {
  checkBranch(branch);
  const tip = await requireTip(repo, branch);
  if (await contains(repo, ours, tip)) return { nothing: true, tip };
  const merged = await mergeCommits(repo, { ours, theirs: tip, message: `Merge ${branch}: ${message}` });
  if ('conflict' in merged) return { ...merged, tip };
  const same = (await treeOf(repo, merged.commit)) === (await treeOf(repo, ours));
  return same ? { nothing: true, tip } : { ...merged, tip };
}

/** Moves the base after reading it again: during the checks it may have been moved or checked out. */
async function land(
  repo: Repository,
  { spec, track, commit }: { spec: TrackSpec; track: Track; commit: string },
): Promise<Track | null> {
  const now = await findTarget(repo, spec);
  if (now.tip !== track.tip) return null;
  const nothing = commit === track.tip;
  try {
    if (nothing) await bringIntegrationUpToDate(repo, now);
    else await moveBranch(repo, now, commit);
  } catch (error) {
    if (error instanceof GitError && /cannot lock ref/.test(error.stderr)) return null;
    throw error;
  }
  const { name, branch, fastForward } = now;
  return { name, branch, tip: commit, from: nothing ? track.from : branch, fastForward };
}
