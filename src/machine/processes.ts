import { closeSync, existsSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from 'node:fs';
import { hostname } from 'node:os';
import { sep } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { run, runSync } from './run-process.ts';

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

/** Processes whose working directory is in this one; none where there is no /proc. */
export function processesIn(directory: string): string[] {
  if (!existsSync('/proc/self/cwd')) return [];
  return readdirSync('/proc').filter(
    (pid) => /^\d/.test(pid) && `${cwdOf(pid)}${sep}`.startsWith(directory + sep),
  );
}

function cwdOf(pid: string): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    // Ended meanwhile, or another user's.
    return '';
  }
}

/** Kills everything that carries the mark, except one process, and returns what would not go. */
export async function killMarked(mark: string, since = 0, except?: number): Promise<number[]> {
  const find = async () => (await markedProcesses(mark, since)).filter((pid) => pid !== except);
  let left = await find();
  for (let round = 0; left.length > 0 && round < 50; round++) {
    for (const pid of left) sendSignal(pid, 'SIGKILL');
    await delay(Math.min(10 * (round + 1), 100));
    left = await find();
  }
  return left;
}

/** Which process, beyond doubt: pids are reused, so start time and boot go with them. */
export interface ProcessIdentity {
  host: string;
  boot: string;
  pid: number;
  started: string;
}

/** Start time of a process as the platform reports it, or undefined when there is no such process (or a zombie). */
export function processStart(pid: number): string | undefined {
  if (process.platform === 'linux') {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
    } catch {
      return undefined;
    }
  }
  const line = runSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)]).trim();
  return line === '' || line.startsWith('Z') ? undefined : line.replace(/^\S+\s+/, '');
}

let boot: string | undefined;
export function bootId(): string {
  boot ??= readBootId();
  return boot;
}

function readBootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}

let own: ProcessIdentity | undefined;
export function ownIdentity(): ProcessIdentity {
  own ??= { host: hostname(), boot: bootId(), pid: process.pid, started: processStart(process.pid) ?? '' };
  return own;
}

/** True or false for a process of this host; undefined when it ran elsewhere and we cannot know. */
export function isAlive(identity: ProcessIdentity): boolean | undefined {
  if (identity.host !== hostname()) return undefined;
  if (identity.boot !== '' && identity.boot !== bootId()) return false;
  const started = identity.pid === process.pid ? ownIdentity().started : processStart(identity.pid);
  return started === identity.started;
}
