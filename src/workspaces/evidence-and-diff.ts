import { createHash } from 'node:crypto';
import { existsSync, lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { Context, Repository } from '../git/context-and-locks.ts';
import { localTrunk, originTrunk } from '../git/fetch-and-find-trunk.ts';
import { mergeBase, stepsTo } from '../git/history.ts';
import type { Worktree } from '../git/inspect-worktrees.ts';
import type { GitLocation } from '../git/locate-git-directories.ts';
import { checkBranch, isOid, requireTip } from '../git/refs.ts';
import { NO_DIFF_PROGRAMS } from '../git/run-git.ts';
import { clearMarks, readStatus, withScratchIndex } from '../git/status-and-index-marks.ts';
import { WorkspaceError } from '../model/errors.ts';
import { openTree } from './add-remove-repair-worktree.ts';
import { resolveBase } from './resolve-base.ts';
import { withoutCopies } from './setup/copy-untracked-files.ts';
import { readOwner, readOwnerAt } from './workspace-owner.ts';
import type { TreeSpec } from './workspace-spec.ts';

export interface Evidence {
  head: string;
  /** Commits on HEAD that the base does not have; 0 if HEAD is not based on the base. */
  ahead: number;
  /** Set if HEAD is not based on the base: earlier commits were dropped or rewritten. */
  lost?: true;
  /** Uncommitted files, untracked ones included, without the files that Signalbox copied in. */
  dirty: string[];
  /** Files changed since the base, committed or not. */
  files: string[];
  /** Files that differ between the base and HEAD, where they were asked for. */
  committed?: string[];
}

/** What to gather. Parts that are not asked for stay empty, which saves git calls. */
export type EvidenceOptions = Partial<Record<'dirty' | 'files' | 'committed', boolean>>;

/** What an agent really did in a worktree. */
export async function gatherEvidence(
  context: Context,
  path: string,
  baseCommit: string,
  options: EvidenceOptions = {},
): Promise<Evidence> {
  const { files: wantFiles = true, dirty: wantDirty = true, committed: wantCommitted = false } = options;
  checkCommit(baseCommit);
  const at = await worktreeAt(context, path);
  const [{ head, ahead, lost }, status, changed] = await Promise.all([
    commitsSince(context, at, baseCommit),
    wantDirty || wantFiles ? readStatus(context.git, at, { all: true }) : undefined,
    wantFiles || wantCommitted ? output(context, at, [...CHANGED, baseCommit, 'HEAD', '--']) : '',
  ]);
  const copied = readOwner(at.gitDir)?.copied ?? {};
  const dirty = status
    ? [...status.changed, ...(await withoutCopies(at.workTree, status.untracked, copied))]
        .filter((file) => !isSpecStateFile(file))
        .sort()
    : [];
  const committed = changed.split('\0').filter((file) => file !== '');
  return {
    head,
    ahead: lost ? 0 : ahead,
    ...(lost ? { lost } : {}),
    dirty,
    files: wantFiles ? [...new Set([...committed, ...dirty])].sort() : dirty,
    ...(wantCommitted ? { committed } : {}),
  };
}

/** HEAD, how many commits it has that the base lacks, and whether the base has some that HEAD lacks. */
async function commitsSince(
  context: Context,
  at: Worktree,
  base: string,
): Promise<{ head: string; ahead: number; lost?: true }> {
  const { commit } = at.head;
  const steps = commit === undefined ? undefined : await stepsTo(context, at, commit, base);
  if (commit !== undefined && steps !== undefined) return { head: commit, ahead: steps };
  const lines = (await output(context, at, ['rev-list', '--left-right', `${base}...HEAD`, '--'])).split('\n');
  // HEAD is the first of its side: all others there are reached from it.
  const own = lines.filter((line) => line.startsWith('>'));
  const lost = lines.some((line) => line.startsWith('<'));
  const head = own[0]?.slice(1) ?? (lost ? (await output(context, at, ['rev-parse', 'HEAD'])).trim() : base);
  return { head, ahead: own.length, ...(lost ? { lost } : {}) };
}

const CHANGED = ['diff-tree', '-r', '-z', '--name-only', '--no-renames', ...NO_DIFF_PROGRAMS];

async function output(context: Context, at: GitLocation, args: string[]): Promise<string> {
  return (await context.git(args, { at })).stdout;
}

/** Changes whenever HEAD, a tracked file or an untracked file does; ignored files do not count. */
export async function takeFingerprint(context: Context, path: string): Promise<string> {
  const at = await worktreeAt(context, path);
  const status = await readStatus(context.git, at, { all: true });
  const entries = status.raw
    .split('\0')
    .filter((entry) => !isSpecStateFile(entry.split(/[ /]/).at(-1) ?? ''));
  const hash = createHash('sha256').update(entries.join('\0'));
  // Status names a dirty file but not its content: the change time shows whether it was written again.
  for (const file of [...status.changed, ...status.untracked].filter((each) => !isSpecStateFile(each))) {
    const stat = lstatSync(join(at.workTree, file), { bigint: true, throwIfNoEntry: false });
    hash.update(`${file}\0${stat?.ino}\0${stat?.size}\0${stat?.ctimeNs}\0`);
  }
  return hash.digest('hex');
}

const PREFIXES = ['--src-prefix=a/', '--dst-prefix=b/'];
const DIFF = ['diff', ...NO_DIFF_PROGRAMS, '--no-color', ...PREFIXES, '--ignore-submodules=dirty'];

/** What `git apply` needs, whatever the user's config says. */
const PATCH = ['--binary', '--unified=3', '--submodule=short'];

/**
 * A ticket's work against its base: of the worktree with everything uncommitted, else of the branch. A patch has a character
 * for every byte.
 */
export async function diffWork(
  repo: Repository,
  spec: TreeSpec,
  baseCommit: string,
  as?: 'stat' | 'patch',
  /** Shows this commit instead of the worktree or branch. */
  commit?: string,
): Promise<string> {
  checkCommit(baseCommit);
  checkBranch(spec.branch);
  const encoding = as === 'patch' ? 'latin1' : undefined;
  const shown = as === 'patch' ? PATCH : as === 'stat' ? ['--stat=100'] : [];
  // Prints names with non-ASCII characters as they are, not as octal numbers.
  const args = ['-c', 'core.quotePath=false', ...DIFF, ...shown, baseCommit];
  const diff = async (at: GitLocation, more: readonly string[], env = {}) =>
    (await repo.git([...args, ...more, '--'], { at, env, encoding })).stdout;
  if (commit !== undefined) {
    checkCommit(commit);
    return diff(repo, [commit]);
  }
  const tree = await openTree(repo.git, spec.path, spec.branch);
  const here = tree?.commonDir === repo.commonDir ? tree : undefined;
  if (here?.head.branch !== spec.branch) return diff(repo, [await requireTip(repo, spec.branch)]);
  const status = await readStatus(repo.git, here, { all: true });
  const fresh = await withoutCopies(here.workTree, status.untracked, readOwner(here.gitDir)?.copied ?? {});
  if (fresh.length + status.hidden.length === 0) return diff(here, []);
  // A diff shows untracked and hidden files only if the index has them, so a copy of the index gets them.
  return withScratchIndex(here, async (env) => {
    if (status.hidden.length > 0) await clearMarks(repo.git, here, status.marks, env);
    const input = `${fresh.map((file) => `:(top,literal)${file}`).join('\0')}\0`;
    const add = ['add', '--intent-to-add', '--pathspec-from-file=-', '--pathspec-file-nul'];
    if (fresh.length > 0) await repo.git(add, { at: here, env, input, write: true });
    return diff(here, [], env);
  });
}

/** The commits that a ticket's work is between. */
export interface CommitRange {
  base: string;
  tip: string;
}

const SHORT_STAT = ['diff-tree', '--stdin', '-r', '-M', '--shortstat', '--always', ...NO_DIFF_PROGRAMS];

/** `2 files changed, 3 insertions(+)` of every range, by one git process. Null where a commit is gone, or nothing changed. */
export async function shortStats(
  context: Context,
  path: string,
  ranges: readonly CommitRange[],
): Promise<(string | null)[]> {
  for (const { base, tip } of ranges) [base, tip].map(checkCommit);
  const at = await context.repo(path);
  const stats = ranges.map((): string | null => null);
  for (let from = 0; from < ranges.length; ) {
    const input = ranges.slice(from).map(({ base, tip }) => `${tip} ${base}\n`);
    // A base that is gone ends git: those behind it need another call.
    const { stdout, code } = await context.git(SHORT_STAT, { at, input: input.join(''), ok: [0, 128] });
    for (const line of stdout.split('\n').filter(Boolean)) {
      if (line.startsWith(' ')) stats[from - 1] = line.trim();
      // A tip that is gone is left out.
      else while (from < ranges.length && ranges[from++]?.tip !== line);
    }
    from = code === 0 ? ranges.length : from + 1;
  }
  return stats;
}

async function worktreeAt(context: Context, path: string): Promise<Worktree> {
  const tree = await openTree(context.git, path, readOwnerAt(path)?.branch);
  if (tree && tree.registeredAt === tree.workTree) return tree;
  throw new WorkspaceError('workspace/not-a-worktree', `${path} is not a git worktree.`, {
    hint: 'Its directory or .git file was moved or replaced; check it before you resume the ticket.',
    details: { path },
  });
}

function checkCommit(commit: string): void {
  if (!isOid(commit))
    throw new WorkspaceError(
      'workspace/commit',
      `${JSON.stringify(commit.slice(0, 60))} is not a full commit id.`,
    );
}

/**
 * What changed in a checkout since a commit: files that differ, committed or not, and still exist, relative to the top (`root`). Without one: since the branch left the base, which is origin's default
 * branch, else the `main` or `master` that is here; on that itself only uncommitted files count.
 */
export async function changedFiles(context: Context, path: string, since: string | null) {
  const at = await context.repo(path);
  const base = since !== null && isOid(since) ? since : await forkPoint(context, path);
  const diff = ['diff', '--name-only', '-z', '--no-renames', ...NO_DIFF_PROGRAMS];
  const [{ stdout }, status] = await Promise.all([
    context.git([...diff, '--ignore-submodules=dirty', base, '--'], { at }),
    readStatus(context.git, at, { all: true }),
  ]);
  const files = new Set([...stdout.split('\0').filter(Boolean), ...status.hidden, ...status.untracked]);
  return {
    root: at.workTree,
    files: [...files].filter((file) => existsSync(join(at.workTree, file))).sort(),
  };
}

async function forkPoint(context: Context, path: string): Promise<string> {
  const at = await context.repo(path);
  const own = (await originTrunk(at)).name === undefined ? await localTrunk(at) : undefined;
  const base = await resolveBase(at, own ?? null, { fetch: false });
  return (await mergeBase(at, 'HEAD', base.commit)) ?? 'HEAD';
}

/** The commit that a checkout was at, at a time, by its reflog; undefined if git keeps none. */
export async function headAt(context: Context, path: string, time: Date): Promise<string | undefined> {
  const tree = await openTree(context.git, path);
  if (!tree) return undefined;
  // If the log begins later, git answers with its oldest commit.
  const args = ['rev-parse', '--quiet', '--verify', `HEAD@{${time.toISOString()}}`];
  return (await context.git(args, { at: tree, ok: [0, 1, 128] })).stdout.trim() || undefined;
}

/**
 * Whether a file is one of the two state files of a spec run, or a temporary copy of one. They change all the time in a checkout
 * that an agent works in, and are not a ticket's work even if git tracks them.
 */
export function isSpecStateFile(file: string): boolean {
  return /(?:^|\/)SEQUENTIAL_(?:STATE\.json|PROGRESS\.md)(?:\.[^/]*)?$/.test(file);
}
