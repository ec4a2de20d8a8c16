import { userInfo } from 'node:os';
import type { StoreAddress } from '../../config/find-config-and-state.ts';
import { packageDir } from '../../config/find-config-and-state.ts';
import { ifPossible } from '../../machine/files/read-and-remove-files.ts';
import type { Env } from '../../machine/paths-and-user-home.ts';
import type { InputError } from '../../model/errors.ts';
// Gives the store its schemas.
import '../open-file-store-with-schemas.ts';
import type { StoreOptions } from '../store-interface.ts';
import { connectionParameters } from './connection-parameters.ts';
import { findPeer, loadPeer, type PgModule } from './load-optional-packages.ts';
import type { BossModule } from './pg-boss-queue.ts';
import { PgStore } from './pg-store.ts';

export interface PostgresPlace {
  address: StoreAddress;
  env: Env;
  cwd: string;
  /** Where the optional packages are searched for. Default: beside Signalbox. */
  packages?: string;
  /** How long a process that does not renew its claims is believed to be alive. Default: a minute. */
  leaseMs?: number | undefined;
  /** Where the jobs of this process are. */
  stateDir?: string | undefined;
  /** The command that a person gives, for the record; undefined: this process drives tickets or schedules. */
  command?: string | undefined;
}

/** Loads what is needed to talk to the database of an address. */
export async function reachPostgres({ address, env, cwd, packages = packageDir() }: PostgresPlace) {
  const parameters = connectionParameters(address, { env, cwd });
  const pgFile = findPeer('pg', packages);
  if (typeof pgFile !== 'string') throw pgFile;
  return { pg: await loadPeer<PgModule>('pg', packages), pgFile, parameters };
}

/** Who gives a command, for the record. */
export function personIn(env: Env): string | null {
  return env.USER ?? env.LOGNAME ?? ifPossible(() => userInfo().username) ?? null;
}

/** Packages that are missing or untested. Only workers and the daemon need both. */
export function peerProblems(packages = packageDir()): InputError[] {
  return (['pg', 'pg-boss'] as const).flatMap((name) => {
    const found = findPeer(name, packages);
    return typeof found === 'string' ? [] : [found];
  });
}

/** The shared state of a fleet, not yet connected: that is done by the first `refresh`, without which there is nothing to read. */
export async function postgresStore(place: PostgresPlace): Promise<(options: StoreOptions) => PgStore> {
  const reached = await reachPostgres(place);
  const { env, leaseMs, stateDir: state, command, packages = packageDir() } = place;
  const loadQueue = () => loadPeer<BossModule>('pg-boss', packages);
  const person = personIn(env);
  return (options) => new PgStore({ ...options, ...reached, loadQueue, leaseMs, state, person, command });
}

/** Opens the shared state of a fleet. */
export async function openPostgres({
  kinds,
  persist,
  ...place
}: PostgresPlace & StoreOptions): Promise<PgStore> {
  const make = await postgresStore(place);
  const store = make({ ...(kinds ? { kinds } : {}), ...(persist ? { persist } : {}) });
  await store.refresh();
  return store;
}
