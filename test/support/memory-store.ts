import { randomUUID } from 'node:crypto';
import { ownIdentity } from '../../src/machine/process-identity-and-signals.ts';
import { HeldError, InputError } from '../../src/model/errors.ts';
import type { StoredEvent } from '../../src/model/events.ts';
import {
  type Changed,
  refKey,
  requireId,
  type StateRef,
  type TicketRef,
} from '../../src/model/ids-and-branch-names.ts';
import { type Claim, sayHolder } from '../../src/model/lease-and-claim-messages.ts';
import type { Plan } from '../../src/model/plan.ts';
import type { Ticket } from '../../src/model/ticket.ts';
import { claimLines, type NoticeLine } from '../../src/store/claim-notifications.ts';
import { ChangeLog, keyOf } from '../../src/store/numbered-changes.ts';
import type { Holder, NoticeWish, Store, StoreView, Wanted } from '../../src/store/store-interface.ts';

/** What all stores of one truth share, as processes share a database. */
class Truth {
  readonly plans = new Map<string, Plan>();
  readonly tickets = new Map<string, Ticket>();
  readonly events = new Map<string, StoredEvent[]>();
  readonly notices = new Map<string, NoticeLine<MemoryStore>[]>();
  readonly pins = new Map<string, string>();
  readonly changes = new ChangeLog();
  readonly watches = new Set<{ store: MemoryStore; onChange: (changed: Changed) => void }>();
  readonly locks = new Map<string, { store: MemoryStore; release: () => void; released: Promise<void> }>();
  /** Tokens of living holders that have a heartbeat, and of those that only made a claim. */
  readonly beating = new Map<string, MemoryStore>();
  readonly living = new Map<string, MemoryStore>();
  daemon: Claim | undefined;
  deletedUsage: readonly Ticket[] = [];
}

/** A store in memory. Each instance stands for a process; `another` gives one with the same truth. */
export class MemoryStore implements Store {
  readonly #truth: Truth;
  #crashed = false;

  constructor(truth = new Truth()) {
    this.#truth = truth;
  }

  another(): MemoryStore {
    return new MemoryStore(this.#truth);
  }

  /** As if the process were killed: it holds no lock and no claim any more, and writes nothing. */
  crash(): void {
    this.#crashed = true;
    const { locks, beating, living, watches } = this.#truth;
    for (const lock of locks.values()) if (lock.store === this) lock.release();
    for (const tokens of [beating, living])
      for (const [token, store] of tokens) if (store === this) tokens.delete(token);
    for (const watch of watches) if (watch.store === this) watches.delete(watch);
  }

  get isCrashed(): boolean {
    return this.#crashed;
  }

  async refresh(): Promise<void> {
    // Everybody sees the same memory.
  }

  async close(): Promise<void> {
    // There is nothing that connects it.
  }

  view(planId?: string): StoreView {
    const wanted = [...this.#truth.plans.values()].filter(({ id }) => planId === undefined || id === planId);
    const plans = wanted.sort((a, b) => (a.id < b.id ? -1 : 1));
    const listed = plans.flatMap((plan) =>
      plan.tickets.map(({ ticketId }) => refKey({ planId: plan.id, ticketId })),
    );
    const found = listed.flatMap((key): [string, Ticket][] => {
      const ticket = this.#truth.tickets.get(key);
      return ticket ? [[key, ticket]] : [];
    });
    return { plans, tickets: new Map(found), problems: [] };
  }

  glance(): StoreView {
    return this.view();
  }

  tickets(of: string | Plan): Ticket[] {
    const { id, tickets } = (typeof of === 'string' ? this.#truth.plans.get(of) : of) ?? {
      id: '',
      tickets: [],
    };
    return tickets.flatMap(({ ticketId }) => this.#truth.tickets.get(refKey({ planId: id, ticketId })) ?? []);
  }

  hasPlan(id: string): boolean {
    return this.#truth.plans.has(id);
  }

  exists({ planId, ticketId }: StateRef): boolean {
    return ticketId === null ? this.hasPlan(planId) : this.#truth.tickets.has(refKey({ planId, ticketId }));
  }

  plan(id: string): Plan {
    const plan = this.#truth.plans.get(requireId(id, 'plan'));
    if (!plan) throw new InputError('plan/unknown', `There is no plan "${id}".`);
    return plan;
  }

  ticket(ref: TicketRef): Ticket {
    requireId(ref.planId, 'plan');
    requireId(ref.ticketId, 'ticket');
    const ticket = this.#truth.tickets.get(refKey(ref));
    if (!ticket)
      throw new InputError('ticket/unknown', `Plan "${ref.planId}" has no ticket "${ref.ticketId}".`);
    return ticket;
  }

  text({ planId, ticketId }: StateRef): string {
    return JSON.stringify(ticketId === null ? this.plan(planId) : this.ticket({ planId, ticketId }));
  }

  location(ref?: StateRef): string {
    return ref ? `memory: ${keyOf(ref)}` : 'memory';
  }

  isAt(location: string): boolean {
    return location === this.location();
  }

  refuseIfGone(): void {
    // Memory stays.
  }

  async create(plan: Plan, tickets: readonly Ticket[]): Promise<void> {
    const { plans, tickets: all } = this.#truth;
    for (const id of [plan.id, ...tickets.map(({ ticketId }) => ticketId)]) requireId(id, 'plan or ticket');
    if (plans.has(plan.id)) throw new InputError('plan/exists', `A plan "${plan.id}" already exists.`);
    this.#write(() => {
      for (const ticket of tickets) all.set(refKey(ticket), structuredClone(ticket));
      plans.set(plan.id, structuredClone(plan));
    }, [{ planId: plan.id, ticketId: null }, ...tickets]);
  }

  async updatePlan(id: string, change: (plan: Plan) => Plan, added: readonly Ticket[] = []): Promise<Plan> {
    const write = (plan: Plan) => this.#truth.plans.set(id, plan);
    for (const ticket of added) this.#add(ticket);
    return this.#change({ planId: id, ticketId: null }, this.plan(id), change, write);
  }

  async updateTicket(ref: TicketRef, change: (ticket: Ticket) => Ticket): Promise<Ticket> {
    const write = (ticket: Ticket) => this.#truth.tickets.set(refKey(ref), ticket);
    return this.#change(ref, this.ticket(ref), change, write);
  }

  #change<T extends Plan | Ticket>(
    ref: StateRef,
    before: T,
    change: (value: T) => T,
    write: (value: T) => void,
  ): T {
    const changed = change(before);
    if (changed === before) return before;
    const after = structuredClone({ ...changed, rev: Math.max(before.rev, changed.rev) + 1 });
    this.#write(() => write(after), [ref]);
    return after;
  }

  #add(ticket: Ticket): void {
    this.#write(() => this.#truth.tickets.set(refKey(ticket), structuredClone(ticket)), [ticket]);
  }

  async removeTicket(ref: TicketRef): Promise<void> {
    this.#write(() => this.#truth.tickets.delete(refKey(ref)), [ref]);
  }

  /** Nothing here can become unreadable. */
  async restoreTicket(ticket: Ticket): Promise<void> {
    if (!this.exists(ticket)) this.#add({ ...ticket, rev: ticket.rev + 1 });
  }

  async deletePlan(id: string): Promise<void> {
    const { plans, tickets, events, notices } = this.#truth;
    const own = [...tickets.values()].filter(({ planId }) => planId === this.plan(id).id);
    this.#write(() => {
      for (const ticket of own) tickets.delete(refKey(ticket));
      plans.delete(id);
      events.delete(id);
      notices.delete(id);
    }, [{ planId: id, ticketId: null }, ...own]);
  }

  async append(planId: string, event: StoredEvent): Promise<void> {
    const { events } = this.#truth;
    this.plan(planId);
    this.#write(() => events.set(planId, [...(events.get(planId) ?? []), structuredClone(event)]), []);
  }

  events(planId: string): StoredEvent[] {
    return this.#truth.events.get(requireId(planId, 'plan')) ?? [];
  }

  eventsAfter(planId: string, cursor?: string): { events: StoredEvent[]; cursor: string } {
    const all = this.events(planId);
    const from = cursor === undefined ? all.length : Number(cursor);
    return { events: all.slice(from, from + 1000), cursor: String(Math.min(all.length, from + 1000)) };
  }

  watch(onChange: (changed: Changed) => void): () => void {
    const watch = { store: this, onChange };
    this.#truth.watches.add(watch);
    return () => void this.#truth.watches.delete(watch);
  }

  changes(since?: string): { changed: Changed; cursor: string } {
    return this.#truth.changes.since(since);
  }

  async pin(hash: string, text: string): Promise<void> {
    const { pins } = this.#truth;
    if (!pins.has(hash)) this.#write(() => pins.set(hash, text), []);
  }

  pinned(hash: string): string | undefined {
    return this.#truth.pins.get(hash);
  }

  holder(by: string): Holder {
    return new MemoryHolder(by, this, this.#truth);
  }

  async alone<T>(name: 'slots' | 'runs', fn: () => Promise<T>): Promise<T> {
    const { locks } = this.#truth;
    for (let lock = locks.get(name); lock; lock = locks.get(name)) await lock.released;
    let resolve = (): void => undefined;
    const released = new Promise<void>((done) => {
      resolve = done;
    });
    const release = () => {
      if (locks.get(name)?.released === released) locks.delete(name);
      resolve();
    };
    locks.set(name, { store: this, release, released });
    try {
      return await fn();
    } finally {
      release();
    }
  }

  async claimNotices(planId: string, wish: NoticeWish): Promise<Wanted[]> {
    const lines = this.#truth.notices.get(planId) ?? [];
    const isAlive = (store: MemoryStore) => !store.isCrashed;
    const { mine, fresh } = claimLines<MemoryStore>(lines, wish, { by: this, isAlive });
    this.#write(() => this.#truth.notices.set(planId, [...lines, ...fresh]), []);
    return mine;
  }

  async endNotice(
    planId: string,
    { key, place }: Wanted,
    { state, now }: { state: 'sent' | 'failed'; now: string },
  ): Promise<void> {
    const lines = this.#truth.notices.get(planId) ?? [];
    this.#write(() => this.#truth.notices.set(planId, [...lines, { place, key, state, at: now }]), []);
  }

  sweep(): void {
    // Nothing is left half written in memory.
  }

  deletedUsage(): readonly Ticket[] {
    return this.#truth.deletedUsage;
  }

  async updateDeletedUsage(change: (kept: readonly Ticket[]) => readonly object[]): Promise<void> {
    const next = structuredClone(change(this.#truth.deletedUsage)) as Ticket[];
    this.#write(() => {
      this.#truth.deletedUsage = next;
    }, []);
  }

  #write(write: () => void, changed: readonly StateRef[]): void {
    if (this.#crashed) throw new Error('This process was killed.');
    write();
    const refs = changed.map(({ planId, ticketId }) => ({ planId, ticketId }));
    for (const ref of refs) this.#truth.changes.note(ref);
    for (const { store, onChange } of refs.length > 0 ? this.#truth.watches : [])
      if (store !== this) queueMicrotask(() => onChange(refs));
  }
}

class MemoryHolder implements Holder {
  readonly by: string;
  readonly token = randomUUID();
  readonly #store: MemoryStore;
  readonly #truth: Truth;

  constructor(by: string, store: MemoryStore, truth: Truth) {
    this.by = by;
    this.#store = store;
    this.#truth = truth;
  }

  claim(now: string): Claim {
    this.#truth.living.set(this.token, this.#store);
    return { ...ownIdentity(), token: this.token, by: this.by, renewedAt: now };
  }

  async start(): Promise<void> {
    this.#truth.beating.set(this.token, this.#store);
  }

  async stop(): Promise<void> {
    this.#truth.beating.delete(this.token);
  }

  hasOthers(): boolean {
    return [...this.#truth.beating.keys()].some((token) => token !== this.token);
  }

  lastClaimed(): undefined {
    return undefined;
  }

  noteClaimed(): void {
    // All of this is in memory anyway.
  }

  isLive({ token }: Claim): boolean {
    return this.#truth.living.has(token);
  }

  /** All processes can be seen here. */
  leaseLeft(): undefined {
    return undefined;
  }

  daemon(): Claim | undefined {
    const { daemon } = this.#truth;
    return daemon && this.isLive(daemon) ? daemon : undefined;
  }

  async claimDaemon(now: string): Promise<Claim> {
    const other = this.daemon();
    if (other) throw new HeldError('daemon/held', `A daemon is already running here: ${sayHolder(other)}.`);
    this.#truth.daemon = this.claim(now);
    return this.#truth.daemon;
  }

  async releaseDaemon(): Promise<void> {
    if (this.#truth.daemon?.token === this.token) this.#truth.daemon = undefined;
  }
}
