import type { Context } from './context.ts';
import type { Repo } from './repository.ts';

/** True when both commits are here and the first is in the second's history. */
export async function isAncestor(
  context: Context,
  repo: Repo,
  ancestor: string,
  commit: string,
): Promise<boolean> {
  const args = ['merge-base', '--is-ancestor', ancestor, commit];
  return (await context.git(args, { at: repo, ok: [0, 1, 128] })).code === 0;
}
