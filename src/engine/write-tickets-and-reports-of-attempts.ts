import { setTimeout as delay } from 'node:timers/promises';
import { stopJob } from '../machine/jobs/stop-job.ts';
import { explained, HeldError, InputError } from '../model/errors.ts';
import type { AttemptRef } from '../model/events.ts';
import { refKey, refOf, type TicketRef } from '../model/ids-and-branch-names.ts';
import { reduce, type TicketEvent } from '../model/state/reduce.ts';
import { type Hold, openAttempt, type Ticket, type Usage } from '../model/ticket.ts';
import type { Workflow } from '../model/workflow.ts';
import { wasOutOfReach } from '../store/store-interface.ts';
import { type EngineContext, emit, isOthers } from './context.ts';

/** Fields that only the engine changes: an editor that saves an old copy must not undo them. */
const ENGINE_FIELDS = [
  'status',
  'hold',
  'since',
  'currentPhase',
  'phaseHistory',
  'context',
  'retries',
  'visits',
  'tries',
  'error',
  'base',
  'branch',
  'worktree',
  'workflowHash',
  'claim',
] as const;

type EventAfter = (ticket: Ticket) => TicketEvent | undefined;
type Update = (change: (latest: Ticket) => Ticket) => Promise<Ticket>;

/** The only way in which an engine changes a ticket: events through `reduce`, fenced by the claim. */
export class TicketWriter {
  readonly #engine: EngineContext;
  readonly #workflow: Workflow;
  readonly #ref: TicketRef;
  #released = false;
  ticket: Ticket;
  /** The stored ticket before the last change; differs from our last state when a person changed it. */
  before: Ticket;

  constructor(engine: EngineContext, workflow: Workflow, ticket: Ticket) {
    this.#engine = engine;
    this.#workflow = workflow;
    this.#ref = refOf(ticket);
    this.ticket = ticket;
    this.before = ticket;
  }

  /** Claims the ticket, unless a live engine has it or a person stopped it. `lost`: it may still have our own claim. */
  async claim(
    workflowHash: string,
    {
      mayTake,
      lost = false,
      update = (ref, change) => this.#engine.store.updateTicket(ref, change),
    }: {
      mayTake: (ticket: Ticket) => boolean;
      lost?: boolean | undefined;
      update?: (ref: TicketRef, change: (ticket: Ticket) => Ticket) => Promise<Ticket>;
    },
  ): Promise<boolean> {
    const { holder } = this.#engine;
    let taken = false;
    const now = this.#engine.now();
    this.ticket = await update(this.#ref, (latest) => {
      const free = lost && latest.claim?.token === holder.token;
      taken = (free || !(latest.claim && holder.isLive(latest.claim))) && mayTake(latest);
      if (!taken) return latest;
      return reduce(this.#workflow, latest, { type: 'claim', claim: holder.claim(now), workflowHash }, now);
    });
    return taken;
  }

  /** Restores our fields after an editor saved an old copy. */
  async reclaim(): Promise<void> {
    await this.#persist((latest) => (this.#released ? latest : this.#mine(latest)));
  }

  /** Applies events in one write. A function is called for its event after those before it are applied. */
  apply(...events: (TicketEvent | EventAfter)[]): Promise<Ticket> {
    const { store } = this.#engine;
    return this.#apply(events, (change) => store.updateTicket(this.#ref, change));
  }

  /** The same for events that depend on what all tickets have used: on a fleet, other machines write before or after. */
  applyCounting(...events: (TicketEvent | EventAfter)[]): Promise<Ticket> {
    const { fleet } = this.#engine.store;
    return fleet
      ? this.#apply(events, (change) => fleet.updateAlone(this.#ref, change))
      : this.apply(...events);
  }

  async #apply(events: (TicketEvent | EventAfter)[], update: Update): Promise<Ticket> {
    // After the release another engine may have the ticket.
    if (this.#released) return this.ticket;
    this.#released = events.some((event) => typeof event === 'object' && event.type === 'release');
    const change = (latest: Ticket) => {
      // The write may have waited for room on the disk.
      const now = this.#engine.now();
      this.before = latest;
      return events.reduce<Ticket>((ticket, each) => {
        const event = typeof each === 'function' ? each(ticket) : each;
        return event ? reduce(this.#workflow, ticket, event, now) : ticket;
      }, this.#mine(latest));
    };
    this.ticket = await this.#persist(change, update);
    return this.ticket;
  }

  /**
   * Stops what runs for a ticket that cannot be driven and releases it. Another engine's ticket stays as it is. Where the
   * ticket itself could not be read or written, it can continue as soon as this write succeeds.
   */
  async giveUp(error: unknown): Promise<Ticket> {
    const open = openAttempt(this.ticket);
    if (open) await stopJob(this.#engine.machine.job(this.#ref, open), 'stopped');
    const now = this.#engine.now();
    const reason = explained(error);
    const events: TicketEvent[] = wasOutOfReach(error, this.#engine.store.location(this.#ref))
      ? [{ type: 'end', end: { type: 'interrupted', reason, deliberate: true } }, { type: 'release' }]
      : [{ type: 'broken', reason }];
    const wasReleased = this.#released;
    this.#released = true;
    this.ticket = await this.#persist((latest) => {
      this.before = latest;
      if (this.#hasLost(latest)) return latest;
      const mine = wasReleased ? latest : this.#mine(latest);
      return events.reduce((ticket, event) => reduce(this.#workflow, ticket, event, now), mine);
    });
    return this.ticket;
  }

  /** Another engine has the ticket, or had it while this one slept for longer than its lease. An old copy is not newer than ours. */
  #hasLost({ claim, rev }: Ticket): boolean {
    const isOurs = claim?.token === this.#engine.holder.token;
    return isOthers(this.#engine, claim) || (!isOurs && rev > this.ticket.rev);
  }

  /** The latest state with our fields; throws when another engine has the ticket. */
  #mine(latest: Ticket): Ticket {
    const ours = latest.claim?.token === this.#engine.holder.token;
    if (ours && latest.rev >= this.ticket.rev) return latest;
    if (this.#hasLost(latest))
      throw new HeldError('claim/lost', `Another engine has taken ${refKey(this.#ref)}.`);
    // An editor saved an old copy: the person's fields count, the engine's do not.
    const restored: Ticket = { ...latest, rev: Math.max(latest.rev, this.ticket.rev) };
    for (const key of ENGINE_FIELDS) Object.assign(restored, { [key]: this.ticket[key] });
    const paused = latest.status === 'paused' && this.ticket.status === 'running';
    return paused ? { ...restored, status: 'paused', hold: latest.hold } : restored;
  }

  /** Waits for an editor that is saving; then sets an unreadable file aside and continues from memory. */
  async #persist(
    change: (latest: Ticket) => Ticket,
    update: Update = (each) => this.#engine.store.updateTicket(this.#ref, each),
  ): Promise<Ticket> {
    const { store } = this.#engine;
    for (let tries = 0; ; tries++) {
      try {
        return await update(change);
      } catch (error) {
        if (!(error instanceof InputError)) throw error;
        if (tries < 20) await delay(50);
        else if (tries === 20) await store.restoreTicket(this.ticket);
        else throw error;
      }
    }
  }
}

/** Some CLIs report usage with every message; each report would be a write. */
const USAGE_EVERY_MS = 2_000;
/** Different warnings of one attempt; each is a write. */
const MAX_WARNINGS = 20;
/** More lines than these are only in the output file. */
const SHOWN_PER_SECOND = 100;

/** Records and shows what an attempt reports while it runs. Writes happen one after the other, in the background. */
export function recordAttempt(engine: EngineContext, writer: TicketWriter, about: AttemptRef) {
  const mayShow = limiter(SHOWN_PER_SECOND);
  const warned = new Set<string>();
  let tail: Promise<unknown> = Promise.resolve();
  let failure: unknown;
  let known: string | undefined;
  let usageAt = Number.NEGATIVE_INFINITY;
  const later = (event: TicketEvent) => {
    tail = tail
      .then(() => writer.apply(event))
      .catch((error: unknown) => {
        failure ??= error;
      });
  };
  return {
    /** Records one more process of the attempt, with which it has `launches`, unless `refusal` has a reason against it. */
    async launch(launches: number, refusal: () => Hold | null): Promise<Hold | null> {
      let hold: Hold | null = null;
      const count = () => {
        hold = refusal();
        return hold ? undefined : ({ type: 'launch', launches } as const);
      };
      await tail;
      await writer.applyCounting(count);
      return hold;
    },
    session(sessionId: string, agent: string | null): void {
      if (sessionId === known) return;
      known = sessionId;
      later({ type: 'session', sessionId });
      emit(engine, { type: 'attempt:session', agent, sessionId, ...about });
    },
    usage(usage: Usage): void {
      if (performance.now() - usageAt < USAGE_EVERY_MS) return;
      usageAt = performance.now();
      later({ type: 'usage', usage });
      emit(engine, { type: 'attempt:usage', usage, ...about });
    },
    /** Shows a message of the engine, not of the agent. */
    note(note: string): void {
      later({ type: 'note', note });
      emit(engine, { type: 'attempt:text', text: note, notice: true, ...about });
    },
    /** Each warning is recorded once, and shown with the agent's own words. */
    warning(message: string): void {
      if (warned.has(message) || warned.size >= MAX_WARNINGS) return;
      warned.add(message);
      later({ type: 'warning', warning: engine.redact(message) });
      emit(engine, { type: 'attempt:text', text: `warning: ${message}`, ...about });
    },
    text(text: string): void {
      if (text.trim() !== '' && mayShow()) emit(engine, { type: 'attempt:text', text, ...about });
    },
    tool(name: string, summary: string, done: boolean): void {
      emit(engine, { type: 'attempt:tool', name, summary, done, ...about });
    },
    /** Resolves when everything is written; throws what went wrong, such as a lost claim. */
    async settled(): Promise<void> {
      await tail;
      if (failure) throw failure;
    },
  };
}

function limiter(perSecond: number): () => boolean {
  let began = Number.NEGATIVE_INFINITY;
  let count = 0;
  return () => {
    const now = performance.now();
    if (now - began >= 1000) {
      began = now;
      count = 0;
    }
    return ++count <= perSecond;
  };
}
