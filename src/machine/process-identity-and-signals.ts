import { createHash, randomUUID } from 'node:crypto';
import {
  closeSync,
  existsSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { sep } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { shortageOf } from '../model/errors.ts';
import type { Claim } from '../model/lease-and-claim-messages.ts';
import { ifPossible, readText } from './files/read-and-remove-files.ts';
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
  return pids.filter((pid) => pid >= from && pid !== process.pid && hasMark(pid, wanted));
}

/** The pid that was given out last; 0 when it is unknown. */
function newestPid(): number {
  const load = ifPossible(() => readFileSync('/proc/loadavg', 'latin1')) ?? '';
  return Number.parseInt(load.split(' ').at(-1) ?? '', 10) || 0;
}

const room = Buffer.alloc(16 * 1024);

/** Whether a process has the mark in its environment. Called for many processes at the end of every job. */
function hasMark(pid: number, wanted: string): boolean {
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
  const cwdOf = (pid: string) => ifPossible(() => readlinkSync(`/proc/${pid}/cwd`)) ?? '';
  return readdirSync('/proc').filter(
    (pid) => /^\d/.test(pid) && `${cwdOf(pid)}${sep}`.startsWith(directory + sep),
  );
}

/** Kills all processes with the mark, except one, and returns those that did not end. */
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

/** Identifies a process: a pid is reused and valid in one namespace, so start time, boot and namespace belong to it. */
export type ProcessIdentity = Pick<Claim, 'host' | 'machine' | 'boot' | 'pids' | 'pid' | 'started'>;

/** What Linux says of a process, from its third field on, the state; undefined where there is no such process. */
export function statFields(pid: number | string): string[] | undefined {
  const stat = readText(`/proc/${pid}/stat`);
  // The name in brackets, before that, may hold anything.
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** Start time of a process as the platform reports it, or undefined when there is no such process (or a zombie). */
export function processStart(pid: number): string | undefined {
  if (process.platform === 'linux') {
    const fields = statFields(pid);
    return fields?.[0] === 'Z' || fields?.[0] === 'X' ? undefined : fields?.[19];
  }
  const line = runSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)]).trim();
  return line === '' || line.startsWith('Z') ? undefined : line.replace(/^\S+\s+/, '');
}

/** Whether this process may use its terminal. One in the background is stopped when it reads or changes it. */
export function isInForeground(): boolean {
  if (process.platform === 'linux') {
    const [, , group, , , foreground] = statFields('self') ?? [];
    return group !== undefined && group === foreground;
  }
  const [group, foreground] = runSync('ps', ['-o', 'pgid=,tpgid=', '-p', String(process.pid)])
    .trim()
    .split(/\s+/);
  return group !== '' && group === foreground;
}

let boot: string | undefined;
export function bootId(): string {
  boot ??= ifPossible(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()) ?? '';
  return boot;
}

const MACHINE_FILES = ['/etc/machine-id', '/var/lib/dbus/machine-id'];

/** Names this computer: by the system's own id, hashed as its documentation asks for, or by a file that is made here. */
export function machineId(files: readonly string[] = MACHINE_FILES, made = ownMachineFile()): string {
  const known = files.map((file) => readText(file)?.trim() ?? '').find((text) => /^[0-9a-f]{32}$/.test(text));
  const id = known ?? readOrMake(made);
  return id && createHash('sha256').update(`signalbox ${id}`).digest('hex').slice(0, 16);
}

/** A path that is local to this computer and survives a reboot, unlike a home directory or /tmp. */
function ownMachineFile(): string {
  return `/var/tmp/.signalbox-machine-${process.getuid?.() ?? 0}`;
}

/** Reads or creates the file; empty if it cannot be written, and then the host name is used. */
function readOrMake(file: string): string {
  const fresh = `${file}.${process.pid}`;
  try {
    if (!existsSync(file)) {
      writeFileSync(fresh, randomUUID(), { mode: 0o600 });
      linkSync(fresh, file);
    }
  } catch {
    // Another process was faster, or there is no right to write.
  }
  rmSync(fresh, { force: true });
  const isOwnUser = statSync(file, { throwIfNoEntry: false })?.uid === process.getuid?.();
  return isOwnUser ? (readText(file) ?? '') : '';
}

export type ProcessNamespace = Omit<ProcessIdentity, 'pid' | 'started'>;

let here: ProcessNamespace | undefined;
/** The computer, boot and pid namespace of this process. */
export function ownNamespace(): ProcessNamespace {
  const pids = () => ifPossible(() => readlinkSync('/proc/self/ns/pid')) ?? '';
  here ??= { host: hostname(), machine: machineId(), boot: bootId(), pids: pids() };
  return here;
}

let own: ProcessIdentity | undefined;
export function ownIdentity(): ProcessIdentity {
  own ??= { ...ownNamespace(), pid: process.pid, started: processStart(process.pid) ?? '' };
  return own;
}

/** As `isAlive`, and undefined if no file can be opened to look: then a lease or a heartbeat decides, which needs no file. */
export function isSeenAlive(identity: ProcessIdentity): boolean | undefined {
  try {
    return isAlive(identity);
  } catch (error) {
    if (shortageOf(error)) return undefined;
    throw error;
  }
}

/** True or false where that can be seen from here; undefined for a process of another computer or namespace. */
export function isAlive(identity: ProcessIdentity): boolean | undefined {
  switch (visibilityOf(identity, ownNamespace())) {
    case 'gone':
      return false;
    case 'hidden':
      return undefined;
    case 'doubtful':
      return runs(identity) || undefined;
    case 'seen':
      return runs(identity);
  }
}

function runs({ pid, started }: ProcessIdentity): boolean {
  return started === (pid === process.pid ? ownIdentity().started : processStart(pid));
}

/**
 * Whether a process can be seen from another place. The boot id is unique, so it is more reliable than host names.
 * `doubtful`: a record of version 0.1 from this boot, under another host name: a container's, or that of a renamed machine.
 */
export function visibilityOf(
  there: ProcessNamespace,
  from: ProcessNamespace,
): 'seen' | 'gone' | 'hidden' | 'doubtful' {
  const isSameHost = there.machine ? there.machine === from.machine : there.host === from.host;
  if (there.boot === '' || there.boot !== from.boot) {
    if (!isSameHost) return 'hidden';
    return there.boot === '' ? 'seen' : 'gone';
  }
  if (there.pids === undefined) return isSameHost ? 'seen' : 'doubtful';
  return there.pids === from.pids ? 'seen' : 'hidden';
}
