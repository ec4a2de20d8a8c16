import { type Found, inspect, type Worktree } from '../git/worktrees.ts';
import { WorkspaceError } from '../model/errors.ts';
import { shellQuote } from '../model/text/shell-quote.ts';
import { isFinished } from './setup/setup.ts';
import { openTree } from './tree.ts';

export interface VerifySpec {
  repo: string;
  path: string;
  branch: string;
  /** The repository's own checkout is meant. */
  inPlace?: boolean | undefined;
}

/** The directory is the worktree of that repository on that branch, or an error says what it is instead. */
export function verifyWorkspace(spec: VerifySpec, commonDir: string | undefined): void {
  verifyFound(spec, commonDir, inspect(spec.path));
}

/** The same for one that is ready; false when it is not. */
export function verifyReady(spec: VerifySpec, commonDir: string | undefined): boolean {
  const found = inspect(spec.path);
  if (!isFinished(found)) return false;
  verifyFound(spec, commonDir, found);
  return true;
}

function verifyFound(spec: VerifySpec, commonDir: string | undefined, found: Found): void {
  const worktree =
    found.kind === 'worktree' ? found.worktree : spec.inPlace === true ? openTree(spec.path) : undefined;
  const problem =
    worktree === undefined
      ? found.kind === 'absent'
        ? 'it does not exist'
        : 'it is not a git worktree'
      : worktree.commonDir !== commonDir
        ? `it is a worktree of ${worktree.commonDir}`
        : worktree.registeredAt !== worktree.path
          ? `git has it registered at ${worktree.registeredAt}`
          : worktree.head.branch !== spec.branch
            ? `it is on ${worktree.head.branch ? `branch ${worktree.head.branch}` : 'no branch'}`
            : undefined;
  if (problem === undefined) return;
  throw new WorkspaceError(
    'workspace/unexpected',
    `${spec.path} is not the worktree of branch ${spec.branch}: ${problem}.`,
    {
      hint: `${wayBack(spec, worktree)}, then retry the ticket.`,
      details: { path: spec.path, branch: spec.branch },
    },
  );
}

/** Git itself says how to keep commits that would be on no branch then. */
function wayBack({ path, branch }: VerifySpec, worktree: Worktree | undefined): string {
  const strayed = worktree !== undefined && worktree.registeredAt === path && worktree.head.branch !== branch;
  if (!strayed) return 'Put it right by hand or remove it';
  return `Look at what is there and put it back with: git -C ${shellQuote(path)} switch ${shellQuote(branch)}`;
}
