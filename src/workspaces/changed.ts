import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Context } from '../git/context.ts';
import { isOid } from '../git/refs.ts';
import { readStatus } from '../git/status.ts';
import { localTrunk, originTrunk } from '../git/trunk.ts';
import { resolveBase } from './base.ts';

export interface Changed {
  /** Top of the checkout; the files are relative to it. */
  root: string;
  /** Files that differ from the base, committed or not, and still exist. */
  files: string[];
}

/**
 * What changed in a checkout since a commit. Without one: since the branch left the base, which is origin's default
 * branch, else the `main` or `master` that is here; on that itself only uncommitted files count.
 */
export async function changedFiles(context: Context, path: string, since: string | null): Promise<Changed> {
  const at = await context.repo(path);
  const base = since !== null && isOid(since) ? since : await forkPoint(context, path);
  const diff = ['diff', '--name-only', '-z', '--no-renames', '--no-ext-diff', '--no-textconv'];
  const [{ stdout }, status] = await Promise.all([
    context.git([...diff, '--ignore-submodules=dirty', base, '--'], { at }),
    readStatus(context.git, at, { all: true }),
  ]);
  const files = new Set([...stdout.split('\0').filter(Boolean), ...status.hidden, ...status.untracked]);
  return {
    root: at.workTree,
    files: [...files].filter((file) => existsSync(join(at.workTree, file))).sort(),
  };
}

async function forkPoint(context: Context, path: string): Promise<string> {
  const at = await context.repo(path);
  const own = (await originTrunk(context, at)).name === undefined ? await localTrunk(context, at) : undefined;
  const base = await resolveBase(context, at, own ?? null, { fetch: false });
  const { stdout } = await context.git(['merge-base', 'HEAD', base.commit], { at, ok: [0, 1] });
  return stdout.trim() || 'HEAD';
}
