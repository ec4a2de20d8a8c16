import type { EngineContext } from '../../engine/context.ts';
import {
  forgetPull,
  objectionTo,
  pendingChecks,
  seePull,
  type Watch,
  type Watched,
} from '../../github/index.ts';
import type { ForgeWork } from '../pull-requests/context.ts';
import { watchPull } from '../pull-requests/watch.ts';
import type { TrainCar } from './cars.ts';

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

/** What stands against merging a pull request. */
export interface Objection {
  reason: string;
  /** Nobody is against it yet: its checks run, or GitHub cannot be asked now. */
  passing?: 'checks' | 'later';
}

/** Asks GitHub anew what stands against merging these, all at once; by branch. */
export async function objections(
  parts: EngineContext,
  candidates: readonly Candidate[],
  to: Destination,
): Promise<Map<string, Objection>> {
  const { stateDir, forge } = parts.settings;
  const watches = candidates.map(({ car, work, number }): Watch => {
    return { branch: car.key, number, owner: work.head.owner };
  });
  for (const { car, work } of candidates)
    await forgetPull({ stateDir, repository: work.head.repository }, car.key);
  const found = new Map<string, Objection>();
  for (const [index, { car, work, number }] of candidates.entries()) {
    const watch = watches[index] as Watch;
    const options = { stateDir, repository: work.head.repository, gh: work.gh, now: () => parts.now() };
    const ages = { maxAgeSeconds: Math.max(forge.cacheSeconds, 5), reserve: forge.reserve };
    const seen = await seePull(watch, { ...options, ...ages }, () => watches.slice(index + 1));
    const pull = 'later' in seen ? undefined : seen.pulls.find((each) => each.number === number);
    const objection: Objection | undefined =
      'later' in seen
        ? { reason: seen.later, passing: 'later' }
        : pull && (await against(parts, car, pull, to));
    if (objection) found.set(car.key, objection);
  }
  return found;
}

async function against(
  parts: EngineContext,
  car: TrainCar,
  pull: Watched,
  { base, isOurs }: Destination,
): Promise<Objection | undefined> {
  const name = `pull request #${pull.number}`;
  if (pull.base !== base && !isOurs(pull.base, car))
    return { reason: `${name} is for ${pull.base}, not for ${base}` };
  if (pull.isDraft)
    return { reason: `${name} is a draft; say that it is ready with: gh pr ready ${pull.url}` };
  const objection = objectionTo(pull, parts.settings.forge.reviewers);
  if (objection !== undefined) return { reason: `${name} ${objection}` };
  const news = car.waiting ? await newsOf(parts, car) : undefined;
  if (news !== undefined) return { reason: `${name} has news: ${news}` };
  const pending = pendingChecks(pull);
  if (pending.length === 0) return undefined;
  const more = pending.length > 3 ? ` and ${pending.length - 3} more` : '';
  return {
    reason: `${name} is not ready: checks pending (${pending.slice(0, 3).join(', ')}${more})`,
    passing: 'checks',
  };
}

/** Its own workflow goes on with whatever else people said. */
async function newsOf(parts: EngineContext, car: TrainCar): Promise<string | undefined> {
  const standing = await watchPull(parts, car.ref, 'merge');
  const said = 'outcome' in standing && (standing.outcome === 'changes' || standing.outcome === 'moved');
  return said ? standing.message.split('\n').slice(0, 2).join(' ') : undefined;
}
