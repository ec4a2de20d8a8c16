import { createHash } from 'node:crypto';
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { WorkspaceError } from '../model/errors.ts';
import type { Worktree } from './admin.ts';
import { countAhead } from './ahead.ts';
import type { Context } from './context.ts';
import { withoutCopies } from './copy.ts';
import { unhide } from './hidden.ts';
import { readOwner } from './owner.ts';
import { checkBranch } from './place.ts';
import { branchRef, hasFileRefs, isOid, readFileRef } from './refs.ts';
import { withScratchIndex } from './scratch-index.ts';
import { readStatus } from './status.ts';
import { openTree } from './tree.ts';

export interface Evidence {
  head: string;
  /** Commits on HEAD that the base does not have. */
  ahead: number;
  /** Uncommitted files, untracked ones included; copies that we made ourselves are not. */
  dirty: string[];
  /** Files changed since the base, committed or not. */
  files: string[];
}

/** What is asked for; a git call that nobody needs is not made, and its part stays empty. */
export interface EvidenceWish {
  dirty?: boolean;
  files?: boolean;
}

/** What an agent really did in a worktree. */
export async function gatherEvidence(
  context: Context,
  path: string,
  baseCommit: string,
  { files: wantFiles = true, dirty: wantDirty = true }: EvidenceWish = {},
): Promise<Evidence> {
  const worktree = openWorktree(path);
  checkCommit(baseCommit);
  const head = quickHead(worktree);
  const unmoved = head === baseCommit;
  const counted = head === undefined ? undefined : countAhead(worktree.commonDir, head, baseCommit);
  const [status, ahead, changed] = await Promise.all([
    wantDirty || wantFiles ? readStatus(context.git, worktree.at, { all: true }) : undefined,
    counted ?? output(context, worktree, ['rev-list', '--count', `${baseCommit}..HEAD`, '--']),
    unmoved || !wantFiles ? '' : output(context, worktree, [...CHANGED, baseCommit, 'HEAD', '--']),
  ]);
  const copied = readOwner(worktree.adminDir)?.copied ?? {};
  const dirty = status
    ? [...status.changed, ...(await withoutCopies(worktree.path, status.untracked, copied))].sort()
    : [];
  const files = new Set([...changed.split('\0').filter((file) => file !== ''), ...dirty]);
  return {
    head: status?.head ?? head ?? '',
    ahead: Number(ahead),
    dirty,
    files: [...files].sort(),
  };
}

const CHANGED = ['diff-tree', '-r', '-z', '--name-only', '--no-renames', '--no-ext-diff', '--no-textconv'];

async function output(context: Context, worktree: Worktree, args: string[]): Promise<string> {
  return (await context.git(args, { at: worktree.at })).stdout;
}

/** HEAD's commit without a git call, where refs are files. */
function quickHead({ head, commonDir }: Worktree): string | undefined {
  if (head.branch === undefined || !hasFileRefs(commonDir)) return head.oid;
  return readFileRef(commonDir, branchRef(head.branch));
}

/** Changes whenever HEAD, a tracked file or an untracked file does; ignored files do not count. */
export async function takeFingerprint(context: Context, path: string): Promise<string> {
  const worktree = openWorktree(path);
  const status = await readStatus(context.git, worktree.at, { all: true });
  const hash = createHash('sha256').update(status.raw);
  // Status names a dirty file but not its content: the change time tells whether it was written again.
  for (const file of [...status.changed, ...status.untracked]) {
    const stat = lstatSync(join(worktree.path, file), { bigint: true, throwIfNoEntry: false });
    hash.update(`${file}\0${stat?.ino}\0${stat?.size}\0${stat?.ctimeNs}\0`);
  }
  return hash.digest('hex');
}

const DIFF = [
  'diff',
  '--no-ext-diff',
  '--no-textconv',
  '--no-color',
  '--src-prefix=a/',
  '--dst-prefix=b/',
  '--ignore-submodules=dirty',
];

export interface DiffSpec {
  repo: string;
  path: string;
  branch: string;
}

/** A ticket's work against its base: of the worktree with everything uncommitted, else of the branch. */
export async function diffWork(
  context: Context,
  spec: DiffSpec,
  baseCommit: string,
  options: { stat?: boolean } = {},
): Promise<string> {
  checkCommit(baseCommit);
  checkBranch(spec.branch);
  const repo = await context.repo(spec.repo);
  const args = options.stat ? [...DIFF, '--stat=100'] : DIFF;
  const tree = openTree(spec.path);
  const here = tree?.commonDir === repo.commonDir ? tree : undefined;
  if (here?.head.branch !== spec.branch)
    return (await context.git([...args, baseCommit, branchRef(spec.branch), '--'], { at: repo })).stdout;
  const status = await readStatus(context.git, here.at, { all: true });
  const fresh = await withoutCopies(here.path, status.untracked, readOwner(here.adminDir)?.copied ?? {});
  if (fresh.length + status.hidden.length === 0) return output(context, here, [...args, baseCommit, '--']);
  // Untracked and hidden files show in a diff only when the index says so: a copy of it does.
  return withScratchIndex(here.adminDir, async (env) => {
    if (status.hidden.length > 0) await unhide(context.git, here.at, status.marks, env);
    const pathspecs = `${fresh.map((file) => `:(top,literal)${file}`).join('\0')}\0`;
    const add = ['add', '--intent-to-add', '--pathspec-from-file=-', '--pathspec-file-nul'];
    if (fresh.length > 0) await context.git(add, { at: here.at, env, input: pathspecs, write: true });
    return (await context.git([...args, baseCommit, '--'], { at: here.at, env })).stdout;
  });
}

function openWorktree(path: string): Worktree {
  const tree = openTree(path);
  if (tree && tree.registeredAt === tree.path) return tree;
  throw new WorkspaceError('workspace/not-a-worktree', `${path} is not a git worktree.`, {
    hint: 'Its directory or .git file was moved or replaced; look at it before the ticket goes on.',
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
