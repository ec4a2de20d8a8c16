import { packageDir } from '../../config/find-config-and-state.ts';
import { shownAddress } from './connection-parameters.ts';
import { DatabaseConnection, inTransaction } from './database-connection.ts';
import { loadPeer } from './load-optional-packages.ts';
import { type PostgresPlace, personIn, reachPostgres } from './open-postgres.ts';
import { type Boss, type BossModule, bossOptions, startBoss } from './pg-boss-queue.ts';
import { CHANNEL, LOCKS, migrate, QUEUE_SCHEMA, SCHEMA } from './schema.ts';
import { commandRecords } from './store-context-and-command-records.ts';

/** SQL for each of the three roles. */
export type Grants = Record<'worker' | 'person' | 'viewer', string[]>;

/** What a person writes: plans and what belongs to them. Output and sessions are the workers'. */
const BY_PEOPLE = ['plans', 'tickets', 'records', 'holders', 'roles', 'workers'];
const BY_WORKERS = [...BY_PEOPLE, 'output', 'sessions'];
/** Rows of what has happened are only added, and deleted with their plan. */
const ONLY_ADDED = ['events', 'notices', 'pins', 'commands'];
/** Of these, the database itself says when a row was added, and by which of its users. */
const ADDED_COLUMNS: Readonly<Record<string, string>> = {
  events: ' (plan_id, key, doc, person, machine)',
  commands: ' (person, machine, command, about)',
};
/** What workers need of pg-boss. It has statements in another table, which the owner would carry out. */
const QUEUE_TABLES = ['queue', 'job', 'job_common', 'job_dependency'];
/** When pg-boss did something last. The version itself is the owner's. */
const STAMPS = 'cron_on, bam_on, flow_on, reindex_on, monitor_backoff_on';

/** The statements that the owner of the database runs, once for each role. Only the owner may change a schema. */
export function grants(): Grants {
  const role = (name: string, ...more: string[]) => {
    const to = `${CHANNEL}_${name}`;
    return [
      `create role ${to} nologin;`,
      `grant usage on schema ${SCHEMA} to ${to};`,
      `grant select on all tables in schema ${SCHEMA} to ${to};`,
      ...more.map((each) => each.replace('$role', to)),
    ];
  };
  const named = (tables: readonly string[], schema = SCHEMA) =>
    tables.map((table) => `${schema}.${table}`).join(', ');
  const write = (tables: readonly string[]) => [
    `grant insert, update, delete on ${named(tables)} to $role;`,
    ...ONLY_ADDED.map((table) => `grant insert${ADDED_COLUMNS[table] ?? ''} on ${SCHEMA}.${table} to $role;`),
  ];
  return {
    worker: role(
      'worker',
      ...write(BY_WORKERS),
      `grant usage on schema ${QUEUE_SCHEMA} to $role;`,
      `grant select on all tables in schema ${QUEUE_SCHEMA} to $role;`,
      // Earlier versions granted more.
      `revoke insert, update, delete on all tables in schema ${QUEUE_SCHEMA} from $role;`,
      `grant insert, update, delete on ${named(QUEUE_TABLES, QUEUE_SCHEMA)} to $role;`,
      `grant update (${STAMPS}) on ${QUEUE_SCHEMA}.version to $role;`,
      `grant usage, select on all sequences in schema ${QUEUE_SCHEMA} to $role;`,
    ),
    person: role('person', ...write(BY_PEOPLE)),
    viewer: role('viewer'),
  };
}

/** A schema before and after; 0: there was none. */
interface Versions {
  from: number;
  to: number;
}

export interface FleetMade {
  /** The address without a password. */
  store: string;
  schema: Versions;
  queue: Versions;
  grants: Grants;
}

/** Makes both schemas, or brings them up to date. Two at once wait for each other. */
export async function initFleet(place: PostgresPlace): Promise<FleetMade> {
  const { packages = packageDir() } = place;
  const [{ pg, parameters }, { PgBoss }] = await Promise.all([
    reachPostgres(place),
    loadPeer<BossModule>('pg-boss', packages),
  ]);
  const own = new DatabaseConnection({ pg, parameters, name: 'signalbox init' });
  const queued = new DatabaseConnection({ pg, parameters, name: 'signalbox queue' });
  const lock = [LOCKS.class, LOCKS.schema];
  try {
    return await own.exclusively(async (query) => {
      // Held by the connection, so that it is free again whatever happens.
      await query('select pg_advisory_lock($1, $2)', lock);
      const schema = await inTransaction(query, () => migrate(query));
      const version = async () => {
        const [found] = await query<{ name: string | null }>(
          `select to_regclass('${QUEUE_SCHEMA}.version')::text as name`,
        );
        if (!found?.name) return 0;
        const [row] = await query<{ version: number }>(`select version from ${QUEUE_SCHEMA}.version`);
        return row?.version ?? 0;
      };
      const from = await version();
      // The second one refuses a newer schema, which the first one leaves as it is.
      for (const migrates of [true, false])
        await startOnce(new PgBoss(bossOptions((text, values) => queued.query(text, values), migrates)));
      const queue = { from, to: await version() };
      await commandRecords(personIn(place.env), undefined).add(query, 'fleet init', `schema ${schema.to}`);
      return { store: shownAddress(parameters), schema, queue, grants: grants() };
    });
  } finally {
    await Promise.all([own.close(), queued.close()]);
  }
}

async function startOnce(boss: Boss): Promise<void> {
  let failed: unknown;
  boss.on('error', (error) => {
    failed ??= error;
  });
  try {
    await startBoss(boss);
  } finally {
    await boss.stop({ graceful: false, close: false });
  }
  if (failed) throw failed;
}
