import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { promisify } from 'node:util';
import { WorkspaceError } from '../../model/errors.ts';
import { statOf } from './regular.ts';

const run = promisify(execFile);

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
  try {
    await run('rm', ['-rf', '--', ...directories]);
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string };
    const reason = stderr.trim().split('\n')[0] || String(error);
    throw new WorkspaceError('workspace/sandbox', `What an agent left cannot be removed: ${reason}.`, {
      hint: `Remove ${directories.join(' ')}.`,
    });
  }
}
