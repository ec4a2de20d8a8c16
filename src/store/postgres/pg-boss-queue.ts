import { InputError, messageOf } from '../../model/errors.ts';
import type { DatabaseConnection, Query } from './database-connection.ts';
import { QUEUE_SCHEMA } from './schema.ts';

interface BossJob {
  id: string;
  data: unknown;
}

/** The part of pg-boss that is used here: its own types would become a part of ours, and it is optional. */
export interface Boss {
  start(): Promise<unknown>;
  stop(options: { graceful: boolean; close: boolean }): Promise<void>;
  on(event: 'error' | 'warning', listener: (value: unknown) => void): unknown;
  createQueue(name: string, options: object): Promise<void>;
  send(name: string, data: object, options: { db: BossDatabase }): Promise<string | null>;
  fetch(name: string, options: { batchSize: number }): Promise<BossJob[]>;
  complete(name: string, id: string): Promise<unknown>;
  /** Makes jobs that were not ended available again, and deletes old ones. */
  supervise(): Promise<void>;
}

export interface BossModule {
  PgBoss: new (options: ReturnType<typeof bossOptions>) => Boss;
}

/** What pg-boss asks of a database. */
interface BossDatabase {
  executeSql(text: string, values?: readonly unknown[]): Promise<{ rows: unknown[] }>;
}

/** Lets pg-boss use a connection of ours, with our errors and no pool of its own. */
export function bossDatabase(query: Query): BossDatabase {
  return { executeSql: async (text, values) => ({ rows: await query(text, values) }) };
}

/** The options of pg-boss, which runs nothing by itself. `migrate`: it may change its schema. */
export function bossOptions(query: Query, migrate: boolean) {
  const db = bossDatabase(query);
  return { db, schema: QUEUE_SCHEMA, migrate, createSchema: migrate, supervise: false, schedule: false };
}

/** Starts pg-boss, which works only with its own version of the schema. */
export async function startBoss(boss: Boss): Promise<void> {
  try {
    await boss.start();
  } catch (error) {
    if (!/^pg-boss (is not installed|database requires)/.test(messageOf(error))) throw error;
    throw new InputError(
      'store/queue',
      'The queue of the store is missing, or of another version of pg-boss.',
      {
        hint: 'The owner of the database brings it up to date with: signalbox fleet init. If it is newer, install the version that the others of the fleet use.',
      },
    );
  }
}

/** A job that is not ended after this time is delivered again. */
const EXPIRE_SECONDS = 60;
const KEPT_SECONDS = 3_600;
export const JOB_OPTIONS = {
  retryLimit: 5,
  expireInSeconds: EXPIRE_SECONDS,
  retentionSeconds: 24 * KEPT_SECONDS,
  deleteAfterSeconds: KEPT_SECONDS,
};

interface QueueOptions {
  load(): Promise<BossModule>;
  /** A connection of its own. */
  session(): DatabaseConnection;
}

/** The queue that carries orders to workers, one for each. Started when it is first needed: most commands never do. */
export class Queue {
  readonly #options: QueueOptions;
  #session: DatabaseConnection | undefined;
  #boss: Promise<Boss> | undefined;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  async close(): Promise<void> {
    const boss = await this.#boss?.catch(() => undefined);
    await boss?.stop({ graceful: false, close: false });
    await this.#session?.close();
  }

  /** What could not be started is tried again by the next call. */
  started(): Promise<Boss> {
    this.#boss ??= this.#start().catch((error: unknown) => {
      this.#boss = undefined;
      throw error;
    });
    return this.#boss;
  }

  async #start(): Promise<Boss> {
    const { PgBoss } = await this.#options.load();
    this.#session ??= this.#options.session();
    const session = this.#session;
    const boss = new PgBoss(bossOptions((text, values) => session.query(text, values), false));
    // Every call reports its own errors.
    boss.on('error', () => undefined);
    boss.on('warning', () => undefined);
    await startBoss(boss);
    return boss;
  }
}
