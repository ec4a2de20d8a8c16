import { QUEUE_SCHEMA } from './schema.ts';
import type { Query, Session } from './session.ts';

interface BossJob {
  id: string;
  data: unknown;
}

/** The part of pg-boss that is used here: its own types would become a part of ours, and it is optional. */
export interface Boss {
  start(): Promise<unknown>;
  stop(options: { graceful?: boolean; close?: boolean; timeout?: number }): Promise<void>;
  on(event: 'error' | 'warning', listener: (value: unknown) => void): unknown;
  createQueue(name: string, options: object): Promise<void>;
  send(name: string, data: object, options: { db: BossDatabase }): Promise<string | null>;
  fetch(name: string, options: { batchSize: number }): Promise<BossJob[]>;
  complete(name: string, id: string): Promise<unknown>;
  supervise(): Promise<void>;
}

export interface BossModule {
  PgBoss: new (options: {
    db: BossDatabase;
    schema: string;
    migrate: boolean;
    createSchema: boolean;
    supervise: boolean;
    schedule: boolean;
  }) => Boss;
}

/** What pg-boss asks of a database. */
interface BossDatabase {
  executeSql(text: string, values?: readonly unknown[]): Promise<{ rows: unknown[] }>;
}

/** Lets pg-boss use a connection of ours, with our errors and no pool of its own. */
export function bossDatabase(session: Session): BossDatabase {
  return { executeSql: async (text, values) => ({ rows: await session.query(text, values) }) };
}

/** A job that is not ended after this time is delivered again. */
const EXPIRE_SECONDS = 60;
const KEPT_SECONDS = 3_600;
const OPTIONS = {
  retryLimit: 5,
  expireInSeconds: EXPIRE_SECONDS,
  retentionSeconds: 24 * KEPT_SECONDS,
  deleteAfterSeconds: KEPT_SECONDS,
};
const WITHOUT_TIMERS = { migrate: false, createSchema: false, supervise: false, schedule: false } as const;

interface QueueOptions {
  load(): Promise<BossModule>;
  /** A connection of its own. */
  session(): Session;
}

/** The queue that carries orders to workers, one for each. Started when it is first needed: most commands never do. */
export class Queue {
  readonly #options: QueueOptions;
  #session: Session | undefined;
  #boss: Promise<Boss> | undefined;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** Makes the queue of a worker, unless it is there. */
  async open(worker: string): Promise<void> {
    await (await this.#started()).createQueue(worker, OPTIONS);
  }

  /** Sends a job in the caller's transaction. */
  async send(query: Query, worker: string, data: object): Promise<void> {
    const db = {
      executeSql: async (text: string, values?: readonly unknown[]) => ({ rows: await query(text, values) }),
    };
    await (await this.#started()).send(worker, data, { db });
  }

  async fetch(worker: string, most: number): Promise<BossJob[]> {
    return (await this.#started()).fetch(worker, { batchSize: most });
  }

  async end(worker: string, job: string): Promise<void> {
    await (await this.#started()).complete(worker, job);
  }

  /** Makes jobs that were not ended available again, and deletes old ones. */
  async tidy(): Promise<void> {
    await (await this.#started()).supervise();
  }

  async close(): Promise<void> {
    const boss = await this.#boss?.catch(() => undefined);
    await boss?.stop({ graceful: false, close: false });
    await this.#session?.close();
  }

  /** What could not be started is tried again by the next call. */
  #started(): Promise<Boss> {
    this.#boss ??= this.#start().catch((error: unknown) => {
      this.#boss = undefined;
      throw error;
    });
    return this.#boss;
  }

  async #start(): Promise<Boss> {
    const { PgBoss } = await this.#options.load();
    this.#session ??= this.#options.session();
    const boss = new PgBoss({ db: bossDatabase(this.#session), schema: QUEUE_SCHEMA, ...WITHOUT_TIMERS });
    // Every call reports its own errors.
    boss.on('error', () => undefined);
    boss.on('warning', () => undefined);
    await boss.start();
    return boss;
  }
}
