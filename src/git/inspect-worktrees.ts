import { existsSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { realOf, statOf } from '../machine/files/read-and-remove-files.ts';
import type { Repository } from './context-and-locks.ts';
import { fileStamp, type GitLocation, gitDirOf } from './locate-git-directories.ts';
import { branchRef, isOid, readRef } from './refs.ts';
import type { Git } from './run-git.ts';

/** Where HEAD is: on a branch, or detached; the commit is undefined on a branch without commits. */
interface Head {
  branch: string | undefined;
  commit: string | undefined;
}

/** A checkout as git describes it. */
export interface Worktree extends GitLocation {
  head: Head;
  /** Where git believes it to be; differs from `workTree` after an unfinished move, undefined when git does not say. */
  registeredAt: string | undefined;
  /** The commits of refs that it has for itself alone, where they are known. */
  ownRefs?: readonly string[];
}

export type Found =
  | { kind: 'absent' | 'empty' | 'file' | 'symlink' | 'directory' | 'checkout' }
  | { kind: 'worktree'; worktree: Worktree };

/** Says what is at a path. `likely` is the branch that a worktree there should be on, which saves a call when it is. */
export async function inspect(git: Git, path: string, likely?: string): Promise<Found> {
  const found = await find(git, path);
  if ('kind' in found) return found;
  const confirmed = likely === undefined ? undefined : await confirm(git, found, likely);
  return { kind: 'worktree', worktree: confirmed ?? (await describe(git, found)) };
}

/** A linked worktree's location, or what else is at the path. */
export async function find(
  git: Git,
  path: string,
): Promise<GitLocation | Exclude<Found, { kind: 'worktree' }>> {
  const stat = statOf(path);
  if (!stat) return { kind: 'absent' };
  if (stat.isSymbolicLink()) return { kind: 'symlink' };
  if (!stat.isDirectory()) return { kind: 'file' };
  const dotGit = lstatSync(join(path, '.git'), { throwIfNoEntry: false });
  if (dotGit?.isDirectory()) return { kind: 'checkout' };
  const at = dotGit?.isFile() ? await git.locate(realOf(path) ?? path) : undefined;
  if (at && at.gitDir !== at.commonDir) return at;
  return { kind: isEmptyDirectory(path) ? 'empty' : 'directory' };
}

/** Whether a directory is empty, or has only an empty `.git` file that could not be written. */
function isEmptyDirectory(path: string): boolean {
  const [first, ...more] = readdirSync(path);
  if (first === undefined) return true;
  const stat = first === '.git' && more.length === 0 ? lstatSync(join(path, first)) : undefined;
  return stat?.isFile() === true && stat.size === 0;
}

/** Refs that a worktree has for itself alone. */
const OWN_REFS = ['refs/worktree', 'refs/bisect', 'refs/rewritten'];

/** A stamp that changes when a checkout gets another branch, path or repository. Undefined if refs are not kept in files. */
function checkoutStamp({ workTree, gitDir, commonDir }: GitLocation, branch: string): string | undefined {
  if (existsSync(join(commonDir, 'reftable'))) return undefined;
  const files = [join(workTree, '.git'), join(gitDir, 'HEAD'), join(gitDir, 'gitdir')];
  return [branch, workTree, ...files.map(fileStamp)].join('\0');
}

/** Remembers a checkout that git has just created. `isNew`: nothing has run in it yet. */
export function rememberCheckout(
  git: Git,
  at: GitLocation,
  { branch, isNew }: { branch: string; isNew: boolean },
): void {
  const checkout = checkoutStamp(at, branch);
  const madeHead = isNew ? fileStamp(join(at.gitDir, 'HEAD')) : undefined;
  if (checkout !== undefined) git.confirmed.set(at.gitDir, { checkout, madeHead });
}

/** Whether HEAD has always been on its branch since the checkout was created: then the branch's reflog has all of its commits. */
export function hasKeptBranch(git: Git, { gitDir }: GitLocation): boolean {
  return git.confirmed.get(gitDir)?.madeHead === fileStamp(join(gitDir, 'HEAD'));
}

/** Whether git has confirmed that a checkout is on this branch and registered where it is, and nothing of that has changed. */
export function isConfirmed(git: Git, at: GitLocation, branch: string): boolean {
  const checkout = checkoutStamp(at, branch);
  return checkout !== undefined && git.confirmed.get(at.gitDir)?.checkout === checkout;
}

/**
 * The checkout when it is on this branch and registered where it is. Git is asked once, and again when one of the files has
 * changed that say so: `%(HEAD)` goes by the git directory that its `.git` names, `%(worktreepath)` by git's list of worktrees.
 */
export async function confirm(git: Git, at: GitLocation, branch: string): Promise<Worktree | undefined> {
  if (isConfirmed(git, at, branch)) {
    const commit = await readRef({ ...at, git }, branchRef(branch));
    const ownRefs = hasFilesIn(join(at.gitDir, 'refs')) ? undefined : [];
    if (commit !== undefined)
      return { ...at, head: { branch, commit }, registeredAt: at.workTree, ...(ownRefs && { ownRefs }) };
  }
  const checkout = checkoutStamp(at, branch);
  const format = '--format=%(refname)%00%(objectname)%00%(HEAD)%00%(worktreepath)%00';
  const { stdout } = await git(['for-each-ref', format, branchRef(branch), ...OWN_REFS], { at });
  const fields = stdout.split('\0').map((field) => field.replace(/^\n/, ''));
  let head: Head | undefined;
  const ownRefs: string[] = [];
  for (let index = 0; index + 3 < fields.length; index += 4) {
    const [ref = '', commit = '', isHead, path = ''] = fields.slice(index, index + 4);
    if (OWN_REFS.some((prefix) => ref.startsWith(`${prefix}/`))) ownRefs.push(commit);
    else if (ref === branchRef(branch) && isHead === '*' && isSame(path, at.workTree))
      head = { branch, commit };
  }
  if (!head) return undefined;
  if (checkout !== undefined) git.confirmed.set(at.gitDir, { ...git.confirmed.get(at.gitDir), checkout });
  return { ...at, head, registeredAt: at.workTree, ownRefs };
}

function hasFilesIn(directory: string): boolean {
  if (!existsSync(directory)) return false;
  return readdirSync(directory, { recursive: true, withFileTypes: true }).some(
    (entry) => !entry.isDirectory(),
  );
}

const isSame = (registered: string, path: string) => registered === path || realOf(registered) === path;

/** Reads a checkout's description from git. */
export async function describe(git: Git, at: GitLocation): Promise<Worktree> {
  const [head, entries] = await Promise.all([readHead(git, at), listWorktrees(git, at)]);
  const registered =
    head.branch === undefined
      ? entries.find(({ path, head: listed }) => isSame(path, at.workTree) && listed.commit === head.commit)
      : entries.find((entry) => entry.head.branch === head.branch);
  const path = registered && (realOf(registered.path) ?? registered.path);
  return { ...at, head, registeredAt: path };
}

export async function readHead(git: Git, at: GitLocation): Promise<Head> {
  const args = ['rev-parse', 'HEAD', '--symbolic-full-name', 'HEAD'];
  const { code, stdout } = await git(args, { at, ok: [0, 128] });
  const [commit = '', ref = ''] = code === 0 ? stdout.split('\n') : [];
  if (isOid(commit)) return { commit, branch: branchOf(ref) };
  const { stdout: unborn } = await git(['symbolic-ref', '--quiet', 'HEAD'], { at, ok: [0, 1, 128] });
  return { commit: undefined, branch: branchOf(unborn.trim()) };
}

const branchOf = (ref: string) =>
  ref.startsWith(branchRef('')) ? ref.slice(branchRef('').length) : undefined;

/** An entry of git's list of worktrees, whether or not its directory is still there; the first is the main one. */
export interface Registered {
  path: string;
  head: Head;
  /** Why it is locked, an empty text when that is not said. */
  locked: string | undefined;
}

export async function listWorktrees(git: Git, at: GitLocation): Promise<Registered[]> {
  const { stdout } = await git(['worktree', 'list', '--porcelain', '-z'], { at });
  return stdout.split('\0\0').flatMap((record) => {
    const lines = new Map(record.split('\0').map((line) => splitAt(line, ' ')));
    const path = lines.get('worktree');
    if (path === undefined) return [];
    const commit = lines.get('HEAD') ?? '';
    const head = {
      branch: branchOf(lines.get('branch') ?? ''),
      commit: isOid(commit) && !/^0+$/.test(commit) ? commit : undefined,
    };
    return [{ path, head, locked: lines.get('locked') }];
  });
}

function splitAt(line: string, separator: string): [string, string] {
  const at = line.indexOf(separator);
  return at < 0 ? [line, ''] : [line.slice(0, at), line.slice(at + 1)];
}

/** Where a branch is checked out, a rebase or bisect of it included; undefined when nowhere. */
export async function checkedOutAt(
  repo: Repository,
  branch: string,
  listed?: readonly Registered[],
): Promise<Registered | undefined> {
  const entries = listed ?? (await listWorktrees(repo.git, repo));
  for (const entry of entries) {
    if (entry.head.branch === branch) return entry;
    if (entry.head.branch === undefined && (await isBusyWith(repo, entry, branch))) return entry;
  }
  return undefined;
}

/** Git names the branch of a rebase or bisect where `git branch` shows a detached HEAD. */
async function isBusyWith(repo: Repository, { path }: Registered, branch: string): Promise<boolean> {
  const gitDir = gitDirOf(path);
  if (gitDir === undefined || !isUnderWay(gitDir, ['rebase-merge', 'rebase-apply', 'BISECT_LOG']))
    return false;
  const at = { workTree: path, gitDir, commonDir: repo.commonDir };
  const { stdout } = await repo.git(['branch', '--list', '--format=%(refname)'], { at });
  const [, named] = /^\(no branch, (?:rebasing|bisect started on) (.+)\)$/m.exec(stdout) ?? [];
  return named === branch;
}

/** Whether one of these files of a worktree's git directory exists: `$GIT_DIR/<name>`, as `git rev-parse --git-path` has it. */
export function isUnderWay(gitDir: string, names: readonly string[]): boolean {
  return names.some((name) => existsSync(join(gitDir, name)));
}

/**
 * The git directory of a registered worktree. Where its directory is gone, git does not say: it is the one with this HEAD
 * of those that no directory leads to.
 */
export async function gitDirOfEntry(
  repo: Repository,
  entry: Registered,
  entries: readonly Registered[],
): Promise<string | undefined> {
  const own = gitDirOf(entry.path);
  if (own !== undefined) return own;
  const used = new Set(entries.map(({ path }) => gitDirOf(path)));
  const root = join(repo.commonDir, 'worktrees');
  for (const name of existsSync(root) ? readdirSync(root) : []) {
    const gitDir = join(root, name);
    if (used.has(gitDir)) continue;
    const head = await readHead(repo.git, { ...repo, gitDir });
    if (head.branch === entry.head.branch && head.commit === entry.head.commit) return gitDir;
  }
  return undefined;
}
export async function listOwnRefs(git: Git, at: GitLocation): Promise<string[]> {
  const { stdout } = await git(['for-each-ref', '--format=%(objectname)', ...OWN_REFS], { at });
  return stdout.split('\n').filter(isOid);
}
