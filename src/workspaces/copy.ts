import { createHash } from 'node:crypto';
import { readdirSync, realpathSync } from 'node:fs';
import { lstat, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { WorkspaceError } from '../model/errors.ts';
import type { Git } from './git.ts';
import { isInside } from './place.ts';
import type { Repo } from './repo.ts';

/**
 * Copies untracked files such as `.env` from the checkout into a new worktree and returns their hashes.
 * Patterns are git's globs from the top of the checkout; `**` crosses directories. What exists is kept.
 */
export async function copyUntracked(
  git: Git,
  repo: Repo,
  spec: { patterns: string[]; to: string },
): Promise<Record<string, string>> {
  for (const pattern of spec.patterns) checkPattern(pattern);
  if (spec.patterns.length === 0 || !mayMatch(repo.workTree, spec.patterns)) return {};
  const args = [
    'ls-files',
    '--others',
    '-z',
    '--',
    ...spec.patterns.map((pattern) => `:(top,glob)${pattern}`),
  ];
  const { stdout } = await git(args, { at: repo });
  const copied: Record<string, string> = {};
  for (const file of stdout.split('\0')) {
    if (file === '' || file.endsWith('/')) continue;
    const hash = await copyFile(join(repo.workTree, file), join(spec.to, file), spec.to);
    if (hash !== undefined) copied[file] = hash;
  }
  return copied;
}

function checkPattern(pattern: string): void {
  if (pattern !== '' && !isAbsolute(pattern) && !pattern.split('/').includes('..')) return;
  throw new WorkspaceError(
    'workspace/copy-pattern',
    `The copy pattern ${JSON.stringify(pattern)} leaves the repository.`,
    {
      hint: 'Write it relative to the top of the repository, such as .env or config/*.local.',
      details: { pattern },
    },
  );
}

/** Spares the git call in the usual case that no such file is there. */
function mayMatch(root: string, patterns: string[]): boolean {
  const simple = patterns.map((pattern) => (/^[^/[\]\\]+$/.test(pattern) ? toRegExp(pattern) : undefined));
  if (simple.includes(undefined)) return true;
  return readdirSync(root).some((name) => simple.some((pattern) => pattern?.test(name)));
}

function toRegExp(pattern: string): RegExp {
  const escaped = pattern
    .replace(/[.+^${}()|]/g, '\\$&')
    .replace(/\*+/g, '.*')
    .replace(/\?/g, '.');
  return new RegExp(`^${escaped}$`, 's');
}

async function copyFile(from: string, to: string, root: string): Promise<string | undefined> {
  const stat = await lstat(from);
  if (!stat.isFile()) return undefined;
  await mkdir(dirname(to), { recursive: true });
  // A symlink in the branch must not lead the copy out of the worktree.
  if (!isInside(realpathSync.native(dirname(to)), root)) return undefined;
  const content = await readFile(from);
  try {
    await writeFile(to, content, { flag: 'wx', mode: stat.mode & 0o777 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return undefined;
  }
  return sha256(content);
}

/** Those of `files` that are not, unchanged, what we copied in. */
export async function withoutCopies(
  root: string,
  files: string[],
  copied: Record<string, string>,
): Promise<string[]> {
  const left: string[] = [];
  for (const file of files) {
    if (!(file in copied) || !(await isCopy(join(root, file), copied[file]))) left.push(file);
  }
  return left;
}

async function isCopy(path: string, hash: string | undefined): Promise<boolean> {
  const stat = await lstat(path);
  return stat.isFile() && sha256(await readFile(path)) === hash;
}

function sha256(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}
