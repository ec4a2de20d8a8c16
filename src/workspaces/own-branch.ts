import type { Context } from '../git/context.ts';
import { trustedAccess } from '../git/fetch.ts';
import { branchRef, readRef } from '../git/refs.ts';
import type { Repo } from '../git/repository.ts';
import { originTrunk } from '../git/trunk.ts';
import { readHead } from '../git/worktrees.ts';
import { WorkspaceError } from '../model/errors.ts';
import { namesAbove, ownBranchProblem, type Trunks } from '../model/own-branch.ts';

interface Wish {
  branch: string;
  /** The plan's base. */
  base?: string | null;
  recordedBase?: { ref: string; commit: string } | null;
}

/** Refuses work on the branch that it would be merged into. */
export async function refuseTrunk(context: Context, repo: Repo, wish: Wish): Promise<void> {
  const base = wish.base ?? null;
  const trunk = (await originTrunk(context, repo)).name ?? null;
  // Without both, new work starts from the current branch.
  const start = base ?? (trunk || wish.recordedBase ? null : (readHead(repo.gitDir).branch ?? null));
  refuse(wish.branch, { base: start, trunk });
}

/** Refuses to push to the base or to what origin says is its default branch at this moment. */
export async function refusePushToTrunk(
  context: Context,
  repo: Repo,
  wish: Wish & { url: string },
): Promise<void> {
  const base = wish.base ?? null;
  refuse(wish.branch, { base, trunk: (await originTrunk(context, repo)).name ?? null });
  const { entries, env } = await trustedAccess(context, repo);
  const args = ['ls-remote', '--quiet', '--symref', '--upload-pack=git-upload-pack', '--', wish.url, 'HEAD'];
  const { stdout } = await context.git(args, { at: repo, config: entries, env });
  const [, there = null] = /^ref: refs\/heads\/(\S+)\tHEAD$/m.exec(stdout) ?? [];
  refuse(wish.branch, { base, trunk: there });
}

/** Refuses a name that git cannot have beside a branch that is there already. */
export async function refuseBeside(context: Context, repo: Repo, branch: string): Promise<void> {
  for (const name of namesAbove(branch))
    if (await readRef(context.git, repo, branchRef(name))) throw besides(branch, name);
  const { stdout } = await context.git(
    ['for-each-ref', '--count=1', '--format=%(refname)', `${branchRef(branch)}/`],
    { at: repo },
  );
  const below = stdout.trim();
  if (below !== '') throw besides(branch, below.slice(branchRef('').length));
}

function refuse(branch: string, trunks: Trunks): void {
  const problem = ownBranchProblem(branch, trunks);
  if (!problem) return;
  throw new WorkspaceError('workspace/branch-is-base', `The branch ${branch} ${problem}.`, {
    hint: 'Give the ticket a `branch` of its own, or its plan another base; of an issue, name another --base.',
    details: { branch, ...trunks },
  });
}

function besides(branch: string, other: string): WorkspaceError {
  return new WorkspaceError(
    'workspace/branch-name',
    `The branch ${branch} cannot be there together with the branch ${other}.`,
    { hint: 'Give the ticket another `branch`.', details: { branch, other } },
  );
}
