import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Context } from '../../git/context-and-locks.ts';
import { isUnderWay } from '../../git/inspect-worktrees.ts';
import type { GitLocation } from '../../git/locate-git-directories.ts';
import { type IndexMarks, readMarks } from '../../git/status-and-index-marks.ts';
import { isLink, unlessCode } from '../../machine/files/read-and-remove-files.ts';
import { isInside } from '../../machine/paths-and-user-home.ts';
import { INSTALLS } from '../setup/install-packages.ts';

const OPERATIONS: Record<string, string> = {
  MERGE_HEAD: 'a merge',
  CHERRY_PICK_HEAD: 'a cherry-pick',
  REVERT_HEAD: 'a revert',
  BISECT_LOG: 'a bisect',
  'rebase-merge': 'a rebase',
  'rebase-apply': 'a rebase',
  sequencer: 'a cherry-pick or revert',
  'index.lock': 'a git command',
  'HEAD.lock': 'a git command',
};

/** What is under way in a worktree, in words. */
export function operationIn(gitDir: string): string | undefined {
  const name = Object.keys(OPERATIONS).find((each) => isUnderWay(gitDir, [each]));
  return name === undefined ? undefined : OPERATIONS[name];
}

/**
 * Whether the next ticket's commands would behave differently than in a new worktree: marks in the index, a config or sparse
 * patterns of its own, an unfinished operation. The worktree's own refs are checked with its branch.
 */
export async function hasOwnState(context: Context, at: GitLocation, marks?: IndexMarks): Promise<boolean> {
  if (operationIn(at.gitDir) || isUnderWay(at.gitDir, ['config.worktree', 'info/sparse-checkout']))
    return true;
  const { assumed, skipped } = marks ?? (await readMarks(context.git, at));
  return assumed.length + skipped.length > 0;
}

/** A stamp of a git directory that changes with everything in it except the owner file. */
export function stampOf(gitDir: string): string {
  const hash = createHash('sha256');
  const names = readdirSync(gitDir, { recursive: true, encoding: 'utf8' });
  for (const name of names.filter((each) => !each.startsWith('signalbox-owner')).sort()) {
    const { ino, size, ctimeNs } = lstatSync(join(gitDir, name), { bigint: true });
    hash.update(`${name}\0${ino}\0${size}\0${ctimeNs}\0`);
  }
  return hash.digest('hex');
}

/** Refs and messages that git commands leave in a worktree's git directory, and what a sandboxed agent had there. */
const LEFT_REFS = ['ORIG_HEAD', 'REBASE_HEAD', 'AUTO_MERGE'];
const LEFT_FILES = [
  'FETCH_HEAD',
  'MERGE_MSG',
  'MERGE_MODE',
  'MERGE_RR',
  'SQUASH_MSG',
  'COMMIT_EDITMSG',
  'TAG_EDITMSG',
  'NOTES_EDITMSG',
  'signalbox-enclave',
  'signalbox-enclave.link',
];

/** Frees the branch and removes what a ticket's commands left in git, the reflog too; `input` is for the first command. */
export function clearGitState(commit: string): { commands: string[][]; input: string } {
  const input = [`update HEAD ${commit}`, ...LEFT_REFS.map((ref) => `delete ${ref}`), ''].join('\n');
  const expire = ['reflog', 'expire', '--expire=all', 'HEAD'];
  return { commands: [['update-ref', '--no-deref', '--stdin'], expire], input };
}

export function removeLeftFiles(gitDir: string): void {
  for (const name of LEFT_FILES) rmSync(join(gitDir, name), { recursive: true, force: true });
}

/**
 * False if files have other modes than in a new worktree. Git shows that itself, unless its config ignores modes; an agent may
 * have set that, so git is called again without it.
 */
export async function hasCommittedModes(context: Context, at: GitLocation): Promise<boolean> {
  const config = await context.git.config(at);
  const heeded = config.findLast(({ key }) => key === 'core.filemode')?.value;
  if (heeded === undefined || /^(true|yes|on|1)$/i.test(heeded)) return true;
  const args = ['status', '--porcelain', '--untracked-files=no', '--ignore-submodules=all'];
  return (await context.git(['-c', 'core.fileMode=true', ...args], { at })).stdout === '';
}

const LOCKFILES = [
  ...INSTALLS.map(({ lockfile }) => lockfile),
  'uv.lock',
  'poetry.lock',
  'Cargo.lock',
  'go.sum',
  'Gemfile.lock',
  'composer.lock',
];

/** Ignored files that a warm worktree does not keep. */
export function ignoredFilesToDelete(ignored: readonly string[], caches: readonly string[]): string[] {
  return ignored.filter((path) => !caches.some((cache) => isCache(path, cache)));
}

function isCache(path: string, cache: string): boolean {
  const name = cache.replace(/^\/+|\/+$/g, '');
  const plain = path.replace(/\/$/, '');
  return name.includes('/') ? isInside(plain, name) : plain.split('/').includes(name);
}

/** Deletes all untracked files except the caches. */
export async function deleteUntrackedFiles(
  context: Context,
  at: GitLocation,
  caches: readonly string[],
): Promise<void> {
  const excludes = caches.flatMap((cache) => ['-e', cache.replace(/^[!#]/, '\\$&')]);
  await context.git(['clean', '-ffdxq', ...excludes], { at, write: true });
}

/**
 * Deletes caches that are links: the next ticket would write to their targets. Links inside a cache are a package manager's and
 * are kept.
 */
export function deleteLinkedCaches(
  root: string,
  ignored: readonly string[],
  caches: readonly string[],
): void {
  for (const path of ignored) {
    if (!path.endsWith('/')) dropLink(join(root, path));
    // A directory around caches, of which only they are left.
    else if (!caches.some((cache) => isCache(path, cache))) dropLinksBelow(root, path, caches);
  }
}

function dropLinksBelow(root: string, directory: string, caches: readonly string[]): void {
  const list = () => readdirSync(join(root, directory), { withFileTypes: true });
  for (const entry of unlessCode(['ENOENT', 'ENOTDIR'], list) ?? []) {
    const path = `${directory}${entry.name}`;
    if (!entry.isDirectory()) dropLink(join(root, path));
    else if (!caches.some((cache) => isCache(path, cache))) dropLinksBelow(root, `${path}/`, caches);
  }
}

/** Deletes untracked links on the paths to the caches of a worktree that is about to be used. */
export async function deleteLinksToCaches(
  context: Context,
  at: GitLocation,
  caches: readonly string[],
): Promise<void> {
  const links = new Set(caches.flatMap((cache) => linkOnWay(at.workTree, cache) ?? []));
  for (const link of links)
    await context.git(['clean', '-ffdxq', '--', `:(top,literal)${link}`], { at, write: true });
}

function linkOnWay(root: string, cache: string): string | undefined {
  const parts = cache.split('/').filter((part) => part !== '' && part !== '.');
  const ways = parts.map((_, index) => parts.slice(0, index + 1).join('/'));
  return ways.find((way) => isLink(join(root, way)));
}

function dropLink(path: string): void {
  if (isLink(path)) rmSync(path, { force: true });
}

/** Whether the next commit has other lockfiles than a checkout. */
export async function lockfilesDiffer(context: Context, at: GitLocation, next: string): Promise<boolean> {
  const pathspecs = LOCKFILES.map((name) => `:(glob)**/${name}`);
  const args = ['diff-tree', '-r', '--name-only', 'HEAD', next, '--', ...pathspecs];
  return (await context.git(args, { at })).stdout !== '';
}
