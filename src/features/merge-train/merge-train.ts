import { type EngineContext, emit } from '../../engine/context.ts';
import { SignalboxError } from '../../model/errors.ts';
import type { Track, TrackSpec, Trains } from '../../workspaces/index.ts';
import { NO_CHECKS } from '../checks/checks.ts';
import { Notifier } from '../notifications/notify.ts';
import { TrainChecks } from './checks.ts';
import type { Already, LeftOut, TrainCar, Trainload } from './collect-branches.ts';
import { isReady } from './collect-branches.ts';
import { leaving, type Placed, type Sorted, sortOut } from './find-bad-branches.ts';
import { patienceOf } from './objections.ts';
import { findPulls, type LandedPull, landPulls, type Pulls } from './pull-requests.ts';
import { findingsOf, type Returned, returnTicket } from './return-ticket.ts';

interface Landed {
  planId: string;
  ticketId: string;
  branch: string;
  pullRequest: LandedPull | null;
}

/** The result of a train. */
export interface TrainResult {
  repo: string;
  base: string;
  /** What was moved: the base, its integration branch, or `origin/<base>`. */
  target: string;
  /** Its commit now. */
  commit: string;
  /** The command that brings it into a checkout of the base. */
  fastForward: string | null;
  landed: Landed[];
  returned: Returned[];
  left: LeftOut[];
  /** Nothing had to be done for these. */
  already: Already[];
  /** The commands that had to pass. */
  checks: string[];
  /** Why what landed was not checked at all; null when it was, or nothing landed. */
  unchecked: string | null;
}

export interface TrainOptions {
  /** Merge pull requests on GitHub instead of local branches. */
  pr: boolean;
  signal: AbortSignal;
  say(line: string): void;
}

/** How often the train starts over because the base has moved. */
const MAX_TRIES = 5;

/** Merges the branches that pass together, and sends the others back to their tickets. */
export function runTrain(parts: EngineContext, load: Trainload, options: TrainOptions): Promise<TrainResult> {
  return parts.workspaces.withTrainLock(load.repo, async () => {
    const trains = await parts.workspaces.trains(load.repo);
    const [first] = load.cars;
    const checks = first && checksOf(parts, trains, first, options);
    const notifier = new Notifier(parts);
    try {
      await checks?.open();
      const result = await drive(parts, load, { ...options, trains, checks });
      const plans = new Set(result.returned.map(({ planId }) => planId));
      notifier.look(parts.store.view(), ({ id }) => plans.has(id));
      await notifier.settled();
      return result;
    } finally {
      await checks?.close();
      trains.close();
    }
  });
}

function checksOf(
  parts: EngineContext,
  trains: Trains,
  { spec }: TrainCar,
  options: TrainOptions,
): TrainChecks {
  const { worktreeRoot, hooks, install, copy, caches } = spec;
  const { signal, say } = options;
  return new TrainChecks(parts, {
    trains,
    scratch: { worktreeRoot, hooks, install, copy, caches, signal },
    signal,
    say,
  });
}

interface Drive extends TrainOptions {
  trains: Trains;
  checks: TrainChecks | undefined;
}

async function drive(parts: EngineContext, load: Trainload, options: Drive): Promise<TrainResult> {
  const { trains, checks, pr, say } = options;
  const spec: TrackSpec = { base: load.base, recordedBase: null, remote: pr };
  // Another merge may have sent tickets back while this one waited for the lock.
  const still = load.cars.filter(({ ref }) => isReady(parts, parts.store.ticket(ref)));
  const patience = patienceOf(parts, options);
  const found =
    pr && still.length > 0 ? await findPulls(parts, still, { trains, base: load.base, patience }) : null;
  let cars = found?.cars ?? still;
  const done: Landed[] = [];
  const waiting = [...load.left, ...(found?.left ?? [])];
  for (let tries = 1; ; ) {
    const track = await trains.track(spec);
    const check = checks ? (commit: string) => checks.check(commit) : null;
    const sorted = await sortOut(cars, { trains, track, check, say });
    parts.crash('merge:checked');
    const landed = await land(parts, sorted, { ...options, cars, spec, track, pulls: found?.pulls ?? null });
    done.push(...landed.landed);
    waiting.push(...landed.left);
    if (landed.stale) {
      const out = new Set([...landed.landed, ...landed.left].map(({ branch }) => branch));
      if (out.size === 0 && tries++ === MAX_TRIES)
        throw new SignalboxError(
          'merge/moving',
          `${track.from} moved ${MAX_TRIES} times during the checks.`,
          {
            hint: 'Run the merge again when there is less going on.',
            details: { landed: done },
          },
        );
      cars = cars.filter(({ key }) => !out.has(key));
      say(
        landed.left.length > 0
          ? 'One was refused; once more without it.'
          : `${track.from} has moved meanwhile; once more.`,
      );
      continue;
    }
    parts.crash('merge:landed');
    const returned = await giveBack(parts, sorted, landed.track.from);
    return {
      repo: load.repo,
      base: load.base,
      target: landed.track.branch,
      commit: landed.track.tip,
      fastForward: done.length > 0 ? landed.track.fastForward : null,
      landed: done,
      returned: returned.returned,
      left: [...waiting, ...sorted.left, ...returned.left],
      already: [...load.already, ...(found?.already ?? []), ...sorted.already],
      checks: [...(checks?.commands ?? [])],
      unchecked: done.length > 0 && checks?.commands.size === 0 ? uncheckedBy(parts) : null,
    };
  }
}

function uncheckedBy({ settings }: EngineContext): string {
  return settings.checks ? 'The setting `checks` is empty.' : NO_CHECKS;
}

interface Landing {
  track: Track;
  landed: Landed[];
  left: LeftOut[];
  /** The rest of the train must be checked again. */
  stale: boolean;
}

interface LandOptions extends Drive {
  cars: readonly TrainCar[];
  spec: TrackSpec;
  track: Track;
  pulls: Pulls | null;
}

async function land(
  parts: EngineContext,
  { placed, faults }: Sorted,
  { cars, trains, spec, track, pulls }: LandOptions,
): Promise<Landing> {
  const last = placed.at(-1);
  if (!last && (pulls || faults.length === 0)) return { track, landed: [], left: [], stale: false };
  if (pulls) {
    const { landed, left, stale } = await landPulls(parts, placed, pulls, { cars, trains, spec, track });
    const done = landed.map(({ number, url, ...each }) => tell(parts, each, track.branch, { number, url }));
    return { track: await trains.track(spec), landed: done, left, stale };
  }
  const moved = await trains.land(spec, track, last?.commit ?? track.tip);
  if (!moved) return { track, landed: [], left: [], stale: true };
  const landed = placed.map((each) => tell(parts, each, moved.branch, null));
  return { track: moved, landed, left: [], stale: false };
}

function tell(
  parts: EngineContext,
  { car, commit }: Placed,
  onto: string,
  pullRequest: LandedPull | null,
): Landed {
  const detail = { branch: car.key, onto, ...(pullRequest ? { number: pullRequest.number } : { commit }) };
  emit(parts, { type: 'command', command: 'merge', detail, ...car.ref });
  return { ...car.ref, branch: car.key, pullRequest };
}

/** Runs after the merge, so that the base has the work that a returned branch must be fixed against. */
async function giveBack(
  parts: EngineContext,
  { faults }: Sorted,
  onto: string,
): Promise<{ returned: Returned[]; left: LeftOut[] }> {
  const returned: Returned[] = [];
  const left: LeftOut[] = [];
  for (const fault of faults) {
    // An engine polls its pull request and will react to the same problem.
    if (fault.car.waiting) {
      left.push(leaving(fault.car, findingsOf(fault, onto).message));
      continue;
    }
    const back = await returnTicket(parts, fault, onto);
    if (back) returned.push(back);
    else left.push(leaving(fault.car, 'somebody has moved it meanwhile'));
    parts.crash('merge:returned');
  }
  return { returned, left };
}
