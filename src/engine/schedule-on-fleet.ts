import { comparableName } from '../issues/find-issue-checkouts.ts';
import { refKey } from '../model/ids-and-branch-names.ts';
import { type Needs, needsOf, Placement } from '../model/place-tickets-on-workers.ts';
import type { Plan } from '../model/plan.ts';
import type { Decision, Limits } from '../model/state/eligible.ts';
import { lastInTree } from '../model/state/turns-in-shared-workspace-start-limit-and-pauses.ts';
import type { Ticket } from '../model/ticket.ts';
import { type Fleet, type Order, SCHEDULER } from '../store/store-interface.ts';
import { workIndex } from './claimed-tickets-and-counted-usage.ts';
import type { EngineContext } from './context.ts';
import { knownPinned } from './pinned-workflow.ts';

const TIDY_QUEUE_MS = 60_000;

/** Tickets that are under way on any machine: claimed, or on their way to a worker that lives. */
export function underWay(engine: EngineContext, fleet: Fleet): Ticket[] {
  const { claimed, dispatched } = workIndex(engine);
  const live = new Set(fleet.workers().flatMap(({ id, leaseLeft }) => (leaseLeft > 0 ? [id] : [])));
  const now = Date.parse(engine.now());
  const isOnItsWay = ({ dispatch }: Ticket) =>
    dispatch !== undefined && live.has(dispatch.to) && now - Date.parse(dispatch.at ?? '') < fleet.leaseMs;
  const taken = [...claimed.values()].filter(({ claim }) => claim && engine.holder.isLive(claim));
  const keys = new Set(taken.map(refKey));
  return [
    ...taken,
    ...[...dispatched.values()].filter((ticket) => !keys.has(refKey(ticket)) && isOnItsWay(ticket)),
  ];
}

/** What a ticket asks of its worker. The labels of its phases are known once a worker has read its workflow. */
export function needsIn(
  engine: EngineContext,
  plan: Plan,
  ticket: Ticket,
  workflow = knownPinned(engine, ticket)?.workflow,
): Needs {
  return needsOf(plan, ticket, {
    workflow,
    repositoryName: comparableName,
    before: lastInTree(engine.store.glance(), plan),
  });
}

/** Gives tickets to workers while this process has the scheduler's lease. Any worker and the daemon may have it. */
export class Scheduler {
  readonly #engine: EngineContext;
  readonly #fleet: Fleet;
  /** The workers that the last decision chose, by refKey. */
  #chosen = new Map<string, string>();
  #tidyAt = performance.now() + TIDY_QUEUE_MS;

  constructor(engine: EngineContext, fleet: Fleet) {
    this.#engine = engine;
    this.#fleet = fleet;
  }

  /** Whether this process schedules now; takes the role if no live process has it. */
  isMine(): Promise<boolean> {
    return this.#fleet.takeRole(this.#engine.holder, SCHEDULER);
  }

  /** What is under way, and where more can run. */
  limits(): Pick<Limits, 'busy' | 'driven' | 'place' | 'maxConcurrency'> {
    const engine = this.#engine;
    const workers = this.#fleet.workers();
    const byToken = new Map(workers.map(({ token, id }) => [token, id]));
    const all = underWay(engine, this.#fleet);
    const withSlot = all.filter(({ dispatch }) => dispatch?.slot !== false);
    const used = new Map<string, number>();
    for (const { claim, dispatch } of withSlot) {
      const id = claim ? byToken.get(claim.token) : dispatch?.to;
      if (id !== undefined) used.set(id, (used.get(id) ?? 0) + 1);
    }
    const placement = new Placement(workers, used);
    this.#chosen = new Map();
    const place = (plan: Plan, ticket: Ticket, slot: boolean) => {
      const worker = placement.place(needsIn(engine, plan, ticket), slot);
      if (worker !== undefined) this.#chosen.set(refKey(ticket), worker);
      return worker !== undefined;
    };
    const most = engine.settings.fleet.maxConcurrency ?? Number.POSITIVE_INFINITY;
    return {
      driven: new Set(all.map(refKey)),
      busy: new Set(withSlot.map(refKey)),
      maxConcurrency: Math.min(most, withSlot.length + placement.free),
      place,
    };
  }

  async send(dispatch: Decision['dispatch']): Promise<void> {
    const orders = dispatch.flatMap(({ planId, ticketId, slot }): Order[] => {
      const worker = this.#chosen.get(refKey({ planId, ticketId }));
      return worker === undefined ? [] : [{ planId, ticketId, slot, worker }];
    });
    if (orders.length > 0) await this.#fleet.dispatch(this.#engine.holder, orders, this.#engine.now());
    if (performance.now() < this.#tidyAt) return;
    this.#tidyAt = performance.now() + TIDY_QUEUE_MS;
    // Old jobs are only in the way: the next call deletes them.
    await this.#fleet.tidyQueue().catch(() => undefined);
  }

  async end(): Promise<void> {
    // Without a database, the role ends with the lease.
    await this.#fleet.releaseRole(this.#engine.holder, SCHEDULER).catch(() => undefined);
  }
}
