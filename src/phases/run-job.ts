import { type FollowOptions, followJob, type JobResult } from '../machine/jobs/follow-job.ts';
import { isInProcess, stopInProcess } from '../machine/jobs/record-in-process-work.ts';
import { type JobSpec, readJob, startJob } from '../machine/jobs/start-and-read-job.ts';
import { stopJob } from '../machine/jobs/stop-job.ts';
import type { AttemptEnd } from '../model/state/attempt-end-types-and-waits.ts';
import type { PhaseContext } from './phase-context.ts';

export interface Limits {
  wallSeconds: number;
  idleSeconds: number | null;
}

export interface JobRun extends Limits, Omit<FollowOptions, 'exited' | 'wallMs' | 'idleMs' | 'signal'> {
  /** Called only when a process has to be started. */
  job: () => Promise<Omit<JobSpec, 'dir'>>;
}

const NOTHING = { exit: { code: null, signal: null }, ms: 0, stdoutTail: '', stderrTail: '' };

/** Runs a job to its end, or adopts one that an earlier engine started. Null: it was lost and has to run again. */
export async function runJob(context: PhaseContext, run: JobRun): Promise<JobResult | null> {
  const adopted = await adoptJob(context, run);
  if (adopted !== undefined) return adopted;
  const job = await run.job();
  if (context.signal.aborted) return { ...NOTHING, reason: 'stopped' };
  const { exited } = startJob({ ...job, dir: run.dir, lease: context.lease });
  context.onProcess();
  return follow(context, run, exited);
}

/**
 * Adopts a job that an earlier engine started: a live one is followed, a finished one is read, and the remaining
 * processes of a lost one are stopped. Undefined when there is none.
 */
export async function adoptJob(
  context: PhaseContext,
  run: Omit<JobRun, 'job'>,
): Promise<JobResult | null | undefined> {
  const found = context.resumed ? readJob(run.dir).state : 'none';
  if (found === 'none') return undefined;
  // An action ends with its engine, even where this process was that engine.
  if (found !== 'ended' && isInProcess(run.dir)) await stopInProcess(run.dir, 'lost');
  else if (found === 'lost') await stopJob(run.dir, 'lost');
  // Of one that is lost, too: what it printed may say how it ended.
  return follow(context, run);
}

function follow(
  { signal }: PhaseContext,
  { dir, wallSeconds, idleSeconds, ...watchers }: Omit<JobRun, 'job'>,
  exited?: FollowOptions['exited'],
): Promise<JobResult> {
  const limits = { wallMs: wallSeconds * 1000, idleMs: idleSeconds === null ? null : idleSeconds * 1000 };
  return followJob({ dir, ...limits, signal, ...watchers, ...(exited ? { exited } : {}) });
}

/** How an attempt ends whose process did not exit by itself; undefined when it did. */
export function endOfJob(
  result: JobResult | null,
  { wallSeconds, idleSeconds }: Limits,
): AttemptEnd | undefined {
  const timeout = (kind: 'timeout' | 'idle', message: string): AttemptEnd => ({
    type: 'failed',
    outcome: 'timeout',
    error: { class: kind, message },
  });
  switch (result?.reason ?? 'lost') {
    case 'lost':
      return {
        type: 'interrupted',
        reason: 'its process is gone without an exit record',
        deliberate: false,
        lost: true,
      };
    case 'lease':
      return { type: 'interrupted', reason: 'its worker did not reach the store in time', deliberate: true };
    case 'stopped':
      return { type: 'interrupted', reason: 'stopped', deliberate: true };
    case 'budget':
      return { type: 'parked', kind: 'budget', until: null, reason: 'its budget is used up' };
    case 'timeout':
      return timeout('timeout', `took longer than ${wallSeconds} s`);
    case 'idle':
      return timeout('idle', `printed nothing for ${idleSeconds} s`);
    case 'exited':
      return undefined;
  }
}
