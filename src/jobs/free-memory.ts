import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { freemem } from 'node:os';

const MB = 1 << 20;
const CGROUP = '/sys/fs/cgroup';

/** Memory that a new process could have without others being pushed out, in megabytes. */
export function freeMegabytes(): number {
  if (process.platform === 'linux') {
    const available = kilobytesOf(read('/proc/meminfo'), 'MemAvailable');
    const free = available === undefined ? freemem() / MB : available / 1024;
    return Math.min(free, inContainer() ?? free);
  }
  return (process.platform === 'darwin' ? ofVmStat(vmStat()) : undefined) ?? freemem() / MB;
}

function kilobytesOf(text: string, name: string): number | undefined {
  const value = new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1];
  return value === undefined ? undefined : Number(value);
}

/** A container may have less than its machine; file caches of its own can be dropped. */
function inContainer(): number | undefined {
  const most = Number.parseInt(read(`${CGROUP}/memory.max`), 10);
  const used = Number.parseInt(read(`${CGROUP}/memory.current`), 10);
  const cached = Number(/^inactive_file (\d+)/m.exec(read(`${CGROUP}/memory.stat`))?.[1] ?? 0);
  return Number.isNaN(most) || Number.isNaN(used) ? undefined : Math.max(0, most - used + cached) / MB;
}

/** What macOS calls free leaves out everything that it would give away at once. */
export function ofVmStat(text: string): number | undefined {
  const page = Number(/page size of (\d+) bytes/.exec(text)?.[1]);
  const pages = ['free', 'inactive', 'speculative', 'purgeable'].map((kind) =>
    Number(new RegExp(`^Pages ${kind}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0),
  );
  return page > 0 ? (pages.reduce((sum, each) => sum + each, 0) * page) / MB : undefined;
}

function vmStat(): string {
  try {
    return execFileSync('vm_stat', { encoding: 'utf8', timeout: 2_000 });
  } catch {
    // Then the system's own, smaller number has to do.
    return '';
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // Not every system has every file.
    return '';
  }
}
