import { realpathSync } from 'node:fs';
import type { Context, Repository } from '../git/context-and-locks.ts';
import type { GitLocation } from '../git/locate-git-directories.ts';
import { identity } from '../git/merge-commits-without-worktree.ts';
import { branchRef } from '../git/refs.ts';
import { WorkspaceError } from '../model/errors.ts';
import { canonical } from './resolve-symlinks-make-and-remove-directories.ts';

/** Commits these files of a checkout and nothing else; null when they are as the last commit has them. */
export async function commitPaths(
  context: Context,
  spec: { path: string; files: readonly string[]; message: string },
): Promise<string | null> {
  const at = await treeAt(context, spec.path);
  const files = spec.files.map((file) => `:(top,literal)${file}`);
  const changed = await context.git(['status', '--porcelain', '-z', '--', ...files], { at });
  if (changed.stdout === '') return null;
  await context.git(['add', '--', ...files], { at, write: true });
  await context.git(['commit', '--quiet', '--no-verify', '--only', '-F', '-', '--', ...files], {
    at,
    write: true,
    input: `${spec.message.trim()}\n`,
    env: await identity(context, at),
  });
  return (await context.git(['rev-parse', 'HEAD'], { at })).stdout.trim();
}

/** Whether git has a file at this path of a checkout. */
export async function isTracked(context: Context, path: string, file: string): Promise<boolean> {
  const at = await treeAt(context, path);
  const { stdout } = await context.git(['ls-files', '-z', '--', `:(top,literal)${file}`], { at });
  return stdout !== '';
}

/**
 * The content of a file at the tip of a branch; null if it does not exist there. With `message`, a pattern: the content in the latest
 * commit that changed the file, has a matching line in its message, and is not in HEAD.
 */
export async function readCommitted(
  repo: Repository,
  spec: { repo: string; branch: string; file: string; message?: string },
): Promise<string | null> {
  const ask = async (...args: string[]) => {
    const { code, stdout } = await repo.git(args, { at: repo, ok: [0, 128] });
    return code === 0 ? stdout : null;
  };
  const tip = branchRef(spec.branch);
  const last = ['log', '-1', '--format=%H', '--extended-regexp', `--grep=${spec.message}`, tip, '^HEAD'];
  const commit = spec.message ? (await ask(...last, '--', `:(top,literal)${spec.file}`))?.trim() : tip;
  return commit ? ask('cat-file', 'blob', `${commit}:${spec.file}`) : null;
}

async function treeAt(context: Context, path: string): Promise<GitLocation> {
  const at = await context.git.locate(realpathSync.native(canonical(path)));
  if (at) return at;
  throw new WorkspaceError('workspace/not-a-worktree', `${path} is not a git checkout.`, {
    details: { path },
  });
}
