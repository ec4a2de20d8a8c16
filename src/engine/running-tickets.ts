import {
  asStorageErrorIn,
  assertWritable,
} from '../machine/files/make-directory-and-handle-storage-errors.ts';
import { ifPossible } from '../machine/files/read-and-remove-files.ts';
import { readJob } from '../machine/jobs/start-and-read-job.ts';
import { stopJob } from '../machine/jobs/stop-job.ts';
import { messageOf, type SignalboxError, shortageOf, triedAgain } from '../model/errors.ts';
import { refKey, type TicketRef } from '../model/ids-and-branch-names.ts';
import { planOf } from '../model/plans/plans-view.ts';
import { command } from '../model/state/commands.ts';
import { openAttempt, type Ticket } from '../model/ticket.ts';
import { phaseOf } from '../model/workflow.ts';
import { type StoreView, wasOutOfReach } from '../store/store-interface.ts';
import { type EngineContext, isFatal } from './context.ts';
import { driveTicket, holdBroken } from './drive-ticket.ts';
import { pinnedFor } from './pinned-workflow.ts';
import { type OutsideChanges, reportStatus } from './report-status-changes.ts';
import type { TicketWriter } from './write-tickets-and-reports-of-attempts.ts';

interface Running {
  ref: TicketRef;
  slot: boolean;
  abort: AbortController;
  done: Promise<void>;
  /** Set once the ticket is claimed. */
  writer?: TicketWriter;
  reclaiming?: boolean;
}

/** Delay before a ticket is tried again if its error could not be recorded. */
const RETRY_UNRECORDED_MS = 5_000;

/** On a fleet: how a ticket came to this worker. */
interface Arrival {
  number?: number | undefined;
  /** Called once it is known whether the ticket is claimed. */
  onAnswer?(): void;
}

interface RunningOptions {
  maxConcurrency: number;
  /** Whether tickets end before their next phase. */
  isLeaving?: (() => boolean) | undefined;
  outside: OutsideChanges;
  /** Called when a ticket is no longer driven, or is to be tried again. */
  onEnd(): void;
  /** An error that stops everything, because nothing can be recorded. */
  onFatal(error: unknown): void;
}

/** The tickets that this engine drives now. */
export class RunningTickets {
  readonly #engine: EngineContext;
  readonly #options: RunningOptions;
  readonly #tickets = new Map<string, Running>();
  /** Tickets that could not be driven on, mostly as their files could not be written, and when to try again; some have our claim. */
  readonly #lost = new Map<string, number>();

  constructor(engine: EngineContext, options: RunningOptions) {
    this.#engine = engine;
    this.#options = options;
  }

  get size(): number {
    return this.#tickets.size;
  }

  /** Keys of all of them, and of those that take a slot. */
  keys(): { driven: Set<string>; busy: Set<string> } {
    const busy = [...this.#tickets].filter(([, running]) => running.slot).map(([key]) => key);
    return { driven: new Set([...this.#tickets.keys(), ...this.#resting()]), busy: new Set(busy) };
  }

  /** Some are tried again later. */
  get isAnyResting(): boolean {
    return this.#resting().length > 0;
  }

  #resting(): string[] {
    return [...this.#lost].filter(([, until]) => performance.now() < until).map(([key]) => key);
  }

  isAtWorkIn(planId: string): boolean {
    return [...this.#tickets.values()].some(({ ref }) => ref.planId === planId);
  }

  /** A ticket has our claim although nothing runs for it: it could not be written when its process ended. */
  isLost(key: string): boolean {
    return this.#lost.has(key) && !this.#tickets.has(key);
  }

  launch(ref: TicketRef, slot: boolean, { number, onAnswer }: Arrival = {}): void {
    const key = refKey(ref);
    const abort = new AbortController();
    const onClaim = (writer: TicketWriter) => {
      running.writer = writer;
      onAnswer?.();
    };
    const running: Running = { ref, slot, abort, done: Promise.resolve() };
    this.#tickets.set(key, running);
    const { maxConcurrency, isLeaving } = this.#options;
    const lost = this.#lost.has(key);
    running.done = driveTicket(this.#engine, ref, {
      slot,
      maxConcurrency,
      signal: abort.signal,
      onClaim,
      lost,
      number,
      isLeaving,
    })
      .then(() => void this.#lost.delete(key))
      .catch((error: unknown) => this.#crashed(running, error))
      .finally(() => {
        this.#tickets.delete(key);
        if (!running.writer) onAnswer?.();
        if (running.writer) this.#options.outside.check([running.writer.ticket], { isDriven: () => true });
        else this.#options.outside.forget(key);
        this.#options.onEnd();
      });
  }

  /** An unexpected error holds one ticket back; only when nothing can be recorded, everything stops. */
  async #crashed({ ref, writer }: Running, caught: unknown): Promise<void> {
    const key = refKey(ref);
    const error = asStorageErrorIn(caught, this.#engine.machine.stateDir);
    if (isFatal(error)) return this.#untilWritable(key, error);
    const shortage = shortageOf(error);
    const message = shortage ? triedAgain(shortage) : messageOf(error);
    if (!this.#lost.has(key)) this.#engine.listen({ type: 'problem', ...ref, message, path: null });
    // What is recorded of it is true, and what runs for it continues.
    if (shortage) return this.#rest(key);
    try {
      // It may be readable again at the next check, and nothing was started for it.
      if (!writer && wasOutOfReach(error, this.#engine.store.location(ref))) throw error;
      if (!writer) await holdBroken(this.#engine, ref, messageOf(error));
      else {
        await writer.giveUp(error);
        reportStatus(this.#engine, writer.before, writer.ticket);
      }
      this.#lost.delete(key);
    } catch (worse) {
      if (isFatal(worse)) return this.#untilWritable(key, worse);
      // It cannot be written, and what ran for it has ended: other tickets continue.
      this.#rest(key);
    }
  }

  #rest(key: string): void {
    this.#lost.set(key, performance.now() + RETRY_UNRECORDED_MS);
    setTimeout(() => this.#options.onEnd(), RETRY_UNRECORDED_MS).unref();
  }

  /** Waits until something can be written; then the ticket continues from what is recorded. */
  async #untilWritable(key: string, error: SignalboxError): Promise<void> {
    const { stateDir, storage } = this.#engine.machine;
    // The second time in a row, waiting did not help.
    if (this.#lost.has(key)) return this.#options.onFatal(error);
    this.#lost.set(key, 0);
    try {
      await storage.write(() => assertWritable(stateDir));
    } catch (worse) {
      this.#options.onFatal(isFatal(worse) ? worse : error);
    }
  }

  /** Stops what runs for tickets and plans that a person paused, and restores our claim where an editor saved an old copy. */
  applyPauses(view: StoreView): void {
    for (const [key, running] of this.#tickets) {
      const ticket = view.tickets.get(key);
      const plan = planOf(view, running.ref.planId)?.status;
      const isPaused = ticket?.status === 'paused' || plan === 'paused' || plan === 'archived';
      if (isPaused && !running.abort.signal.aborted) {
        running.abort.abort();
        this.#answer(running.ref);
      }
      if (ticket?.claim?.token !== this.#engine.holder.token) void this.#reclaim(running);
    }
  }

  /** On a fleet, who paused it learns that this worker is there and stops it: asking for the claim renews the lease. */
  #answer(ref: TicketRef): void {
    const { store, holder } = this.#engine;
    // Without a database no queue waits for an answer, and renewals continue by themselves.
    store.fleet?.keepsClaim(holder, ref).catch(() => undefined);
  }

  /** Without our claim, another engine would start the ticket a second time. */
  async #reclaim(running: Running): Promise<void> {
    const { writer } = running;
    if (running.reclaiming || writer?.ticket.claim?.token !== this.#engine.holder.token) return;
    running.reclaiming = true;
    try {
      await writer.reclaim();
    } catch (error) {
      // Another engine was faster, or the ticket cannot be written: it must not be driven any further.
      if (isFatal(error)) this.#options.onFatal(error);
      else running.abort.abort();
    } finally {
      running.reclaiming = false;
    }
  }

  /** Pauses every running ticket, and returns the errors of those that cannot be paused. `abort` then ends its processes. */
  async pause(by: string): Promise<unknown[]> {
    const all = await Promise.allSettled(
      [...this.#tickets.values()].map((running) => this.#pause(running, by)),
    );
    return all.flatMap((done) => (done.status === 'rejected' ? [done.reason] : []));
  }

  async #pause(running: Running, by: string): Promise<void> {
    this.#options.outside.record(await stopTicket(this.#engine, running.ref, by));
  }

  /** Stops the processes of all tickets; with an error they are left running, for the next engine. */
  abort(error?: SignalboxError): void {
    for (const running of this.#tickets.values()) running.abort.abort(error);
  }

  /** Ends the processes of all tickets, since this worker did not renew its lease: their attempts are interrupted. */
  async endJobs(): Promise<void> {
    const { machine } = this.#engine;
    await Promise.all(
      [...this.#tickets.values()].map(async ({ writer, ref }) => {
        const open = writer && openAttempt(writer.ticket);
        if (open) await stopJob(machine.job(ref, open), 'lease', 0);
      }),
    );
  }

  /** Names of the attempts whose processes run now, as far as a file can be opened to see it. */
  atWork(): string[] {
    const { machine } = this.#engine;
    return [...this.#tickets.values()].flatMap(({ writer, ref }) => {
      const open = writer && openAttempt(writer.ticket);
      const job = open && ifPossible(() => readJob(machine.job(ref, open)));
      return job?.state === 'running' ? [`${refKey(ref)} ${open?.phase} (pid ${job.identity.pid})`] : [];
    });
  }

  /** Resolves when no ticket is driven any more. */
  async ended(): Promise<void> {
    while (this.#tickets.size > 0)
      await Promise.all([...this.#tickets.values()].map((running) => running.done));
  }
}

/** Leaves a running ticket paused, for a person to resume. Its engine then ends what runs for it. */
export async function stopTicket(engine: EngineContext, ref: TicketRef, by: string): Promise<Ticket> {
  const { store, now } = engine;
  const ticket = store.ticket(ref);
  const { workflow } = await pinnedFor(engine, ticket, store.plan(ref.planId));
  // A gate's question stays open, so that it can be answered.
  const works = ({ status, currentPhase }: Ticket) =>
    status === 'running' && phaseOf(workflow, currentPhase ?? '')?.type !== 'gate';
  const after = await store.updateTicket(ref, (latest) =>
    works(latest) ? command(workflow, latest, { type: 'stop', by }, now()) : latest,
  );
  reportStatus(engine, ticket, after);
  return after;
}
