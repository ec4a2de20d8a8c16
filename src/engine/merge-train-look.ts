import { forgetPull, objectionTo, seePull, type Watch, type Watched } from '../forge/index.ts';
import type { ForgeWork } from './forge-work.ts';
import type { TrainCar } from './merge-train-cars.ts';
import type { Parts } from './parts.ts';
import { watchPull } from './watch-pull.ts';

/** A car with the pull request that would be merged. */
export interface Candidate {
  car: TrainCar;
  work: ForgeWork;
  number: number;
}

/** Where a train may merge, and whose branches it may put pull requests on top of. */
export interface Destination {
  base: string;
  /** Whether a branch is another ticket's: only such a base is ours to change. */
  isOurs(branch: string, car: TrainCar): boolean;
}

/** Asks GitHub anew what stands against merging these, all at once; by branch, with the reason. */
export async function objections(
  parts: Parts,
  candidates: readonly Candidate[],
  to: Destination,
): Promise<Map<string, string>> {
  const { stateDir, forge } = parts.settings;
  const watches = candidates.map(({ car, work, number }): Watch => {
    return { branch: car.key, number, owner: work.head.owner };
  });
  for (const { car, work } of candidates)
    await forgetPull({ stateDir, repository: work.head.repository }, car.key);
  const reasons = new Map<string, string>();
  for (const [index, { car, work, number }] of candidates.entries()) {
    const watch = watches[index] as Watch;
    const options = { stateDir, repository: work.head.repository, gh: work.gh, now: () => parts.now() };
    const ages = { maxAgeSeconds: Math.max(forge.cacheSeconds, 5), reserve: forge.reserve };
    const seen = await seePull(watch, { ...options, ...ages }, () => watches.slice(index + 1));
    const pull = 'later' in seen ? undefined : seen.pulls.find((each) => each.number === number);
    const reason = 'later' in seen ? seen.later : pull && (await against(parts, car, pull, to));
    if (reason !== undefined) reasons.set(car.key, reason);
  }
  return reasons;
}

async function against(
  parts: Parts,
  car: TrainCar,
  pull: Watched,
  { base, isOurs }: Destination,
): Promise<string | undefined> {
  const name = `pull request #${pull.number}`;
  if (pull.base !== base && !isOurs(pull.base, car)) return `${name} is for ${pull.base}, not for ${base}`;
  const objection = objectionTo(pull, parts.settings.forge.reviewers);
  if (objection !== undefined) return `${name} ${objection}`;
  if (!car.waiting) return undefined;
  // Its own workflow goes on with whatever else people said.
  const standing = await watchPull(parts, car.ref, 'merge');
  const said = 'outcome' in standing && (standing.outcome === 'changes' || standing.outcome === 'moved');
  return said ? `${name} has news: ${standing.message.split('\n').slice(0, 2).join(' ')}` : undefined;
}
