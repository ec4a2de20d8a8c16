import { rmSync } from 'node:fs';
import { WorkspaceError } from '../../model/errors.ts';
import { run } from '../run.ts';
import { statOf } from './regular.ts';

/**
 * Removes what an agent may have filled without end, or nested deeper than a path can say: a process of its own does,
 * while the engine goes on.
 */
export async function sweepAway(...paths: readonly string[]): Promise<void> {
  const directories = paths.filter((path) => {
    const stat = statOf(path);
    if (stat && !stat.isDirectory()) rmSync(path, { force: true });
    return stat?.isDirectory();
  });
  if (directories.length === 0) return;
  const { code, stderr, error } = await run('rm', ['-rf', '--', ...directories], { timeoutMs: null });
  if (code === 0) return;
  const reason = error?.message ?? (stderr.trim().split('\n')[0] || 'rm was killed');
  throw new WorkspaceError('workspace/sandbox', `What an agent left cannot be removed: ${reason}.`, {
    hint: `Remove ${directories.join(' ')}.`,
  });
}
