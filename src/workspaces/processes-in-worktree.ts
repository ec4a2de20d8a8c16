import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { WorkspaceError } from '../model/errors.ts';
import { isInside } from './worktree-paths.ts';

const WAIT_MS = 10_000;

/** Processes whose working directory is inside; none where there is no /proc. */
export function processesIn(path: string): string[] {
  if (!existsSync('/proc/self/cwd')) return [];
  return readdirSync('/proc').filter((pid) => /^\d/.test(pid) && isInside(cwdOf(pid), path));
}

function cwdOf(pid: string): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    // Ended meanwhile, or another user's.
    return '';
  }
}

/** A git call outlives an engine that was killed: it finishes before another command touches its files. */
export async function waitForGit(path: string): Promise<void> {
  const deadline = performance.now() + WAIT_MS;
  for (;;) {
    const pid = processesIn(path).find((candidate) => commandOf(candidate) === 'git');
    if (pid === undefined) return;
    if (performance.now() > deadline)
      throw new WorkspaceError('workspace/busy', `A git command (process ${pid}) still works in ${path}.`, {
        hint: 'Wait for it or end it, then retry the ticket.',
        details: { path, pid },
      });
    await delay(20);
  }
}

function commandOf(pid: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    // It has ended meanwhile.
    return undefined;
  }
}
