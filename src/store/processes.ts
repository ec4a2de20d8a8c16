import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** Sends a signal; false when nobody is there any more. A negative pid is a process group. */
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
  const pids = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
  // Pids start again from the bottom at some point; then every process has to be looked at.
  const wrapped = newestPid() < since;
  // Environments are bytes, and paths need not be ASCII.
  const wanted = Buffer.from(`${mark}\0`).toString('latin1');
  return pids.filter((pid) => pid !== process.pid && (wrapped || pid >= since) && carries(pid, wanted));
}

/** The pid that was given out last; 0 when the system does not tell. */
function newestPid(): number {
  try {
    return Number.parseInt(readFileSync('/proc/loadavg', 'latin1').split(' ').at(-1) ?? '', 10) || 0;
  } catch {
    return 0;
  }
}

function carries(pid: number, wanted: string): boolean {
  try {
    const environ = readFileSync(`/proc/${pid}/environ`, 'latin1');
    return environ.startsWith(wanted) || environ.includes(`\0${wanted}`);
  } catch {
    return false;
  }
}

function fromPs(mark: string): Promise<number[]> {
  return new Promise((resolve) => {
    execFile('ps', ['-Eww', '-ax', '-o', 'pid=,command='], { maxBuffer: 64 << 20 }, (_error, stdout) => {
      const lines = stdout.split('\n').filter((line) => line.includes(`${mark} `));
      resolve(lines.map((line) => Number.parseInt(line, 10)).filter((pid) => pid > 0 && pid !== process.pid));
    });
  });
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
