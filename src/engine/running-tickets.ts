import { messageOf } from '../model/errors.ts';
import { refKey, type TicketRef } from '../model/ids.ts';
import { command } from '../model/state/commands.ts';
import type { Ticket } from '../model/ticket.ts';
import { phaseOf } from '../model/workflow.ts';
import type { StoreView } from '../store/port.ts';
import { wasOutOfReach } from '../store/port.ts';
import { type EngineContext, isFatal } from './context.ts';
import { driveTicket, holdBroken } from './drive-ticket.ts';
import type { Outsiders } from './outside-changes.ts';
import { pinnedFor } from './pinned-workflow.ts';
import { tellStatus } from './status-events.ts';
import type { Journal } from './ticket-writer.ts';

interface Flight {
  ref: TicketRef;
  slot: boolean;
  abort: AbortController;
  done: Promise<void>;
  /** Set once the ticket is claimed. */
  journal?: Journal;
  reclaiming?: boolean;
}

/** How long a ticket is left alone whose trouble could not even be recorded. */
const LOST_MS = 5_000;

interface FlightOptions {
  maxConcurrency: number;
  outsiders: Outsiders;
  onLanded(): void;
  /** Something that cannot be recorded: everything has to end. */
  onFatal(error: unknown): void;
}

/** The tickets that this engine drives at the moment. */
export class Flights {
  readonly #parts: EngineContext;
  readonly #options: FlightOptions;
  readonly #flights = new Map<string, Flight>();
  /** Tickets whose files could no longer be written, and when to try again; some still have our claim. */
  readonly #lost = new Map<string, number>();

  constructor(parts: EngineContext, options: FlightOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  get size(): number {
    return this.#flights.size;
  }

  /** All of them, and those that take a slot. */
  keys(): { driven: Set<string>; busy: Set<string> } {
    const busy = [...this.#flights].filter(([, flight]) => flight.slot).map(([key]) => key);
    const resting = [...this.#lost].filter(([, until]) => performance.now() < until).map(([key]) => key);
    return { driven: new Set([...this.#flights.keys(), ...resting]), busy: new Set(busy) };
  }

  /** A ticket may have our claim although nothing runs for it: its file was out of reach when that ended. */
  isLost(key: string): boolean {
    return this.#lost.has(key) && !this.#flights.has(key);
  }

  launch(ref: TicketRef, slot: boolean): void {
    const key = refKey(ref);
    const abort = new AbortController();
    const onClaim = (journal: Journal) => Object.assign(flight, { journal });
    const flight: Flight = { ref, slot, abort, done: Promise.resolve() };
    this.#flights.set(key, flight);
    const { maxConcurrency } = this.#options;
    const lost = this.#lost.has(key);
    flight.done = driveTicket(this.#parts, ref, { slot, maxConcurrency, signal: abort.signal, onClaim, lost })
      .then(() => void this.#lost.delete(key))
      .catch((error: unknown) => this.#crashed(flight, error))
      .finally(() => {
        this.#flights.delete(key);
        if (flight.journal) this.#options.outsiders.look([flight.journal.ticket], () => true);
        else this.#options.outsiders.forget(key);
        this.#options.onLanded();
      });
  }

  /** What cannot be recorded stops everything; any other surprise holds its own ticket back and no other. */
  async #crashed({ ref, journal }: Flight, error: unknown): Promise<void> {
    const key = refKey(ref);
    if (!this.#lost.has(key))
      this.#parts.listen({ type: 'problem', ...ref, message: messageOf(error), path: null });
    if (isFatal(error)) return this.#options.onFatal(error);
    try {
      // It may be back at the next look, and nothing was begun for it.
      if (!journal && wasOutOfReach(error, this.#parts.store.location(ref))) throw error;
      if (!journal) await holdBroken(this.#parts, ref, messageOf(error));
      else {
        await journal.giveUp(error);
        tellStatus(this.#parts, journal.before, journal.ticket);
      }
      this.#lost.delete(key);
    } catch (worse) {
      if (isFatal(worse)) return this.#options.onFatal(worse);
      // Its file is out of reach, and what ran for it has ended: no other ticket is concerned.
      this.#lost.set(key, performance.now() + LOST_MS);
    }
  }

  /** A person's pause of a ticket or plan ends what runs for it, at once; an old copy saved over a ticket is put right. */
  obey(view: StoreView): void {
    const status = new Map(view.plans.map((plan) => [plan.id, plan.status]));
    for (const [key, flight] of this.#flights) {
      const ticket = view.tickets.get(key);
      const plan = status.get(flight.ref.planId);
      if (ticket?.status === 'paused' || plan === 'paused' || plan === 'archived') flight.abort.abort();
      if (ticket?.claim?.token !== this.#parts.holder.token) void this.#reclaim(flight);
    }
  }

  /** Without our claim in its file the ticket looks free: another engine would start it a second time. */
  async #reclaim(flight: Flight): Promise<void> {
    const { journal } = flight;
    if (flight.reclaiming || journal?.ticket.claim?.token !== this.#parts.holder.token) return;
    flight.reclaiming = true;
    try {
      await journal.reclaim();
    } catch (error) {
      // Too late, or the file is beyond help: in both cases nothing more may be done for the ticket.
      if (isFatal(error)) this.#options.onFatal(error);
      else flight.abort.abort();
    } finally {
      flight.reclaiming = false;
    }
  }

  /** Has every running ticket wait for a person. What runs for it is still to be ended. */
  pause(by: string): Promise<PromiseSettledResult<void>[]> {
    return Promise.allSettled([...this.#flights.values()].map((flight) => this.#pause(flight, by)));
  }

  async #pause(flight: Flight, by: string): Promise<void> {
    const { store, now } = this.#parts;
    const ticket = store.ticket(flight.ref);
    const { workflow } = await pinnedFor(this.#parts, ticket, store.plan(flight.ref.planId));
    // A gate only looks: its question stays open, so that it can be answered.
    const works = ({ status, currentPhase }: Ticket) =>
      status === 'running' && phaseOf(workflow, currentPhase ?? '')?.type !== 'gate';
    const after = await store.updateTicket(flight.ref, (latest) =>
      works(latest) ? command(workflow, latest, { type: 'stop', by }, now()) : latest,
    );
    this.#options.outsiders.know(after);
    tellStatus(this.#parts, ticket, after);
  }

  /** Ends what runs for all of them. */
  abort(): void {
    for (const flight of this.#flights.values()) flight.abort.abort();
  }

  async landed(): Promise<void> {
    while (this.#flights.size > 0)
      await Promise.all([...this.#flights.values()].map((flight) => flight.done));
  }
}
