import { rmSync } from 'node:fs';
import { type Context, lockRepo } from '../git/context.ts';
import { inspect } from '../git/worktrees.ts';
import { ownerFile, readOwner, writeOwner } from './owner.ts';
import { canonical } from './place.ts';
import type { ReleaseSpec } from './release.ts';

/** Leaves a worktree, with all that is in it, to whoever is to work on its branch next. */
export async function giveUpWorkspace(
  context: Context,
  given: Pick<ReleaseSpec, 'repo' | 'path' | 'owner'>,
): Promise<void> {
  const repo = await context.repo(given.repo);
  const path = canonical(given.path);
  await context.inTurn(path, () =>
    lockRepo(repo, () => {
      const found = inspect(path);
      if (found.kind !== 'worktree' || found.worktree.commonDir !== repo.commonDir) return;
      const { adminDir } = found.worktree;
      const owner = readOwner(adminDir);
      if (owner?.owner !== given.owner || owner.state === 'slot') return;
      // One that was there before us is its maker's again.
      if (owner.created) writeOwner(adminDir, { ...owner, left: true, by: undefined });
      else rmSync(ownerFile(adminDir), { force: true });
    }),
  );
}
