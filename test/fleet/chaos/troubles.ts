import type { FleetWorld } from '../../support/fleet.ts';
import { pgCtl } from '../../support/postgres.ts';
import type { Machines } from './machines.ts';

export type Trouble =
  | 'kill a worker'
  | 'kill the scheduler'
  | 'stop a worker'
  | 'stop the scheduler'
  | 'cut a connection'
  | 'restart fast'
  | 'restart immediate';

/** Half of the kills are for good; the others come back in this part of the lease, at most. */
const BACK_WITHIN = 1 / 4;
/** How long a worker is stopped or cut off, in leases. */
const AWAY = 1.5;

/** All troubles of a run, in a random order: every third kill hits the scheduler. */
export function troublesBy(random: () => number, kills: number): Trouble[] {
  const killed = Array.from({ length: kills }, (_, index) =>
    index % 3 === 0 ? ('kill the scheduler' as const) : ('kill a worker' as const),
  );
  const others: Trouble[] = [
    ...(['stop a worker', 'stop a worker', 'stop the scheduler', 'cut a connection'] as const),
    ...(['cut a connection', 'restart fast', 'restart immediate'] as const),
  ];
  return [...killed, ...others]
    .map((trouble) => ({ trouble, place: random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ trouble }) => trouble);
}

interface MakerOptions {
  fleet: FleetWorld;
  machines: Machines;
  random: () => number;
  leaseMs: number;
}

/** Makes trouble for the machines of a fleet. */
export class TroubleMaker {
  readonly #options: MakerOptions;
  /** Which machine each trouble hit, for messages about a failure. */
  readonly done: string[] = [];
  kills = 0;

  constructor(options: MakerOptions) {
    this.#options = options;
  }

  async make(trouble: Trouble): Promise<void> {
    const { fleet, machines, random, leaseMs } = this.#options;
    const machine = await this.#victim(trouble.endsWith('scheduler'));
    this.done.push(`${trouble}: ${machine.name}`);
    switch (trouble) {
      case 'restart fast':
        return pgCtl(fleet.database.server, 'restart', '--mode=fast');
      case 'restart immediate':
        return pgCtl(fleet.database.server, 'restart', '--mode=immediate');
      case 'cut a connection':
        return machines.cut(machine, AWAY * leaseMs);
      case 'stop a worker':
      case 'stop the scheduler':
        return machines.freeze(machine, AWAY * leaseMs);
      case 'kill a worker':
      case 'kill the scheduler':
        this.kills += 1;
        return machines.kill(
          machine,
          this.kills % 2 === 1 ? 'never' : { afterMs: random() * BACK_WITHIN * leaseMs },
        );
    }
  }

  /** The machine that schedules, if that is wanted and known, or any. */
  async #victim(isScheduler: boolean) {
    const { machines, random } = this.#options;
    const pid = isScheduler ? await this.#schedulerPid().catch(() => undefined) : undefined;
    const { present } = machines;
    const found =
      present.find(({ worker }) => worker?.pid === pid) ?? present[Math.floor(random() * present.length)];
    if (!found) throw new Error('no machine is left');
    return found;
  }

  async #schedulerPid(): Promise<number | undefined> {
    const [role] = await this.#options.fleet.database.query<{ claim: string }>(
      "select claim from signalbox.roles where name = 'scheduler'",
    );
    return role && (JSON.parse(role.claim) as { pid: number }).pid;
  }
}
