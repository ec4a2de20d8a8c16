import type { Context } from '../git/context.ts';
import { GitError } from '../git/git.ts';
import { mergeBase, treeOf } from '../git/history.ts';
import type { GitLocation } from '../git/location.ts';
import { branchRef, originRef, readRefs } from '../git/refs.ts';
import { integrationBranch } from '../model/own-branch.ts';

/** So many commits of the base are compared with a branch's changes as a whole. */
const FURTHEST = 200;
/** More names do not fit into a command line. */
const MOST_FILES = 2000;

/**
 * Where a branch's changes are although its commits are not, as after a squash or a rebase: the name of the base, here or on
 * origin, or of its integration branch. Null where nothing shows that.
 */
export async function takenIn(
  context: Context,
  repo: GitLocation,
  { base, branch }: { base: string; branch: string },
): Promise<string | null> {
  const integrated = integrationBranch(base);
  const places = [
    [base, branchRef(base)],
    [`origin/${base}`, originRef(base)],
    [integrated, branchRef(integrated)],
  ] as const;
  const refs = await readRefs(context.git, repo, [branchRef(branch), ...places.map(([, ref]) => ref)]);
  const tip = refs.get(branchRef(branch));
  if (!tip) return null;
  const seen = new Set<string>();
  for (const [name, ref] of places) {
    const commit = refs.get(ref);
    if (!commit || seen.has(commit)) continue;
    seen.add(commit);
    if (await hasChanges(context, repo, commit, tip)) return name;
  }
  return null;
}

async function hasChanges(context: Context, repo: GitLocation, base: string, tip: string): Promise<boolean> {
  const start = await mergeBase(context, repo, base, tip);
  if (start === undefined || start === base) return false;
  const changes = await changesOf(context, repo, { start, base, tip });
  // Most often nobody has touched these files meanwhile.
  if (changes.since === '') return false;
  return (
    (await addsNothing(context, repo, base, tip)) ||
    (await isPicked(context, repo, base, tip)) ||
    (await isSquashed(context, repo, changes))
  );
}

interface Changes {
  /** The branch's own, as one patch; undefined where a patch does not show what is in a file. */
  whole: string | undefined;
  /** Patches of the base's commits since then, as far as the same files go; null where they are too many. */
  since: string | null;
}

async function changesOf(
  context: Context,
  repo: GitLocation,
  { start, base, tip }: { start: string; base: string; tip: string },
): Promise<Changes> {
  const stat = ['diff', '--numstat', '--no-renames', '-z', start, tip, '--'];
  const changed = (await context.git(stat, { at: repo })).stdout.split('\0').filter((line) => line !== '');
  const files = changed.map((line) => line.split('\t').slice(2).join('\t'));
  const form = ['--no-renames', '--no-ext-diff', '--no-textconv', '--no-color', '--full-index'];
  const options = { at: repo, env: { GIT_LITERAL_PATHSPECS: '1' } };
  const log = ['log', '--patch', '--no-merges', `--max-count=${FURTHEST}`, '--format=commit %H', ...form];
  const binary = files.length === 0 || changed.some((line) => line.startsWith('-\t-\t'));
  try {
    if (files.length > MOST_FILES) return { whole: undefined, since: null };
    const { stdout: since } = await context.git([...log, `${start}..${base}`, '--', ...files], options);
    if (since === '' || binary) return { whole: undefined, since };
    const whole = await context.git(['diff', ...form, start, tip, '--', ...files], options);
    return { whole: whole.stdout, since };
  } catch (error) {
    // More than can be read: the other ways to tell are left.
    if (error instanceof GitError) return { whole: undefined, since: null };
    throw error;
  }
}

/** Merging it would leave the base as it is. */
async function addsNothing(context: Context, repo: GitLocation, base: string, tip: string): Promise<boolean> {
  const merge = ['merge-tree', '--write-tree', '--no-messages', base, tip];
  const { code, stdout } = await context.git(merge, { at: repo, ok: [0, 1], write: true });
  return code === 0 && stdout.trim() === (await treeOf(context, repo, base));
}

/** Each of its commits is there as another one. What a merge among them resolved would not be seen. */
async function isPicked(context: Context, repo: GitLocation, base: string, tip: string): Promise<boolean> {
  const merges = ['rev-list', '--merges', '--count', `${base}..${tip}`, '--'];
  if ((await context.git(merges, { at: repo })).stdout.trim() !== '0') return false;
  const { stdout } = await context.git(['cherry', base, tip], { at: repo });
  const lines = stdout.split('\n').filter((line) => line !== '');
  return lines.length > 0 && lines.every((line) => line.startsWith('- '));
}

/** All of it is there as one commit, whatever came later. */
async function isSquashed(context: Context, repo: GitLocation, { whole, since }: Changes): Promise<boolean> {
  if (whole === undefined || since === null) return false;
  const [wanted] = await patchIds(context, repo, whole);
  return wanted !== undefined && (await patchIds(context, repo, since)).includes(wanted);
}

async function patchIds(context: Context, repo: GitLocation, patches: string): Promise<string[]> {
  const { stdout } = await context.git(['patch-id', '--stable'], { at: repo, input: patches });
  return stdout.split('\n').flatMap((line) => (line === '' ? [] : [line.split(' ')[0] as string]));
}
