import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { lstat, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import type { Repository } from '../../git/context-and-locks.ts';
import type { GitLocation } from '../../git/locate-git-directories.ts';
import { unlessCode } from '../../machine/files/read-and-remove-files.ts';
import { isInside } from '../../machine/paths-and-user-home.ts';
import { WorkspaceError } from '../../model/errors.ts';

interface Copied {
  /** Hashes of what was copied, by file. */
  files: Record<string, string>;
  /** What was asked for and could not be copied. */
  notes: string[];
}

/**
 * Copies untracked files such as `.env` from the checkout into a new worktree.
 * Patterns are git's globs from the top of the checkout; `**` crosses directories. What exists is kept.
 */
export async function copyUntracked(
  repo: Repository,
  spec: { patterns: string[]; to: string },
): Promise<Copied> {
  for (const pattern of spec.patterns) checkPattern(pattern);
  if (spec.patterns.length === 0 || !mayMatch(repo.workTree, spec.patterns)) return { files: {}, notes: [] };
  const args = [
    'ls-files',
    '--others',
    '-z',
    '--',
    ...spec.patterns.map((pattern) => `:(top,glob)${pattern}`),
  ];
  const { stdout } = await repo.git(args, { at: repo });
  const copied: Copied = { files: {}, notes: [] };
  for (const file of stdout.split('\0')) {
    if (file === '' || file.endsWith('/')) continue;
    const done = await copyFile(repo, file, spec.to);
    if ('hash' in done) copied.files[file] = done.hash;
    else if (done.skipped) copied.notes.push(`${file} was not copied: ${done.skipped}.`);
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

/** Saves the git call if no such file exists, which is usual. */
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

type Done = { hash: string } | { skipped: string | null };

async function copyFile(repo: GitLocation, file: string, root: string): Promise<Done> {
  const from = sourceOf(repo, file);
  if ('skipped' in from) return from;
  const to = join(root, file);
  await mkdir(dirname(to), { recursive: true });
  // A symlink in the branch must not lead the copy out of the worktree.
  if (!isInside(realpathSync.native(dirname(to)), root))
    return { skipped: 'a link in the branch leads out of the worktree there' };
  const content = await readFile(from.path);
  try {
    await writeFile(to, content, { flag: 'wx', mode: from.mode });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return { skipped: null };
  }
  return { hash: sha256(content) };
}

/** Links that lead in a circle, or through something that is no directory. */
const NO_TARGET = ['ELOOP', 'ENOTDIR', 'EACCES'];

/** The regular file that holds the content: the file itself, or what it is a link to inside the checkout. */
function sourceOf(repo: GitLocation, file: string): { path: string; mode: number } | { skipped: string } {
  const path = join(repo.workTree, file);
  const isLink = lstatSync(path).isSymbolicLink();
  const stat = unlessCode(NO_TARGET, () => statSync(path, { throwIfNoEntry: false }));
  if (!stat?.isFile()) return { skipped: isLink ? 'it is a link to no file' : 'it is no regular file' };
  const real = realpathSync.native(path);
  if (!isInside(real, realpathSync.native(repo.workTree)))
    return { skipped: 'it is a link that leads out of the repository' };
  if (isInside(real, repo.commonDir)) return { skipped: 'it is a link into the git directory' };
  return { path: real, mode: stat.mode & 0o777 };
}

/** `files` without unchanged copies that Signalbox made. */
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
