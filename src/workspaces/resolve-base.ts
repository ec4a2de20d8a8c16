import type { Repository } from '../git/context-and-locks.ts';
import { fetchBranch, originTrunk, recordTrunk } from '../git/fetch-and-find-trunk.ts';
import { contains } from '../git/history.ts';
import { readHead } from '../git/inspect-worktrees.ts';
import { branchRef, checkBranch, isOid, originRef, readRef, readRefs } from '../git/refs.ts';
import { WorkspaceError } from '../model/errors.ts';
import { integrationBranch } from '../model/ids-and-branch-names.ts';
import { readOwnerAt } from './workspace-owner.ts';
import type { BranchSpec, TreeSpec } from './workspace-spec.ts';

/** What work starts from. `ref` is recorded (`main`, `origin/main`); `name` is the branch that work is merged into. */
export interface Base {
  ref: string;
  name: string | undefined;
  commit: string;
  /** Where the branch of that name is here. */
  local?: string | undefined;
  /** Where its integration branch is. */
  integrated?: string | undefined;
  notes: string[];
}

interface Fetching {
  fetch: boolean;
}

/** Resolves the plan's base, else origin's default branch, else the current branch. */
export async function resolveBase(repo: Repository, wanted: string | null, options: Fetching): Promise<Base> {
  if (wanted !== null) return namedBase(repo, wanted, options);
  const { name, note } = await originTrunk(repo, { ask: options.fetch });
  const notes = note ? [note] : [];
  const base = name === undefined ? undefined : await remoteBase(repo, name, options);
  if (base?.name && options.fetch) await recordTrunk(repo, base.name);
  const found = base ?? (await currentBase(repo));
  return { ...found, notes: [...notes, ...found.notes] };
}

async function namedBase(repo: Repository, wanted: string, options: Fetching): Promise<Base> {
  const here = `in ${repo.workTree}`;
  const missing = (message: string, way: string) =>
    new WorkspaceError('workspace/base-missing', message, {
      hint: `Correct \`base\` of the plan, or ${way}`,
      details: { base: wanted, repo: repo.workTree },
    });
  if (isOid(wanted)) {
    const asked = ['rev-parse', '--quiet', '--verify', `${wanted}^{commit}`];
    const { code, stdout } = await repo.git(asked, { at: repo, ok: [0, 1, 128] });
    if (code === 0) return { ref: wanted, name: undefined, commit: stdout.trim(), notes: [] };
    const fetch = `git -C ${repo.workTree} fetch origin ${wanted}`;
    throw missing(`The base ${wanted} is no commit ${here}.`, `fetch it: ${fetch}`);
  }
  const [local, integrated] = await branchesOf(repo, wanted);
  if (local) return { ref: wanted, name: wanted, commit: local, local, integrated, notes: [] };
  const remote = await remoteBase(repo, wanted.replace(/^origin\//, ''), options);
  if (remote) return remote;
  const create = `git -C ${repo.workTree} branch ${wanted}`;
  throw missing(`The base branch ${wanted} does not exist ${here}.`, `create it: ${create}`);
}

/** The base of recorded work, as far as it is known here; throws when it is a commit on no branch. */
export async function baseToMergeInto(
  repo: Repository,
  spec: Pick<BranchSpec, 'base' | 'recordedBase'>,
): Promise<Base & { name: string }> {
  const base = await resolveBase(repo, spec.recordedBase?.ref ?? spec.base, { fetch: false });
  const { name } = base;
  if (name !== undefined) return { ...base, name };
  throw new WorkspaceError(
    'workspace/no-base-branch',
    'The work started from a commit on no branch, so it has no base branch to merge into.',
    {
      hint: 'Check out the branch that should get it, then run git merge with the branch of the work.',
      details: { base: base.ref },
    },
  );
}

/** A branch, its integration branch, and as it was last seen on origin, in one call. */
async function branchesOf(repo: Repository, name: string) {
  const refs = [branchRef(name), branchRef(integrationBranch(name)), originRef(name)];
  const found = await readRefs(repo, refs);
  return refs.map((ref) => found.get(ref));
}

async function remoteBase(repo: Repository, name: string, options: Fetching): Promise<Base | undefined> {
  const note = options.fetch ? await fetchBranch(repo, name) : undefined;
  const [local, integrated, commit] = await branchesOf(repo, name);
  if (!commit) return undefined;
  return { ref: `origin/${name}`, name, commit, local, integrated, notes: note ? [note] : [] };
}

async function currentBase(repo: Repository): Promise<Base> {
  const { branch: name, commit } = await readHead(repo.git, repo);
  if (commit === undefined)
    throw new WorkspaceError('workspace/no-commit', `The checkout ${repo.workTree} is on no commit.`);
  if (name === undefined) return { ref: commit, name, commit, notes: [] };
  const [, integrated] = await branchesOf(repo, name);
  return { ref: name, name, commit, local: commit, integrated, notes: [] };
}

/** The commit new work starts from: what was integrated so far where that contains the base, else the base. */
export async function startingPoint(repo: Repository, base: Base): Promise<string> {
  const { integrated, commit } = base;
  return integrated && (await contains(repo, integrated, commit)) ? integrated : commit;
}

/** `path` is where the branch's worktree would be. */
export interface BasedOnSpec extends TreeSpec {
  base: string;
  /** What the branch started from, where that is known. */
  recorded: string | null;
}

/** How a branch relates to a base: there is none yet, it began there, or somewhere else (`from`, where that is known). */
export type BasedOn = { branch: 'none' | 'same' } | { branch: 'other'; from: string | null };

/** Whether a branch, if there is one, began at this base; throws when neither the repository nor its origin has the base. */
export async function basedOn(repo: Repository, spec: BasedOnSpec): Promise<BasedOn> {
  const base = await checkBase(repo, spec);
  const tip = await readRef(repo, branchRef(spec.branch));
  if (!tip) return { branch: 'none' };
  const from = readOwnerAt(spec.path)?.base?.ref ?? spec.recorded;
  const same = from === null ? await contains(repo, tip, base.commit) : short(from) === short(base.ref);
  return same ? { branch: 'same' } : { branch: 'other', from: from && short(from) };
}

/** The base as it is now; throws when neither the repository nor its origin has it. */
export async function checkBase(repo: Repository, spec: { repo: string; base: string }): Promise<Base> {
  checkBranch(spec.base, 'base branch');
  return resolveBase(repo, spec.base, { fetch: true });
}

const short = (ref: string) => ref.replace(/^origin\//, '');
