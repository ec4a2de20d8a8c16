import type { Context } from '../../git/context.ts';
import type { Repo } from '../../git/repository.ts';
import { type Found, inspect, type Worktree } from '../../git/worktrees.ts';
import { isAlive, ownIdentity } from '../../machine/process-identity.ts';
import { WorkspaceError } from '../../model/errors.ts';
import { type Owner, readOwner, writeOwner } from '../owner.ts';
import { canonical } from '../place.ts';
import type { WorkspaceSpec } from '../spec.ts';
import { copyUntracked } from './copy.ts';
import { endHooks, runHooks, runInstall } from './hooks.ts';
import { lockfileOf } from './install.ts';
import { dueInstall, install } from './installed.ts';

/** What makes a checkout usable: copied files, then the user's own commands, or what the project's lock file says. */
export async function setUp(
  context: Context,
  repo: Repo,
  spec: WorkspaceSpec,
  { worktree, owner }: { worktree: Worktree; owner: Owner },
): Promise<string[]> {
  const fresh = await copyUntracked(context.git, repo, { patterns: spec.copy, to: worktree.path });
  const copied = { ...owner.copied, ...fresh.files };
  const due = await dueFor(context, spec, worktree, true);
  if (spec.copy.length > 0 || spec.hooks.length > 0 || due) {
    writeOwner(worktree.adminDir, { ...owner, state: 'setup', copied, by: ownIdentity() });
    const options = { cwd: worktree.path, env: context.env, signal: spec.signal };
    await runHooks(spec.hooks, options);
    if (due) await install(worktree, due, (command) => runInstall(command, options));
  }
  writeOwner(worktree.adminDir, { ...owner, state: 'ready', copied, by: undefined });
  const unlocked = spec.install && !due ? noLock(repo, worktree, spec.install.packageManager) : [];
  return [...fresh.notes, ...unlocked];
}

/** Brings the packages of a worktree that is ready to what its lock file says by now. */
export async function refreshSetup(
  context: Context,
  spec: WorkspaceSpec,
  { worktree, owner }: { worktree: Worktree; owner: Owner | undefined },
): Promise<void> {
  // A worktree that was there before us has what its maker gave it.
  const due = owner?.created && (await dueFor(context, spec, worktree, false));
  if (!owner || !due) return;
  writeOwner(worktree.adminDir, { ...owner, state: 'setup', by: ownIdentity() });
  const options = { cwd: worktree.path, env: context.env, signal: spec.signal };
  await install(worktree, due, (command) => runInstall(command, options));
  writeOwner(worktree.adminDir, { ...owner, state: 'ready', by: undefined });
}

async function dueFor({ git }: Context, spec: WorkspaceSpec, worktree: Worktree, fresh: boolean) {
  if (!spec.install) return undefined;
  return dueInstall(git, worktree, { wanted: spec.install.packageManager, fresh });
}

/** Told, because checks that need the packages will fail. */
function noLock(repo: Repo, worktree: Worktree, wanted: string | null): string[] {
  if (lockfileOf(worktree.path, wanted) !== undefined) return [];
  const lockfile = lockfileOf(repo.workTree, wanted);
  if (lockfile === undefined) return [];
  const way = `commit it to the base branch, or name it in the setting "copy"`;
  return [`Nothing was installed: ${lockfile} is in your checkout alone. To have it installed, ${way}.`];
}

/** Setup commands outlive an engine that was killed: they are over before new ones, or an agent, begin. */
export async function endSetup(path: string): Promise<void> {
  const found = inspect(canonical(path));
  const owner = found.kind === 'worktree' ? readOwner(found.worktree.adminDir) : undefined;
  if (found.kind !== 'worktree' || owner?.state !== 'setup') return;
  const { by } = owner;
  if (by && by.pid !== process.pid && isAlive(by))
    throw new WorkspaceError('workspace/busy', `Process ${by.pid} is setting up ${path}.`, {
      hint: 'Wait until it is done, then retry the ticket.',
      details: { path, pid: by.pid },
    });
  await endHooks(found.worktree.path);
}

/** False when nothing is there, or while making it is not finished. */
export function isReady(path: string): boolean {
  return isFinished(inspect(path));
}

export function isFinished(found: Found): boolean {
  const state = found.kind === 'worktree' ? readOwner(found.worktree.adminDir)?.state : undefined;
  return found.kind !== 'absent' && (state ?? 'ready') === 'ready';
}
