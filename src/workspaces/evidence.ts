import { createHash } from 'node:crypto';
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { countAhead } from '../git/ahead.ts';
import type { Context } from '../git/context.ts';
import { unhide } from '../git/hidden-edits.ts';
import { branchRef, hasFileRefs, isOid, readFileRef } from '../git/refs.ts';
import { withScratchIndex } from '../git/scratch-index.ts';
import { isShownState, readStatus } from '../git/status.ts';
import type { Worktree } from '../git/worktrees.ts';
import { WorkspaceError } from '../model/errors.ts';
import { readOwner } from './owner.ts';
import { checkBranch } from './place.ts';
import { withoutCopies } from './setup/copy.ts';
import { openTree } from './tree.ts';

export interface Evidence {
  head: string;
  /** Commits on HEAD that the base does not have; none count where HEAD does not come from the base. */
  ahead: number;
  /** Set where HEAD does not come from the base: what was there before has been dropped or rewritten. */
  lost?: true;
  /** Uncommitted files, untracked ones included; copies that we made ourselves are not. */
  dirty: string[];
  /** Files changed since the base, committed or not. */
  files: string[];
  /** Files that differ between the base and HEAD, where they were asked for. */
  committed?: string[];
}

/** What is asked for; a git call that nobody needs is not made, and its part stays empty. */
export interface EvidenceWish {
  dirty?: boolean;
  files?: boolean;
  committed?: boolean;
}

/** What an agent really did in a worktree. */
export async function gatherEvidence(
  context: Context,
  path: string,
  baseCommit: string,
  { files: wantFiles = true, dirty: wantDirty = true, committed: wantCommitted = false }: EvidenceWish = {},
): Promise<Evidence> {
  const worktree = openWorktree(path);
  checkCommit(baseCommit);
  const head = quickHead(worktree);
  const unmoved = head === baseCommit;
  const counted = head === undefined ? undefined : countAhead(worktree.commonDir, head, baseCommit);
  const [status, ahead, changed] = await Promise.all([
    wantDirty || wantFiles ? readStatus(context.git, worktree.at, { all: true }) : undefined,
    counted ?? aheadByGit(context, worktree, baseCommit),
    unmoved || !(wantFiles || wantCommitted)
      ? ''
      : output(context, worktree, [...CHANGED, baseCommit, 'HEAD', '--']),
  ]);
  const copied = readOwner(worktree.adminDir)?.copied ?? {};
  const dirty = status
    ? [...status.changed, ...(await withoutCopies(worktree.path, status.untracked, copied))]
        .filter((file) => !isShownState(file))
        .sort()
    : [];
  const committed = changed.split('\0').filter((file) => file !== '');
  return {
    head: status?.head ?? head ?? '',
    ahead: ahead ?? 0,
    ...(ahead === undefined ? { lost: true } : {}),
    dirty,
    files: wantFiles ? [...new Set([...committed, ...dirty])].sort() : dirty,
    ...(wantCommitted ? { committed } : {}),
  };
}

/** Undefined when HEAD does not come from the base. */
async function aheadByGit(context: Context, worktree: Worktree, base: string): Promise<number | undefined> {
  const { at } = worktree;
  const asked = ['merge-base', '--is-ancestor', base, 'HEAD'];
  const [{ code }, count] = await Promise.all([
    context.git(asked, { at, ok: [0, 1] }),
    output(context, worktree, ['rev-list', '--count', `${base}..HEAD`, '--']),
  ]);
  return code === 0 ? Number(count) : undefined;
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
  const said = status.raw.split('\0').filter((entry) => !isShownState(entry.split(/[ /]/).at(-1) ?? ''));
  const hash = createHash('sha256').update(said.join('\0'));
  // Status names a dirty file but not its content: the change time tells whether it was written again.
  for (const file of [...status.changed, ...status.untracked].filter((each) => !isShownState(each))) {
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
  const shown = options.stat ? [...DIFF, '--stat=100'] : DIFF;
  // Names as people write them, not as octal numbers.
  const args = ['-c', 'core.quotePath=false', ...shown];
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
