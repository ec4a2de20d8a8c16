import { rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { SignalboxError } from '../model/errors.ts';
import { requireId, type TicketRef } from '../model/ids-and-branch-names.ts';
import { type Attempt, attemptKey } from '../model/ticket.ts';
import { withLock } from './file-lock.ts';
import { asStorageError, isStorageError, makeDirectory } from './files/make-directory-and-storage-errors.ts';
import { readRegular } from './files/read-and-remove-files.ts';
import { writeAtomic } from './files/write-atomic-and-note-facts.ts';
import { ifWritable } from './jobs/stop-job.ts';
import { MemoryWatch } from './measure-agent-memory.ts';

/** Where a plan's latest run opened its tmux windows. */
export interface TmuxRecord {
  session: string;
  /** Path of the tmux server's socket. */
  socket: string;
}

const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 5_000;

interface Patience {
  waitMs: number;
  /** Called once for every time in which nothing can be written. */
  onTrouble(error: SignalboxError): void;
}

/** Repeats writes to a state directory that cannot be written at the moment, so that no result is lost over a full disk. */
class StorageWait {
  /** Touched when it can be written again. */
  readonly #mark: string;
  #patience: Patience | undefined;
  #trouble: { error: SignalboxError; since: number } | undefined;
  #waiting = 0;
  #ending = new AbortController();

  constructor(mark: string) {
    this.#mark = mark;
  }

  /** Whether writes are known to have failed at this time or later: now, or before the mark. */
  failedSince(time: number): boolean {
    if (this.#trouble) return true;
    return (statSync(this.#mark, { throwIfNoEntry: false })?.mtimeMs ?? 0) >= time;
  }

  /** Why writes wait now. */
  get trouble(): SignalboxError | undefined {
    return this.#trouble?.error;
  }

  /** From now on, a write that fails with a storage error is repeated. */
  begin(patience: Patience): void {
    this.#patience = patience;
    this.#ending = new AbortController();
  }

  /** From now on such a write fails at once, and those that wait fail now. */
  end(): void {
    this.#patience = undefined;
    this.#ending.abort();
  }

  async write<T>(write: () => T | Promise<T>): Promise<T> {
    try {
      return await write();
    } catch (error) {
      if (!isStorageError(error)) throw error;
      if (!this.#patience) throw error;
      return await this.#repeat(write, error, this.#patience);
    }
  }

  async #repeat<T>(write: () => T | Promise<T>, failed: SignalboxError, patience: Patience): Promise<T> {
    const { signal } = this.#ending;
    if (!this.#trouble) {
      this.#trouble = { error: failed, since: performance.now() };
      patience.onTrouble(failed);
    }
    this.#waiting++;
    try {
      for (let pause = FIRST_RETRY_MS; ; pause = Math.min(pause * 2, LONGEST_RETRY_MS)) {
        const left = this.#trouble.since + patience.waitMs - performance.now();
        if (left <= 0 || signal.aborted) throw failed;
        await delay(Math.min(pause, left), undefined, { signal }).catch(() => undefined);
        try {
          const written = await write();
          ifWritable(() => writeFileSync(this.#mark, '', { mode: 0o600 }));
          return written;
        } catch (error) {
          if (!isStorageError(error)) throw error;
        }
      }
    } finally {
      this.#waiting--;
      if (this.#waiting === 0 && !signal.aborted) this.#trouble = undefined;
    }
  }
}

/**
 * What belongs to this computer alone and stays here when plans and tickets live in a database: directories of jobs, locks of
 * this host, measurements, records of tmux. All of it is below the state directory.
 */
export class Machine {
  readonly stateDir: string;
  /** How much memory agents need. */
  readonly memory: MemoryWatch;
  readonly storage: StorageWait;

  constructor(stateDir: string) {
    this.stateDir = stateDir;
    this.storage = new StorageWait(join(stateDir, 'storage-failed'));
    this.memory = new MemoryWatch(join(stateDir, 'memory.json'));
  }

  /** What the git configuration of repositories contained when they were first used. */
  get repositories(): string {
    return join(this.stateDir, 'repositories');
  }

  /** Fingerprints of secrets, to hide them in the output of jobs. */
  get fingerprints(): string {
    return join(this.stateDir, 'fingerprints.json');
  }

  /** The latest answers of GitHub: states of pull requests, names of repositories, the rate limit. */
  get githubCache(): string {
    return join(this.stateDir, 'forge');
  }

  /** Versions of agent CLIs, by the file of the program. */
  get programVersions(): string {
    return join(this.stateDir, 'programs.json');
  }

  /** All directories of jobs. */
  get jobs(): string {
    return join(this.stateDir, 'jobs');
  }

  jobsOf({ planId, ticketId }: TicketRef): string {
    return join(this.jobs, requireId(planId, 'plan'), requireId(ticketId, 'ticket'));
  }

  /** The directory of the job of one attempt. */
  job(ref: TicketRef, attempt: Pick<Attempt, 'phase' | 'visit' | 'attempt'>): string {
    return join(this.jobsOf(ref), attemptKey(attempt).replaceAll('#', '.'));
  }

  /** Jobs of the checks of a merge, by repository. */
  mergeJobs(id: string): string {
    return join(this.stateDir, 'merges', requireId(id, 'merge'));
  }

  /** Jobs of the checks of bases, by repository. */
  get baseJobs(): string {
    return join(this.stateDir, 'bases');
  }

  /** Results of the checks of bases. */
  get baseChecks(): string {
    return join(this.baseJobs, 'results.json');
  }

  removeJobs(planId: string): void {
    rmSync(join(this.jobs, requireId(planId, 'plan')), { recursive: true, force: true });
  }

  /** Runs `fn` while no other process of this host holds the lock of that name. */
  async lock<T>(name: string, fn: () => T | Promise<T>): Promise<T> {
    const dir = join(this.stateDir, 'locks');
    try {
      makeDirectory(dir);
      return await withLock(join(dir, `${requireId(name, 'lock')}.lock`), fn);
    } catch (error) {
      throw asStorageError(error, this.stateDir);
    }
  }

  keepTmuxRecord(planId: string, record: TmuxRecord): void {
    writeAtomic(this.#tmuxFile(planId), `${JSON.stringify({ schema: 1, ...record }, null, 2)}\n`);
  }

  /** Undefined when there is no record, or none that can be read. */
  tmuxRecord(planId: string): TmuxRecord | undefined {
    const file = this.#tmuxFile(planId);
    try {
      const { session, socket } = Object(JSON.parse(String(readRegular(file)))) as Record<string, unknown>;
      const usable = typeof session === 'string' && typeof socket === 'string' && session && socket;
      return usable ? { session, socket } : undefined;
    } catch {
      return undefined;
    }
  }

  /** The plan of these whose run opened tmux windows last. */
  latestInTmux(planIds: readonly string[]): string | undefined {
    const time = (planId: string) =>
      statSync(this.#tmuxFile(planId), { throwIfNoEntry: false })?.mtimeMs ?? 0;
    return planIds.filter((planId) => this.tmuxRecord(planId)).sort((a, b) => time(b) - time(a))[0];
  }

  #tmuxFile(planId: string): string {
    return join(this.stateDir, 'plans', requireId(planId, 'plan'), 'tmux.json');
  }
}
