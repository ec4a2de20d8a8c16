import { existsSync } from 'node:fs';
import type { Context } from '../git/context-and-locks.ts';
import { checkedOutAt, inspect } from '../git/inspect-worktrees.ts';
import { checkBranch } from '../git/refs.ts';
import { WorkspaceError } from '../model/errors.ts';
import { refuseBeside, refuseTrunk } from './branches.ts';
import { refuseInside } from './open-add-repair-worktree.ts';
import { resolveBase } from './resolve-base.ts';
import { type Owner, readOwner, readOwnerAt, refuseOther } from './workspace-owner.ts';
import type { WorkspaceSpec } from './workspace-spec.ts';
import { canonical, pathTaken, realDirectory } from './worktree-paths.ts';

export interface Obstacle {
  field: 'branch' | 'worktree' | 'worktreeRoot' | 'base';
  message: string;
  hint: string | undefined;
}

/** What would keep a ticket's worktree from being made, as far as one can see without making it. */
export async function findObstacles(context: Context, given: WorkspaceSpec): Promise<Obstacle[]> {
  if (given.inPlace) return [];
  const repo = await context.repo(given.repo);
  const spec = { ...given, path: canonical(given.path), worktreeRoot: realDirectory(given.worktreeRoot) };
  const found: Obstacle[] = [];
  const attempt = async (field: Obstacle['field'], look: () => unknown) => {
    try {
      await look();
    } catch (error) {
      if (!(error instanceof WorkspaceError)) throw error;
      const shown = error.details.field === 'worktreeRoot' ? 'worktreeRoot' : field;
      found.push({ field: shown, message: error.message, hint: error.hint });
    }
  };
  await attempt('branch', async () => {
    checkBranch(spec.branch);
    await refuseTrunk(context, repo, spec);
    await refuseBeside(context, repo, spec.branch);
  });
  await attempt('base', () => resolveBase(context, repo, spec.base, { fetch: false }));
  await attempt('worktree', async () => {
    await refuseInside(context.git, repo, spec.path, spec.worktreeRoot);
    await checkPath(context, spec, repo.commonDir);
  });
  if (found.some(({ field }) => field === 'branch')) return found;
  const entry = await checkedOutAt(context.git, repo, spec.branch);
  if (entry && existsSync(entry.path) && entry.path !== spec.path && !isOurs(readOwnerAt(entry.path), spec))
    found.push({
      field: 'branch',
      message: `The branch ${spec.branch} is checked out in ${entry.path}.`,
      hint:
        entry.path === repo.workTree
          ? 'Give the ticket a `branch` of its own.'
          : `Free it with git -C ${entry.path} switch --detach, or give the ticket another branch.`,
    });
  return found;
}

async function checkPath(context: Context, spec: WorkspaceSpec, commonDir: string): Promise<void> {
  const found = await inspect(context.git, spec.path, spec.branch);
  if (found.kind === 'absent' || found.kind === 'empty') return;
  if (found.kind !== 'worktree') throw pathTaken(spec.path, found.kind);
  const { worktree } = found;
  if (worktree.commonDir !== commonDir) throw pathTaken(spec.path, 'a worktree of another repository');
  const owner = readOwner(worktree.gitDir);
  if (owner && !owner.left && owner.state !== 'slot' && !isOurs(owner, spec)) refuseOther(owner, spec);
  if (owner?.state !== 'slot' && worktree.head.branch !== undefined && worktree.head.branch !== spec.branch)
    throw pathTaken(spec.path, `a worktree on branch ${worktree.head.branch}`);
}

function isOurs(recorded: Owner | undefined, { owner, takesOver = [] }: WorkspaceSpec): boolean {
  if (recorded === undefined) return false;
  return recorded.state === 'slot' || recorded.owner === owner || takesOver.includes(recorded.owner);
}
