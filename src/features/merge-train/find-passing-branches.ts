import { SignalboxError } from '../../model/errors.ts';
import { plural } from '../../model/text/clean-escape-quote-plural.ts';
import type { Track, Trains } from '../../workspaces/workspaces.ts';
import type { Verdict } from '../checks/find-and-run-checks.ts';
import type { AlreadyMerged, LeftOut, TrainCar } from './collect-branches.ts';
import { dependentsOf, leaveOut } from './collect-branches.ts';

/** A car that is merged on top of those before it. */
export interface Placed {
  car: TrainCar;
  /** The branch's own commit. */
  tip: string;
  /** The merge of all cars up to this one. */
  commit: string;
}

type Red = Extract<Verdict, { green: false }>;

/** Why a car is taken out of the train. */
export type Fault = { car: TrainCar; with: string[] } & ({ conflict: string[] } | { red: Red });

/** The cars that pass together, and those that were taken out. */
export interface Sorted {
  placed: Placed[];
  faults: Fault[];
  left: LeftOut[];
  /** The base already has their changes. */
  already: AlreadyMerged[];
}

interface SortOptions {
  trains: Pick<Trains, 'mergeInto' | 'has' | 'tipOf'>;
  track: Pick<Track, 'tip' | 'from'>;
  /** Null: only finds conflicts. */
  check: ((commit: string) => Promise<Verdict>) | null;
  say(line: string): void;
}

/**
 * Finds the cars that pass together. Merges all on top of each other and checks the result once. If that fails, finds the
 * first failing car by bisection, takes it out, and tries those behind it again.
 */
export async function findPassingCars(cars: readonly TrainCar[], options: SortOptions): Promise<Sorted> {
  const { track, say } = options;
  let last = '';
  const given = options.check;
  const check = async (commit: string) => {
    const verdict = given ? await given(commit) : ({ green: true } as const);
    last = verdict.green ? 'The checks passed.' : 'The checks failed.';
    return verdict;
  };
  const sorted: Sorted = { placed: [], faults: [], left: [], already: [] };
  let todo = [...cars];
  for (let known = false; todo.length > 0; ) {
    const chain = await mergeCars(todo, sorted.placed, options);
    const end = chain.placed.at(-1);
    if (!end || !given) return take(sorted, chain);
    say(
      `Checking ${plural(sorted.placed.length + chain.placed.length, 'branch', 'branches')} on ${track.from}…`,
    );
    if ((await check(end.commit)).green) return take(sorted, chain);
    if (!known) await requirePassingBase(check, options.track, say);
    known = true;
    const red = await firstFailingCount(chain.placed.length, async (length) => {
      const { commit } = chain.placed[length - 1] as Placed;
      say(`${last} Checking the first ${sorted.placed.length + length}…`);
      return (await check(commit)).green;
    });
    const culprit = chain.placed[red - 1] as Placed;
    const verdict = await check(culprit.commit);
    if (verdict.green)
      throw new SignalboxError('merge/unsteady', 'The checks failed, then passed on the same commit.', {
        hint: 'Fix the flaky check, then run the merge again.',
      });
    const faulty = todo.indexOf(culprit.car);
    // The cars before the failing one are done; the rest is tried again without it.
    const before = new Set(todo.slice(0, faulty).map(({ key }) => key));
    take(sorted, chain, (branch) => before.has(branch));
    const others = sorted.placed.map(({ car }) => car.ref.ticketId);
    sorted.faults.push({ car: culprit.car, with: others, red: verdict });
    say(`✗ ${culprit.car.ref.ticketId}: ${verdict.message}`);
    const rest = todo.slice(faulty + 1);
    const behind = await carsThatNeed(rest, culprit.car, culprit.tip, options);
    sorted.left.push(...behind.map((car) => waits(car, culprit.car)));
    todo = rest.filter((car) => !behind.includes(car));
  }
  return sorted;
}

/** Throws if the base itself fails the checks: then no branch is the cause. */
async function requirePassingBase(
  check: (commit: string) => Promise<Verdict>,
  { tip, from }: Pick<Track, 'tip' | 'from'>,
  say: (line: string) => void,
): Promise<void> {
  say(`The checks failed. Checking ${from} by itself…`);
  const verdict = await check(tip);
  if (verdict.green) return;
  throw new SignalboxError(
    'merge/base-red',
    `The checks fail on ${from} without any of these branches: ${verdict.message}.`,
    { hint: 'Fix it first; nothing was merged.', details: { log: verdict.tail } },
  );
}

/** Merges the cars one by one. Leaves out those that conflict, and those that need them. */
async function mergeCars(
  cars: readonly TrainCar[],
  base: readonly Placed[],
  { trains, track }: SortOptions,
): Promise<Sorted> {
  const chain: Sorted = { placed: [], faults: [], left: [], already: [] };
  let ours = base.at(-1)?.commit ?? track.tip;
  let open = [...cars];
  for (let car = open.shift(); car; car = open.shift()) {
    const { key: branch, title: message } = car;
    const merged = await trains.mergeInto(ours, { branch, message });
    if ('commit' in merged) {
      ours = merged.commit;
      chain.placed.push({ car, ...merged });
    } else if ('nothing' in merged && !(await addsNothingToBase(trains, track, ours, { branch, message }))) {
      // It stays in the train: the cars with the same changes may still be taken out.
      chain.placed.push({ car, tip: merged.tip, commit: ours });
    } else if ('nothing' in merged) {
      chain.already.push({ ...car.ref, branch, into: track.from });
    } else {
      const others = [...base, ...chain.placed].map((placed) => placed.car.ref.ticketId);
      chain.faults.push({ car, with: others, conflict: merged.conflict });
      const behind = await carsThatNeed(open, car, merged.tip, { trains });
      const culprit = car;
      chain.left.push(...behind.map((each) => waits(each, culprit)));
      open = open.filter((each) => !behind.includes(each));
    }
  }
  return chain;
}

/** Whether a branch that adds nothing to the train adds nothing to the base either. */
async function addsNothingToBase(
  trains: SortOptions['trains'],
  { tip }: SortOptions['track'],
  ours: string,
  car: { branch: string; message: string },
): Promise<boolean> {
  return ours === tip || 'nothing' in (await trains.mergeInto(tip, car));
}

/** Cars that depend on the failing one or contain its commits. */
export async function carsThatNeed(
  cars: readonly TrainCar[],
  culprit: TrainCar,
  tip: string,
  { trains }: { trains: Pick<Trains, 'tipOf' | 'has'> },
): Promise<TrainCar[]> {
  const stacked: string[] = [culprit.key];
  for (const car of cars) {
    const own = await trains.tipOf(car.key);
    if (own && (await trains.has(own, tip))) stacked.push(car.key);
  }
  const waiting = dependentsOf(cars, stacked);
  return cars.filter((car) => stacked.includes(car.key) || waiting.includes(car));
}

/** Adds the result for the wanted branches. */
function take(sorted: Sorted, chain: Sorted, wanted: (branch: string) => boolean = () => true): Sorted {
  sorted.placed.push(...chain.placed.filter(({ car }) => wanted(car.key)));
  sorted.faults.push(...chain.faults.filter(({ car }) => wanted(car.key)));
  sorted.left.push(...chain.left.filter(({ branch }) => wanted(branch)));
  sorted.already.push(...chain.already.filter(({ branch }) => wanted(branch)));
  return sorted;
}

function waits(car: TrainCar, culprit: TrainCar): LeftOut {
  return leaveOut(car, `waits for ${culprit.ref.ticketId}`);
}

/**
 * The smallest number of cars with which the checks fail, for a train that passes with none and fails with all of them. Uses
 * bisection.
 */
export async function firstFailingCount(
  length: number,
  isGreen: (count: number) => Promise<boolean>,
): Promise<number> {
  let green = 0;
  let red = length;
  while (red - green > 1) {
    const middle = green + Math.floor((red - green) / 2);
    if (await isGreen(middle)) green = middle;
    else red = middle;
  }
  return red;
}
