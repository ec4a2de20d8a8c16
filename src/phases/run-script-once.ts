import type { JobResult } from '../machine/jobs/follow.ts';
import { readJob } from '../machine/jobs/job.ts';
import { stopJob } from '../machine/jobs/stop.ts';
import type { PhaseOf } from '../model/workflow.ts';
import type { PhaseContext } from './context.ts';
import { runJob } from './run-job.ts';
import { scriptJob } from './script.ts';

/** Runs a phase's script once. A look has no effect that could be lost: one that was cut off is ended and repeated. */
export async function lookOnce(context: PhaseContext<PhaseOf<'poll'>>): Promise<JobResult | null> {
  const { jobDir, resumed, settings } = context;
  if (resumed && readJob(jobDir).state === 'running') await stopJob(jobDir, 'lost');
  const run = scriptJob(context, settings.timeouts.pollCheckSeconds, null);
  return runJob({ ...context, resumed: false }, run);
}
