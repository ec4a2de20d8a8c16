import { existsSync } from 'node:fs';
import { endOrLastOutputAt, type JobState, readJob } from '../machine/jobs/start-and-read-job.ts';
import { openAttempt, type Ticket } from '../model/ticket.ts';
import type { EngineContext } from './context.ts';

/** The state of a ticket's latest job; undefined if it had none. */
export function lastJob({ machine }: EngineContext, ticket: Ticket): JobState | undefined {
  for (const attempt of ticket.phaseHistory.toReversed()) {
    const job = jobOf(machine.job(ticket, attempt));
    if (job) return job;
  }
  return undefined;
}

/** The state of the job of an attempt, or of its turn that has not ended; undefined if it had none. */
export function jobOf(dir: string): JobState | undefined {
  const jobs = [dir, ...turnsOf(dir)].map(readJob).filter(({ state }) => state !== 'none');
  const one = (wanted: JobState['state']) => jobs.find(({ state }) => state === wanted);
  const open = one('running') ?? one('unknown') ?? one('lost');
  return open ?? jobs.sort((a, b) => endOf(a) - endOf(b)).at(-1);
}

/** Whether the process of an open attempt runs, or has ended and no engine has read its result. */
export function hasUnreadJob(engine: EngineContext, ticket: Ticket): boolean {
  const state = openAttempt(ticket) ? lastJob(engine, ticket)?.state : undefined;
  return (state === 'running' || state === 'ended') && ticket.hold?.kind !== 'gate';
}

function endOf(job: JobState): number {
  return job.state === 'ended' ? job.endedAt.getTime() : 0;
}

/** How often an attempt has started its agent: a turn that repairs the result or commits at the end is another process. */
export function launchesOf(jobDir: string): number {
  return 1 + turnsOf(jobDir).length;
}

/** When the last process of an attempt ended; undefined while one runs. */
export function endedBefore(jobDir: string): string | undefined {
  const signs = [jobDir, ...turnsOf(jobDir)].map(endOrLastOutputAt);
  const known = signs.filter((sign) => sign !== undefined);
  return known.length === signs.length ? new Date(Math.max(...known.map(Number))).toISOString() : undefined;
}

/** Directories of the jobs of an attempt that repair the result or commit at the end. */
function turnsOf(jobDir: string): string[] {
  return ['repair', 'landing'].map((turn) => `${jobDir}.${turn}`).filter((dir) => existsSync(dir));
}
