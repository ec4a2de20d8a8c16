import { existsSync, lstatSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Git } from '../../git/git.ts';
import { readText } from '../../git/refs.ts';
import type { Worktree } from '../../git/worktrees.ts';
import { INSTALLED } from '../warm/pristine.ts';
import { type FrozenInstall, frozenInstall } from './install.ts';

/**
 * The install that a worktree needs now, if any. What was installed last is kept in git's directory for the worktree, so
 * that it goes with a slot. `fresh`: what was installed may have been cleaned away since.
 */
export async function dueInstall(
  git: Git,
  worktree: Worktree,
  { wanted, fresh }: { wanted: string | null; fresh: boolean },
): Promise<FrozenInstall | undefined> {
  const install = frozenInstall(worktree.path, wanted);
  if (!install) return undefined;
  const packages = lstatSync(join(worktree.path, 'node_modules'), { throwIfNoEntry: false });
  const before = readText(join(worktree.adminDir, INSTALLED));
  if (before === install.stamp) return fresh && !packages ? install : undefined;
  // Packages that are a link to somebody else's, or committed, are not ours to replace.
  if (packages?.isSymbolicLink() || (packages && before === undefined && (await isCommitted(git, worktree))))
    return undefined;
  return install;
}

/** Runs an install; one that does not end well counts as none. */
export async function install(
  { adminDir }: Worktree,
  { command, stamp }: FrozenInstall,
  run: (command: string) => Promise<void>,
): Promise<void> {
  const path = join(adminDir, INSTALLED);
  if (existsSync(path)) rmSync(path);
  await run(command);
  writeFileSync(path, `${stamp}\n`, { mode: 0o600 });
}

async function isCommitted(git: Git, { at }: Worktree): Promise<boolean> {
  return (await git(['ls-files', '-z', '--', ':(top,literal)node_modules'], { at })).stdout !== '';
}
