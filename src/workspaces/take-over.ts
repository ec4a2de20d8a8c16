import { lockRepo } from '../git/context.ts';
import type { Repo } from '../git/repository.ts';
import type { Worktree } from '../git/worktrees.ts';
import { WorkspaceError } from '../model/errors.ts';
import { type Owner, readOwner, writeOwner } from './owner.ts';
import type { WorkspaceSpec } from './spec.ts';

/** A worktree is used by one ticket at a time. */
export function refuseOther({ owner }: Owner, spec: WorkspaceSpec): void {
  if (owner === spec.owner) return;
  throw new WorkspaceError('workspace/owned', `The worktree ${spec.path} belongs to ${owner}.`, {
    hint: 'Give one of the two tickets another `worktree` and `branch`. If the other is gone: signalbox clean',
    details: { path: spec.path, owner },
  });
}

/** A ticket that goes on with an earlier one's work, or with what was left, owns its worktree from now on. */
export async function takenOver(
  repo: Repo,
  { adminDir }: Worktree,
  owner: Owner,
  spec: WorkspaceSpec,
): Promise<Owner> {
  if (!isFree(owner, spec)) return owner;
  // Of several who find one that was left, the first has it.
  return lockRepo(repo, () => {
    const latest = readOwner(adminDir) ?? owner;
    if (!isFree(latest, spec)) return latest;
    const mine = { ...latest, owner: spec.owner, left: undefined };
    writeOwner(adminDir, mine);
    return mine;
  });
}

function isFree({ owner, state, left }: Owner, { takesOver = [] }: WorkspaceSpec): boolean {
  return state !== 'slot' && (left === true || takesOver.includes(owner));
}

/** Notes who has a worktree that had no owner, unless somebody else was quicker. */
export function own(repo: Repo, { adminDir }: Worktree, owner: Owner, spec: WorkspaceSpec): Promise<void> {
  return lockRepo(repo, () => {
    const other = readOwner(adminDir);
    if (other) refuseOther(other, spec);
    writeOwner(adminDir, owner);
  });
}
