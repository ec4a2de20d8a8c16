import { readdirSync, readFileSync } from 'node:fs';
import { freemem } from 'node:os';
import { dirname, join } from 'node:path';
import { ifPossible, readJson, readText } from './files/read-and-remove-files.ts';
import { writeAtomic } from './files/write-atomic-and-note-facts.ts';
import { readIdentity } from './jobs/start-and-read-job.ts';
import { statFields } from './process-identity-and-signals.ts';
import { run, runSync } from './run-process.ts';

interface Watched {
  agent: string;
  /** Where it runs; null while it is only about to start. */
  jobDir: string | null;
  now: number | null;
  peak: number;
  /** Attempts in the ticket's history once this one is recorded. */
  attempts: number;
}

const FIRST_MS = 1_000;
const EVERY_MS = 3_000;
/** Reading the memory of all control groups takes a good part of a millisecond. */
const FREE_EVERY_MS = 200;

/** Measures how much memory agents use while they run, and stores it per agent name in the state directory. */
export class MemoryWatch {
  readonly #file: string;
  readonly #watched = new Map<string, Watched>();
  #timer: NodeJS.Timeout | undefined;
  #peaks: Record<string, number> | undefined;
  #free = { megabytes: 0, until: 0 };
  /** Memory for one more agent. Agents that started since it was measured are counted by what they will need. Replaced by tests. */
  free = (): number => {
    const now = performance.now();
    if (now >= this.#free.until) this.#free = { megabytes: freeMegabytes(), until: now + FREE_EVERY_MS };
    return this.#free.megabytes;
  };

  constructor(file: string) {
    this.#file = file;
  }

  /** The recent peak memory of agents with this name, in megabytes. */
  peakOf(agent: string): number | undefined {
    this.#peaks ??= this.#read();
    return Object.hasOwn(this.#peaks, agent) ? this.#peaks[agent] : undefined;
  }

  /** What a process that this engine runs uses now; null when that is not known. */
  sizeOf(key: string): number | null {
    return this.#watched.get(key)?.now ?? null;
  }

  /** This engine's agents that run or are about to start, by ticket. */
  get agents(): ReadonlyMap<string, Pick<Watched, 'agent' | 'attempts'>> {
    return this.#watched;
  }

  /** Reserves memory for an admitted agent until its process is measured. */
  reserve(key: string, agent: string, attempts: number): void {
    this.#watched.set(key, { agent, jobDir: null, now: null, peak: 0, attempts });
  }

  begin(key: string, agent: string, jobDir: string): void {
    const attempts = this.#watched.get(key)?.attempts ?? 0;
    this.#watched.set(key, { agent, jobDir, now: null, peak: 0, attempts });
    this.#timer ??= this.#later(FIRST_MS);
  }

  end(key: string): void {
    const ended = this.#watched.get(key);
    this.#watched.delete(key);
    if (this.#watched.size === 0) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
    }
    if (ended && ended.peak > 0) this.#keep(ended.agent, ended.peak);
  }

  #later(ms: number): NodeJS.Timeout {
    const measure = () => this.#measure().catch(() => undefined);
    const again = () => {
      this.#timer = this.#watched.size > 0 ? this.#later(EVERY_MS) : undefined;
    };
    return setTimeout(() => void measure().then(again), ms).unref();
  }

  /** Fails if no file can be opened at the moment. */
  async #measure(): Promise<void> {
    const roots = new Map<number, Watched>();
    for (const each of this.#watched.values()) {
      if (each.jobDir === null) continue;
      const pid = readIdentity(each.jobDir)?.pid;
      if (pid) roots.set(pid, each);
    }
    const sizes = roots.size > 0 ? await treeSizes([...roots.keys()]) : new Map<number, number>();
    for (const [pid, each] of roots) {
      each.now = sizes.get(pid) ?? null;
      each.peak = Math.max(each.peak, each.now ?? 0);
    }
  }

  /** Stores a peak. A single large value decays over time. */
  #keep(agent: string, peak: number): void {
    // A lost measurement does no harm, and writes of the state report a full disk.
    ifPossible(() => {
      const peaks = this.#read();
      const before = Object.hasOwn(peaks, agent) ? (peaks[agent] ?? 0) : 0;
      this.#peaks = { ...peaks, [agent]: Math.ceil(Math.max(peak, before * 0.9)) };
      writeAtomic(this.#file, `${JSON.stringify(this.#peaks, null, 2)}\n`);
    });
  }

  #read(): Record<string, number> {
    const found = readJson<Record<string, unknown>>(this.#file) ?? {};
    const sizes = Object.entries(found).filter((pair): pair is [string, number] => Number.isFinite(pair[1]));
    return Object.fromEntries(sizes);
  }
}

const MB = 1 << 20;
const CGROUP = '/sys/fs/cgroup';

/** Memory that a new process could have without others being pushed out, in megabytes. */
function freeMegabytes(): number {
  if (process.platform === 'linux') {
    const available = /^MemAvailable:\s+(\d+)/m.exec(read('/proc/meminfo'))?.[1];
    const free = available === undefined ? freemem() / MB : Number(available) / 1024;
    return Math.min(free, freeInControlGroups(read('/proc/self/cgroup')) ?? free);
  }
  return (
    (process.platform === 'darwin' ? freeFromVmStat(runSync('vm_stat', [])) : undefined) ?? freemem() / MB
  );
}

/** The files of both generations of control groups. */
const FILES = {
  now: { most: 'memory.max', used: 'memory.current', cached: /^inactive_file (\d+)/m },
  old: {
    most: 'memory.limit_in_bytes',
    used: 'memory.usage_in_bytes',
    cached: /^total_inactive_file (\d+)/m,
  },
};

/**
 * A container, a service or a session may have less than its machine, by its own control group or any above it; file
 * caches of its own can be dropped. Undefined without any limit.
 */
export function freeInControlGroups(self: string, root = CGROUP): number | undefined {
  const left = self.split('\n').flatMap((line) => {
    const [, controllers, path = '/'] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (controllers === '') return upwards(root, path).map((dir) => leftIn(dir, FILES.now));
    if (!controllers?.split(',').includes('memory')) return [];
    return upwards(join(root, 'memory'), path).map((dir) => leftIn(dir, FILES.old));
  });
  const known = left.filter((each) => each !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}

/** The group's directory and those above it. Inside a container the path may be that of the host: then only the top is there. */
function upwards(top: string, path: string): string[] {
  const dirs = [top];
  for (let at = join('/', path); at !== '/'; at = dirname(at)) dirs.push(join(top, at));
  return dirs;
}

function leftIn(dir: string, files: (typeof FILES)['now']): number | undefined {
  const most = Number.parseInt(read(join(dir, files.most)), 10);
  if (Number.isNaN(most)) return undefined;
  const used = Number.parseInt(read(join(dir, files.used)), 10);
  const cached = Number(files.cached.exec(read(join(dir, 'memory.stat')))?.[1] ?? 0);
  return Number.isNaN(used) ? undefined : Math.max(0, most - used + cached) / MB;
}

/** Free memory on macOS: its own figure leaves out memory that can be freed at once. */
export function freeFromVmStat(text: string): number | undefined {
  const page = Number(/page size of (\d+) bytes/.exec(text)?.[1]);
  const pages = ['free', 'inactive', 'speculative', 'purgeable'].map((kind) =>
    Number(new RegExp(`^Pages ${kind}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0),
  );
  return page > 0 ? (pages.reduce((sum, each) => sum + each, 0) * page) / MB : undefined;
}

/** Not every system has every file. */
function read(path: string): string {
  return readText(path) ?? '';
}

/** One process of a listing; memory in megabytes. */
interface Row {
  pid: number;
  parent: number;
  session: number;
  megabytes: number;
}

/** Resident memory of each of these processes with everything below it or in its session, in megabytes. */
async function treeSizes(roots: readonly number[]): Promise<Map<number, number>> {
  const rows = process.platform === 'linux' ? fromProc() : await fromPs();
  return new Map(roots.map((root) => [root, sizeOf(root, rows)]));
}

function sizeOf(root: number, rows: readonly Row[]): number {
  const inside = new Set([root]);
  let size = 0;
  // Parents have lower pids than their children, nearly always; what that misses is found by its session.
  for (const row of rows) {
    if (row.session !== root && !inside.has(row.pid) && !inside.has(row.parent)) continue;
    inside.add(row.pid);
    size += row.megabytes;
  }
  return size;
}

function fromProc(): Row[] {
  const page = pageSize() / (1 << 20);
  const pids = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
  return pids.sort((a, b) => a - b).flatMap((pid) => statOf(pid, page) ?? []);
}

/** The size of a memory page, from this process's own size in pages and in bytes. */
function pageSize(): number {
  const pages = Number(ifPossible(() => readFileSync('/proc/self/statm', 'latin1'))?.split(' ')[1]);
  const ratio = process.memoryUsage.rss() / pages;
  return Number.isFinite(ratio) && ratio > 0 ? 2 ** Math.round(Math.log2(ratio)) : 4096;
}

function statOf(pid: number, page: number): Row | undefined {
  const fields = ifPossible(() => statFields(pid));
  if (!fields) return undefined;
  const at = (field: number) => Number(fields[field - 3] ?? 0);
  return { pid, parent: at(4), session: at(6), megabytes: at(24) * page };
}

async function fromPs(): Promise<Row[]> {
  const { stdout } = await run('ps', ['-ax', '-o', 'pid=,ppid=,sess=,rss=']);
  const rows = stdout.split('\n').flatMap((line) => {
    const [pid, parent, session, rss] = line.trim().split(/\s+/).map(Number);
    if (!pid || parent === undefined || rss === undefined) return [];
    return [{ pid, parent, session: session ?? 0, megabytes: rss / 1024 }];
  });
  return rows.sort((a, b) => a.pid - b.pid);
}
