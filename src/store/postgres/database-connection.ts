import { setTimeout as delay } from 'node:timers/promises';
import { type ConnectionParameters, clientConfig } from './connection-parameters.ts';
import { explainPgError, isConnectionLoss } from './explain-pg-errors.ts';
import type { PgClient, PgModule } from './load-optional-packages.ts';

/** Runs one statement and returns its rows. */
export type Query = <R = Record<string, unknown>>(text: string, values?: readonly unknown[]) => Promise<R[]>;

interface ConnectionOptions {
  pg: PgModule;
  parameters: ConnectionParameters;
  /** Shown in `pg_stat_activity`. */
  name: string;
  /** Called after every connect, before any other statement. */
  onConnect?: (query: Query) => Promise<void>;
  onNotification?: (payload: string) => void;
}

/** A connection that is dead without having said so is given up after this time. */
const ANSWER_MS = 15_000;
const CONNECT_MS = 5_000;
const FIRST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 2_000;

/**
 * One connection, used by one caller at a time, that is opened again after it was lost. It keeps the process alive only while it
 * waits for an answer, so that a command need not close it.
 */
export class DatabaseConnection {
  readonly #options: ConnectionOptions;
  #client: PgClient | undefined;
  /** The last of those who wait for their turn. */
  #turn: Promise<unknown> = Promise.resolve();
  #closed = false;
  #kept = false;
  #restoring: Promise<void> | undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  get isConnected(): boolean {
    return this.#client !== undefined;
  }

  query<R = Record<string, unknown>>(text: string, values: readonly unknown[] = []): Promise<R[]> {
    return this.exclusively((query) => query<R>(text, values));
  }

  /** Runs `work` while no other caller uses the connection. Connects first where that is needed. */
  exclusively<T>(work: (query: Query) => Promise<T>): Promise<T> {
    const done = this.#turn.then(async () => {
      const client = await this.#connected();
      client.ref();
      try {
        return await work((text, values) => this.#ask(client, text, values));
      } finally {
        if (client === this.#client) client.unref();
      }
    });
    this.#turn = done.catch(() => undefined);
    return done;
  }

  /** Whether a lost connection is opened again, from now on, without being asked for. */
  keep(keep: boolean): void {
    this.#kept = keep;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#kept = false;
    await this.#turn;
    const client = this.#client;
    this.#client = undefined;
    client?.ref();
    await client?.end().catch(() => undefined);
  }

  async #connected(): Promise<PgClient> {
    if (this.#client) return this.#client;
    if (this.#closed) throw this.#explained(new Error('the connection was closed'));
    const { pg, parameters, name, onConnect, onNotification } = this.#options;
    const client = new pg.Client({
      ...clientConfig(parameters),
      application_name: name,
      connectionTimeoutMillis: CONNECT_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
    });
    const lost = () => this.#lose(client);
    client.on('error', lost);
    client.on('end', lost);
    client.on('notification', ({ payload = '' }: { payload?: string }) => onNotification?.(payload));
    try {
      await client.connect();
      await onConnect?.((text, values) => this.#ask(client, text, values));
    } catch (error) {
      client.connection.stream.destroy();
      throw this.#explained(error);
    }
    this.#client = client;
    return client;
  }

  async #ask<R>(client: PgClient, text: string, values: readonly unknown[] = []): Promise<R[]> {
    const timer = setTimeout(() => client.connection.stream.destroy(), ANSWER_MS);
    try {
      const answers = [await client.query<R>({ text, values })].flat();
      // Several statements in one text have several answers.
      return answers.at(-1)?.rows ?? [];
    } catch (error) {
      if (isConnectionLoss(error)) this.#lose(client);
      throw this.#explained(error);
    } finally {
      clearTimeout(timer);
    }
  }

  #lose(client: PgClient): void {
    client.connection.stream.destroy();
    if (client !== this.#client) return;
    this.#client = undefined;
    if (this.#kept) this.#restoring ??= this.#restore().finally(() => (this.#restoring = undefined));
  }

  /** Connects again, however long that takes. */
  async #restore(): Promise<void> {
    for (
      let pause = FIRST_RETRY_MS;
      this.#kept && !this.#client;
      pause = Math.min(2 * pause, LONGEST_RETRY_MS)
    ) {
      await delay(pause, undefined, { ref: false });
      await this.exclusively(async () => undefined).catch(() => undefined);
    }
  }

  #explained(error: unknown): unknown {
    return explainPgError(error, this.#options.parameters);
  }
}

/** Runs statements in one transaction. */
export async function inTransaction<T>(query: Query, work: () => Promise<T>, begin = 'begin'): Promise<T> {
  await query(begin);
  try {
    const result = await work();
    await query('commit');
    return result;
  } catch (error) {
    // Where the connection is lost, there is nothing to take back.
    await query('rollback').catch(() => undefined);
    throw error;
  }
}
