import { setTimeout as delay } from 'node:timers/promises';
import { stopJob } from '../machine/jobs/stop.ts';
import { explained, HeldError, InputError } from '../model/errors.ts';
import type { TicketRef } from '../model/ids.ts';
import { reduce, type TicketEvent } from '../model/state/reduce.ts';
import { openAttempt, type Ticket } from '../model/ticket.ts';
import type { Workflow } from '../model/workflow.ts';
import { wasOutOfReach } from '../store/port.ts';
import type { EngineContext } from './context.ts';

/** What the runner owns: an editor that saves an old copy of the file must not undo it. */
const OWNED = [
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

export type EventAfter = (ticket: Ticket) => TicketEvent | undefined;

/** The only way in which an engine changes a ticket: events through `reduce`, fenced by its claim. */
export class Journal {
  readonly #parts: EngineContext;
  readonly #workflow: Workflow;
  readonly #ref: TicketRef;
  #released = false;
  ticket: Ticket;
  /** What lay on disk before the last change; differs from our own last state when a person did something. */
  before: Ticket;

  constructor(parts: EngineContext, workflow: Workflow, ticket: Ticket) {
    this.#parts = parts;
    this.#workflow = workflow;
    this.#ref = { planId: ticket.planId, ticketId: ticket.ticketId };
    this.ticket = ticket;
    this.before = ticket;
  }

  /** Takes the ticket, unless a live engine has it or a person stopped it meanwhile. A `lost` one has our own claim. */
  async claim(
    workflowHash: string,
    { mayTake, lost = false }: { mayTake: (ticket: Ticket) => boolean; lost?: boolean | undefined },
  ): Promise<boolean> {
    const { holder } = this.#parts;
    let taken = false;
    const now = this.#parts.now();
    this.ticket = await this.#parts.store.updateTicket(this.#ref, (latest) => {
      const free = lost && latest.claim?.token === holder.token;
      taken = (free || !(latest.claim && holder.isLive(latest.claim))) && mayTake(latest);
      if (!taken) return latest;
      return reduce(this.#workflow, latest, { type: 'claim', claim: holder.claim(now), workflowHash }, now);
    });
    return taken;
  }

  /** Puts our part back into a file over which somebody saved an old copy. */
  async reclaim(): Promise<void> {
    await this.#persist((latest) => (this.#released ? latest : this.#mine(latest)));
  }

  /** Events in one write. A function is asked for its event once those before it are applied. */
  async apply(...events: (TicketEvent | EventAfter)[]): Promise<Ticket> {
    // Whatever is reported late is about a ticket that others may have by now.
    if (this.#released) return this.ticket;
    const now = this.#parts.now();
    this.#released = events.some((event) => typeof event === 'object' && event.type === 'release');
    const change = (latest: Ticket) => {
      this.before = latest;
      return events.reduce<Ticket>((ticket, each) => {
        const event = typeof each === 'function' ? each(ticket) : each;
        return event ? reduce(this.#workflow, ticket, event, now) : ticket;
      }, this.#mine(latest));
    };
    this.ticket = await this.#persist(change);
    return this.ticket;
  }

  /**
   * Lets go of a ticket that cannot be driven as it is; what runs for it ends first. Another engine's is left to it.
   * One whose own file was out of reach can go on as soon as this is written, for then the file is back.
   */
  async giveUp(error: unknown): Promise<Ticket> {
    const open = openAttempt(this.ticket);
    if (open) await stopJob(this.#parts.machine.job(this.#ref, open), 'stopped');
    const now = this.#parts.now();
    const reason = explained(error);
    const events: TicketEvent[] = wasOutOfReach(error, this.#parts.store.location(this.#ref))
      ? [{ type: 'end', end: { type: 'interrupted', reason, deliberate: true } }, { type: 'release' }]
      : [{ type: 'broken', reason }];
    const wasReleased = this.#released;
    this.#released = true;
    this.ticket = await this.#persist((latest) => {
      this.before = latest;
      if (this.#isTheirs(latest)) return latest;
      const mine = wasReleased ? latest : this.#mine(latest);
      return events.reduce((ticket, event) => reduce(this.#workflow, ticket, event, now), mine);
    });
    return this.ticket;
  }

  #isTheirs({ claim }: Ticket): boolean {
    const { holder } = this.#parts;
    return claim !== null && claim.token !== holder.token && holder.isLive(claim);
  }

  /** The latest state as ours to change; throws when another engine has taken over. */
  #mine(latest: Ticket): Ticket {
    const ours = latest.claim?.token === this.#parts.holder.token;
    if (ours && latest.rev >= this.ticket.rev) return latest;
    if (this.#isTheirs(latest)) {
      throw new HeldError(
        'claim/lost',
        `Another engine has taken ${this.#ref.planId}/${this.#ref.ticketId}.`,
      );
    }
    // An editor saved an old copy: what it says of the work counts, what it says of the run does not.
    const restored: Ticket = { ...latest, rev: Math.max(latest.rev, this.ticket.rev) };
    for (const key of OWNED) Object.assign(restored, { [key]: this.ticket[key] });
    const paused = latest.status === 'paused' && this.ticket.status === 'running';
    return paused ? { ...restored, status: 'paused', hold: latest.hold } : restored;
  }

  /** An editor may be half-way through saving: wait a moment, then set the broken file aside and go on from memory. */
  async #persist(change: (latest: Ticket) => Ticket): Promise<Ticket> {
    const { store } = this.#parts;
    for (let tries = 0; ; tries++) {
      try {
        return await store.updateTicket(this.#ref, change);
      } catch (error) {
        const unreadable = error instanceof InputError;
        if (!unreadable) throw error;
        if (tries < 20) await delay(50);
        else if (tries === 20) await store.restoreTicket(this.ticket);
        else throw error;
      }
    }
  }
}
