import {
  editPullRequest,
  findPullRequests,
  forgetPull,
  type Head,
  mergePullRequest,
  type PullRequest,
} from '../forge/index.ts';
import { messageOf, SignalboxError } from '../model/errors.ts';
import { refKey } from '../model/ids.ts';
import { type GhOptions, ownRepository, parseRemote } from '../sources/index.ts';
import type { Trains } from '../workspaces/index.ts';
import { forgeJournal } from './forge-work.ts';
import type { LeftOut, TrainCar } from './merge-train-cars.ts';
import type { Placed } from './merge-train-sort.ts';
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
  const gh: GhOptions = { gh: parts.settings.ghCommand, cwd: repo, env: parts.env };
  const origin = parseRemote(await parts.workspaces.pushUrl(repo));
  const repository = await ownRepository(gh);
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

/** Merges the pull requests of a train in order. One that GitHub refuses stays, and so do those that need it. */
export async function landPulls(
  parts: Parts,
  placed: readonly Placed[],
  pulls: Pulls,
  base: string,
): Promise<{ landed: (Placed & LandedPull)[]; left: LeftOut[] }> {
  const landed: (Placed & LandedPull)[] = [];
  const left: LeftOut[] = [];
  const out = new Set<string>();
  for (const each of placed) {
    const { car } = each;
    const missing = car.after.find((key) => out.has(key));
    try {
      if (missing !== undefined) throw new SignalboxError('merge/waits', `waits for ${missing}`);
      landed.push({ ...each, ...(await landPull(parts, each, pulls, base)) });
    } catch (error) {
      if (!(error instanceof SignalboxError)) throw error;
      out.add(car.key);
      left.push({ ...car.ref, branch: car.key, reason: messageOf(error) });
    }
  }
  return { landed, left };
}

async function landPull(
  parts: Parts,
  { car, tip }: Placed,
  { gh, head, open }: Pulls,
  base: string,
): Promise<LandedPull> {
  const pull = open.get(car.key);
  if (!pull) throw new SignalboxError('merge/no-pull-request', `${refKey(car.ref)} has no pull request.`);
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
