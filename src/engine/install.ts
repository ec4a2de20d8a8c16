import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** By lockfile: installs exactly what it says, or fails; nothing where the packages are there already. */
const INSTALLS: Record<string, string> = {
  'package-lock.json': 'npm ci --no-audit --no-fund',
  'pnpm-lock.yaml': 'pnpm install --frozen-lockfile',
  'yarn.lock': 'yarn install --frozen-lockfile',
  'bun.lock': 'bun install --frozen-lockfile',
  'bun.lockb': 'bun install --frozen-lockfile',
};

/** How to install a project's dependencies in a new worktree, or undefined when it has none to install. */
export function frozenInstall(repo: string): string | undefined {
  const lockfile = Object.keys(INSTALLS).find((name) => existsSync(join(repo, name)));
  return lockfile && `[ -d node_modules ] || ${INSTALLS[lockfile]}`;
}
