import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Says which lock file the packages of a worktree were installed from. */
export const INSTALLED = 'signalbox-installed';

/** What git's directory for a worktree has when the worktree is new, and our own notes. */
const NEW = new Set(['HEAD', 'commondir', 'gitdir', 'index', 'logs', 'refs', 'signalbox-owner', INSTALLED]);

/** What git commands leave there that nobody needs afterwards. */
const LEFTOVERS = new Set([
  'ORIG_HEAD',
  'FETCH_HEAD',
  'REBASE_HEAD',
  'AUTO_MERGE',
  'MERGE_MSG',
  'MERGE_MODE',
  'MERGE_RR',
  'SQUASH_MSG',
  'COMMIT_EDITMSG',
  'TAG_EDITMSG',
  'NOTES_EDITMSG',
  'signalbox-enclave',
  'signalbox-enclave.link',
]);

/**
 * Whether git's directory for a worktree holds nothing that would make the next ticket's commands behave otherwise than
 * in a new worktree: a config, sparse patterns, refs and reflogs of its own, an operation under way.
 */
export function isPristine(adminDir: string): boolean {
  return (
    readdirSync(adminDir).every((name) => NEW.has(name) || LEFTOVERS.has(name)) &&
    namesIn(join(adminDir, 'logs')).every((name) => name === 'HEAD') &&
    namesIn(join(adminDir, 'refs'), true).length === 0
  );
}

/** Names in a directory that may not be there; `files`: of the files at any depth. */
function namesIn(path: string, files = false): string[] {
  if (!existsSync(path)) return [];
  const entries = readdirSync(path, { recursive: files, withFileTypes: true });
  return entries.flatMap((entry) => (files && entry.isDirectory() ? [] : [entry.name]));
}

/** Removes what a ticket's commands left, its reflog included; commits that only the latter holds were looked for before. */
export function tidyAdmin(adminDir: string): void {
  for (const name of readdirSync(adminDir))
    if (LEFTOVERS.has(name)) rmSync(join(adminDir, name), { recursive: true });
  rmSync(join(adminDir, 'logs', 'HEAD'), { force: true });
}
