import { rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { requireId, type TicketRef } from '../model/ids-and-branch-names.ts';
import { asRecord, parseJson } from '../model/text/parse-json-and-find-places.ts';
import { type Attempt, attemptKey } from '../model/ticket.ts';
import { stateLock, withStateLock } from './file-lock.ts';
import { StorageWait } from './files/make-directory-and-handle-storage-errors.ts';
import { ifPossible, readRegularText } from './files/read-and-remove-files.ts';
import { removeStray, writeAtomic } from './files/write-atomic-and-note-facts.ts';
import { MemoryWatch } from './measure-agent-memory.ts';

/** Where a plan's latest run opened its tmux windows. */
export interface TmuxRecord {
  session: string;
  /** Path of the tmux server's socket. */
  socket: string;
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
  /** Of a worker: the file with the time until which its jobs may run. Their watchdogs read it. */
  lease: string | undefined;

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

  /** When a person last looked at a report, by what it was about. */
  get reportsLookedAt(): string {
    return join(this.stateDir, 'reports.json');
  }

  /** Where the page is served, and by which process. */
  get webServer(): string {
    return join(this.stateDir, 'web.json');
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

  /** Deletes what killed processes left half written before that time, in milliseconds. */
  sweep(before: number): void {
    const locks = dirname(stateLock(this.stateDir, 'x'));
    for (const dir of [locks, this.repositories, this.githubCache]) removeStray(dir, before);
  }

  /** Runs `fn` while no other process of this host holds the lock of that name. */
  lock<T>(name: string, fn: () => T | Promise<T>): Promise<T> {
    return withStateLock(this.stateDir, name, fn);
  }

  keepTmuxRecord(planId: string, record: TmuxRecord): void {
    writeAtomic(this.#tmuxFile(planId), `${JSON.stringify({ schema: 1, ...record }, null, 2)}\n`);
  }

  /** Undefined when there is no record, or none that can be read. */
  tmuxRecord(planId: string): TmuxRecord | undefined {
    const text = ifPossible(() => readRegularText(this.#tmuxFile(planId))) ?? '';
    const { session, socket } = asRecord(parseJson(text));
    const usable = typeof session === 'string' && typeof socket === 'string' && session && socket;
    return usable ? { session, socket } : undefined;
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
