import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { CuttingProxy } from '../../store/postgres/support.ts';
import type { Running } from '../../support/cli.ts';
import type { FleetWorld } from '../../support/fleet.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { Absence } from './judge.ts';

/** A machine of the test: it shares the database and the bare repositories with the others, and nothing else. */
export interface Machine {
  name: string;
  dir: string;
  /** Its way to the database. */
  proxy: CuttingProxy;
  /** Its process. */
  runs: 'worker' | 'daemon';
  worker: Running | undefined;
  /** Killed, stopped or cut off now. */
  isAway: boolean;
}

interface MachinesOptions {
  fleet: FleetWorld;
  slots: number;
  /** The entry file of another version of the program, which every third machine runs. */
  otherVersion: string;
}

/** The machines of a fleet, and what may happen to them. */
export class Machines {
  readonly #options: MachinesOptions;
  readonly #all: Machine[] = [];
  #made = 0;
  #isOver = false;
  readonly absences: Absence[] = [];
  /** What goes on in the background: workers that start again, stops that end. */
  readonly #pending = new Set<Promise<unknown>>();
  #failure: unknown;

  constructor(options: MachinesOptions) {
    this.#options = options;
    onTestFinished(() => {
      this.#isOver = true;
    });
  }

  /** Machines that work. */
  get present(): Machine[] {
    return this.all.filter(({ runs }) => runs === 'worker');
  }

  /** The same, with that of the daemon, which drives nothing. */
  get all(): Machine[] {
    return this.#all.filter(({ isAway, worker }) => !isAway && worker?.alive);
  }

  async add(runs: Machine['runs'] = 'worker'): Promise<Machine> {
    const { fleet } = this.#options;
    this.#made += 1;
    const name = `machine-${this.#made}`;
    const dir = join(fleet.world.dir, name);
    mkdirSync(dir);
    cpSync(fleet.world.home, join(dir, 'home'), {
      recursive: true,
      filter: (path) => !path.startsWith(fleet.world.stateDir),
    });
    const proxy = await CuttingProxy.to(fleet.database.server.port);
    const machine = { name, dir, proxy, runs, worker: undefined, isAway: true };
    this.#all.push(machine);
    await this.#start(machine);
    return machine;
  }

  async #start(machine: Machine): Promise<void> {
    const { fleet, slots, otherVersion } = this.#options;
    const { dir, proxy } = machine;
    const address = proxy.address(fleet.database.address);
    const env = { ...fleet.env(join(dir, 'home'), address), HOME: dir };
    const isOther = this.#all.indexOf(machine) % 3 === 2;
    const cli = isOther ? otherVersion : undefined;
    const words = machine.runs === 'daemon' ? ['daemon'] : ['worker', '--slots', String(slots)];
    const start = () => fleet.world.start([...words, '--plain'], env, dir, cli);
    machine.worker = start();
    await waitFor(`a ${machine.runs} on ${machine.name}`, () => {
      // The database may be away just now, or an earlier daemon not over yet; a service is started again.
      if (!this.#isOver && !machine.worker?.alive) machine.worker = start();
      return /takes tickets|Daemon \d+/.test(machine.worker?.soFar ?? '');
    });
    machine.isAway = false;
  }

  /** `kill -9`. A worker that is not to come back is replaced by one on a new machine. Returns the machine that works afterwards. */
  kill(machine: Machine, back: { afterMs: number } | 'never'): Promise<Machine> {
    const absence = this.#leaves(machine);
    const ended = machine.worker?.kill('SIGKILL');
    const next = async () => {
      await ended;
      if (back === 'never') return this.add(machine.runs);
      await delay(back.afterMs);
      await this.#start(machine);
      absence.to = Date.now();
      return machine;
    };
    return this.inBackground(next);
  }

  /** Stops the process of a worker for a time, with all its timers. */
  freeze(machine: Machine, ms: number): void {
    const absence = this.#leaves(machine);
    const { worker } = machine;
    if (worker) process.kill(worker.pid, 'SIGSTOP');
    void this.inBackground(async () => {
      await delay(ms);
      if (worker?.alive) process.kill(worker.pid, 'SIGCONT');
      this.#returns(machine, absence);
    });
  }

  /** Nothing passes between a machine and the database for a time. */
  cut(machine: Machine, ms: number): void {
    const absence = this.#leaves(machine);
    machine.proxy.isSilent = true;
    void this.inBackground(async () => {
      await delay(ms);
      machine.proxy.restore();
      this.#returns(machine, absence);
    });
  }

  #leaves(machine: Machine): Absence {
    machine.isAway = true;
    const absence = { machine: machine.name, from: Date.now(), to: null };
    this.absences.push(absence);
    return absence;
  }

  #returns(machine: Machine, absence: Absence): void {
    machine.isAway = false;
    absence.to = Date.now();
  }

  /** Does something while the troubles go on; `settled` waits for it. */
  inBackground<T>(work: () => Promise<T>): Promise<T> {
    const result = work();
    const done = result.catch((error: unknown) => {
      this.#failure ??= error;
    });
    this.#pending.add(done);
    void done.then(() => this.#pending.delete(done));
    return result;
  }

  /** Rejects with what went wrong in the background. */
  async settled(): Promise<void> {
    await Promise.all(this.#pending);
    if (this.#failure) throw this.#failure;
  }

  /** What each worker printed last, for messages about a failure. */
  get said(): string {
    return this.#all.map(({ name, worker }) => `--- ${name}\n${worker?.soFar.slice(-3000)}`).join('\n');
  }
}

/** The pauses of the troubles themselves: how long something is away is what is tried here. */
export const delay = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms));
