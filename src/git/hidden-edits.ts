import { copyFileSync, existsSync, lstatSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Git } from './git.ts';
import type { GitLocation } from './location.ts';

/** What the index says about files besides their content. */
export interface IndexMarks {
  /** Files that git was told to take as unchanged, whatever is in them. */
  assumed: string[];
  /** Files that git was told not to look for in the worktree; a sparse checkout is made of these. */
  skipped: string[];
  /** Commits of other repositories: submodules. */
  links: string[];
}

export const NO_MARKS: IndexMarks = { assumed: [], skipped: [], links: [] };

export async function readMarks(git: Git, at: GitLocation): Promise<IndexMarks> {
  const { stdout } = await git(['ls-files', '-v', '--stage', '-z'], { at });
  const marks: IndexMarks = { assumed: [], skipped: [], links: [] };
  for (const line of stdout.split('\0')) {
    const isLink = line.startsWith('160000', 2);
    // `H` stands for a file without marks.
    if (line === '' || (line[0] === 'H' && !isLink)) continue;
    const tag = line.slice(0, 1);
    const path = line.slice(line.indexOf('\t') + 1);
    if (tag !== tag.toUpperCase()) marks.assumed.push(path);
    if (tag === 'S' || tag === 's') marks.skipped.push(path);
    if (isLink) marks.links.push(path);
  }
  return marks;
}

/** Changed files that `git status` does not name, because the index tells it not to look at them. */
export async function hiddenEdits(git: Git, at: GitLocation, marks: IndexMarks): Promise<string[]> {
  // What a sparse checkout leaves out is not there; everything else with a mark may have been edited.
  const skipped = marks.skipped.filter((file) => isThere(at, file));
  if (marks.assumed.length + skipped.length === 0) return [];
  return withScratchIndex(at, async (env) => {
    await unhide(git, at, marks, env);
    const args = ['diff', '--name-only', '-z', '--no-renames', '--no-ext-diff', '--no-textconv'];
    const { stdout } = await git([...args, '--ignore-submodules=dirty'], { at, env, config: NOT_SPARSE });
    const marked = new Set([...marks.assumed, ...skipped]);
    return stdout.split('\0').filter((file) => marked.has(file));
  });
}

const NOT_SPARSE = [['core.sparseCheckout', 'false']] as const;

function isThere(at: GitLocation, file: string): boolean {
  return lstatSync(join(at.workTree, file), { throwIfNoEntry: false }) !== undefined;
}

/** Takes the marks of files that are there away, in the index that `env` names or in the real one. */
export async function unhide(
  git: Git,
  at: GitLocation,
  marks: IndexMarks,
  env: Record<string, string> = {},
): Promise<void> {
  const skipped = marks.skipped.filter((file) => isThere(at, file));
  for (const [flag, files] of [
    ['--no-assume-unchanged', marks.assumed],
    ['--no-skip-worktree', skipped],
  ] as const) {
    if (files.length === 0) continue;
    const input = `${files.join('\0')}\0`;
    await git(['update-index', flag, '-z', '--stdin'], { at, env, input, write: true, config: NOT_SPARSE });
  }
}

/** Lends a copy of a checkout's index, as `GIT_INDEX_FILE`, so that the real one stays as it is. */
export async function withScratchIndex<T>(
  { gitDir }: GitLocation,
  fn: (env: { GIT_INDEX_FILE: string }) => Promise<T>,
): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), 'signalbox-index-'));
  try {
    const copy = join(directory, 'index');
    const index = join(gitDir, 'index');
    if (existsSync(index)) copyFileSync(index, copy);
    return await fn({ GIT_INDEX_FILE: copy });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
