import { InputError } from './errors.ts';
import type { Plan } from './plan.ts';
import type { Ticket } from './ticket.ts';
import type { Workflow } from './workflow.ts';

/** A process that drives tickets of a fleet on its machine. Its id is the same after a restart. */
export interface Worker {
  id: string;
  /** Of its present process; claims have the same one. */
  token: string;
  pid: number;
  host: string;
  /** Its process cannot be seen from here. */
  isElsewhere: boolean;
  version: string;
  slots: number;
  labels: readonly string[];
  /** Repositories that its own settings name: their names and their paths. */
  repos: readonly string[];
  /** It takes no more tickets, and ends when its phases have ended. */
  draining: boolean;
  /** Milliseconds until its lease ends; 0: it is over. */
  leaseLeft: number;
  /** Milliseconds since it renewed its lease. */
  silentFor: number;
}

/** What a ticket asks of its worker. */
export interface Needs {
  /** Names of its repository, each of which a worker may have; none: it names no repository. */
  repos: readonly string[];
  labels: readonly string[];
  /** The worker that has its worktree. Others may continue once that one is gone. */
  home: string | null;
  /** The only computer that can continue it, where its work cannot be handed over; null: any. */
  host: string | null;
  /** The clone with that work, if the plan names its path: every worker of that computer that uses the clone can continue. */
  clone: string | null;
  /** The worker that gave it back before it began, such as one without its agent: each of the others has a turn before that one. */
  refusedBy: string | null;
}

/** The labels of a phase count from the ticket's start: a worker drives it as far as it can. */
export function needsOf(
  plan: Plan,
  ticket: Ticket,
  {
    workflow,
    repositoryName,
    before,
  }: {
    workflow?: Workflow | undefined;
    repositoryName(text: string): string;
    /** The ticket that used the worktree last, where several share one. */
    before?: Ticket | undefined;
  },
): Needs {
  const ofPhases =
    workflow?.phases.flatMap((phase) => (phase.type === 'terminal' ? [] : (phase.workerLabels ?? []))) ?? [];
  const labels = new Set([...(plan.workerLabels ?? []), ...(ticket.workerLabels ?? []), ...ofPhases]);
  const path = ticket.repo ?? plan.repo;
  const name = path && plan.repositories?.[path];
  const repos = [path, name].flatMap((each) => (each ? [repositoryName(each)] : []));
  const clone = path?.startsWith('/') ? repositoryName(path) : null;
  const { dispatch, phaseHistory } = ticket;
  // One that has not answered yet may still be checking what it has.
  const refusedBy = phaseHistory.length === 0 && dispatch?.at === null ? dispatch.to : null;
  return { repos, labels: [...labels], clone, refusedBy, ...placeOfWork(before ?? ticket) };
}

/** The worker that has a ticket's worktree, and the computer that has the only copy of its work. */
function placeOfWork({ base, dispatch, handOver, machine }: Ticket): Pick<Needs, 'home' | 'host'> {
  return {
    home: base === null ? null : (dispatch?.to ?? null),
    host: handOver?.onlyHere === undefined ? null : (machine?.host ?? null),
  };
}

export const isAtWork = ({ draining, leaseLeft }: Worker) => !draining && leaseLeft > 0;

/** Workers that may take a ticket, now or when they have a free slot. */
function fitting(workers: readonly Worker[], needs: Needs): Worker[] {
  const { repos, labels, home } = needs;
  const able = workers.filter(
    (worker) =>
      isAtWork(worker) &&
      hasRepository(worker, repos) &&
      hasWork(worker, needs) &&
      labels.every((label) => worker.labels.includes(label)),
  );
  const own = able.filter(({ id }) => id === home);
  return own.length > 0 ? own : able;
}

/** Two workers of one computer may have clones of their own. */
function hasWork(worker: Worker, { home, host, clone }: Needs): boolean {
  if (host === null || worker.id === home) return true;
  return worker.host === host && (home === null || (clone !== null && worker.repos.includes(clone)));
}

function hasRepository(worker: Worker, names: readonly string[]): boolean {
  return names.length === 0 || names.some((name) => worker.repos.includes(name));
}

/** Why no worker can take a ticket, and what to do; undefined: one can. */
export function whyNoWorker(workers: readonly Worker[], needs: Needs): string | undefined {
  if (fitting(workers, needs).length > 0) return undefined;
  const { repos, labels } = needs;
  const live = workers.filter(isAtWork);
  const silent = workers.filter(({ leaseLeft }) => leaseLeft <= 0).map(({ id }) => id);
  const start = `Start one: signalbox worker${labels.length > 0 ? ` --labels ${labels.join(',')}` : ''}`;
  if (live.length === 0) {
    const draining = workers.filter(({ leaseLeft }) => leaseLeft > 0).map(({ id }) => id);
    if (draining.length > 0)
      return `no worker takes new tickets (draining: ${draining.join(', ')}). ${start}`;
    const gone = silent.length > 0 ? ` (not seen for longer than their lease: ${silent.join(', ')})` : '';
    return `no worker is running${gone}. ${start}`;
  }
  const has = live.filter((worker) => hasRepository(worker, repos));
  if (has.length === 0)
    return `no worker has the repository ${repos.at(-1)}. Name it under "repos" in the settings of a worker`;
  const { host, home } = needs;
  if (host !== null && !has.some((worker) => hasWork(worker, needs)))
    return `only a worker on ${host} can continue it${home ? ` (${home})` : ''}, since its work could not be handed over. Start it there: signalbox worker`;
  return `no worker with that repository has the labels ${labels.join(', ')}. ${start}`;
}

/** Which worker gets which ticket. Each call to `place` takes a slot. */
export class Placement {
  readonly #workers: readonly Worker[];
  readonly #used: Map<string, number>;

  /** `used`: slots that are taken already, by worker. */
  constructor(workers: readonly Worker[], used: ReadonlyMap<string, number>) {
    this.#workers = workers;
    this.#used = new Map(used);
  }

  /** Slots that are free on all workers together. */
  get free(): number {
    const all = this.#workers.filter(isAtWork).map((worker) => Math.max(0, this.#freeOf(worker)));
    return all.reduce((sum, free) => sum + free, 0);
  }

  /** The worker with the most free slots; undefined if none has one. A check without a slot always finds a place. */
  place(needs: Needs, slot: boolean): string | undefined {
    const { refusedBy } = needs;
    const rank = (worker: Worker) =>
      refusedBy === null
        ? this.#freeOf(worker)
        : Number(this.#freeOf(worker) > 0) + Number(worker.id > refusedBy) / 2;
    const [best] = fitting(this.#workers, needs).sort((a, b) => rank(b) - rank(a) || (a.id < b.id ? -1 : 1));
    if (!best || (slot && this.#freeOf(best) <= 0)) return undefined;
    if (slot) this.#used.set(best.id, (this.#used.get(best.id) ?? 0) + 1);
    return best.id;
  }

  #freeOf({ id, slots }: Worker): number {
    return slots - (this.#used.get(id) ?? 0);
  }
}

/** The refusal of a worker without a fleet. */
export function noFleet(): InputError {
  return new InputError(
    'fleet/none',
    'A worker needs a store that machines share, and plans are files here.',
    {
      hint: 'Name the store with SIGNALBOX_STORE or --store; how to make one: signalbox fleet init --help',
    },
  );
}
