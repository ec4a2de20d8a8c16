import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { run } from './run.ts';

/** Sends a signal; false when there is no such process any more. A negative pid is a process group. */
export function sendSignal(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Processes that carry `NAME=value` in their environment. `since`: only pids from this one on, where that is sure. */
export async function markedProcesses(mark: string, since = 0): Promise<number[]> {
  return process.platform === 'linux' ? fromProc(mark, since) : fromPs(mark);
}

function fromProc(mark: string, since: number): number[] {
  // Pids wrap around at some point; then every process has to be examined.
  const from = newestPid() < since ? 1 : since;
  // Environments are bytes, and paths need not be ASCII.
  const wanted = Buffer.from(`${mark}\0`).toString('latin1');
  // What is no number is not at least `from` either.
  const pids = readdirSync('/proc').map(Number);
  return pids.filter((pid) => pid >= from && pid !== process.pid && carries(pid, wanted));
}

/** The pid that was given out last; 0 when it is unknown. */
function newestPid(): number {
  try {
    return Number.parseInt(readFileSync('/proc/loadavg', 'latin1').split(' ').at(-1) ?? '', 10) || 0;
  } catch {
    return 0;
  }
}

const room = Buffer.alloc(16 * 1024);

/** Asked of many processes at the end of every job. */
function carries(pid: number, wanted: string): boolean {
  let fd: number;
  try {
    fd = openSync(`/proc/${pid}/environ`, 'r');
  } catch {
    // It has ended, or belongs to another user.
    return false;
  }
  try {
    let environ = '\0';
    for (let count = readSync(fd, room); count > 0; count = readSync(fd, room))
      environ += room.toString('latin1', 0, count);
    return environ.includes(`\0${wanted}`);
  } catch {
    return false;
  } finally {
    closeSync(fd);
  }
}

async function fromPs(mark: string): Promise<number[]> {
  const { stdout } = await run('ps', ['-Eww', '-ax', '-o', 'pid=,command=']);
  const lines = stdout.split('\n').filter((line) => line.includes(`${mark} `));
  return lines.map((line) => Number.parseInt(line, 10)).filter((pid) => pid > 0 && pid !== process.pid);
}

/** Kills everything that carries the mark and returns what would not go. */
export async function killMarked(mark: string, since = 0): Promise<number[]> {
  let left = await markedProcesses(mark, since);
  for (let round = 0; left.length > 0 && round < 50; round++) {
    for (const pid of left) sendSignal(pid, 'SIGKILL');
    await delay(Math.min(10 * (round + 1), 100));
    left = await markedProcesses(mark, since);
  }
  return left;
}
