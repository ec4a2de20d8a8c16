import { FileStore } from './file-store.ts';
import { SchemasNeeded } from './state-reader.ts';
import type { Store, StoreView } from './store-interface.ts';

/**
 * Opens the shared state for a command that only shows it. The schemas take longer to load than a thousand plain tickets take
 * to read, so they are loaded only when something is not plain.
 */
export async function openForReading<T = StoreView>(
  stateDir: string,
  read: (store: Store) => T,
): Promise<{ store: Store; view: T }> {
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
  await import('./open-store.ts');
}
