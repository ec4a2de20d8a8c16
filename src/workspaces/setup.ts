import { WorkspaceError } from '../model/errors.ts';
import { isAlive, ownIdentity } from '../store/identity.ts';
import { inspect, type Worktree } from './admin.ts';
import type { Context } from './context.ts';
import { copyUntracked } from './copy.ts';
import { endHooks, runHooks } from './hooks.ts';
import { type Owner, readOwner, writeOwner } from './owner.ts';
import { canonical } from './place.ts';
import type { Repo } from './repo.ts';
import type { WorkspaceSpec } from './spec.ts';

/** What makes a checkout usable: copied files, then the user's own commands. */
export async function setUp(
  context: Context,
  repo: Repo,
  spec: WorkspaceSpec,
  { worktree, owner }: { worktree: Worktree; owner: Owner },
): Promise<void> {
  let copied = owner.copied;
  if (spec.copy.length > 0 || spec.hooks.length > 0) {
    const fresh = await copyUntracked(context.git, repo, { patterns: spec.copy, to: worktree.path });
    copied = { ...copied, ...fresh };
    writeOwner(worktree.adminDir, { ...owner, state: 'setup', copied, by: ownIdentity() });
    await runHooks(spec.hooks, { cwd: worktree.path, env: context.env, signal: spec.signal });
  }
  writeOwner(worktree.adminDir, { ...owner, state: 'ready', copied, by: undefined });
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
  const found = inspect(path);
  const state = found.kind === 'worktree' ? readOwner(found.worktree.adminDir)?.state : undefined;
  return found.kind !== 'absent' && (state ?? 'ready') === 'ready';
}
