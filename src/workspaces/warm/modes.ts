import { join } from 'node:path';
import type { Context } from '../../git/context.ts';
import { readText } from '../../git/refs.ts';
import type { Worktree } from '../../git/worktrees.ts';

/**
 * False when files have other modes than a new worktree's would. Git itself shows that, unless its config tells it to
 * overlook modes, as an agent may have made it do: then it is asked again.
 */
export async function hasCommittedModes(context: Context, { commonDir, at }: Worktree): Promise<boolean> {
  const config = readText(join(commonDir, 'config')) ?? '';
  if (!/filemode|\[\s*include/i.test(config.replace(/filemode\s*=\s*true/gi, ''))) return true;
  const args = ['status', '--porcelain', '--untracked-files=no', '--ignore-submodules=all'];
  const { stdout } = await context.git(['-c', 'core.fileMode=true', ...args], { at });
  return stdout === '';
}
