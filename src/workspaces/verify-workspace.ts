import type { Context } from '../git/context-and-locks.ts';
import { confirm, describe, find, isConfirmed, type Worktree } from '../git/inspect-worktrees.ts';
import { ignoring, WorkspaceError } from '../model/errors.ts';
import { shellQuote } from '../model/text/quote-values-for-shell.ts';
import { openTree } from './add-remove-repair-worktree.ts';
import { isReady } from './setup/set-up-worktree.ts';
import type { TreeSpec } from './workspace-spec.ts';

export interface VerifySpec extends TreeSpec {
  /** The repository's own checkout is meant. */
  inPlace?: boolean | undefined;
}

/** Throws unless the directory is the repository's worktree on that branch. The error says what it is instead. */
export async function verifyWorkspace(context: Context, spec: VerifySpec): Promise<void> {
  const found = await find(context.git, spec.path);
  const commonDir = (await ignoring(WorkspaceError, () => context.repo(spec.repo)))?.commonDir;
  const isSameRepository = !('kind' in found) && found.commonDir === commonDir;
  const { git } = context;
  if (isSameRepository && (isConfirmed(git, found, spec.branch) || (await confirm(git, found, spec.branch))))
    return;
  const worktree = !('kind' in found)
    ? await describe(context.git, found)
    : spec.inPlace
      ? await openTree(context.git, spec.path)
      : undefined;
  const problem =
    worktree === undefined
      ? 'kind' in found && found.kind === 'absent'
        ? 'it does not exist'
        : 'it is not a git worktree'
      : problemOf(worktree, spec, commonDir);
  if (problem === undefined) return;
  throw new WorkspaceError(
    'workspace/unexpected',
    `${spec.path} is not the worktree of branch ${spec.branch}: ${problem}.`,
    {
      hint: `${switchBackHint(spec, worktree)}, then retry the ticket.`,
      details: { path: spec.path, branch: spec.branch },
    },
  );
}

function problemOf(worktree: Worktree, { branch }: VerifySpec, commonDir: string | undefined) {
  const { registeredAt, head } = worktree;
  if (worktree.commonDir !== commonDir) return `it is a worktree of ${worktree.commonDir}`;
  if (registeredAt !== worktree.workTree)
    return `git has it registered at ${registeredAt ?? 'another place'}`;
  if (head.branch === branch) return undefined;
  return `it is on ${head.branch ? `branch ${head.branch}` : 'no branch'}`;
}

/** The same for a ready worktree; false if it is not ready. */
export async function verifyReady(context: Context, spec: VerifySpec): Promise<boolean> {
  if (!isReady(spec.path)) return false;
  await verifyWorkspace(context, spec);
  return true;
}

/** The hint with the command that switches back. Git itself explains how to keep commits that would be on no branch. */
function switchBackHint({ path, branch }: VerifySpec, worktree: Worktree | undefined): string {
  const strayed = worktree !== undefined && worktree.registeredAt === path && worktree.head.branch !== branch;
  if (!strayed) return 'Fix it by hand or remove it';
  return `Look at what is there and put it back with: git -C ${shellQuote(path)} switch ${shellQuote(branch)}`;
}
