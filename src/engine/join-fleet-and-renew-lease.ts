import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import type { Settings } from '../config/settings-table.ts';
import { comparableName } from '../issues/find-issue-checkouts.ts';
import { makeDirectory } from '../machine/files/make-directory-and-handle-storage-errors.ts';
import { ifPossible } from '../machine/files/read-and-remove-files.ts';
import { writeAtomic } from '../machine/files/write-atomic-and-note-facts.ts';
import { secondsWithSleep } from '../machine/jobs/start-and-read-job.ts';
import { ownIdentity } from '../machine/process-identity-and-signals.ts';
import { InputError, ignoring } from '../model/errors.ts';
import { digest } from '../model/ids-and-branch-names.ts';
import type { Worker } from '../model/place-tickets-on-workers.ts';
import type { Plan } from '../model/plan.ts';
import type { Ticket } from '../model/ticket.ts';
import type { Workflow } from '../model/workflow.ts';
import type { Delivery, Fleet } from '../store/store-interface.ts';
import { workIndex } from './claimed-tickets-and-counted-usage.ts';
import type { EngineContext } from './context.ts';
import { type Pinned, pinnedFor, workflowNameOf } from './pinned-workflow.ts';
import { needsIn } from './schedule-on-fleet.ts';

interface WorkerOptions extends Pick<Worker, 'slots' | 'labels' | 'version'> {
  /** Ends the jobs of this worker after its lease ran out: other workers may have its tickets. Resolves when the jobs have ended. */
  endJobs(): Promise<void>;
}

/** The part of a lease after which the watchdogs end jobs; the rest is for them to do it. */
const SAFE_PART = 2 / 3;

/** Jobs that are fetched at once. */
const MAX_JOBS = 100;

/** Names this machine in the fleet. Two state directories on one computer are two machines. */
export function workerId({ stateDir }: Pick<Settings, 'stateDir'>): string {
  const { host, machine } = ownIdentity();
  const name = host.replace(/[^A-Za-z0-9.-]/g, '-').slice(0, 40);
  return `${name}-${digest(`${machine} ${real(stateDir)}`, 6)}`;
}

const real = (path: string) => ifPossible(() => realpathSync.native(path)) ?? path;

/** Names and paths of the repositories that the settings of a worker name. It drives no others. */
export function reposOf({ repos }: Pick<Settings, 'repos'>): string[] {
  const paths = Object.values(repos);
  return [...new Set([...Object.keys(repos), ...paths, ...paths.map(real)].map(comparableName))];
}

/** What makes a process a worker: its entry in the store, its queue, and the file that lets its jobs run. */
export class FleetMembership {
  readonly id: string;
  readonly slots: number;
  readonly #engine: EngineContext;
  readonly #fleet: Fleet;
  readonly #options: WorkerOptions;
  #until = 0;
  #isEnding: Promise<void> | undefined;
  #isLeaving = false;

  constructor(engine: EngineContext, fleet: Fleet, options: WorkerOptions) {
    this.#engine = engine;
    this.#fleet = fleet;
    this.#options = options;
    this.slots = options.slots;
    this.id = workerId(engine.settings);
    fleet.onRenewed(engine.holder, (sentAt) => this.#renewed(sentAt));
  }

  /** First the lease, then work: called when the holder is registered. */
  async begin(): Promise<void> {
    const { settings, holder } = this.#engine;
    const { labels, version } = this.#options;
    const { host } = ownIdentity();
    await this.#fleet.join(holder, {
      id: this.id,
      host,
      version,
      slots: this.slots,
      labels,
      repos: reposOf(settings),
    });
  }

  /** The tickets whose labels it has. Workers with others may have other agents, too. */
  async withItsLabels(plan: Plan, tickets: readonly Ticket[]): Promise<Ticket[]> {
    const byName = new Map<string, Promise<Workflow | undefined>>();
    const presentOf = (ticket: Ticket) => {
      const name = workflowNameOf(ticket, plan, this.#engine.settings);
      const found = byName.get(name) ?? this.#present(ticket, plan).then((present) => present?.workflow);
      byName.set(name, found);
      return found;
    };
    const fits = await Promise.all(
      tickets.map(async (ticket) =>
        this.#hasLabels(plan, ticket, ticket.workflowHash ? undefined : await presentOf(ticket)),
      ),
    );
    return tickets.filter((_, index) => fits[index]);
  }

  /** The workflow that a new ticket gets, where this worker lacks labels of its phases: the scheduler cannot read workflow files. */
  async workflowOfOthers(plan: Plan, ticket: Ticket): Promise<string | undefined> {
    if (ticket.workflowHash) return undefined;
    const present = await this.#present(ticket, plan);
    return present && !this.#hasLabels(plan, ticket, present.workflow) ? present.hash : undefined;
  }

  /** Undefined where it cannot be read: driving the ticket says why. */
  #present(ticket: Ticket, plan: Plan): Promise<Pinned | undefined> {
    return ignoring(InputError, () => pinnedFor(this.#engine, ticket, plan));
  }

  #hasLabels(plan: Plan, ticket: Ticket, workflow?: Workflow): boolean {
    const { labels } = needsIn(this.#engine, plan, ticket, workflow);
    return labels.every((label) => this.#options.labels.includes(label));
  }

  /** Takes no more tickets; those that it drives end before their next phase. */
  async leave(): Promise<void> {
    this.#isLeaving = true;
    await this.#fleet.drain(this.id);
  }

  get isLeaving(): boolean {
    return this.#isLeaving || this.#fleet.workers().some(({ id, draining }) => id === this.id && draining);
  }

  /** Jobs that wait for this worker. The store shows whether there are any, so that the queue is not asked for nothing. */
  async fetch(): Promise<Delivery[]> {
    if (this.isLeaving) return [];
    const isWaiting = [...workIndex(this.#engine).dispatched.values()].some(
      ({ dispatch }) => dispatch?.to === this.id,
    );
    // Jobs of earlier dispatches may be before those that are wanted.
    return isWaiting ? this.#fleet.fetch(this.id, MAX_JOBS) : [];
  }

  async endJob({ job }: Delivery): Promise<void> {
    await this.#fleet.endJob(this.id, job);
  }

  async end(): Promise<void> {
    await this.#fleet.remove(this.id).catch(() => undefined);
  }

  /** Lets jobs run for two thirds of a lease from when the renewal was sent. */
  #renewed(sentAt: number): void {
    const until = sentAt + (this.#fleet.leaseMs / 1000) * SAFE_PART;
    // The watchdogs end what ran before; nothing of it may live on with the new lease.
    if (this.#until > 0 && secondsWithSleep() > this.#until)
      this.#isEnding ??= this.#options.endJobs().finally(() => {
        this.#isEnding = undefined;
        this.#write(this.#until);
      });
    this.#until = until;
    if (!this.#isEnding) this.#write(until);
  }

  #write(until: number): void {
    const { machine } = this.#engine;
    if (machine.lease === undefined) makeDirectory(machine.stateDir);
    machine.lease ??= join(machine.stateDir, 'lease');
    writeAtomic(machine.lease, `${Math.floor(until)}\n`);
  }
}
