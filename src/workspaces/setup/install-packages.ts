import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { detectManifest } from '../../config/read-or-detect-project-manifest.ts';
import type { GitLocation } from '../../git/locate-git-directories.ts';
import type { Git } from '../../git/run-git.ts';
import { readRegularText } from '../../machine/files/read-and-remove-files.ts';

/** A file beside a worktree's index with the lock file that its packages were installed from. */
const INSTALLED = 'signalbox-installed';

/** The command for each lockfile that installs exactly what it lists, or fails. */
export const INSTALLS: readonly { lockfile: string; manager: string; command: string }[] = [
  // If both exist, npm uses the first.
  { lockfile: 'npm-shrinkwrap.json', manager: 'npm', command: 'npm ci --no-audit --no-fund' },
  { lockfile: 'package-lock.json', manager: 'npm', command: 'npm ci --no-audit --no-fund' },
  { lockfile: 'pnpm-lock.yaml', manager: 'pnpm', command: 'pnpm install --frozen-lockfile' },
  { lockfile: 'yarn.lock', manager: 'yarn', command: 'yarn install --frozen-lockfile' },
  { lockfile: 'bun.lock', manager: 'bun', command: 'bun install --frozen-lockfile' },
  { lockfile: 'bun.lockb', manager: 'bun', command: 'bun install --frozen-lockfile' },
];

/** An install that follows the project's lock file; `stamp` changes with that file. */
interface FrozenInstall {
  command: string;
  stamp: string;
}

/** How to install a project's dependencies; undefined without a lock file. */
export function frozenInstall(dir: string, wanted: string | null = null): FrozenInstall | undefined {
  const install = installOf(dir, wanted);
  if (!install) return undefined;
  const { lockfile, manager } = install;
  const lock = readFileSync(join(dir, lockfile));
  // The lock file of Yarn 2 or later, which lack the option of Yarn 1, begins with a metadata block.
  const isBerry = manager === 'yarn' && /^__metadata:/m.test(lock.toString('utf8', 0, 1000));
  const command = isBerry ? 'yarn install --immutable' : install.command;
  return { command, stamp: createHash('sha256').update(`${command}\0`).update(lock).digest('hex') };
}

/** The name of the lock file in a directory, for a message if the worktree has none but the user's checkout has one. */
export function lockfileOf(dir: string, wanted: string | null): string | undefined {
  return installOf(dir, wanted)?.lockfile;
}

/** The package manager that installs is also the one that runs the project's scripts. */
export function scriptRunner(dir: string): string {
  return installOf(dir, null)?.manager ?? detectManifest(dir).packageManager ?? 'npm';
}

/** Chooses among several lockfiles: that of the wanted manager, else of the project's own. */
function installOf(dir: string, wanted: string | null): (typeof INSTALLS)[number] | undefined {
  const there = INSTALLS.filter(({ lockfile }) => existsSync(join(dir, lockfile)));
  const by = (name: string | null) => there.find(({ manager }) => manager === name);
  return by(wanted) ?? by(there.length > 1 ? detectManifest(dir).packageManager : null) ?? there[0];
}

/**
 * The install that a worktree needs now, if any. What was installed last is kept in git's directory for the worktree, so
 * that a warm worktree keeps it. `fresh`: what was installed may have been cleaned away since.
 */
export async function dueInstall(
  git: Git,
  worktree: GitLocation,
  { wanted, fresh }: { wanted: string | null; fresh: boolean },
): Promise<FrozenInstall | undefined> {
  const install = frozenInstall(worktree.workTree, wanted);
  if (!install) return undefined;
  const packages = lstatSync(join(worktree.workTree, 'node_modules'), { throwIfNoEntry: false });
  const before = readRegularText(join(worktree.gitDir, INSTALLED));
  if (before === install.stamp) return fresh && !packages ? install : undefined;
  // Packages that are linked from elsewhere, or committed, are not replaced.
  if (packages?.isSymbolicLink() || (packages && before === undefined && (await isCommitted(git, worktree))))
    return undefined;
  return install;
}

/** Runs an install. A failed one is not recorded. */
export async function install(
  { gitDir }: GitLocation,
  { command, stamp }: FrozenInstall,
  run: (command: string) => Promise<void>,
): Promise<void> {
  const path = join(gitDir, INSTALLED);
  if (existsSync(path)) rmSync(path);
  await run(command);
  writeFileSync(path, `${stamp}\n`, { mode: 0o600 });
}

async function isCommitted(git: Git, at: GitLocation): Promise<boolean> {
  return (await git(['ls-files', '-z', '--', ':(top,literal)node_modules'], { at })).stdout !== '';
}
