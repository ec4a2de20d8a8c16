import { readdirSync, statSync } from 'node:fs';
import { release } from 'node:os';

/**
 * What the limit of processes has to be so that so many can run in a sandbox. It is set inside, where Linux counts apart
 * since 5.14; before, everything that the user runs counts, too.
 */
export function processLimit(most: number, kernel = release(), others = ownProcesses): number {
  const [major = 0, minor = 0] = kernel.split('.').map((part) => Number.parseInt(part, 10));
  return major > 5 || (major === 5 && minor >= 14) ? most : most + others();
}

/** Threads count. */
function ownProcesses(): number {
  const uid = process.getuid?.();
  let count = 0;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (statSync(`/proc/${pid}`).uid === uid) count += readdirSync(`/proc/${pid}/task`).length;
    } catch (error) {
      // It has ended meanwhile.
      if (!['ENOENT', 'ESRCH', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
  }
  return count;
}
