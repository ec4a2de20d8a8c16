import './schemas.ts';
import { FileStore } from './file-store.ts';
import type { Store, StoreOptions } from './port.ts';

/** Opens the shared state. */
export function openStore(stateDir: string, options: StoreOptions = {}): Store {
  return new FileStore(stateDir, options);
}
