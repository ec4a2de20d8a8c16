import { setTimeout as delay } from 'node:timers/promises';
import type { EngineContext } from '../../engine/context.ts';
import { forgetPull, readPullRequests } from '../../github/pull-request-cache.ts';
import { objectionTo, pendingChecks } from '../../github/pull-request-state-and-feedback.ts';
import type { Watch, Watched } from '../../github/query-pull-requests.ts';
import { SignalboxError } from '../../model/errors.ts';
import { refKey } from '../../model/ids-and-branch-names.ts';
import { firstOf } from '../../model/text/clean-escape-quote-plural.ts';
import { temporaryTroubleOf } from '../pull-requests/temporary-and-final-errors.ts';
import type { ForgeWork } from '../pull-requests/ticket-on-github.ts';
import { watchPull } from '../pull-requests/watch-pull-request.ts';
import type { TrainCar } from './collect-branches.ts';

/** A car with the pull request that would be merged. */
export interface CarWithPullRequest {
  car: TrainCar;
  work: ForgeWork;
  number: number;
}

/** Where pull requests are merged. */
export interface Destination {
  base: string;
  /** Whether a branch belongs to another ticket: only such a base of a pull request may be changed. */
  isInSameStack(branch: string, car: TrainCar): boolean;
}

/** A reason not to merge a pull request. */
interface Objection {
  reason: string;
  /** The reason is temporary: checks still run, or GitHub cannot be reached now. */
  passing?: 'checks' | 'later';
}

/** Asks GitHub again for reasons not to merge these, in one query; by branch. */
export async function objections(
  engine: EngineContext,
  candidates: readonly CarWithPullRequest[],
  to: Destination,
): Promise<Map<string, Objection>> {
  const { forge } = engine.settings;
  const cacheDir = engine.machine.githubCache;
  const watches = candidates.map(({ car, work, number }): Watch => {
    return { branch: car.key, number, owner: work.head.owner };
  });
  for (const { car, work } of candidates)
    await forgetPull({ cacheDir, repository: work.head.repository }, car.key);
  const found = new Map<string, Objection>();
  for (const [index, { car, work, number }] of candidates.entries()) {
    const watch = watches[index] as Watch;
    const options = { cacheDir, repository: work.head.repository, gh: work.gh, now: () => engine.now() };
    const ages = { maxAgeSeconds: Math.max(forge.cacheSeconds, 5), reserve: forge.reserve };
    const seen = await readPullRequests(watch, { ...options, ...ages }, () => watches.slice(index + 1));
    const pull = 'later' in seen ? undefined : seen.pulls.find((each) => each.number === number);
    const objection: Objection | undefined =
      'later' in seen
        ? { reason: seen.later, passing: 'later' }
        : pull && (await objectionToCar(engine, car, pull, to));
    if (objection) found.set(car.key, objection);
  }
  return found;
}

async function objectionToCar(
  engine: EngineContext,
  car: TrainCar,
  pull: Watched,
  { base, isInSameStack }: Destination,
): Promise<Objection | undefined> {
  const name = `pull request #${pull.number}`;
  if (pull.base !== base && !isInSameStack(pull.base, car))
    return { reason: `${name} is for ${pull.base}, not for ${base}` };
  if (pull.isDraft)
    return { reason: `${name} is a draft; say that it is ready with: gh pr ready ${pull.url}` };
  const objection = objectionTo(pull, engine.settings.forge.reviewers);
  if (objection !== undefined) return { reason: `${name} ${objection}` };
  const news = car.waiting ? await newCommentsOn(engine, car) : undefined;
  if (news !== undefined) return { reason: `${name} has news: ${news}` };
  const pending = pendingChecks(pull);
  if (pending.length === 0) return undefined;
  return { reason: `${name} is not ready: checks pending (${firstOf(pending, 3)})`, passing: 'checks' };
}

/** New comments of people, which the ticket's own workflow will answer. */
async function newCommentsOn(engine: EngineContext, car: TrainCar): Promise<string | undefined> {
  const standing = await watchPull(engine, car.ref, 'merge');
  const isComment = 'outcome' in standing && (standing.outcome === 'changes' || standing.outcome === 'moved');
  return isComment ? standing.message.split('\n').slice(0, 2).join(' ') : undefined;
}

/** How long a train waits for checks on GitHub. */
export interface Patience {
  seconds: number;
  signal: AbortSignal;
  say(line: string): void;
}

/** The longest interval between two queries: a person may be waiting at the terminal. */
const MAX_INTERVAL_SECONDS = 15;

/** Reasons not to merge these, once their checks have ended or the time is over. */
export async function lastObjections(
  engine: EngineContext,
  candidates: readonly CarWithPullRequest[],
  to: Destination,
  patience: Patience | null,
): Promise<Map<string, Objection>> {
  let found = await objections(engine, candidates, to);
  if (!patience) return found;
  const end = Date.parse(engine.now()) + patience.seconds * 1000;
  const every = Math.min(engine.settings.forge.cacheSeconds, MAX_INTERVAL_SECONDS) * 1000;
  for (let announced = ''; ; ) {
    const running = candidates.filter(({ car }) => found.get(car.key)?.passing === 'checks');
    const left = end - Date.parse(engine.now());
    if (running.length === 0 || left <= 0) return found;
    const waiting = running.map(({ car, number }) => `${refKey(car.ref)} (#${number})`).join(', ');
    if (waiting !== announced)
      patience.say(`Waiting for checks of ${waiting}, ${inMinutes(left)} at most; Ctrl-C merges nothing.`);
    announced = waiting;
    await pause(Math.min(Math.max(every, 100), left), patience.signal);
    // While GitHub cannot be reached, the last answer is used.
    try {
      const now = await objections(engine, candidates, to);
      if (![...now.values()].some(({ passing }) => passing === 'later')) found = now;
    } catch (error) {
      if (!(await temporaryTroubleOf(engine, error))) throw error;
    }
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  if (signal.aborted) throw new SignalboxError('merge/stopped', 'The merge was stopped; nothing was moved.');
}

function inMinutes(ms: number): string {
  return ms < 90_000 ? `${Math.ceil(ms / 1000)} s` : `${Math.round(ms / 60_000)} min`;
}
