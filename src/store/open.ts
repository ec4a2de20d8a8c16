import './schemas.ts';
import { FileStore } from './file-store.ts';
import type { Store } from './port.ts';

/** Opens the shared state. `once`: everything is read once or so, and remembering it would cost more than it saves. */
export function openStore(stateDir: string, options: { once?: boolean } = {}): Store {
  return new FileStore(stateDir, options);
}
