import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Context } from '../../git/context.ts';
import { type IndexMarks, readMarks } from '../../git/hidden-edits.ts';
import type { GitLocation } from '../../git/location.ts';
import { isUnderWay } from '../../git/worktrees.ts';

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
 * Whether the next ticket's commands would behave otherwise than in a new worktree: marks in the index, a config or sparse
 * patterns of its own, an operation under way. Its own refs are looked for with its branch.
 */
export async function hasOwnState(context: Context, at: GitLocation, marks?: IndexMarks): Promise<boolean> {
  if (operationIn(at.gitDir) || isUnderWay(at.gitDir, ['config.worktree', 'info/sparse-checkout']))
    return true;
  const { assumed, skipped } = marks ?? (await readMarks(context.git, at));
  return assumed.length + skipped.length > 0;
}

/** Changes whenever anything in a git directory does, but for our own record. */
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
export function forgetTicket(commit: string): { commands: string[][]; input: string } {
  const input = [`update HEAD ${commit}`, ...LEFT_REFS.map((ref) => `delete ${ref}`), ''].join('\n');
  const expire = ['reflog', 'expire', '--expire=all', 'HEAD'];
  return { commands: [['update-ref', '--no-deref', '--stdin'], expire], input };
}

export function removeLeftFiles(gitDir: string): void {
  for (const name of LEFT_FILES) rmSync(join(gitDir, name), { recursive: true, force: true });
}

/**
 * False when files have other modes than a new worktree's would. Git itself shows that, unless its config tells it to
 * overlook modes, as an agent may have made it do: then it is asked again.
 */
export async function hasCommittedModes(context: Context, at: GitLocation): Promise<boolean> {
  const config = await context.git.config(at);
  const heeded = config.findLast(({ key }) => key === 'core.filemode')?.value;
  if (heeded === undefined || /^(true|yes|on|1)$/i.test(heeded)) return true;
  const args = ['status', '--porcelain', '--untracked-files=no', '--ignore-submodules=all'];
  return (await context.git(['-c', 'core.fileMode=true', ...args], { at })).stdout === '';
}
