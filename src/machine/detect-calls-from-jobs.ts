import { existsSync, readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { ifPossible } from './files/read-and-remove-files.ts';
import { MARKER } from './jobs/start-and-read-job.ts';
import { statFields } from './process-identity-and-signals.ts';

/** The two ends of a TCP connection, as the accepting end sees them. */
export interface Connection {
  remoteAddress?: string | undefined;
  remotePort?: number | undefined;
  localAddress?: string | undefined;
  localPort?: number | undefined;
}

const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];

/**
 * What the other end of a connection is. `job`: a process of a job below this state directory, or one that descends from it. What
 * runs in a sandbox always descends from its job; a process outside of one may have got away. `gone`: a process of this machine that
 * has closed its end already, so that nothing shows which one it was. `other`: no job as far as this machine can know: it is on another
 * machine, of another user, or this system has no /proc.
 */
export function connectedTo(connection: Connection, stateDir: string): 'job' | 'gone' | 'other' {
  const tables = TABLES.filter((each) => existsSync(each));
  if (tables.length === 0) return 'other';
  const inode = socketOf(connection, tables);
  if (inode === undefined) return isOfThisMachine(connection.remoteAddress ?? '') ? 'gone' : 'other';
  const target = `socket:[${inode}]`;
  const isJob = jobProcesses(stateDir).some((pid) =>
    (ifPossible(() => readdirSync(`/proc/${pid}/fd`)) ?? []).some(
      (fd) => ifPossible(() => readlinkSync(`/proc/${pid}/fd/${fd}`)) === target,
    ),
  );
  if (isJob) return 'job';
  // It may have ended while the processes were read.
  return socketOf(connection, tables) === inode ? 'other' : 'gone';
}

function isOfThisMachine(address: string): boolean {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
  if (plain === '' || plain === '::1' || plain.startsWith('127.')) return true;
  return Object.values(networkInterfaces()).some((all) => all?.some((each) => each.address === plain));
}

/** The socket of the other end, if a process of this machine has it. */
function socketOf(
  { remoteAddress, remotePort, localAddress, localPort }: Connection,
  tables: readonly string[],
): string | undefined {
  if (!remoteAddress || !localAddress || remotePort === undefined || localPort === undefined)
    return undefined;
  const theirs = [remoteAddress, remotePort] as const;
  const ours = [localAddress, localPort] as const;
  const wanted = new Set(writtenWays(...theirs).flatMap((a) => writtenWays(...ours).map((b) => `${a} ${b}`)));
  for (const table of tables)
    for (const line of readFileSync(table, 'latin1').split('\n').slice(1)) {
      const [, local = '', remote = '', , , , , , , inode] = line.trim().split(/\s+/);
      if (inode !== undefined && inode !== '0' && wanted.has(`${local} ${remote}`)) return inode;
    }
  return undefined;
}

/** An address and a port as the kernel's tables write them: words of four bytes, each in the order of this machine. */
function writtenWays(address: string, port: number): string[] {
  const end = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const [, v4] = /^(?:::ffff:)?(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? [];
  if (v4 !== undefined) {
    const word = hexOf(v4.split('.').map(Number));
    return [`${word}${end}`, `0000000000000000FFFF0000${word}${end}`];
  }
  const bytes = bytesOfV6(address);
  if (!bytes) return [];
  const words = [0, 4, 8, 12].map((at) => hexOf(bytes.slice(at, at + 4)));
  return [`${words.join('')}${end}`];
}

/** All machines that Node runs on store the lowest byte first. */
function hexOf(bytes: readonly number[]): string {
  return [...bytes]
    .reverse()
    .map((byte) => byte.toString(16).toUpperCase().padStart(2, '0'))
    .join('');
}

function bytesOfV6(address: string): number[] | undefined {
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::');
  const groups = (text: string) =>
    text === '' ? [] : text.split(':').map((each) => Number.parseInt(each, 16));
  const [front, back] = [groups(head), groups(tail ?? '')];
  const missing = 8 - front.length - back.length;
  if (missing < 0 || (tail === undefined && missing !== 0)) return undefined;
  const all = [...front, ...Array.from({ length: missing }, () => 0), ...back];
  return all.flatMap((each) => [each >> 8, each & 0xff]);
}

/** Whether this process descends from a job below this state directory, also where the mark was taken out of its environment. */
export function isBelowJob(stateDir: string): boolean {
  const isMarked = markFinder(stateDir);
  const seen = new Set<string>();
  for (let pid = String(process.pid); !seen.has(pid); pid = parentOf(pid) ?? '0') {
    if (isMarked(pid)) return true;
    seen.add(pid);
  }
  return false;
}

function parentOf(pid: string): string | undefined {
  return ifPossible(() => statFields(pid))?.[1];
}

/** Whether a process carries the mark of a job of this state directory. */
function markFinder(stateDir: string): (pid: string) => boolean {
  const ways = [stateDir, ifPossible(() => realpathSync.native(stateDir)) ?? stateDir];
  const marks = ways.map((each) => `\0${MARKER}=${Buffer.from(each).toString('latin1')}/`);
  return (pid) => {
    const environ = ifPossible(() => readFileSync(`/proc/${pid}/environ`, 'latin1'));
    return environ !== undefined && marks.some((mark) => `\0${environ}`.includes(mark));
  };
}

/** Processes that carry the mark of a job of this state directory, and all that descend from them. */
function jobProcesses(stateDir: string): string[] {
  const isMarked = markFinder(stateDir);
  const parents = new Map<string, string>();
  const known = new Map<string, boolean>();
  for (const pid of readdirSync('/proc')) {
    if (!/^\d/.test(pid)) continue;
    const parent = parentOf(pid);
    if (parent === undefined) continue;
    parents.set(pid, parent);
    if (isMarked(pid)) known.set(pid, true);
  }
  const isJob = (pid: string): boolean => {
    const found = known.get(pid);
    if (found !== undefined) return found;
    // The answer until the parents are checked: a reused pid could make them a circle.
    known.set(pid, false);
    const parent = parents.get(pid);
    const result = parent !== undefined && isJob(parent);
    known.set(pid, result);
    return result;
  };
  return [...parents.keys()].filter(isJob);
}
