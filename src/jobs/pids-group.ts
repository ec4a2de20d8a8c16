import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

const ROOTS = ['/sys/fs/cgroup/pids', '/sys/fs/cgroup'];

/** Makes a group in which at most so many processes may be; null where this user may make none. */
export function makePidsGroup(name: string, most: number): string | null {
  const root = ROOTS.find((dir) => counts(dir));
  if (!root) return null;
  const group = join(root, `signalbox-${name}`);
  try {
    mkdirSync(group, { recursive: true });
    writeFileSync(join(group, 'pids.max'), String(most));
    return group;
  } catch {
    // Not ours to make: then the limit of the user has to do.
    dropPidsGroup(group);
    return null;
  }
}

/** The group of that name, if it was made. */
export function findPidsGroup(name: string): string | null {
  return ROOTS.map((root) => join(root, `signalbox-${name}`)).find((group) => existsSync(group)) ?? null;
}

export function dropPidsGroup(group: string | null): void {
  if (group === null || !existsSync(group)) return;
  try {
    rmdirSync(group);
  } catch {
    // Something is still in it, or it was never a group; an empty one left behind takes no room.
  }
}

/** Whether groups below this one count processes, and may be made. */
function counts(dir: string): boolean {
  try {
    accessSync(dir, constants.W_OK);
    if (dir.endsWith('/pids')) return existsSync(join(dir, 'cgroup.procs'));
    return readFileSync(join(dir, 'cgroup.subtree_control'), 'utf8').split(/\s+/).includes('pids');
  } catch {
    return false;
  }
}
