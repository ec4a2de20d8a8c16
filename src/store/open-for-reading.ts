import type { StoreAddress } from '../config/find-config-and-state.ts';
import type { Env } from '../machine/paths-and-user-home.ts';
import { FileStore } from './file-store.ts';
import { SchemasNeeded } from './parse-and-cache-state-files.ts';
import type { Store, StoreView } from './store-interface.ts';

/** Where the shared state is: in files, unless there is the address of a database. */
export interface StorePlace {
  stateDir: string;
  address?: StoreAddress | undefined;
  env: Env;
  cwd: string;
  /** How long a process that does not renew its claims is believed to be alive. */
  leaseMs?: number | undefined;
  /** Recorded in a database with what the command changes. */
  command?: string | undefined;
}

/**
 * Opens the shared state for a command that only shows it. The schemas take longer to load than a thousand plain tickets take
 * to read, so they are loaded only when something is not plain.
 */
export async function openForReading<T = StoreView>(
  { stateDir, address, env, cwd, leaseMs, command }: StorePlace,
  read: (store: Store) => T,
): Promise<{ store: Store; view: T }> {
  if (address) {
    const { openPostgres } = await import('./postgres/open-postgres.ts');
    const store = await openPostgres({ address, env, cwd, stateDir, leaseMs, command });
    return { store, view: read(store) };
  }
  const store = new FileStore(stateDir, { once: true });
  try {
    return { store, view: read(store) };
  } catch (error) {
    if (!(error instanceof SchemasNeeded)) throw error;
    await loadSchemas();
    return { store, view: read(store) };
  }
}

/** For a command that continues to read: what is written later may not be plain. */
export async function loadSchemas(): Promise<void> {
  await import('./open-file-store-with-schemas.ts');
}
