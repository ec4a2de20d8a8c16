import type { Changed, StateRef } from '../../model/ids-and-branch-names.ts';
import { ChangeLog } from '../numbered-changes.ts';
import type { ConnectionParameters } from './connection-parameters.ts';
import { Leases } from './copy-of-leases-roles-and-workers.ts';
import { DatabaseConnection, inTransaction, type Query } from './database-connection.ts';
import type { PgModule } from './load-optional-packages.ts';
import { Mirror, type MirrorOptions } from './mirror-of-open-plans.ts';
import type { RawRow } from './parse-plan-and-ticket-rows.ts';
import {
  CHANGES,
  type ChangedRow,
  EVERYTHING_OPEN,
  FINISHED,
  type FinishedRow,
  LAST_CHANGE,
  TICKETS_OF,
} from './plan-event-and-lease-statements.ts';
import { CHANNEL, checkSchema, WORKERS_CHANGED } from './schema.ts';

interface ConnectedOptions extends Pick<MirrorOptions, 'reader' | 'readPlan' | 'findNamed'> {
  pg: PgModule;
  parameters: ConnectionParameters;
  /** Whether a write was this process's. */
  isOwn(writer: string | null): boolean;
}

/** Changes of other processes are searched for this often while a caller watches, should a notification have been lost. */
const CHECK_MS = 10_000;

/**
 * The mirror and the connection that feeds it. The connection does everything in turn, so each answer is newer than the one before
 * it, and what it says is taken into the mirror before the next question is sent.
 */
export class ConnectedMirror {
  readonly session: DatabaseConnection;
  readonly mirror: Mirror;
  readonly leases = new Leases();
  readonly changes = new ChangeLog();
  readonly #isOwn: ConnectedOptions['isOwn'];
  readonly #listeners = new Set<(changed: Changed) => void>();
  #isPulling = false;
  #keepers = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor({ pg, parameters, isOwn, ...reads }: ConnectedOptions) {
    this.#isOwn = isOwn;
    this.mirror = new Mirror({ ...reads, onChange: (ref: StateRef) => this.changes.note(ref) });
    this.session = new DatabaseConnection({
      pg,
      parameters,
      name: 'signalbox',
      onConnect: (query) => this.#connected(query),
      onNotification: (payload) => (payload === WORKERS_CHANGED ? this.#checkWorkers() : this.#check()),
    });
  }

  async refresh(): Promise<void> {
    const isNew = !this.session.isConnected;
    await this.session.exclusively(async (query) => {
      // A new connection has just read everything.
      if (!isNew) await this.catchUp(query);
    });
  }

  /** Takes over what others have done until now. */
  async catchUp(query: Query): Promise<void> {
    await this.pull(query);
    await this.leases.refresh(query);
  }

  async pull(query: Query): Promise<void> {
    const rows = await query<ChangedRow>(CHANGES, [this.mirror.cursor]);
    if (rows.length === 0) return;
    // The mirror is so old that it cannot know what was deleted.
    if (rows.some(({ kind }) => kind === 'swept')) return this.#load(query);
    const opened = this.mirror.opened(rows);
    const whole = opened.length > 0 ? await query<RawRow>(TICKETS_OF, [opened]) : [];
    const foreign = this.mirror.apply(rows, whole, this.#isOwn);
    if (foreign.length > 0) this.#tell(foreign);
  }

  watch(onChange: (changed: Changed) => void): () => void {
    const listener = (changed: Changed) => onChange(changed);
    this.#listeners.add(listener);
    this.keepConnection(true);
    this.#timer ??= setInterval(() => this.#check(), CHECK_MS).unref();
    return () => {
      if (!this.#listeners.delete(listener)) return;
      this.keepConnection(false);
      if (this.#listeners.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  /** A connection that is kept is opened again when it is lost. */
  keepConnection(keep: boolean): void {
    this.#keepers += keep ? 1 : -1;
    this.session.keep(this.#keepers > 0);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.session.close();
  }

  /** Reads everything, and listens for changes from then on. */
  async #connected(query: Query): Promise<void> {
    await checkSchema(query);
    await query(`listen ${CHANNEL}`);
    // The server has to notice soon when this machine is gone, or this process stopped: it may be alone in a section or transaction.
    await query(`select set_config('tcp_keepalives_idle', '10', false), set_config('tcp_keepalives_interval', '5', false),
      set_config('tcp_keepalives_count', '3', false), set_config('idle_in_transaction_session_timeout', '10s', false)`);
    await this.#load(query);
    await this.leases.refresh(query);
  }

  async #load(query: Query): Promise<void> {
    const isFirst = this.mirror.cursor < 0;
    const before = this.changes.since(undefined).cursor;
    const read = async () => {
      const [last] = await query<{ changed: number }>(LAST_CHANGE);
      const rows = await query<ChangedRow>(EVERYTHING_OPEN);
      const finished = await query<FinishedRow>(FINISHED);
      return { rows, finished, cursor: last?.changed ?? 0 };
    };
    const snapshot = 'begin isolation level repeatable read read only';
    const { rows, finished, cursor } = await inTransaction(query, read, snapshot);
    this.mirror.load(rows, finished, cursor);
    const { changed } = this.changes.since(before);
    if (!isFirst && (changed === 'unknown' || changed.length > 0)) this.#tell(changed);
  }

  #check(): void {
    if (this.#isPulling) return;
    this.#isPulling = true;
    const pull = this.session.exclusively(async (query) => {
      // What is committed from now on is announced again.
      this.#isPulling = false;
      await this.pull(query);
    });
    // The connection is lost; everything is read when it is there again.
    pull.catch(() => {
      this.#isPulling = false;
    });
  }

  #checkWorkers(): void {
    const refresh = this.session.exclusively((query) => this.leases.refresh(query));
    refresh.then(() => this.#tell([])).catch(() => undefined);
  }

  #tell(changed: Changed): void {
    // Not before the caller has finished what it is doing.
    queueMicrotask(() => {
      for (const listener of [...this.#listeners]) listener(changed);
    });
  }
}
