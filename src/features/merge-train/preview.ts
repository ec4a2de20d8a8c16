import type { EngineContext } from '../../engine/context.ts';
import type { Already, LeftOut, Trainload } from './collect-branches.ts';
import { sortOut } from './find-bad-branches.ts';
import { findPulls } from './pull-requests.ts';

export interface Preview {
  repo: string;
  base: string;
  target: string;
  /** In the order in which they would be merged. */
  order: { planId: string; ticketId: string; branch: string; title: string; conflict: string[] }[];
  left: LeftOut[];
  already: Already[];
}

/** The branches that a train would merge, in order and with their conflicts. Changes nothing. */
export async function previewTrain(
  parts: EngineContext,
  load: Trainload,
  { pr }: { pr: boolean },
): Promise<Preview> {
  const trains = await parts.workspaces.trains(load.repo, { dry: true });
  try {
    const track = await trains.track({ base: load.base, recordedBase: null, remote: pr });
    const found =
      pr && load.cars.length > 0
        ? await findPulls(parts, load.cars, { trains, base: load.base, patience: null })
        : null;
    const cars = found?.cars ?? load.cars;
    const options = { trains, track, check: null, say: () => undefined };
    const { faults, left, already } = await sortOut(cars, options);
    const out = new Set([...left, ...already].map(({ branch }) => branch));
    const order = cars
      .filter(({ key }) => !out.has(key))
      .map((car) => {
        const fault = faults.find((each) => each.car === car);
        const conflict = fault && 'conflict' in fault ? fault.conflict : [];
        return { ...car.ref, branch: car.key, title: car.title, conflict };
      });
    const { repo, base } = load;
    return {
      ...{ repo, base, target: track.branch, order },
      left: [...load.left, ...(found?.left ?? []), ...left],
      already: [...load.already, ...(found?.already ?? []), ...already],
    };
  } finally {
    trains.close();
  }
}
