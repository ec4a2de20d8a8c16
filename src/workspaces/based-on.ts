import type { Context } from '../git/context.ts';
import { branchRef, isOid, readRef } from '../git/refs.ts';
import type { Repo } from '../git/repository.ts';
import { inspect } from '../git/worktrees.ts';
import { WorkspaceError } from '../model/errors.ts';
import { type Base, contains, resolveBase } from './base.ts';
import { readOwner } from './owner.ts';
import { checkBranch } from './place.ts';

export interface BasedOnSpec {
  repo: string;
  branch: string;
  /** Where the branch's worktree would be. */
  path: string;
  base: string;
  /** What the branch started from, where that is known. */
  recorded: string | null;
}

/** How a branch stands to a base: there is none yet, it began there, or somewhere else (`from`, where that is known). */
export type BasedOn = { branch: 'none' | 'same' } | { branch: 'other'; from: string | null };

/** Throws a WorkspaceError when neither the repository nor its origin has the base. */
export async function basedOn(context: Context, spec: BasedOnSpec): Promise<BasedOn> {
  const repo = await context.repo(spec.repo);
  const base = await checkBase(context, repo, spec.base);
  const tip = await readRef(context.git, repo, branchRef(spec.branch));
  if (!tip) return { branch: 'none' };
  const from = recordedAt(spec.path) ?? spec.recorded;
  const same =
    from === null ? await contains(context, repo, tip, base.commit) : short(from) === short(base.ref);
  return same ? { branch: 'same' } : { branch: 'other', from: from && short(from) };
}

/** The base as it is now; throws when it is nowhere. */
export async function checkBase(context: Context, repo: Repo, base: string): Promise<Base> {
  checkBranch(base, 'base branch');
  await checkCommit(context, repo, base);
  return resolveBase(context, repo, base, { fetch: true });
}

/** A commit is taken by its name alone elsewhere. */
async function checkCommit(context: Context, repo: Repo, base: string): Promise<void> {
  if (!isOid(base)) return;
  const { code } = await context.git(['cat-file', '-e', `${base}^{commit}`], { at: repo, ok: [0, 1, 128] });
  if (code !== 0)
    throw new WorkspaceError('workspace/base-missing', `There is no commit ${base} in ${repo.workTree}.`);
}

function recordedAt(path: string): string | null {
  const found = inspect(path);
  return found.kind === 'worktree' ? (readOwner(found.worktree.adminDir)?.base?.ref ?? null) : null;
}

const short = (ref: string) => ref.replace(/^origin\//, '');
