import { remembered } from '../model/group-and-remember.ts';
import { type Changed, refKey } from '../model/ids-and-branch-names.ts';
import type { SpentDollars, SpentToday } from '../model/limits/budget.ts';
import { isLimiting, spentDollars, spentToday } from '../model/limits/budget.ts';
import { limitsByAccount, wasAnswered } from '../model/limits/decide-agent-start.ts';
import { type PlansView, planOf } from '../model/plans/plans-view.ts';
import type { Attempt, Ticket } from '../model/ticket.ts';
import { type Store, sinceLast } from '../store/store-interface.ts';
import type { EngineContext } from './context.ts';

/** Longer than a daily budget needs, and than most usage limits last. */
const USAGE_KEPT_MS = 7 * 86_400_000;

/** Tickets that affect others, updated while tickets change. Searching all tickets each time would get slower with each one. */
class WorkIndex {
  readonly #store: Store;
  readonly #changed: () => Changed;
  /** Tickets that an engine or a person has claimed, by refKey. */
  readonly claimed = new Map<string, Ticket>();
  /** Those that were given to a worker which has not taken them yet, by refKey. */
  readonly dispatched = new Map<string, Ticket>();
  /** Those that have met a usage limit. They are kept after their plan is finished, because the limit still applies. */
  readonly limited = new Map<string, Ticket>();
  /** By agent, the ticket that got the latest answer of a model. It ends earlier limits. */
  readonly #answered = new Map<string, { at: string; ticket: Ticket }>();

  constructor(store: Store) {
    this.#store = store;
    this.#changed = sinceLast(store);
  }

  update(): void {
    const { tickets, finished } = this.#store.glance();
    const changed = this.#changed();
    if (changed === 'unknown') {
      this.claimed.clear();
      this.dispatched.clear();
      for (const ticket of recentlyFinished(this.#store, finished)) this.#remember(refKey(ticket), ticket);
      for (const [key, ticket] of tickets) this.#note(key, ticket);
    } else
      for (const { planId, ticketId } of changed)
        if (ticketId !== null)
          this.#note(refKey({ planId, ticketId }), tickets.get(refKey({ planId, ticketId })));
  }

  hasLimits(now: number): boolean {
    const isLimited = ({ phaseHistory }: Ticket) =>
      phaseHistory.some(({ resetAt }) => Date.parse(resetAt ?? '') > now);
    for (const [key, ticket] of this.limited) if (!isLimited(ticket)) this.limited.delete(key);
    return this.limited.size > 0 || this.#store.deletedUsage().some(isLimited);
  }

  /** Tickets of finished plans that limits of agents depend on. */
  *left(): Iterable<Ticket> {
    const { tickets } = this.#store.glance();
    const answered = [...this.#answered.values()].map(({ ticket }) => [refKey(ticket), ticket] as const);
    for (const [key, ticket] of new Map([...this.limited, ...answered])) if (!tickets.has(key)) yield ticket;
  }

  #note(key: string, ticket: Ticket | undefined): void {
    if (ticket?.claim) this.claimed.set(key, ticket);
    else this.claimed.delete(key);
    if (ticket?.dispatch?.at) this.dispatched.set(key, ticket);
    else this.dispatched.delete(key);
    if (ticket) this.#remember(key, ticket);
  }

  #remember(key: string, ticket: Ticket): void {
    this.limited.delete(key);
    for (const entry of ticket.phaseHistory) {
      const { agent, startedAt: at } = entry;
      if (entry.status === 'limit') this.limited.set(key, ticket);
      else if (agent !== null && wasAnswered(entry) && !(at < (this.#answered.get(agent)?.at ?? '')))
        this.#answered.set(agent, { at, ticket });
    }
  }
}

/** Older plans are not read for limits: one of these plans has met the same limit, or ended it. */
const RECENT_PLANS = 100;

function* recentlyFinished(store: Store, finished: PlansView['finished']): Iterable<Ticket> {
  const ids = finished?.since(Date.now() - USAGE_KEPT_MS, RECENT_PLANS) ?? [];
  for (const id of ids) yield* store.view(id).tickets.values();
}

const indexes = new WeakMap<Store, WorkIndex>();

export function workIndex({ store }: Pick<EngineContext, 'store'>): WorkIndex {
  const index = remembered(indexes, store, () => new WorkIndex(store));
  index.update();
  return index;
}

/** Tickets of open plans that an engine or a person has claimed, by refKey. */
export function claimedTickets(engine: Pick<EngineContext, 'store'>): ReadonlyMap<string, Ticket> {
  return workIndex(engine).claimed;
}

type Counting = Pick<EngineContext, 'store' | 'settings' | 'now'>;

/** Dollars spent of the budgets of a plan, or with null only of the day. */
export function spentOfBudgets(engine: Counting, planId: string | null): SpentDollars[] {
  const { store, settings, now } = engine;
  const plan = (planId === null ? undefined : planOf(store.glance(), planId)) ?? null;
  return spentDollars({ plan, tickets: knownTickets(engine), budgets: settings.budgets, now: now() });
}

/** What was spent today, and the usage limits that are not over, of all plans. */
export function spentAndLimits(engine: Counting): {
  today: SpentToday;
  limits: ReturnType<typeof limitsByAccount>;
} {
  const { budgets, agents } = engine.settings;
  const now = engine.now();
  const tickets = [...knownTickets(engine, undefined, true)];
  const accountOf = (agent: string) =>
    (Object.hasOwn(agents, agent) ? agents[agent]?.account : undefined) ?? agent;
  return {
    today: spentToday({ tickets, budgets, now }),
    limits: limitsByAccount({ tickets, accountOf, now }),
  };
}

/** Tickets whose usage counts: all current ones, deleted ones, and those of finished plans if usage per day is counted. */
export function knownTickets(
  engine: Counting,
  own?: Ticket,
  countsDay = isLimiting(engine.settings.budgets.day),
): Iterable<Ticket> {
  const key = own && refKey(own);
  return {
    *[Symbol.iterator]() {
      const { tickets } = engine.store.glance();
      for (const [each, ticket] of tickets) if (each !== key) yield ticket;
      const left = new Map([...workIndex(engine).left()].map((ticket) => [refKey(ticket), ticket]));
      if (countsDay) for (const ticket of usageOfFinished(engine)) left.set(refKey(ticket), ticket);
      for (const [each, ticket] of left) if (each !== key) yield ticket;
      yield* deletedUsage(engine);
      if (own) yield own;
    },
  };
}

/** Called before tickets are deleted: what their agents used still counts for daily budgets and usage limits. */
export async function keepUsage(engine: EngineContext, tickets: readonly Ticket[]): Promise<void> {
  const { store, now } = engine;
  const time = now();
  if (!tickets.some((ticket) => usageRecordOf(ticket, time))) return;
  await store.updateDeletedUsage((kept) =>
    [...kept, ...tickets].flatMap((ticket) => usageRecordOf(ticket, time) ?? []),
  );
}

const ofFinished = new WeakMap<Store, Map<string, Ticket[]>>();

/** Tickets of finished plans whose usage still counts. Each plan is read once. */
function* usageOfFinished({ store, now }: Counting): Iterable<Ticket> {
  const { plans, finished } = store.glance();
  const known = remembered(ofFinished, store, () => new Map<string, Ticket[]>());
  for (const { id } of plans) known.delete(id);
  const time = now();
  // A plan is finished after the last attempt of its tickets.
  for (const id of finished?.since(Date.parse(time.slice(0, 10))) ?? []) {
    const tickets =
      known.get(id) ?? [...store.view(id).tickets.values()].filter((each) => usageRecordOf(each, time));
    known.set(id, tickets);
    yield* tickets;
  }
}

const renamed = new WeakMap<readonly Ticket[], Ticket[]>();

/** Deleted tickets whose usage still counts. Their plans' names are no valid ids, so they never match a plan. */
function deletedUsage({ store }: Counting): Ticket[] {
  const kept = store.deletedUsage();
  const rename = (ticket: Ticket) => ({ ...ticket, planId: `${ticket.planId} (deleted)` });
  return remembered(renamed, kept, () => kept.map(rename));
}

/** The usage of a ticket, without any of its texts. */
function usageRecordOf(ticket: Ticket, now: string): object | undefined {
  const { planId, ticketId, lookedAt } = ticket;
  const phaseHistory = ticket.phaseHistory
    .filter((entry) => entry.agent !== null && counts(entry, Date.parse(now)))
    .map((entry) => attemptOf(entry, now));
  return phaseHistory.length === 0 ? undefined : { planId, ticketId, title: '', lookedAt, phaseHistory };
}

function counts({ completedAt, resetAt }: Attempt, now: number): boolean {
  return (
    completedAt === null || Date.parse(completedAt) > now - USAGE_KEPT_MS || Date.parse(resetAt ?? '') > now
  );
}

/** An attempt without an end ends now. */
function attemptOf(entry: Attempt, now: string): object {
  const { phase, visit, attempt, status, startedAt, agent, usage, error, launches, resetAt } = entry;
  const completedAt = entry.completedAt ?? now;
  return { phase, visit, attempt, status, startedAt, completedAt, agent, usage, error, launches, resetAt };
}
