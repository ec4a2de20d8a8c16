import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where the package is, from the source tree and from the built one. `src/` has a `workflows` too, `dist/` a package.json. */
export function packageDir(): string {
  let dir = dirname(fileURLToPath(import.meta.url));
  const isPackage = () => ['workflows', 'package.json'].every((name) => existsSync(join(dir, name)));
  while (!isPackage() && dir !== dirname(dir)) dir = dirname(dir);
  return dir;
}
