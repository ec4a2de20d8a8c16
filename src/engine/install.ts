import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { detectManifest } from '../config/manifest.ts';

/** By lockfile: who installs exactly what it says, or fails. */
const INSTALLS: readonly { lockfile: string; manager: string; command: string }[] = [
  { lockfile: 'package-lock.json', manager: 'npm', command: 'npm ci --no-audit --no-fund' },
  { lockfile: 'pnpm-lock.yaml', manager: 'pnpm', command: 'pnpm install --frozen-lockfile' },
  { lockfile: 'yarn.lock', manager: 'yarn', command: 'yarn install --frozen-lockfile' },
  { lockfile: 'bun.lock', manager: 'bun', command: 'bun install --frozen-lockfile' },
  { lockfile: 'bun.lockb', manager: 'bun', command: 'bun install --frozen-lockfile' },
];

/**
 * How to install a project's dependencies in a new worktree, or undefined when it has none to install; nothing happens
 * where the packages are there already.
 */
export function frozenInstall(repo: string, wanted: string | null = null): string | undefined {
  const install = installOf(repo, wanted);
  return install && `[ -d node_modules ] || ${install.command}`;
}

/** Who runs the project's scripts: whoever installs what they need. */
export function scriptRunner(dir: string): string {
  return installOf(dir, null)?.manager ?? detectManifest(dir).packageManager ?? 'npm';
}

/** Of several lockfiles that of the wanted manager counts, else that of the one the project is for. */
function installOf(dir: string, wanted: string | null): (typeof INSTALLS)[number] | undefined {
  const there = INSTALLS.filter(({ lockfile }) => existsSync(join(dir, lockfile)));
  const by = (name: string | null) => there.find(({ manager }) => manager === name);
  return by(wanted) ?? by(there.length > 1 ? detectManifest(dir).packageManager : null) ?? there[0];
}
