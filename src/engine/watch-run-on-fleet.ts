import { explained, HeldError, orError } from '../model/errors.ts';
import { refKey } from '../model/ids-and-branch-names.ts';
import { whyNoWorker } from '../model/place-tickets-on-workers.ts';
import { planProblems } from '../model/plans/dependency-and-branch-problems.ts';
import { entryOf, planOf } from '../model/plans/plans-view.ts';
import { type Decision, eligible } from '../model/state/eligible.ts';
import { isOver, type Ticket } from '../model/ticket.ts';
import type { Fleet } from '../store/store-interface.ts';
import { completePlan } from './claim-and-complete-plan.ts';
import type { EngineContext } from './context.ts';
import { waitUntilStopped } from './control-tickets-and-plans.ts';
import { stopTicket } from './running-tickets.ts';
import { needsIn, underWay } from './schedule-on-fleet.ts';
import { onAborted, wakeableSleep } from './wait-until-woken-or-aborted.ts';

interface Watched {
  planId: string;
  ticketIds?: readonly string[] | undefined;
  signal: AbortSignal;
}

/** How often events are read, which are stored without a notification. */
const EVENTS_MS = 200;
/** How long a ticket that could start may wait before the reason is searched for. */
const PATIENCE_MS = 2_000;
/** How long the last events may be later than the tickets that they are about. */
const LAST_EVENTS_MS = 3_000;

/** Watches a plan that the workers of a fleet run, until nothing can continue without a person. */
export class FleetRun {
  readonly #engine: EngineContext;
  readonly #fleet: Fleet;
  readonly #watched: Watched;
  readonly #shown = new Map<string, string>();
  #reported = new Set<string>();
  #last = 0;
  #waitingSince: number | undefined;
  #stoppedAt: number | undefined;
  readonly #rest = wakeableSleep();

  constructor(engine: EngineContext, fleet: Fleet, watched: Watched) {
    this.#engine = engine;
    this.#fleet = fleet;
    this.#watched = watched;
  }

  async run(): Promise<void> {
    const { store, holder, machine, settings, listen } = this.#engine;
    const { planId, signal } = this.#watched;
    await holder.start();
    machine.storage.begin({
      waitMs: settings.storage.waitSeconds * 1000,
      onTrouble: ({ message }) => listen({ type: 'problem', planId, ticketId: null, message, path: null }),
    });
    this.#last = (await this.#fleet.eventsOfOthers(planId)).last;
    for (const { ticketId, status } of store.tickets(planId)) this.#shown.set(ticketId, status);
    const unwatch = store.watch(() => this.#rest.wake());
    const unlisten = onAborted(signal, () => this.#rest.wake());
    try {
      while (!signal.aborted && !(await this.#isDone())) {
        await this.#showEvents();
        await this.#changed();
      }
      if (this.#stoppedAt !== undefined) await this.#untilStopped(this.#stoppedAt);
      await this.#showLastEvents();
    } finally {
      machine.storage.end();
      unlisten();
      unwatch();
      await holder.stop();
    }
  }

  async #isDone(): Promise<boolean> {
    const decision = this.#decide();
    const { dispatch, changes, completed, wakeAt } = decision;
    const { planId } = this.#watched;
    const atWork = underWay(this.#engine, this.#fleet);
    this.#reportMissingWorkers(decision, atWork);
    if (completed.includes(planId) && this.#fleet.workers().every(({ leaseLeft }) => leaseLeft <= 0)) {
      await completePlan(this.#engine, planId);
      return false;
    }
    if (dispatch.length > 0 || changes.length > 0 || completed.includes(planId) || wakeAt !== null)
      return false;
    const mine = this.#tickets();
    const keys = new Set(mine.map(refKey));
    if (atWork.some((ticket) => keys.has(refKey(ticket)))) return false;
    // What blocks it may be in another plan, and still be under way.
    return (
      atWork.length === 0 || !mine.some(({ status, hold }) => status === 'queued' && hold?.kind === 'blocked')
    );
  }

  /** What the scheduler would do with the tickets of this run, if there were always a free slot. */
  #decide(): Decision {
    const { store, now } = this.#engine;
    const { planId, ticketIds } = this.#watched;
    const view = store.glance();
    const plan = planOf({ plans: view.plans }, planId);
    const atWork = new Set(underWay(this.#engine, this.#fleet).map(refKey));
    const problems = plan ? planProblems(plan, view) : [];
    return eligible(
      {
        ...view,
        plans: plan ? [plan] : [],
        broken: new Map(problems.length > 0 ? [[planId, problems]] : []),
      },
      {
        maxConcurrency: Number.POSITIVE_INFINITY,
        busy: atWork,
        driven: atWork,
        ignoresCrowded: true,
        mine: (_plan, { ticketId }) => ticketIds?.includes(ticketId) !== false,
      },
      now(),
    );
  }

  /** Says why no worker can take a ticket: once for each reason, and again if it comes back. */
  #reportMissingWorkers({ dispatch }: Decision, atWork: readonly Ticket[]): void {
    const { store, listen } = this.#engine;
    const reported = this.#reported;
    if (dispatch.length === 0) {
      this.#waitingSince = undefined;
      reported.clear();
    } else this.#waitingSince ??= performance.now();
    if (this.#waitingSince === undefined || performance.now() - this.#waitingSince < PATIENCE_MS) return;
    const busy = new Set(atWork.map(refKey));
    const view = store.glance();
    this.#reported = new Set();
    for (const { planId, ticketId } of dispatch) {
      const ticket = view.tickets.get(refKey({ planId, ticketId }));
      const plan = planOf({ plans: view.plans }, planId);
      if (!ticket || !plan || !entryOf(plan, ticket) || busy.has(refKey(ticket))) continue;
      const why = whyNoWorker(this.#fleet.workers(), needsIn(this.#engine, plan, ticket));
      if (why === undefined || this.#reported.has(why)) continue;
      this.#reported.add(why);
      if (reported.has(why)) continue;
      listen({ type: 'problem', planId, ticketId, message: `${ticketId} waits: ${why}`, path: null });
    }
  }

  #tickets(): Ticket[] {
    const { planId, ticketIds } = this.#watched;
    const all = this.#engine.store.tickets(planId);
    return ticketIds ? all.filter(({ ticketId }) => ticketIds.includes(ticketId)) : all;
  }

  async #showEvents(): Promise<void> {
    const { planId } = this.#watched;
    const { storage } = this.#engine.machine;
    const { events, last } = await storage.write(() => this.#fleet.eventsOfOthers(planId, this.#last));
    this.#last = last;
    for (const { v: _v, at: _at, ...event } of events) {
      if (event.type === 'ticket:status') this.#shown.set(event.ticketId, event.status);
      this.#engine.listen(event);
    }
  }

  /** A ticket is stored before the events about it. */
  async #showLastEvents(): Promise<void> {
    const deadline = performance.now() + LAST_EVENTS_MS;
    const isShown = () =>
      this.#tickets().every(({ ticketId, status }) => this.#shown.get(ticketId) === status);
    for (;;) {
      await this.#showEvents();
      if (isShown() || performance.now() > deadline) return;
      await this.#changed();
    }
  }

  /** Has the agents of this run stopped on all machines. */
  async stop(by: string): Promise<void> {
    this.#stoppedAt = performance.now();
    for (const ticket of this.#tickets())
      if (!isOver(ticket) && ticket.claim) await stopTicket(this.#engine, ticket, by);
  }

  /** Waits until their machines have ended them, and reports those that do not answer. */
  async #untilStopped(stoppedAt: number): Promise<void> {
    const { listen, machine, store } = this.#engine;
    const { planId } = this.#watched;
    const held = this.#tickets().filter(({ claim }) => claim !== null && claim.by !== 'session');
    for (const ticket of held) {
      const left = await machine.storage.write(() =>
        orError(HeldError, () => waitUntilStopped(this.#engine, ticket, stoppedAt)),
      );
      if (left instanceof HeldError) {
        listen({ type: 'problem', planId, ticketId: null, message: explained(left), path: null });
        // No event will report it.
        this.#shown.set(ticket.ticketId, store.ticket(ticket).status);
      }
      await this.#showEvents();
    }
  }

  /** Resolves at the next change in the store, or after a moment. */
  async #changed(): Promise<void> {
    await this.#rest.sleep(EVENTS_MS);
  }
}
