import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Context } from '../git/context.ts';
import { unhide } from '../git/hidden-edits.ts';
import { identity } from '../git/merge.ts';
import { branchRef, isOid, readRef } from '../git/refs.ts';
import { isShownState, readStatus } from '../git/status.ts';
import type { Worktree } from '../git/worktrees.ts';
import { WorkspaceError } from '../model/errors.ts';
import { openTree } from './tree.ts';

export interface RewindSpec {
  repo: string;
  path: string;
  branch: string;
  /** The commit to go back to. */
  to: string;
  /** Where what is given up is kept; a number is added while it is taken. */
  keepAt: string;
  message: string;
}

/** Takes a tree and its branch back to a commit. Everything that is not ignored is kept on a ref first. */
export async function rewindTree(context: Context, spec: RewindSpec): Promise<{ keptAt: string | null }> {
  const repo = await context.repo(spec.repo);
  const tree = openTree(spec.path);
  if (!isOid(spec.to) || tree?.commonDir !== repo.commonDir || tree.head.branch !== spec.branch)
    throw new WorkspaceError('workspace/unexpected', `${spec.path} is not on branch ${spec.branch}.`, {
      hint: 'Put it right by hand, then go on.',
      details: { path: spec.path, branch: spec.branch },
    });
  const { at } = tree;
  const status = await readStatus(context.git, at, { all: true });
  const head = (await readRef(context.git, repo, branchRef(spec.branch))) ?? '';
  const isClean = [...status.changed, ...status.untracked].every(isShownState);
  if (isClean && head === spec.to) return { keptAt: null };
  if (status.hidden.length > 0) await unhide(context.git, at, status.marks);
  const commit = isClean ? head : await commitAll(context, tree, head, spec.message);
  const keptAt = await freeRef(context, repo, spec.keepAt);
  await context.git(['update-ref', keptAt, commit, '0'.repeat(commit.length)], { at: repo, write: true });
  await context.git(['reset', '--hard', '--quiet', spec.to, '--'], { at, write: true });
  await context.git(['clean', '-ffdq'], { at, write: true });
  return { keptAt };
}

export async function freeRef(
  context: Context,
  repo: Awaited<ReturnType<Context['repo']>>,
  wanted: string,
): Promise<string> {
  for (let number = 1; ; number += 1) {
    const ref = `${wanted}-${number}`;
    if ((await readRef(context.git, repo, ref)) === undefined) return ref;
  }
}

/** The tree as it is as a commit that no branch has; the real index stays as it is. */
export async function commitAll(
  context: Context,
  tree: Worktree,
  parent: string,
  message: string,
): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'signalbox-index-'));
  try {
    const index = join(tree.adminDir, 'index');
    if (existsSync(index)) copyFileSync(index, join(directory, 'index'));
    const env = { GIT_INDEX_FILE: join(directory, 'index') };
    await context.git(['add', '--all', '--', ':(top)'], { at: tree.at, env, write: true });
    const { stdout } = await context.git(['write-tree'], { at: tree.at, env, write: true });
    const made = await context.git(['commit-tree', stdout.trim(), '-p', parent, '-F', '-'], {
      at: tree.at,
      write: true,
      input: `${message.trim()}\n`,
      env: await identity(context, tree.at),
    });
    return made.stdout.trim();
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
