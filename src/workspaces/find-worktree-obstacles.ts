import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Context, Repository } from '../git/context-and-locks.ts';
import { checkedOutAt, type Found, inspect } from '../git/inspect-worktrees.ts';
import { checkBranch } from '../git/refs.ts';
import { isInside } from '../machine/paths-and-user-home.ts';
import { orError, WorkspaceError } from '../model/errors.ts';
import { refuseConflictingName, refuseTrunk } from './delete-branches-and-protect-trunk.ts';
import { resolveBase } from './resolve-base.ts';
import { canonical, realDirectory, warmRoot } from './resolve-symlinks-make-and-remove-directories.ts';
import { type Owner, readOwner, readOwnerAt, refuseOther } from './workspace-owner.ts';
import type { WorkspaceSpec } from './workspace-spec.ts';

export interface Obstacle {
  field: 'branch' | 'worktree' | 'worktreeRoot' | 'base';
  message: string;
  hint: string | undefined;
}

/** Finds what would keep a ticket's worktree from being created, without creating it. */
export async function findObstacles(context: Context, given: WorkspaceSpec): Promise<Obstacle[]> {
  if (given.inPlace) return [];
  const repo = await context.repo(given.repo);
  const spec = { ...given, path: canonical(given.path), worktreeRoot: realDirectory(given.worktreeRoot) };
  const found: Obstacle[] = [];
  const attempt = async (field: Obstacle['field'], check: () => unknown) => {
    const error = await orError(WorkspaceError, check);
    if (!(error instanceof WorkspaceError)) return;
    const shown = error.details.field === 'worktreeRoot' ? 'worktreeRoot' : field;
    found.push({ field: shown, message: error.message, hint: error.hint });
  };
  await attempt('branch', async () => {
    checkBranch(spec.branch);
    await refuseTrunk(repo, spec);
    await refuseConflictingName(repo, spec.branch);
  });
  await attempt('base', () => resolveBase(repo, spec.base, { fetch: false }));
  await attempt('worktree', async () => {
    await refuseInside(repo, spec.path, spec.worktreeRoot);
    await checkPath(context, spec, repo.commonDir);
  });
  if (found.some(({ field }) => field === 'branch')) return found;
  const entry = await checkedOutAt(repo, spec.branch);
  if (
    entry &&
    existsSync(entry.path) &&
    entry.path !== spec.path &&
    !isOwnedBy(readOwnerAt(entry.path), spec)
  )
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
  if (owner && !owner.left && owner.state !== 'slot' && !isOwnedBy(owner, spec)) refuseOther(owner, spec);
  if (owner?.state !== 'slot' && worktree.head.branch !== undefined && worktree.head.branch !== spec.branch)
    throw pathTaken(spec.path, `a worktree on branch ${worktree.head.branch}`);
}

function isOwnedBy(recorded: Owner | undefined, { owner, takesOver = [] }: WorkspaceSpec): boolean {
  if (recorded === undefined) return false;
  return recorded.state === 'slot' || recorded.owner === owner || takesOver.includes(recorded.owner);
}

/** Refuses a path inside a checkout of the repository, its git directory, another ticket's worktree or the warm worktrees. */
export async function refuseInside(repo: Repository, path: string, worktreeRoot: string): Promise<void> {
  refuseBelowFile(path, worktreeRoot);
  const around = checkoutsAround(path);
  const located = await Promise.all(around.map((checkout) => repo.git.locate(checkout)));
  const inside =
    isInside(path, repo.workTree) ||
    isInside(path, repo.commonDir) ||
    located.some((at) => at?.commonDir === repo.commonDir);
  for (const checkout of inside ? [] : around) {
    const owner = readOwnerAt(checkout);
    if (owner) throw pathTaken(path, `${checkout}, the worktree of ${owner.owner}`);
  }
  if (inside)
    throw new WorkspaceError(
      'workspace/inside-checkout',
      `The worktree path ${path} is inside a checkout of its own repository.`,
      {
        hint: 'Set `worktreeRoot` of the plan or `worktree` of the ticket to a place outside it.',
        details: { path, repo: repo.workTree },
      },
    );
  if (isInside(path, warmRoot(worktreeRoot)))
    throw new WorkspaceError(
      'workspace/inside-slots',
      `The worktree path ${path} is reserved for reused worktrees.`,
      { hint: 'Set `worktree` of the ticket to another place.', details: { path } },
    );
}

/** Refuses a path below something that is not a directory. */
function refuseBelowFile(path: string, worktreeRoot: string): void {
  let above = dirname(path);
  while (!existsSync(above)) above = dirname(above);
  if (statSync(above).isDirectory()) return;
  const field = isInside(worktreeRoot, above) && isInside(path, worktreeRoot) ? 'worktreeRoot' : 'worktree';
  const whose = field === 'worktreeRoot' ? 'the plan or the settings' : 'the ticket';
  throw new WorkspaceError(
    'workspace/below-file',
    `Cannot create the worktree ${path}: ${above} is not a directory.`,
    {
      hint: `Move ${above} away, or set \`${field}\` of ${whose} to another place.`,
      details: { path, above, field },
    },
  );
}

/** The directories above a path that have a `.git`. */
function checkoutsAround(path: string): string[] {
  const found: string[] = [];
  for (let at = dirname(path); ; at = dirname(at)) {
    if (existsSync(join(at, '.git'))) found.push(at);
    if (dirname(at) === at) return found;
  }
}

const PATH_CONTENT: Record<Exclude<Found['kind'], 'absent'>, string> = {
  worktree: 'another worktree',
  empty: 'an empty directory',
  file: 'a file',
  symlink: 'a symbolic link',
  directory: 'a directory with other content',
  checkout: 'another git repository',
};

/** It was not there when the path was chosen. */
export const MADE_MEANWHILE =
  'If the ticket sets no path itself, try again: another one is chosen. Else set its `worktree` to another place.';

export function pathTaken(path: string, what: Found['kind'] | string, hint?: string): WorkspaceError {
  const content = what in PATH_CONTENT ? PATH_CONTENT[what as keyof typeof PATH_CONTENT] : what;
  return new WorkspaceError('workspace/path-taken', `The worktree path ${path} is taken by ${content}.`, {
    hint:
      hint ?? 'Move it away, or set `worktree` of the ticket or the setting `worktreeRoot` to another place.',
    details: { path, what: content },
  });
}
