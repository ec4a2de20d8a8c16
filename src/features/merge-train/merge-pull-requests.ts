import type { EngineContext } from '../../engine/context.ts';
import type { PullRequest } from '../../github/pull-request.ts';
import { editPullRequest, findPullRequests, mergePullRequest } from '../../github/pull-request.ts';
import { forgetPull } from '../../github/pull-request-cache.ts';
import { messageOf, orError, SignalboxError } from '../../model/errors.ts';
import { refKey } from '../../model/ids-and-branch-names.ts';
import type { Track, TrackSpec, Trains } from '../../workspaces/workspaces.ts';
import { byPullRequest } from '../landed/find-landed-work.ts';
import { isStackedOn } from '../pull-requests/find-tickets-below-and-above.ts';
import { forgeWork, mergedPull } from '../pull-requests/ticket-on-github.ts';
import {
  type AlreadyMerged,
  isReadyToMerge,
  type LeftOut,
  leaveOut,
  type TrainCar,
} from './collect-branches.ts';
import { carsThatNeed, type Placed } from './find-passing-branches.ts';
import type { CarWithPullRequest, Destination, Patience } from './reasons-not-to-merge-pull-requests.ts';
import { lastObjections, objections } from './reasons-not-to-merge-pull-requests.ts';

/** The pull requests of a train's cars, by branch. */
export interface Pulls {
  to: Destination;
  open: Map<string, CarWithPullRequest & { pull: PullRequest }>;
}

interface FindOptions {
  trains: Pick<Trains, 'tipOf'>;
  base: string;
  /** Null: does not wait for running checks. */
  patience: Patience | null;
}

/** Finds the cars whose pull request can be merged now; the others are left out, each with a reason. */
export async function findPulls(
  engine: EngineContext,
  cars: readonly TrainCar[],
  { trains, base, patience }: FindOptions,
): Promise<{ pulls: Pulls; cars: TrainCar[]; left: LeftOut[]; already: AlreadyMerged[] }> {
  const to = { base, isInSameStack: (branch: string, car: TrainCar) => isStackedOn(engine, car.ref, branch) };
  const pulls: Pulls = { to, open: new Map() };
  const left: LeftOut[] = [];
  const already: AlreadyMerged[] = [];
  for (const car of cars) {
    const work = await forgeWork(engine, car.ref);
    const all = await findPullRequests(work.head, work.gh);
    const tip = await trains.tipOf(car.key);
    const open = all.find(({ state }) => state === 'OPEN');
    // A squashed or rebased pull request leaves no commit of the branch in the base.
    const merged =
      all.find(({ state, headRefOid }) => state === 'MERGED' && headRefOid === tip) ??
      (await mergedPull(work, all));
    if (merged) {
      work.journal.settle('merge', { number: merged.number, url: merged.url });
      already.push({ ...car.ref, branch: car.key, into: byPullRequest(base, merged.number) });
      continue;
    }
    if (open && open.headRefOid === tip) {
      pulls.open.set(car.key, { car, work, number: open.number, pull: open });
      continue;
    }
    const { planId, ticketId } = car.ref;
    const push = `signalbox forge pr ${planId} ${ticketId}`;
    const reason = open
      ? `pull request #${open.number} lacks its last commit; push it with: ${push}`
      : `it has no pull request; open one with: ${push}`;
    left.push(leaveOut(car, reason));
  }
  const against = await lastObjections(engine, [...pulls.open.values()], to, patience);
  for (const { car } of pulls.open.values()) {
    const objection = against.get(car.key);
    if (!objection) continue;
    const pending = objection.passing === 'checks' ? { pending: true as const } : {};
    left.push({ ...leaveOut(car, objection.reason), ...pending });
  }
  const ready = cars.filter(({ key }) => pulls.open.has(key) && !against.has(key));
  const out = new Set(left.map(({ branch }) => branch));
  for (const car of [...ready]) {
    const missing = car.dependsOn.find((key) => out.has(key));
    if (missing === undefined) continue;
    out.add(car.key);
    ready.splice(ready.indexOf(car), 1);
    left.push(leaveOut(car, `waits for ${missing}`));
  }
  return { pulls, cars: ready, left, already };
}

export type LandedPull = Pick<PullRequest, 'number' | 'url'>;

export interface Landing {
  landed: (Placed & { pullRequest?: LandedPull })[];
  /** Those that GitHub refused, and those that need one of them. */
  left: LeftOut[];
  /** The rest of the train must be checked again: the base is not what it was checked with. */
  stale: boolean;
}

export interface LandOptions {
  /** All that could still be merged, also those taken out of the train. */
  cars: readonly TrainCar[];
  trains: Trains;
  spec: TrackSpec;
  track: Track;
}

/**
 * Merges the pull requests of a train in order, each only while the base is exactly what it was checked with. Stops at the
 * first one that GitHub refuses.
 */
export async function landPulls(
  engine: EngineContext,
  placed: readonly Placed[],
  pulls: Pulls,
  { cars, trains, spec, track }: LandOptions,
): Promise<Landing> {
  const landed: Landing['landed'] = [];
  let before = track.tip;
  for (const each of placed) {
    const { tip } = await trains.track(spec);
    if ((await trains.treeOf(tip)) !== (await trains.treeOf(before)))
      return { landed, left: [], stale: true };
    const pullRequest = await orError(SignalboxError, () => landPull(engine, each, pulls, track.name));
    if (pullRequest instanceof SignalboxError) {
      const { car } = each;
      const gone = new Set([car, ...landed.map((done) => done.car)]);
      const others = cars.filter((other) => !gone.has(other));
      const behind = await carsThatNeed(others, car, each.tip, { trains });
      const waits = behind.map((other) => leaveOut(other, `waits for ${car.key}`));
      return {
        landed,
        left: [leaveOut(car, messageOf(pullRequest)), ...waits],
        stale: others.length > behind.length,
      };
    }
    landed.push({ ...each, pullRequest });
    before = each.commit;
  }
  return { landed, left: [], stale: false };
}

async function landPull(
  engine: EngineContext,
  { car, tip }: Placed,
  { to, open }: Pulls,
  base: string,
): Promise<LandedPull> {
  const candidate = open.get(car.key);
  if (!candidate)
    throw new SignalboxError('merge/no-pull-request', `${refKey(car.ref)} has no pull request.`);
  // Its own workflow may have continued, so that an agent works on the branch.
  if (!isReadyToMerge(engine, engine.store.ticket(car.ref)))
    throw new SignalboxError('merge/moved', 'it is being worked on again');
  // Reviews may have come in during the checks.
  const against = (await objections(engine, [candidate], to)).get(car.key);
  if (against) throw new SignalboxError('merge/objection', against.reason);
  const { work, pull } = candidate;
  const { head, gh, journal } = work;
  const { number, url } = pull;
  if (pull.baseRefName !== base)
    await journal.record('edit', { number, base }, async () => {
      await editPullRequest({ repository: head.repository, number, bodyFile: null, base }, gh);
      return {};
    });
  const { method } = engine.settings.merge;
  await journal.record('merge', { number, commit: tip, base, method }, async () => {
    await mergePullRequest({ head, number, commit: tip, method }, gh);
    return { number, url };
  });
  await forgetPull({ cacheDir: engine.machine.githubCache, repository: head.repository }, car.key);
  return { number, url };
}
