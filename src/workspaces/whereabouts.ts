import type { Context } from '../git/context.ts';
import { branchRef, originRef, readRef } from '../git/refs.ts';
import { type BranchSpec, holdersOf } from './branches.ts';
import { hasWork, isCommit } from './stack.ts';
import { isReachable } from './warm/slots.ts';

/**
 * Where finished work is: on its branch, here or on origin; in the base; under another name (`kept`); or nowhere that
 * anybody would find it.
 */
export type Whereabouts = 'branch' | 'merged' | 'kept' | 'gone';

/** `tip` is the last commit of the work, where that is known. */
export async function whereabouts(
  context: Context,
  spec: BranchSpec & { tip: string | null },
): Promise<Whereabouts> {
  const repo = await context.repo(spec.repo);
  const { branch, tip } = spec;
  for (const ref of [branchRef(branch), originRef(branch)])
    if (await readRef(context.git, repo, ref)) return 'branch';
  if (tip === null || !(await isCommit(context, repo, tip))) return 'gone';
  const { holders } = await holdersOf(context, repo, spec);
  for (const holder of holders) if (await hasWork(context, repo, holder, tip)) return 'merged';
  return (await isReachable(context, repo, tip)) ? 'kept' : 'gone';
}
