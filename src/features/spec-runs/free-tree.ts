import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { EngineContext } from '../../engine/context.ts';
import { worktreeRootOf } from '../../engine/ticket-defaults.ts';
import { WorkspaceError } from '../../model/errors.ts';
import { type BranchInput, treeOf } from './previous-run.ts';

export interface FreeTree {
  /** As a ticket keeps it: null is the usual place. */
  worktree: string | null;
  /** What the person should know. */
  notes: string[];
}

/** The place of a spec's tree. A neighbour whose spec has the same name may have it: then another one is taken. */
export async function freeTree(parts: EngineContext, input: BranchInput, branch: string): Promise<FreeTree> {
  const { before, root } = input;
  const named = treeOf(parts, input, branch);
  const worktreeRoot = before?.plan.worktreeRoot ?? null;
  const usual = named ?? join(worktreeRootOf({ worktreeRoot }, parts.settings, root), branch);
  const known = before?.plan.workspace === 'checkout' ? null : before?.tickets.find(hasTree)?.worktree;
  const first = known ?? usual;
  const { commonDir } = await parts.workspaces.checkRepo(root);
  for (let number = 1; ; number += 1) {
    const path = number === 1 ? first : `${first}-${number}`;
    if (!(await isForeign(parts, path, commonDir))) {
      const note = `The worktree is ${path}: ${first} is taken by something else.`;
      return { worktree: path === usual ? named : path, notes: path === first ? [] : [note] };
    }
  }
}

function hasTree({ worktree }: { worktree: string | null }): boolean {
  return worktree !== null;
}

/** Whether something is there that is not of this repository. */
async function isForeign({ workspaces }: EngineContext, path: string, commonDir: string): Promise<boolean> {
  if (!existsSync(path)) return false;
  try {
    if (readdirSync(path).length === 0) return false;
    return (await workspaces.checkRepo(path)).commonDir !== commonDir;
  } catch (error) {
    if (error instanceof WorkspaceError || (error as NodeJS.ErrnoException).code === 'ENOTDIR') return true;
    throw error;
  }
}
