import { followJob, type JobResult } from '../machine/jobs/follow.ts';
import { type JobSpec, readJob, startJob } from '../machine/jobs/job.ts';
import { isInProcess, stopInProcess } from '../machine/jobs/record-in-process-work.ts';
import { stopJob } from '../machine/jobs/stop.ts';
import type { AttemptEnd } from '../model/state/outcome.ts';
import type { PhaseContext } from './context.ts';

export interface JobRun {
  dir: string;
  /** Made only when a process really has to be started. */
  job: () => Promise<Omit<JobSpec, 'dir'>>;
  wallSeconds: number;
  idleSeconds: number | null;
  onOutput?: (chunk: Buffer) => void;
  onErrors?: (chunk: Buffer) => void;
  isBusy?: () => boolean;
  isWaiting?: () => boolean;
  isOver?: () => boolean;
}

const NOTHING = { exit: { code: null, signal: null }, ms: 0, stdoutTail: '', stderrTail: '' };

/**
 * Runs a job to its end, or takes over one that an earlier engine began. Null means that it was lost and has to run again.
 */
export async function runJob(context: PhaseContext, run: JobRun): Promise<JobResult | null> {
  const adopted = await adoptJob(context, run);
  if (adopted !== undefined) return adopted;
  const job = await run.job();
  if (context.signal.aborted) return { ...NOTHING, reason: 'stopped' };
  const { exited } = startJob({ ...job, dir: run.dir });
  context.onProcess();
  return follow(context, run, exited);
}

/**
 * Takes over a job that an earlier engine began: a live one is followed where it is, a finished one is read, and of a dead
 * one nothing may be left running. Undefined when there is none.
 */
export async function adoptJob(
  context: PhaseContext,
  run: Omit<JobRun, 'job'>,
): Promise<JobResult | null | undefined> {
  const found = context.resumed ? readJob(run.dir).state : 'none';
  if (found === 'none') return undefined;
  // What an engine does itself ends with it, also where this process is that engine and began anew.
  if (found !== 'ended' && isInProcess(run.dir)) await stopInProcess(run.dir, 'lost');
  else if (found === 'lost') await stopJob(run.dir, 'lost');
  else return follow(context, run);
  return null;
}

function follow(
  { signal }: PhaseContext,
  { dir, wallSeconds, idleSeconds, ...watchers }: Omit<JobRun, 'job'>,
  exited?: Promise<void>,
): Promise<JobResult> {
  const idleMs = idleSeconds === null ? null : idleSeconds * 1000;
  return followJob({
    dir,
    wallMs: wallSeconds * 1000,
    idleMs,
    signal,
    ...watchers,
    ...(exited ? { exited } : {}),
  });
}

/** The ends that mean the same for every kind of process; undefined when it ended by itself. */
export function endOfJob(
  result: JobResult | null,
  wallSeconds: number,
  idleSeconds: number | null,
): AttemptEnd | undefined {
  if (result === null)
    return { type: 'interrupted', reason: 'its process is gone without an exit record', deliberate: false };
  switch (result.reason) {
    case 'lost':
      return { type: 'interrupted', reason: 'its process is gone without an exit record', deliberate: false };
    case 'stopped':
      return { type: 'interrupted', reason: 'stopped', deliberate: true };
    case 'budget':
      return { type: 'parked', budget: true, until: null, reason: 'its budget is used up' };
    case 'timeout':
      return {
        type: 'failed',
        outcome: 'timeout',
        error: { class: 'timeout', message: `took longer than ${wallSeconds} s` },
      };
    case 'idle':
      return {
        type: 'failed',
        outcome: 'timeout',
        error: { class: 'idle', message: `printed nothing for ${idleSeconds} s` },
      };
    case 'exited':
      return undefined;
  }
}
