import type { Repository } from '../git/context-and-locks.ts';
import { trustedAccess } from '../git/fetch-and-find-trunk.ts';
import { isAncestor } from '../git/history.ts';
import type { GitLocation } from '../git/locate-git-directories.ts';
import { branchRef, checkBranch, requireTip } from '../git/refs.ts';
import { GitError } from '../git/run-git.ts';
import type { ProgramResult } from '../machine/run-process.ts';
import { orError, WorkspaceError } from '../model/errors.ts';
import { refusePushToTrunk } from './delete-branches-and-protect-trunk.ts';

export interface PushSpec {
  repo: string;
  branch: string;
  /** The plan's base; never pushed to. */
  base?: string | null;
  /** The commit that origin is known to have had. If origin's branch has lost it, the push is refused. */
  known?: string | null;
  /** The branch that it started from, if origin must have that one, too. */
  from?: string | null;
  /** Whether to create it again if it was deleted on origin; without `known`, always. */
  again?: boolean;
}

export interface Pushed {
  /** The commit that the branch has here and on origin. */
  commit: string;
  /** False when origin had it already. */
  pushed: boolean;
}

/** Overrides the repository's config, so that only this branch is pushed. */
export const PUSH = [
  'push',
  '--porcelain',
  '--no-verify',
  '--no-follow-tags',
  '--no-signed',
  '--recurse-submodules=no',
  '--receive-pack=git-receive-pack',
];
export const PLAIN_PUSH = [
  ['remote.origin.mirror', 'false'],
  ['push.pushOption', ''],
] as const;

/** Brings a branch to origin, never by force, and checks there that it arrived. */
export async function pushBranch(repo: Repository, spec: PushSpec): Promise<Pushed> {
  checkBranch(spec.branch);
  const commit = await requireTip(repo, spec.branch);
  const url = await pushUrl(repo);
  const access = await trustedAccess(repo);
  const before = await asPushError(spec, repo, async () => {
    await refusePushToTrunk(repo, { ...spec, url });
    const { branch, from = null } = spec;
    const branches = [branch, ...(from === null ? [] : [from])];
    const tips = await remoteTips(repo, branches);
    if (from !== null && !tips.has(from)) throw missingStartError(spec, from);
    return tips.get(branch);
  });
  if (before === commit) return { commit, pushed: false };
  await refuseLoss(repo, spec, { commit, before });
  // Pushes the commit by its id, so that a branch that moves meanwhile does not matter. The lease refuses the push if origin's
  // branch has moved; that the push only adds commits was checked above.
  const ref = branchRef(spec.branch);
  const lease = `--force-with-lease=${ref}:${before ?? ''}`;
  const result = await repo.git([...PUSH, lease, 'origin', `${commit}:${ref}`], {
    at: repo,
    write: true,
    ok: [0, 1, 128],
    config: [...access.entries, ...PLAIN_PUSH],
    env: access.env,
  });
  if (result.code !== 0) throw refused(spec, repo, result);
  const there = (await remoteTips(repo, [spec.branch])).get(spec.branch);
  if (there === commit) return { commit, pushed: true };
  throw new WorkspaceError(
    'workspace/push-unverified',
    `origin took the push of ${spec.branch} but has ${there?.slice(0, 10) ?? 'no such branch'} instead of ${commit.slice(0, 10)}.`,
    {
      hint: 'It may have been pushed to or deleted at the same moment; try again.',
      details: { branch: spec.branch, commit, there: there ?? null },
    },
  );
}

/** Refuses the push: origin lacks the branch that this one started from, so the push would publish the user's own commits. */
function missingStartError({ branch, repo }: PushSpec, from: string): WorkspaceError {
  return new WorkspaceError(
    'workspace/base-not-pushed',
    `${branch} started from ${from}, which origin does not have: nothing was pushed.`,
    {
      hint: `Push that first: git -C ${repo} push origin ${from}. Or give the plan another base.`,
      details: { branch, base: from },
    },
  );
}

/** Reports an error of `ask`, a question to origin, as a failed push. */
async function asPushError<T>(spec: PushSpec, repo: GitLocation, ask: () => Promise<T>): Promise<T> {
  const answer = await orError(GitError, ask);
  if (!(answer instanceof GitError)) return answer;
  throw refused(spec, repo, { code: 128, stdout: '', stderr: answer.stderr || answer.message });
}

/** Refuses a push that would take commits away from origin, or bring back what was removed there. */
async function refuseLoss(
  repo: Repository,
  { branch, known = null, again = false }: PushSpec,
  { commit, before }: { commit: string; before: string | undefined },
): Promise<void> {
  if (before === undefined) {
    if (known === null || again) return;
    throw new WorkspaceError('workspace/push-deleted', `The branch ${branch} was deleted on origin.`, {
      hint: 'Push it again only if it is still wanted.',
      details: { branch, known },
    });
  }
  if (!(await isAncestor(repo, before, commit))) throw rejected(branch, repo, { before });
  if (known === null || before === known || (await isAncestor(repo, known, before))) return;
  throw new WorkspaceError(
    'workspace/push-rejected',
    `Commits were removed from ${branch} on origin, and a push would bring them back.`,
    {
      hint: `See what is there: git -C ${repo.workTree} fetch origin ${branch}`,
      details: { branch, known, there: before },
    },
  );
}

/** The commits that branches have on origin; those that are not there are left out. */
export async function remoteTips(
  repo: Repository,
  branches: readonly string[],
): Promise<Map<string, string>> {
  const found = await remoteRefs(repo, branches.map(branchRef));
  return new Map([...found].map(([ref, commit]) => [ref.slice(branchRef('').length), commit]));
}

/** The same for full names of refs. */
export async function remoteRefs(repo: Repository, refs: readonly string[]): Promise<Map<string, string>> {
  const url = await pushUrl(repo);
  const { entries: config, env } = await trustedAccess(repo);
  const args = ['ls-remote', '--quiet', '--upload-pack=git-upload-pack', '--', url];
  const { stdout } = await repo.git([...args, ...refs], { at: repo, config, env });
  const tips = new Map<string, string>();
  for (const line of stdout.split('\n')) {
    const [commit = '', ref = ''] = line.split('\t');
    // A pattern also matches the end of longer names.
    if (refs.includes(ref)) tips.set(ref, commit);
  }
  return tips;
}

/** Where `git push origin` goes; throws when there is no origin. */
export async function pushUrl(repo: Repository): Promise<string> {
  const asked = ['remote', 'get-url', '--push', 'origin'];
  const { code, stdout } = await repo.git(asked, { at: repo, ok: [0, 2, 128] });
  if (code === 0) return stdout.trim();
  throw new WorkspaceError(
    'workspace/no-remote',
    `The repository ${repo.workTree} has no remote called origin, so there is nowhere to push to.`,
    { hint: `Add it: git -C ${repo.workTree} remote add origin <address>`, details: { repo: repo.workTree } },
  );
}

function refused(
  { branch }: PushSpec,
  repo: GitLocation,
  { code, stdout, stderr }: ProgramResult,
): WorkspaceError {
  const [, summary] = /^!\t[^\t]*\t(.*)$/m.exec(stdout) ?? [];
  const details = { branch, code, stderr: stderr.slice(-4000) };
  if (summary !== undefined && /\((non-fast-forward|fetch first|stale info)\)/.test(summary))
    return rejected(branch, repo, details);
  const reason = [summary, serverMessage(stderr)].filter(Boolean).join(': ') || lastLine(stderr);
  return new WorkspaceError(
    'workspace/push',
    `${branch} could not be pushed to origin: ${reason || `exit code ${code}`}`,
    { hint: `Try it by hand to see more: git -C ${repo.workTree} push origin ${branch}`, details },
  );
}

function rejected(branch: string, repo: GitLocation, details: Record<string, unknown>): WorkspaceError {
  return new WorkspaceError(
    'workspace/push-rejected',
    `origin refused ${branch}: it has commits there that are not here, and nothing is ever pushed by force.`,
    {
      hint: `Bring them in first: git -C ${repo.workTree} fetch origin ${branch}, then merge FETCH_HEAD in the ticket's worktree.`,
      details: { branch, ...details },
    },
  );
}

/** The messages of the server's hooks and rules. */
function serverMessage(stderr: string): string {
  const lines = stderr.split('\n').flatMap((line) => /^remote: (.*\S)/.exec(line)?.[1] ?? []);
  return lines.join(' ').slice(0, 400);
}

function lastLine(stderr: string): string {
  const lines = stderr.trim().split('\n');
  return lines.find((line) => /^(fatal|ssh|error):/.test(line)) ?? lines.at(-1) ?? '';
}
