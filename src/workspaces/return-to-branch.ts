import type { Context } from '../git/context.ts';
import { unhide } from '../git/hidden-edits.ts';
import { branchRef, isOid, readRef } from '../git/refs.ts';
import { isShownState, readStatus } from '../git/status.ts';
import { WorkspaceError } from '../model/errors.ts';
import { commitAll, freeRef, type RewindSpec } from './rewind.ts';
import { openTree } from './tree.ts';

export interface ComeBackSpec extends Omit<RewindSpec, 'to'> {
  /** Where the branch is made again should it be gone. */
  to: string | null;
}

export interface CameBack {
  /** Where the tree was, in words; null when it was on its branch. */
  from: string | null;
  keptAt: string | null;
}

/** Takes a tree back to its branch, as that is. Everything that is not ignored, and the other commit, is kept on a ref first. */
export async function comeBack(context: Context, spec: ComeBackSpec): Promise<CameBack> {
  const repo = await context.repo(spec.repo);
  const tree = openTree(spec.path);
  if (!tree || tree.commonDir !== repo.commonDir || tree.registeredAt !== tree.path)
    return { from: null, keptAt: null };
  const wanted = branchRef(spec.branch);
  const tip = await readRef(context.git, repo, wanted);
  if (tree.head.branch === spec.branch && tip !== undefined) return { from: null, keptAt: null };
  const target = tip ?? spec.to;
  if (target === null || !isOid(target)) throw gone(spec);
  const { at } = tree;
  const status = await readStatus(context.git, at, { all: true });
  const isClean = [...status.changed, ...status.untracked].every(isShownState);
  if (status.hidden.length > 0) await unhide(context.git, at, status.marks);
  const commit = isClean ? status.head : await commitAll(context, tree, status.head ?? target, spec.message);
  let keptAt: string | null = null;
  if (commit !== undefined && commit !== target) {
    keptAt = await freeRef(context, repo, spec.keepAt);
    await context.git(['update-ref', keptAt, commit, '0'.repeat(commit.length)], { at: repo, write: true });
  }
  if (tip === undefined)
    await context.git(['update-ref', wanted, target, '0'.repeat(target.length)], { at: repo, write: true });
  // What was under way there, such as a rebase, would go on in the wrong place.
  await context.git(['rebase', '--quit'], { at, write: true, ok: [0, 1, 128] });
  await context.git(['symbolic-ref', 'HEAD', wanted], { at, write: true });
  await context.git(['reset', '--hard', '--quiet', target, '--'], { at, write: true });
  await context.git(['clean', '-ffdq'], { at, write: true });
  return { from: tree.head.branch ? `branch ${tree.head.branch}` : 'no branch', keptAt };
}

function gone({ path, branch }: ComeBackSpec): WorkspaceError {
  return new WorkspaceError('workspace/unexpected', `Branch ${branch} of ${path} is gone.`, {
    hint: 'Make it again where its work was (git reflog tells), then go on.',
    details: { path, branch },
  });
}
