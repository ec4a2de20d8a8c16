import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { release } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ifPossible, unlessCode } from './files/read-and-remove-files.ts';

const ROOTS = ['/sys/fs/cgroup/pids', '/sys/fs/cgroup'];

/** Creates a control group with at most `most` processes; null if this user may not create one. */
export function makePidsGroup(name: string, most: number): string | null {
  const root = ROOTS.find((dir) => counts(dir));
  if (!root) return null;
  const group = join(root, `signalbox-${name}`);
  const made = ifPossible(() => {
    mkdirSync(group, { recursive: true });
    writeFileSync(join(group, 'pids.max'), String(most));
    return group;
  });
  // Without permission, the process limit of the user is used instead.
  return made ?? null;
}

/** The group of that name, if it was made. */
export function findPidsGroup(name: string): string | null {
  return ROOTS.map((root) => join(root, `signalbox-${name}`)).find((group) => existsSync(group)) ?? null;
}

/** Removes a group; what was killed in it may take a moment to be gone. */
export async function dropPidsGroup(group: string | null): Promise<void> {
  for (let tries = 0; group !== null && existsSync(group) && tries < 40; tries++) {
    try {
      rmdirSync(group);
    } catch (error) {
      // It cannot be removed. An empty group does no harm.
      if ((error as NodeJS.ErrnoException).code !== 'EBUSY') return;
      await delay(25);
    }
  }
}

/** Whether groups below this one count processes and can be created. */
function counts(dir: string): boolean | undefined {
  return ifPossible(() => {
    accessSync(dir, constants.W_OK);
    if (dir.endsWith('/pids')) return existsSync(join(dir, 'cgroup.procs'));
    return readFileSync(join(dir, 'cgroup.subtree_control'), 'utf8').split(/\s+/).includes('pids');
  });
}

/**
 * The process limit that lets `most` processes run in a sandbox. It is set inside, where Linux counts separately since 5.14;
 * before, all processes of the user count, too.
 */
export function processLimit(most: number, kernel = release(), others = ownProcesses): number {
  const [major = 0, minor = 0] = kernel.split('.').map((part) => Number.parseInt(part, 10));
  return major > 5 || (major === 5 && minor >= 14) ? most : most + others();
}

/** The number of this user's processes, threads included. */
function ownProcesses(): number {
  const uid = process.getuid?.();
  const tasksOf = (pid: string) =>
    statSync(`/proc/${pid}`).uid === uid ? readdirSync(`/proc/${pid}/task`).length : 0;
  // One that has ended meanwhile has none.
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .reduce((sum, pid) => sum + (unlessCode(['ENOENT', 'ESRCH', 'EACCES'], () => tasksOf(pid)) ?? 0), 0);
}
