import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Context, Repository } from './context-and-locks.ts';
import { treeOf } from './history.ts';
import type { GitLocation } from './locate-git-directories.ts';

type Merged = { commit: string } | { conflict: string[] };

interface MergeSpec {
  ours: string;
  theirs: string;
  message: string;
  /** An ancestor of `ours` to compare both with, if their history does not show what they have in common. */
  from?: string | undefined;
  /** Uses the date of the newer commit, so that the same merge gives the same commit again. */
  reproducible?: boolean;
}

/** The repository for merges that leave nothing in it: new objects go to a directory that `remove` deletes. */
export function withTemporaryObjects(repo: Repository) {
  const dir = mkdtempSync(join(tmpdir(), 'signalbox-merge-'));
  const env = {
    GIT_OBJECT_DIRECTORY: dir,
    GIT_ALTERNATE_OBJECT_DIRECTORIES: join(repo.commonDir, 'objects'),
  };
  return {
    repo: { ...repo, git: repo.git.limited({ env }) },
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}

/** True when merging a commit into the base would change nothing. */
export async function addsNothing(repo: Repository, base: string, commit: string): Promise<boolean> {
  const args = ['merge-tree', '--write-tree', '--no-messages', base, commit];
  const { code, stdout } = await repo.git(args, { at: repo, ok: [0, 1], write: true });
  return code === 0 && stdout.trim() === (await treeOf(repo, base));
}

/** Merges `theirs` into `ours` as a new commit, without any checkout. */
export async function mergeCommits(repo: Repository, merge: MergeSpec): Promise<Merged> {
  const { ours, from, message } = merge;
  // The changes of `theirs` as one commit on top of `from`.
  const squashed = { tree: `${merge.theirs}^{tree}`, parents: [from ?? ''], message: 'as it is there' };
  const theirs = from ? await commitTree(repo, repo, squashed) : merge.theirs;
  const args = ['merge-tree', '--write-tree', '--name-only', '--no-messages', '-z', ours, theirs];
  const [{ code, stdout }, env] = await Promise.all([
    repo.git(args, { at: repo, ok: [0, 1], write: true }),
    merge.reproducible ? dates(repo, merge) : {},
  ]);
  const [tree = '', ...files] = stdout.split('\0').filter((field) => field !== '');
  if (code === 1) return { conflict: [...new Set(files)].sort() };
  return { commit: await commitTree(repo, repo, { tree, parents: [ours, merge.theirs], message, env }) };
}

interface NewCommit {
  tree: string;
  parents: readonly string[];
  message: string;
  env?: Record<string, string>;
}

/** Makes a commit that no branch has. */
export async function commitTree(
  context: Context,
  at: GitLocation,
  { tree, parents, message, env }: NewCommit,
): Promise<string> {
  const args = ['commit-tree', tree, ...parents.flatMap((parent) => ['-p', parent]), '-F', '-'];
  const who = await identity(context, at);
  const input = `${message.trim()}\n`;
  return (await context.git(args, { at, write: true, input, env: { ...who, ...env } })).stdout.trim();
}

async function dates(repo: Repository, { ours, theirs }: MergeSpec): Promise<Record<string, string>> {
  const { stdout } = await repo.git(['log', '--no-walk', '--format=%ct', ours, theirs], { at: repo });
  const date = `@${Math.max(...stdout.trim().split('\n').map(Number))} +0000`;
  return { GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date };
}

/** Author variables: none if the repository has a user, else Signalbox's own name, because git would refuse or invent one. */
export async function identity(context: Context, repo: GitLocation): Promise<Record<string, string>> {
  const known = new Set((await context.git.config(repo)).map(({ key }) => key));
  const env: Record<string, string> = {};
  for (const role of ['author', 'committer']) {
    for (const [field, fallback] of [
      ['name', 'Signalbox'],
      ['email', 'signalbox@localhost'],
    ] as const) {
      const variable = `GIT_${role}_${field}`.toUpperCase();
      const configured = known.has(`user.${field}`) || known.has(`${role}.${field}`);
      if (!configured && !context.env[variable]) env[variable] = fallback;
    }
  }
  return env;
}
