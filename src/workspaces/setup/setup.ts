import type { Context } from '../../git/context.ts';
import { type GitLocation, realOf } from '../../git/location.ts';
import { statOf } from '../../machine/files/regular.ts';
import { isAlive, ownIdentity } from '../../machine/processes.ts';
import { WorkspaceError } from '../../model/errors.ts';
import { type Owner, readOwnerAt, writeOwner } from '../owner.ts';
import { canonical } from '../paths.ts';
import type { WorkspaceSpec } from '../spec.ts';
import { copyUntracked } from './copy.ts';
import { endHooks, runHooks, runInstall } from './hooks.ts';
import { dueInstall, install, lockfileOf } from './install.ts';

/** What makes a checkout usable: copied files, then the user's own commands, or what the project's lock file says. */
export async function setUp(
  context: Context,
  repo: GitLocation,
  spec: WorkspaceSpec,
  { worktree, owner }: { worktree: GitLocation; owner: Owner },
): Promise<string[]> {
  const fresh = await copyUntracked(context.git, repo, { patterns: spec.copy, to: worktree.workTree });
  const copied = { ...owner.copied, ...fresh.files };
  const due = await dueFor(context, spec, worktree, true);
  if (spec.copy.length > 0 || spec.hooks.length > 0 || due) {
    writeOwner(worktree.gitDir, { ...owner, state: 'setup', copied, by: ownIdentity() });
    const options = { cwd: worktree.workTree, env: context.env, signal: spec.signal };
    await runHooks(spec.hooks, options);
    if (due) await install(worktree, due, (command) => runInstall(command, options));
  }
  writeOwner(worktree.gitDir, { ...owner, state: 'ready', copied, by: undefined });
  const unlocked = spec.install && !due ? noLock(repo, worktree, spec.install.packageManager) : [];
  return [...fresh.notes, ...unlocked];
}

/** Brings the packages of a worktree that is ready to what its lock file says by now. */
export async function refreshSetup(
  context: Context,
  spec: WorkspaceSpec,
  { worktree, owner }: { worktree: GitLocation; owner: Owner | undefined },
): Promise<void> {
  // A worktree that was there before us has what its maker gave it.
  const due = owner?.created && (await dueFor(context, spec, worktree, false));
  if (!owner || !due) return;
  writeOwner(worktree.gitDir, { ...owner, state: 'setup', by: ownIdentity() });
  const options = { cwd: worktree.workTree, env: context.env, signal: spec.signal };
  await install(worktree, due, (command) => runInstall(command, options));
  writeOwner(worktree.gitDir, { ...owner, state: 'ready', by: undefined });
}

async function dueFor({ git }: Context, spec: WorkspaceSpec, worktree: GitLocation, fresh: boolean) {
  if (!spec.install) return undefined;
  return dueInstall(git, worktree, { wanted: spec.install.packageManager, fresh });
}

/** Told, because checks that need the packages will fail. */
function noLock(repo: GitLocation, worktree: GitLocation, wanted: string | null): string[] {
  if (lockfileOf(worktree.workTree, wanted) !== undefined) return [];
  const lockfile = lockfileOf(repo.workTree, wanted);
  if (lockfile === undefined) return [];
  const way = `commit it to the base branch, or name it in the setting "copy"`;
  return [`Nothing was installed: ${lockfile} is in your checkout alone. To have it installed, ${way}.`];
}

/** Ends setup commands that an engine which is gone left running: they are over before new ones, or an agent, begin. */
export async function endSetup(path: string): Promise<void> {
  const workTree = canonical(path);
  const owner = readOwnerAt(workTree);
  if (owner?.state !== 'setup') return;
  const { by } = owner;
  if (by && by.pid !== process.pid && isAlive(by))
    throw new WorkspaceError('workspace/busy', `Process ${by.pid} is setting up ${path}.`, {
      hint: 'Wait until it is done, then retry the ticket.',
      details: { path, pid: by.pid },
    });
  await endHooks(realOf(workTree) ?? workTree);
}

/** False when nothing is there, or while making it is not finished: then `ensure` has something to do. */
export function isReady(path: string): boolean {
  return statOf(path) !== undefined && (readOwnerAt(path)?.state ?? 'ready') === 'ready';
}
