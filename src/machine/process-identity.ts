import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { runSync } from './run.ts';

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
