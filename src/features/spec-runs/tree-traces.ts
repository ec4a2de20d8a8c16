import { existsSync, lstatSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { EngineContext } from '../../engine/context.ts';
import { type JobState, readJob } from '../../machine/jobs/job.ts';
import type { TreeLeft } from '../../model/state/tree-left.ts';
import { openAttempt, type Ticket } from '../../model/ticket.ts';

/** An attempt may have more processes than its first. */
const TURNS = ['', '.repair', '.landing'];

/**
 * What a ticket left in a checkout when its engine was killed, as far as there is proof. While its process runs, that is
 * everything; after that, what was last changed before the process ended; where nobody knows when that was, nothing.
 */
export async function tracesOf(
  parts: EngineContext,
  ticket: Ticket,
  path: string,
  now: TreeLeft,
): Promise<TreeLeft | undefined> {
  const job = lastJob(parts, ticket);
  if (job?.state === 'running') return now;
  if (job?.state === 'lost') return undefined;
  if (job?.state !== 'ended') return { head: ticket.base?.commit ?? now.head, files: {} };
  const files: Record<string, string> = {};
  for (const [file, sum] of Object.entries(now.files))
    if (await isUntouched(parts, path, file, job.endedAt)) files[file] = sum;
  return { head: (await parts.workspaces.headAt(path, job.endedAt)) ?? now.head, files };
}

/** The process that a ticket had last; undefined where it had none. */
export function lastJob({ machine }: EngineContext, ticket: Ticket): JobState | undefined {
  for (const attempt of ticket.phaseHistory.toReversed()) {
    const dir = machine.job(ticket, attempt);
    const jobs = TURNS.map((turn) => readJob(`${dir}${turn}`)).filter(({ state }) => state !== 'none');
    const open = jobs.find(({ state }) => state === 'running') ?? jobs.find(({ state }) => state === 'lost');
    if (open ?? jobs[0]) return open ?? jobs.sort((a, b) => endOf(a) - endOf(b)).at(-1);
  }
  return undefined;
}

/** Whether the process of an open attempt runs, or has ended and nobody has read how. */
export function isAtWork(parts: EngineContext, ticket: Ticket): boolean {
  const state = openAttempt(ticket) ? lastJob(parts, ticket)?.state : undefined;
  return (state === 'running' || state === 'ended') && ticket.hold?.kind !== 'gate';
}

function endOf(job: JobState): number {
  return job.state === 'ended' ? job.endedAt.getTime() : 0;
}

/**
 * Change times are the kernel's and nobody sets them back. A file that is gone was in a directory that changed with it;
 * one that was moved here with its directory is as old as ever, but the directory is not.
 */
async function isUntouched(parts: EngineContext, root: string, file: string, since: Date): Promise<boolean> {
  const isOld = (name: string) => {
    const stat = lstatSync(join(root, name), { throwIfNoEntry: false });
    return stat !== undefined && Math.floor(stat.ctimeMs) <= since.getTime();
  };
  const stat = lstatSync(join(root, file), { throwIfNoEntry: false });
  if (!stat) {
    let above = dirname(file);
    while (!existsSync(join(root, above))) above = dirname(above);
    return isOld(above);
  }
  if (stat.isDirectory() || !isOld(file)) return false;
  for (let above = dirname(file); above !== '.'; above = dirname(above))
    if (!isOld(above) && !(await parts.workspaces.isTracked(root, above))) return false;
  return true;
}
