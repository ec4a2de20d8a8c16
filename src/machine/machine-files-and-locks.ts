import { rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { requireId, type TicketRef } from '../model/ids-and-branch-names.ts';
import { parseJson } from '../model/text/parse-json-and-find-places.ts';
import { asRecord } from '../model/text/values-of-unknown-type.ts';
import { type Attempt, attemptKey } from '../model/ticket.ts';
import { stateLock, withStateLock } from './file-lock.ts';
import { StorageWait } from './files/make-directory-and-handle-storage-errors.ts';
import { ifPossible, readRegularText } from './files/read-and-remove-files.ts';
import { removeStray, writeAtomic } from './files/write-atomic-and-note-facts.ts';
import { MemoryWatch } from './measure-agent-and-free-memory.ts';

/** Where a plan's latest run opened its tmux windows. */
export interface TmuxRecord {
  session: string;
  /** Path of the tmux server's socket. */
  socket: string;
}

export type Machine = ReturnType<typeof machineIn>;

/**
 * What belongs to this computer alone and stays here when plans and tickets live in a database: directories of jobs, locks of
 * this host, measurements, records of tmux. All of it is below the state directory.
 */
export function machineIn(stateDir: string) {
  const jobs = join(stateDir, 'jobs');
  const baseJobs = join(stateDir, 'bases');
  const repositories = join(stateDir, 'repositories');
  const githubCache = join(stateDir, 'forge');
  const jobsOfPlan = (planId: string) => join(jobs, requireId(planId, 'plan'));
  const jobsOf = ({ planId, ticketId }: TicketRef) => join(jobsOfPlan(planId), requireId(ticketId, 'ticket'));
  const tmuxFile = (planId: string) => join(stateDir, 'plans', requireId(planId, 'plan'), 'tmux.json');
  /** Undefined when there is no record, or none that can be read. */
  const tmuxRecord = (planId: string): TmuxRecord | undefined => {
    const text = ifPossible(() => readRegularText(tmuxFile(planId))) ?? '';
    const { session, socket } = asRecord(parseJson(text));
    const usable = typeof session === 'string' && typeof socket === 'string' && session && socket;
    return usable ? { session, socket } : undefined;
  };
  return {
    stateDir,
    /** How much memory agents need. */
    memory: new MemoryWatch(join(stateDir, 'memory.json')),
    storage: new StorageWait(join(stateDir, 'storage-failed')),
    /** Of a worker: the file with the time until which its jobs may run. Their watchdogs read it. */
    lease: undefined as string | undefined,
    /** What the git configuration of repositories contained when they were first used. */
    repositories,
    /** Fingerprints of secrets, to hide them in the output of jobs. */
    fingerprints: join(stateDir, 'fingerprints.json'),
    /** The latest answers of GitHub: states of pull requests, names of repositories, the rate limit. */
    githubCache,
    /** Versions of agent CLIs, by the file of the program. */
    programVersions: join(stateDir, 'programs.json'),
    /** When a person last looked at a report, by what it was about. */
    reportsLookedAt: join(stateDir, 'reports.json'),
    /** Where the page is served, and by which process. */
    webServer: join(stateDir, 'web.json'),
    /** All directories of jobs. */
    jobs,
    jobsOf,
    /** The directory of the job of one attempt. */
    job: (ref: TicketRef, attempt: Pick<Attempt, 'phase' | 'visit' | 'attempt'>) =>
      join(jobsOf(ref), attemptKey(attempt).replaceAll('#', '.')),
    /** Jobs of the checks of a merge, by repository. */
    mergeJobs: (id: string) => join(stateDir, 'merges', requireId(id, 'merge')),
    /** Jobs of the checks of bases, by repository. */
    baseJobs,
    /** Results of the checks of bases. */
    baseChecks: join(baseJobs, 'results.json'),
    removeJobs: (planId: string) => rmSync(jobsOfPlan(planId), { recursive: true, force: true }),
    /** Deletes what killed processes left half written before that time, in milliseconds. */
    sweep(before: number): void {
      const locks = dirname(stateLock(stateDir, 'x'));
      for (const dir of [locks, repositories, githubCache, baseJobs]) removeStray(dir, before);
    },
    /** Runs `fn` while no other process of this host holds the lock of that name. */
    lock: <T>(name: string, fn: () => T | Promise<T>) => withStateLock(stateDir, name, fn),
    keepTmuxRecord: (planId: string, record: TmuxRecord) =>
      writeAtomic(tmuxFile(planId), `${JSON.stringify({ schema: 1, ...record }, null, 2)}\n`),
    tmuxRecord,
    /** The plan of these whose run opened tmux windows last. */
    latestInTmux(planIds: readonly string[]): string | undefined {
      const time = (planId: string) => statSync(tmuxFile(planId), { throwIfNoEntry: false })?.mtimeMs ?? 0;
      return planIds.filter((planId) => tmuxRecord(planId)).sort((a, b) => time(b) - time(a))[0];
    },
  };
}
