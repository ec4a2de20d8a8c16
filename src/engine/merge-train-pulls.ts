import {
  editPullRequest,
  findPullRequests,
  forgetPull,
  type Head,
  KnownRepositories,
  mergePullRequest,
  type PullRequest,
} from '../forge/index.ts';
import { messageOf, SignalboxError } from '../model/errors.ts';
import { refKey } from '../model/ids.ts';
import { type GhOptions, ownRepository, parseRemote } from '../sources/index.ts';
import type { Track, TrackSpec, Trains } from '../workspaces/index.ts';
import { forgeJournal, ghOptions } from './forge-work.ts';
import type { LeftOut, TrainCar } from './merge-train-cars.ts';
import { isReady } from './merge-train-ready.ts';
import { leaving, needing, type Placed } from './merge-train-sort.ts';
import type { Parts } from './parts.ts';

/** The pull requests of a train's cars, by branch. */
export interface Pulls {
  gh: GhOptions;
  head(branch: string): Head;
  open: Map<string, PullRequest>;
}

/** Which cars have a pull request that may be merged as it is; the others stay, each with its reason. */
export async function findPulls(
  parts: Parts,
  repo: string,
  cars: readonly TrainCar[],
  trains: Pick<Trains, 'tipOf'>,
): Promise<{ pulls: Pulls; cars: TrainCar[]; left: LeftOut[] }> {
  const gh = ghOptions(parts, repo);
  const origin = parseRemote(await parts.workspaces.pushUrl(repo));
  const repository = await ownRepository(gh, new KnownRepositories(parts.settings.stateDir));
  const head = (branch: string): Head => ({ repository, branch, owner: origin?.owner ?? null });
  const pulls: Pulls = { gh, head, open: new Map() };
  const left: LeftOut[] = [];
  const ready: TrainCar[] = [];
  for (const car of cars) {
    const all = await findPullRequests(head(car.key), gh);
    const tip = await trains.tipOf(car.key);
    const open = all.find(({ state }) => state === 'OPEN');
    // Squashed or rebased, its commits are not in the base, and yet it is done.
    if (all.some(({ state, headRefOid }) => state === 'MERGED' && headRefOid === tip)) continue;
    if (open && open.headRefOid === tip) {
      pulls.open.set(car.key, open);
      ready.push(car);
      continue;
    }
    const { planId, ticketId } = car.ref;
    const push = `signalbox forge pr ${planId} ${ticketId}`;
    const reason = open
      ? `pull request #${open.number} has not got its last commit; push it with: ${push}`
      : `it has no pull request; open one with: ${push}`;
    left.push({ ...car.ref, branch: car.key, reason });
  }
  const out = new Set(left.map(({ branch }) => branch));
  for (const car of [...ready]) {
    const missing = car.after.find((key) => out.has(key));
    if (missing === undefined) continue;
    out.add(car.key);
    ready.splice(ready.indexOf(car), 1);
    left.push({ ...car.ref, branch: car.key, reason: `waits for ${missing}` });
  }
  return { pulls, cars: ready, left };
}

export interface LandedPull {
  number: number;
  url: string;
}

export interface LandedPulls {
  landed: (Placed & LandedPull)[];
  /** Refused by GitHub, and those that need one of them. */
  left: LeftOut[];
  /** The others must be checked again: they were checked on top of what is not there, or of less than there is. */
  stale: boolean;
}

interface LandOptions {
  /** All that could still land, those that were taken out of the train included. */
  cars: readonly TrainCar[];
  trains: Trains;
  spec: TrackSpec;
  track: Track;
}

/**
 * Merges the pull requests of a train in order, each only while the base has exactly what it was checked with. The first
 * that GitHub refuses ends it.
 */
export async function landPulls(
  parts: Parts,
  placed: readonly Placed[],
  pulls: Pulls,
  { cars, trains, spec, track }: LandOptions,
): Promise<LandedPulls> {
  const landed: LandedPulls['landed'] = [];
  let before = track.tip;
  for (const each of placed) {
    const { tip } = await trains.track(spec);
    if ((await trains.treeOf(tip)) !== (await trains.treeOf(before)))
      return { landed, left: [], stale: true };
    try {
      landed.push({ ...each, ...(await landPull(parts, each, pulls, track.name)) });
    } catch (error) {
      if (!(error instanceof SignalboxError)) throw error;
      const { car } = each;
      const gone = new Set([car, ...landed.map((done) => done.car)]);
      const others = cars.filter((other) => !gone.has(other));
      const behind = await needing(others, car, each.tip, { trains });
      const waits = behind.map((other) => leaving(other, `waits for ${car.key}`));
      return {
        landed,
        left: [leaving(car, messageOf(error)), ...waits],
        stale: others.length > behind.length,
      };
    }
    before = each.commit;
  }
  return { landed, left: [], stale: false };
}

async function landPull(
  parts: Parts,
  { car, tip }: Placed,
  { gh, head, open }: Pulls,
  base: string,
): Promise<LandedPull> {
  const pull = open.get(car.key);
  if (!pull) throw new SignalboxError('merge/no-pull-request', `${refKey(car.ref)} has no pull request.`);
  // Its own workflow may have gone on with it, and then an agent is at work on what would be merged.
  if (!isReady(parts, parts.store.ticket(car.ref)))
    throw new SignalboxError('merge/moved', 'it is being worked on again');
  const { number, url } = pull;
  const journal = forgeJournal(parts, car.ref);
  const own = head(car.key);
  if (pull.baseRefName !== base)
    await journal.record('edit', { number, base }, async () => {
      await editPullRequest({ repository: own.repository, number, bodyFile: null, base }, gh);
      return {};
    });
  const { method } = parts.settings.merge;
  await journal.record('merge', { number, commit: tip, base, method }, async () => {
    await mergePullRequest({ head: own, number, commit: tip, method }, gh);
    return { number, url };
  });
  await forgetPull({ stateDir: parts.settings.stateDir, repository: own.repository }, car.key);
  return { number, url };
}
