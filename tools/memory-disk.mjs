import { statfsSync } from 'node:fs';

const PLACE = '/dev/shm';
const ENOUGH = 4 * 1024 ** 3;

/** A directory in memory with room for hundreds of small repositories, or undefined: making a file on a disk can take longer than all that a test does with it. */
export function memoryDisk() {
  try {
    const { bavail, bsize } = statfsSync(PLACE);
    return bavail * bsize >= ENOUGH ? PLACE : undefined;
  } catch {
    return undefined;
  }
}
