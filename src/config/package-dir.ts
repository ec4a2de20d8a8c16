import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where the package lies, from the source tree and from the built one. */
export function packageDir(): string {
  let dir = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(dir, 'workflows')) && dir !== dirname(dir)) dir = dirname(dir);
  return dir;
}
