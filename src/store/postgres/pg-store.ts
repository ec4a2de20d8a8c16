import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { isAlive, ownIdentity, type ProcessIdentity } from '../../machine/process-identity-and-signals.ts';
import { InputError, ifUsable } from '../../model/errors.ts';
import type { StoredEvent } from '../../model/events.ts';
import {
  type Changed,
  idProblem,
  requireId,
  type StateRef,
  type TicketRef,
} from '../../model/ids-and-branch-names.ts';
import { LEASE_MS } from '../../model/lease-and-claim-messages.ts';
import type { Plan } from '../../model/plan.ts';
import { unknownPlan, unknownTicket } from '../../model/plans/latest-plans-and-unknown-name-errors.ts';
import type { Ticket } from '../../model/ticket.ts';
import { claimLines, type NoticeLine } from '../claim-notifications.ts';
import { keyOf } from '../numbered-changes.ts';
import { OWN_KINDS } from '../parse-and-cache-state-files.ts';
import { serializeUsage } from '../parse-without-zod.ts';
import { missing } from '../state-file-io.ts';
import type {
  Fleet,
  HeldTicket,
  NoticeWish,
  OutputLog,
  SessionFiles,
  Store,
  StoreOptions,
  StoreView,
  Wanted,
} from '../store-interface.ts';
import { putRecord, RowChanges, waitForChanges } from './change-plans-and-tickets.ts';
import { type ConnectionParameters, shownAddress } from './connection-parameters.ts';
import { DatabaseConnection, inTransaction, type Query } from './database-connection.ts';
import { EventQueue, outputRows, sessionRows } from './event-output-and-session-rows.ts';
import { ConnectedMirror } from './keep-mirror-current.ts';
import type { PgModule } from './load-optional-packages.ts';
import { type Mirror, rowsOf } from './mirror-of-open-plans.ts';
import { type RawRow, type Row, RowReader, usable } from './parse-plan-and-ticket-rows.ts';
import { type BossModule, Queue } from './pg-boss-queue.ts';
import { pgFleet } from './pg-fleet.ts';
import { PgHolder } from './pg-holder.ts';
import { EVENTS, LAST_EVENT, NAMED_TICKETS, WHOLE_PLANS } from './plan-event-and-lease-statements.ts';
import { BlockingReader } from './query-synchronously.ts';
import { LOCK_CLASSES, LOCKS, SCHEMA } from './schema.ts';
import { commandRecords, type PgContext } from './store-context-and-command-records.ts';

interface PgStoreOptions extends StoreOptions {
  pg: PgModule;
  /** The file of that package. */
  pgFile: string;
  parameters: ConnectionParameters;
  /** Loads pg-boss, which only workers and the scheduler need. */
  loadQueue(): Promise<BossModule>;
  leaseMs?: number | undefined;
  /** The state directory of this process. */
  state?: string | undefined;
  /** Who gives the commands, for the record. */
  person?: string | null;
  /** The command that this process carries out for a person; undefined: it drives tickets or schedules. */
  command?: string | undefined;
}

interface EventRow {
  number: number;
  doc: string;
}

/** Events that are read at once. */
const PIECE = 1000;
const FIRST_TRY_MS = 3;
const LONGEST_TRY_MS = 50;

/** Plans and tickets in PostgreSQL, for many machines. Reads come from memory; what is not there is asked for while the caller waits. */
export class PgStore implements Store {
  readonly #parameters: ConnectionParameters;
  readonly #context: PgContext;
  readonly #connected: ConnectedMirror;
  readonly #mirror: Mirror;
  readonly #blocking: BlockingReader;
  readonly #changes: RowChanges;
  readonly #events: EventQueue;
  readonly output: OutputLog;
  readonly sessions: SessionFiles;
  readonly #pins = new Map<string, string>();
  /** One log is followed at a time. */
  #followed: { planId: string; last: number; events: StoredEvent[] } | undefined;
  readonly #inside = new Map<string, Promise<unknown>>();
  readonly #queue: Queue;
  readonly fleet: Fleet;

  constructor(options: PgStoreOptions) {
    const { pg, pgFile, parameters, leaseMs = LEASE_MS, person = null, state, loadQueue: load } = options;
    const { persist = async (write) => write() } = options;
    const self = randomUUID();
    let writes = 0;
    const isOwn = (writer: string | null) => writer?.startsWith(self) === true;
    const reader = new RowReader(options.kinds ?? OWN_KINDS, (ref) => this.location(ref));
    this.#parameters = parameters;
    this.#blocking = new BlockingReader(pgFile, parameters);
    const readPlan = (id: string) => this.#blocking.query<RawRow>(WHOLE_PLANS('named'), [[id]]);
    const findNamed = (ids: readonly string[]) => this.#blocking.query<TicketRef>(NAMED_TICKETS, [ids]);
    this.#connected = new ConnectedMirror({ pg, parameters, reader, isOwn, readPlan, findNamed });
    this.#mirror = this.#connected.mirror;
    this.#context = {
      connected: this.#connected,
      reader,
      persist,
      write: (work) => persist(() => this.session.exclusively(work)),
      writeId: () => `${self}.${++writes}`,
      isOwn,
      unknown: (ref) => this.#unknown(ref),
      unregistered: new Set(),
      leaseMs,
      state,
      person,
      records: commandRecords(person, options.command),
    };
    this.#changes = new RowChanges(this.#context);
    this.#events = new EventQueue(this.#context);
    const session = () => new DatabaseConnection({ pg, parameters, name: 'signalbox queue' });
    this.#queue = new Queue({ load, session });
    this.fleet = pgFleet(this.#context, this.#changes, this.#queue, () => parameters.password);
    this.sessions = sessionRows(this.session);
    this.output = outputRows(this.session, this.#blocking);
  }

  /** The connection, for statements that belong to this store. */
  get session(): DatabaseConnection {
    return this.#connected.session;
  }

  async close(): Promise<void> {
    await this.#events.settled();
    await this.#queue.close();
    await this.#connected.close();
    await this.#blocking.close();
  }

  /** The first one connects and reads what is open. Rejects with what to do where that is not possible. */
  refresh(): Promise<void> {
    return this.#connected.refresh();
  }

  view(planId?: string): StoreView {
    const view: StoreView = { plans: [], tickets: new Map(), problems: [] };
    const ids = planId === undefined ? this.#mirror.ids() : [planId];
    const areFinished = planId === undefined && ids.some((id) => !this.#mirror.openRows(id));
    const finished = areFinished ? this.#blocking.query<RawRow>(WHOLE_PLANS('finished')) : [];
    const { reader } = this.#context;
    const read = rowsOf(finished, reader);
    for (const id of ids) {
      const rows = this.#mirror.openRows(id) ?? read.get(id) ?? (planId && this.#mirror.rows(id));
      if (!rows) continue;
      const { plan, tickets, problems } = reader.examine(id, rows);
      if (plan) view.plans.push(plan);
      for (const [key, ticket] of tickets) view.tickets.set(key, ticket);
      view.problems.push(...problems);
    }
    return view;
  }

  glance(): StoreView {
    return this.#mirror.view;
  }

  tickets(of: string | Plan): Ticket[] {
    const plan = typeof of === 'string' ? ifUsable(() => this.plan(of)) : of;
    if (!plan) return [];
    const rows = this.#mirror.rows(plan.id);
    return plan.tickets.flatMap(({ ticketId }) => usable(rows?.tickets.get(ticketId)) ?? []);
  }

  hasPlan(id: string): boolean {
    return idProblem(id) === undefined && this.#mirror.has(id);
  }

  exists({ planId, ticketId }: StateRef): boolean {
    requireId(planId, 'plan');
    if (ticketId === null) return this.#mirror.has(planId);
    return this.#mirror.rows(planId)?.tickets.has(requireId(ticketId, 'ticket')) === true;
  }

  plan(id: string): Plan {
    return this.#usable({ planId: id, ticketId: null }) as Plan;
  }

  ticket({ planId, ticketId }: TicketRef): Ticket {
    return this.#usable({ planId, ticketId }) as Ticket;
  }

  text(ref: StateRef): string {
    const row = this.#row(ref);
    if (!row) throw missing(this.location(ref));
    return row.text;
  }

  location(ref?: StateRef): string {
    const place = shownAddress(this.#parameters);
    return ref ? `${place}#${keyOf(ref)}` : place;
  }

  isAt(location: string): boolean {
    const [here, there] = [this.location(), location].map((place) =>
      place.replace(/^(postgres:\/\/)[^@/]*@/, '$1'),
    );
    return here === there;
  }

  refuseIfGone(): void {
    // A database that cannot be reached does not answer: \`refresh\` rejects.
  }

  #usable(ref: StateRef): Plan | Ticket {
    const row = this.#row(ref);
    if (!row) throw this.#unknown(ref);
    if (row.value instanceof InputError) throw row.value;
    return row.value;
  }

  #row({ planId, ticketId }: StateRef): Row<Plan> | Row<Ticket> | undefined {
    const rows = this.#mirror.rows(requireId(planId, 'plan'));
    return ticketId === null ? rows?.plan : rows?.tickets.get(requireId(ticketId, 'ticket'));
  }

  #unknown(ref: StateRef): InputError {
    const { planId, ticketId } = ref;
    const details = { path: this.location(ref) };
    if (ticketId !== null && this.#mirror.has(planId)) {
      const known = this.plan(planId).tickets.map((entry) => entry.ticketId);
      return unknownTicket({ planId, ticketId }, known, details);
    }
    return unknownPlan(planId, this.#mirror.ids(), details);
  }

  create(plan: Plan, tickets: readonly Ticket[]): Promise<void> {
    return this.#changes.create(plan, tickets);
  }

  updatePlan(id: string, change: (plan: Plan) => Plan, added: readonly Ticket[] = []): Promise<Plan> {
    return this.#changes.updatePlan(id, change, added);
  }

  async updateTicket(ref: TicketRef, change: (ticket: Ticket) => Ticket): Promise<Ticket> {
    // Events of an attempt are stored while the ticket is claimed, and the change may release it.
    await this.#events.settled();
    return this.#changes.updateTicket(ref, change);
  }

  removeTicket({ planId, ticketId }: TicketRef): Promise<void> {
    return this.#changes.remove({ planId, ticketId });
  }

  restoreTicket(ticket: Ticket): Promise<void> {
    return this.#changes.restore(ticket);
  }

  deletePlan(id: string): Promise<void> {
    if (this.#followed?.planId === id) this.#followed = undefined;
    return this.#changes.remove({ planId: id, ticketId: null });
  }

  append(planId: string, event: StoredEvent, claim?: HeldTicket): Promise<void> {
    return this.#events.append(requireId(planId, 'plan'), event, claim);
  }

  events(planId: string): StoredEvent[] {
    if (!this.#mirror.has(requireId(planId, 'plan'))) return [];
    const known = this.#followed?.planId === planId ? this.#followed : { planId, last: 0, events: [] };
    const rows = this.#blocking.query<EventRow>(EVENTS, [planId, known.last]);
    known.events.push(...rows.map(({ doc }) => JSON.parse(doc) as StoredEvent));
    this.#followed = { ...known, last: rows.at(-1)?.number ?? known.last };
    return [...known.events];
  }

  eventsAfter(planId: string, cursor?: string): { events: StoredEvent[]; cursor: string } {
    const [, from] = /^number (\d+)$/.exec(cursor ?? '') ?? [];
    if (from === undefined) {
      const [end] = this.#blocking.query<{ last: number }>(LAST_EVENT, [requireId(planId, 'plan')]);
      return { events: [], cursor: `number ${end?.last ?? 0}` };
    }
    const rows = this.#blocking.query<EventRow>(`${EVENTS} limit ${PIECE}`, [planId, Number(from)]);
    const events = rows.map(({ doc }) => JSON.parse(doc) as StoredEvent);
    return { events, cursor: `number ${rows.at(-1)?.number ?? from}` };
  }

  watch(onChange: (changed: Changed) => void): () => void {
    return this.#connected.watch(onChange);
  }

  changes(since?: string): { changed: Changed; cursor: string } {
    return this.#connected.changes.since(since);
  }

  async pin(hash: string, text: string): Promise<void> {
    if (this.#pins.has(hash)) return;
    const insert = `insert into ${SCHEMA}.pins (hash, doc) values ($1, $2) on conflict do nothing`;
    const find = `select doc from ${SCHEMA}.pins where hash = $1`;
    const [kept] = await this.#context.write(async (query) => {
      await query(insert, [hash, text]);
      return query<{ doc: string }>(find, [hash]);
    });
    this.#pins.set(hash, kept?.doc ?? text);
  }

  pinned(hash: string): string | undefined {
    if (!/^[0-9a-f]{16,64}$/.test(hash)) return undefined;
    const known = this.#pins.get(hash);
    if (known !== undefined) return known;
    const find = `select doc from ${SCHEMA}.pins where hash = $1`;
    const [found] = this.#blocking.query<{ doc: string }>(find, [hash]);
    if (found) this.#pins.set(hash, found.doc);
    return found?.doc;
  }

  holder(by: string): PgHolder {
    return new PgHolder(by, this.#context);
  }

  /** Inside, reads show everything that others wrote before. */
  async alone<T>(name: 'slots' | 'runs', fn: () => Promise<T>): Promise<T> {
    // A session may take the same lock several times, so those of this process wait for each other here.
    const turn = (this.#inside.get(name) ?? Promise.resolve()).then(() => this.#locked(name, fn));
    this.#inside.set(
      name,
      turn.catch(() => undefined),
    );
    return turn;
  }

  async #locked<T>(name: 'slots' | 'runs', fn: () => Promise<T>): Promise<T> {
    const keys = [LOCKS.class, LOCKS[name]];
    const take = async (query: Query) => {
      const [row] = await query<{ taken: boolean }>('select pg_try_advisory_lock($1, $2) as taken', keys);
      if (row?.taken) await this.#connected.catchUp(query);
      return row?.taken === true;
    };
    await this.#context.persist(async () => {
      for (let pause = FIRST_TRY_MS; ; pause = Math.min(2 * pause, LONGEST_TRY_MS)) {
        if (await this.session.exclusively(take)) return;
        await delay(pause);
      }
    });
    try {
      return await fn();
    } finally {
      // A connection that was lost has released it.
      await this.session.query('select pg_advisory_unlock($1, $2)', keys).catch(() => undefined);
    }
  }

  async claimNotices(planId: string, wish: NoticeWish): Promise<Wanted[]> {
    const claim = (query: Query) => async () => {
      await query('select pg_advisory_xact_lock($1, hashtext($2))', [LOCK_CLASSES.notices, planId]);
      const find = `select doc from ${SCHEMA}.notices where plan_id = $1 order by number`;
      const rows = await query<{ doc: string }>(find, [planId]);
      const lines = rows.map(({ doc }) => JSON.parse(doc) as NoticeLine<ProcessIdentity>);
      const { mine, fresh } = claimLines(lines, wish, { by: ownIdentity(), isAlive });
      await insertNotices(query, planId, fresh);
      return mine;
    };
    return this.#context.write((query) => inTransaction(query, claim(query)));
  }

  async endNotice(
    planId: string,
    { key, place }: Wanted,
    { state, now }: { state: 'sent' | 'failed'; now: string },
  ): Promise<void> {
    const end = { place, key, state, at: now };
    await this.#context.write((query) => insertNotices(query, planId, [end]));
  }

  sweep(): void {
    // A transaction leaves nothing half written.
  }

  deletedUsage(): readonly Ticket[] {
    return this.#mirror.usage;
  }

  async updateDeletedUsage(change: (kept: readonly Ticket[]) => readonly object[]): Promise<void> {
    await this.#context.write(async (query) => {
      const text = await inTransaction(query, async () => {
        await waitForChanges(query);
        await this.#connected.pull(query);
        const next = serializeUsage(change(this.#mirror.usage));
        await putRecord(query, 'usage', next);
        return next;
      });
      this.#mirror.setUsage(text);
    });
  }
}

async function insertNotices(query: Query, planId: string, lines: readonly object[]): Promise<void> {
  const docs = lines.map((line) => JSON.stringify(line));
  const insert = `insert into ${SCHEMA}.notices (plan_id, doc) select $1, unnest($2::text[])`;
  await query(insert, [planId, docs]);
}
