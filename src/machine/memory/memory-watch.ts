import { writeAtomic } from '../files/atomic.ts';
import { readIdentity, readJson } from '../jobs/job.ts';
import { freeMegabytes, treeSizes } from './measure.ts';

interface Watched {
  agent: string;
  /** Where it runs; null while it is only about to start. */
  jobDir: string | null;
  now: number | null;
  peak: number;
  /** Attempts in the ticket's history once this one is recorded. */
  attempts: number;
  /** Processes of the attempt beyond its first. */
  more: number;
}

const FIRST_MS = 1_000;
const EVERY_MS = 3_000;

/** How large agents get: measured while they run, kept per agent name in the state directory. */
export class MemoryWatch {
  readonly #file: string;
  readonly #watched = new Map<string, Watched>();
  #timer: NodeJS.Timeout | undefined;
  #peaks: Record<string, number> | undefined;
  /** Replaced by tests. */
  free: () => number = freeMegabytes;

  constructor(file: string) {
    this.#file = file;
  }

  /** The largest that agents of a name were lately, in megabytes. */
  peakOf(agent: string): number | undefined {
    this.#peaks ??= this.#read();
    return Object.hasOwn(this.#peaks, agent) ? this.#peaks[agent] : undefined;
  }

  /** What a process that this engine runs uses now; null when that is not known. */
  sizeOf(key: string): number | null {
    return this.#watched.get(key)?.now ?? null;
  }

  /** Who of this engine's is at work or about to be, by ticket. */
  get agents(): ReadonlyMap<string, Pick<Watched, 'agent' | 'attempts' | 'more'>> {
    return this.#watched;
  }

  /** Keeps the place of an agent that was admitted: until it is seen at work, another one must not take it. */
  reserve(key: string, agent: string, attempts: number): void {
    this.#watched.set(key, { agent, jobDir: null, now: null, peak: 0, attempts, more: 0 });
  }

  /** One more process of the attempt at work. */
  again(key: string): void {
    const watched = this.#watched.get(key);
    if (watched) watched.more++;
  }

  begin(key: string, agent: string, jobDir: string): void {
    const attempts = this.#watched.get(key)?.attempts ?? 0;
    this.#watched.set(key, { agent, jobDir, now: null, peak: 0, attempts, more: 0 });
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
    return setTimeout(() => void this.#measure(), ms).unref();
  }

  async #measure(): Promise<void> {
    const roots = new Map<number, Watched>();
    for (const each of this.#watched.values()) {
      if (each.jobDir === null) continue;
      const command = readJson<{ host: string; boot: string }>(`${each.jobDir}/command.json`);
      const pid = command && readIdentity(each.jobDir, command)?.pid;
      if (pid) roots.set(pid, each);
    }
    const sizes = roots.size > 0 ? await treeSizes([...roots.keys()]) : new Map<number, number>();
    for (const [pid, each] of roots) {
      each.now = sizes.get(pid) ?? null;
      each.peak = Math.max(each.peak, each.now ?? 0);
    }
    this.#timer = this.#watched.size > 0 ? this.#later(EVERY_MS) : undefined;
  }

  /** A single large one is forgotten little by little. */
  #keep(agent: string, peak: number): void {
    const peaks = this.#read();
    const before = Object.hasOwn(peaks, agent) ? (peaks[agent] ?? 0) : 0;
    this.#peaks = { ...peaks, [agent]: Math.ceil(Math.max(peak, before * 0.9)) };
    try {
      writeAtomic(this.#file, `${JSON.stringify(this.#peaks, null, 2)}\n`);
    } catch {
      // It is a measurement: the next one is as good, and what matters more tells of a full disk.
    }
  }

  #read(): Record<string, number> {
    const found = readJson<Record<string, unknown>>(this.#file) ?? {};
    const sizes = Object.entries(found).filter((pair): pair is [string, number] => Number.isFinite(pair[1]));
    return Object.fromEntries(sizes);
  }
}
