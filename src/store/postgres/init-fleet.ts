import { packageDir } from '../../config/find-config-and-state.ts';
import { shownAddress } from './connection-parameters.ts';
import { DatabaseConnection, inTransaction } from './database-connection.ts';
import { type Grants, grants } from './grants.ts';
import { loadPeer } from './load-optional-packages.ts';
import { type PostgresPlace, personIn, reachPostgres } from './open-postgres.ts';
import { type Boss, type BossModule, bossOptions, startBoss } from './pg-boss-queue.ts';
import { LOCKS, migrate, QUEUE_SCHEMA } from './schema.ts';
import { commandRecords } from './store-context-and-command-records.ts';

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
