import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { Git, Place } from './git.ts';
import type { IndexMarks } from './index-file.ts';
import { withScratchIndex } from './scratch-index.ts';

/** Changed files that `git status` does not name, because the index tells it not to look at them. */
export async function hiddenEdits(git: Git, at: Place, marks: IndexMarks): Promise<string[]> {
  // What a sparse checkout leaves out is not there; everything else with a mark may have been edited.
  const skipped = marks.skipped.filter((file) => isThere(at, file));
  if (marks.assumed.length + skipped.length === 0) return [];
  return withScratchIndex(at.gitDir, async (env) => {
    await unhide(git, at, marks, env);
    const args = ['diff', '--name-only', '-z', '--no-renames', '--no-ext-diff', '--no-textconv'];
    const { stdout } = await git([...args, '--ignore-submodules=dirty'], { at, env, config: NOT_SPARSE });
    const marked = new Set([...marks.assumed, ...skipped]);
    return stdout.split('\0').filter((file) => marked.has(file));
  });
}

const NOT_SPARSE = [['core.sparseCheckout', 'false']] as const;

function isThere(at: Place, file: string): boolean {
  return lstatSync(join(at.workTree, file), { throwIfNoEntry: false }) !== undefined;
}

/** Takes the marks of files that are there away, in the index that `env` names or in the real one. */
export async function unhide(
  git: Git,
  at: Place,
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
