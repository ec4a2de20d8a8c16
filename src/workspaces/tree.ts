import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { inspect, readHead, type Worktree } from '../git/worktrees.ts';
import { canonical } from './place.ts';

/** A linked worktree, or a repository's own checkout in the same form; undefined for anything else. */
export function openTree(path: string): Worktree | undefined {
  const clean = canonical(path);
  const found = inspect(clean);
  if (found.kind === 'worktree') return found.worktree;
  if (found.kind !== 'checkout') return undefined;
  const gitDir = realpathSync.native(join(clean, '.git'));
  const head = readHead(gitDir);
  const real = realpathSync.native(clean);
  return {
    path: real,
    adminDir: gitDir,
    commonDir: gitDir,
    head,
    registeredAt: real,
    at: { gitDir, workTree: real },
  };
}
