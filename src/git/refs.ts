import { WorkspaceError } from '../model/errors.ts';
import { branchProblem } from '../model/ids-and-branch-names.ts';
import type { GitLocation } from './locate-git-directories.ts';
import type { Git } from './run-git.ts';

/** A checkout, with the git that reads it. */
type Place = GitLocation & { git: Git };

const OID = /^[0-9a-f]{40}([0-9a-f]{24})?$/;

export function isOid(text: string): boolean {
  return OID.test(text);
}

export const branchRef = (name: string) => `refs/heads/${name}`;
export const originRef = (name: string) => `refs/remotes/origin/${name}`;

/** The commit of a full ref name, or undefined when there is no such ref. */
export async function readRef(repo: Place, ref: string): Promise<string | undefined> {
  return (await readRefs(repo, [ref])).get(ref);
}

/** The commit of a branch; throws when there is no such branch. */
export async function requireTip(repo: Place, branch: string): Promise<string> {
  const tip = await readRef(repo, branchRef(branch));
  if (tip) return tip;
  throw new WorkspaceError(
    'workspace/branch-missing',
    `The branch ${branch} does not exist in ${repo.workTree}.`,
  );
}

/** Names that `git cat-file` would take for an abbreviated commit where there is no such ref. */
const LIKE_DESCRIBED = /-g[0-9a-f]+$/;

/** The commits of full ref names; those that do not exist are left out. */
export async function readRefs(repo: Place, refs: readonly string[]): Promise<Map<string, string>> {
  if (refs.length === 0) return new Map();
  const resolved = refs.some((ref) => LIKE_DESCRIBED.test(ref))
    ? undefined
    : await repo.git.resolve(repo, refs);
  if (!resolved) return listRefs(repo, refs);
  return new Map(resolved.flatMap((oid, index) => (oid ? [[refs[index] ?? '', oid] as const] : [])));
}

async function listRefs(repo: Place, refs: readonly string[]): Promise<Map<string, string>> {
  const args = ['for-each-ref', '--format=%(objectname) %(refname)', ...refs];
  const { stdout } = await repo.git(args, { at: repo });
  const found = new Map<string, string>();
  for (const line of stdout.split('\n')) {
    const space = line.indexOf(' ');
    // A name also matches the refs below it.
    if (refs.includes(line.slice(space + 1))) found.set(line.slice(space + 1), line.slice(0, space));
  }
  return found;
}

/** The ref a symbolic ref names, or undefined. */
export async function readSymref(repo: Place, ref: string): Promise<string | undefined> {
  const { stdout } = await repo.git(['symbolic-ref', '--quiet', ref], { at: repo, ok: [0, 1, 128] });
  return stdout.trim() || undefined;
}

export function checkBranch(branch: string, what = 'branch'): void {
  const problem = branchProblem(branch);
  if (problem)
    throw new WorkspaceError(
      'workspace/branch-name',
      `The ${what} ${JSON.stringify(branch.slice(0, 60))} ${problem}.`,
      { hint: 'Choose a name that git accepts, such as feature/12-short-title.', details: { branch } },
    );
}
