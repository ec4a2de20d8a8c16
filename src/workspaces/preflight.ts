import { existsSync } from 'node:fs';
import type { Context } from '../git/context.ts';
import { checkedOutAt, inspect } from '../git/worktrees.ts';
import { WorkspaceError } from '../model/errors.ts';
import { resolveBase } from './base.ts';
import { refuseBeside, refuseTrunk } from './own-branch.ts';
import { readOwner } from './owner.ts';
import { canonical, checkBranch, pathTaken, realDirectory, refuseInside } from './place.ts';
import type { WorkspaceSpec } from './spec.ts';

export interface Obstacle {
  field: 'branch' | 'worktree' | 'worktreeRoot' | 'base';
  message: string;
  hint: string | undefined;
}

/** What would keep a ticket's worktree from being made, as far as one can see without making it. */
export async function foresee(context: Context, given: WorkspaceSpec): Promise<Obstacle[]> {
  if (given.inPlace) return [];
  const repo = await context.repo(given.repo);
  const spec = { ...given, path: canonical(given.path), worktreeRoot: realDirectory(given.worktreeRoot) };
  const found: Obstacle[] = [];
  const attempt = async (field: Obstacle['field'], look: () => unknown) => {
    try {
      await look();
    } catch (error) {
      if (!(error instanceof WorkspaceError)) throw error;
      const told = error.details.field === 'worktreeRoot' ? 'worktreeRoot' : field;
      found.push({ field: told, message: error.message, hint: error.hint });
    }
  };
  await attempt('branch', async () => {
    checkBranch(spec.branch);
    await refuseTrunk(context, repo, spec);
    await refuseBeside(context, repo, spec.branch);
  });
  await attempt('base', () => resolveBase(context, repo, spec.base, { fetch: false }));
  await attempt('worktree', () => {
    refuseInside(repo, spec.path, spec.worktreeRoot);
    checkPath(spec, repo.commonDir);
  });
  if (found.some(({ field }) => field === 'branch')) return found;
  const entry = checkedOutAt(repo.commonDir, spec.branch);
  if (entry && existsSync(entry.path) && entry.path !== spec.path && !isOurs(entry.adminDir, spec))
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

function checkPath(spec: WorkspaceSpec, commonDir: string): void {
  const found = inspect(spec.path);
  if (found.kind === 'absent' || found.kind === 'empty') return;
  if (found.kind !== 'worktree') throw pathTaken(spec.path, found.kind);
  const { worktree } = found;
  if (worktree.commonDir !== commonDir) throw pathTaken(spec.path, 'a worktree of another repository');
  const owner = readOwner(worktree.adminDir);
  if (owner && !owner.left && owner.state !== 'slot' && !isOurs(worktree.adminDir, spec))
    throw pathTaken(spec.path, `the worktree of ${owner.owner}`);
  if (owner?.state !== 'slot' && worktree.head.branch !== undefined && worktree.head.branch !== spec.branch)
    throw pathTaken(spec.path, `a worktree on branch ${worktree.head.branch}`);
}

function isOurs(adminDir: string, { owner, takesOver = [] }: WorkspaceSpec): boolean {
  const recorded = readOwner(adminDir);
  if (recorded === undefined) return false;
  return recorded.state === 'slot' || recorded.owner === owner || takesOver.includes(recorded.owner);
}
