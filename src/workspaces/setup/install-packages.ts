import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { detectManifest } from '../../config/project-manifest.ts';
import type { GitLocation } from '../../git/location.ts';
import type { Git } from '../../git/run-git.ts';
import { readRegularText } from '../../machine/files/read-and-remove-files.ts';

/** Our file beside a worktree's index: which lock file its packages were installed from. */
const INSTALLED = 'signalbox-installed';

/** By lockfile: who installs exactly what it says, or fails. */
const INSTALLS: readonly { lockfile: string; manager: string; command: string }[] = [
  // Where there are both, npm takes the first.
  { lockfile: 'npm-shrinkwrap.json', manager: 'npm', command: 'npm ci --no-audit --no-fund' },
  { lockfile: 'package-lock.json', manager: 'npm', command: 'npm ci --no-audit --no-fund' },
  { lockfile: 'pnpm-lock.yaml', manager: 'pnpm', command: 'pnpm install --frozen-lockfile' },
  { lockfile: 'yarn.lock', manager: 'yarn', command: 'yarn install --frozen-lockfile' },
  { lockfile: 'bun.lock', manager: 'bun', command: 'bun install --frozen-lockfile' },
  { lockfile: 'bun.lockb', manager: 'bun', command: 'bun install --frozen-lockfile' },
];

/** A project's install that does what its lock file says; `stamp` differs when that file does. */
interface FrozenInstall {
  command: string;
  stamp: string;
}

/** How to install a project's dependencies, or undefined when nothing says exactly which they are. */
export function frozenInstall(dir: string, wanted: string | null = null): FrozenInstall | undefined {
  const install = installOf(dir, wanted);
  if (!install) return undefined;
  const { lockfile, manager } = install;
  const lock = readFileSync(join(dir, lockfile));
  const command = manager === 'yarn' && isBerry(lock) ? 'yarn install --immutable' : install.command;
  return { command, stamp: createHash('sha256').update(`${command}\0`).update(lock).digest('hex') };
}

/** Yarn 2 and later, which know the option of Yarn 1 no more, begin their lock files with a block about them. */
function isBerry(lock: Buffer): boolean {
  return /^__metadata:/m.test(lock.toString('utf8', 0, 1000));
}

/** Named where a worktree has none: the lock file that the user's checkout has all the same. */
export function lockfileOf(dir: string, wanted: string | null): string | undefined {
  return installOf(dir, wanted)?.lockfile;
}

/** The package manager that installs is also the one that runs the project's scripts. */
export function scriptRunner(dir: string): string {
  return installOf(dir, null)?.manager ?? detectManifest(dir).packageManager ?? 'npm';
}

/** Of several lockfiles that of the wanted manager counts, else that of the one the project is for. */
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

/** Runs an install; one that does not end well counts as none. */
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
