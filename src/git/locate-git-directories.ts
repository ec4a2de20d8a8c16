import { lstatSync, readdirSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readRegularText, realOf } from '../machine/files/read-and-remove-files.ts';

/** Where a git call works. All three paths are passed to git, so that discovery and files written by agents have no influence. */
export interface GitLocation {
  workTree: string;
  /** The checkout's own git directory. */
  gitDir: string;
  /** The one that all checkouts of the repository share. */
  commonDir: string;
}

/**
 * The git directory of a checkout: its `.git` directory, or what its `.git` file names. That file is read without a process;
 * gitrepository-layout(5) documents its form, `gitdir: <path>`.
 */
export function gitDirOf(workTree: string): string | undefined {
  const dotGit = join(workTree, '.git');
  const stat = lstatSync(dotGit, { throwIfNoEntry: false });
  if (stat?.isDirectory()) return realpathSync.native(dotGit);
  const link = stat?.isFile() ? /^gitdir: (.+)$/.exec(readRegularText(dotGit) ?? '')?.[1] : undefined;
  return link === undefined ? undefined : realOf(resolve(workTree, link));
}

/**
 * What a repository inside a worktree shares with others, by its documented pointer `commondir`: git must not be started
 * before it is known that no named pipe is there.
 */
export function sharedDirOf(gitDir: string): string {
  const shared = readRegularText(join(gitDir, 'commondir'));
  return shared === undefined ? gitDir : resolve(gitDir, shared);
}

/** Changes whenever a file is written, replaced or removed; empty where there is none. */
export function fileStamp(path: string): string {
  const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return stat ? `${stat.ino}:${stat.size}:${stat.ctimeNs}` : '';
}

/** The first entry of a git directory that git would wait for: a named pipe, say, that an agent put there. */
export function pipeIn(gitDir: string): string | undefined {
  const odd = readdirSync(gitDir, { withFileTypes: true }).find(
    (entry) => !entry.isFile() && !entry.isDirectory() && !entry.isSymbolicLink(),
  );
  return odd && join(gitDir, odd.name);
}
