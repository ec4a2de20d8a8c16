import type { JobResult } from '../machine/jobs/follow-job.ts';
import { EXIT } from '../model/actions.ts';
import type { AttemptEnd } from '../model/state/attempt-end-and-backoff.ts';
import { ownOutcomes, type PhaseOf } from '../model/workflow.ts';
import { capture, excerpt } from './attempt-output.ts';
import type { PhaseContext } from './phase-context.ts';
import { endOfJob } from './run-job.ts';
import { checkOnce, exitFailure, finishStep } from './script-and-action-steps.ts';

/** Checks once: exit code 0 is ready, 1 not yet, 75 could not check; others have failed. The timeout counts from the first check. */
export async function performPoll(context: PhaseContext<PhaseOf<'poll'>>): Promise<AttemptEnd> {
  const { phase, settings, attempt } = context;
  const wall = phase.timeoutSeconds ?? settings.timeouts.pollSeconds;
  const began = Date.parse(attempt.startedAt);
  // A clock that jumped back must not make the wait longer.
  const waited = Math.max(0, Date.parse(context.now()) - began) / 1000;
  const check = settings.timeouts.pollCheckSeconds;
  const result = await checkOnce(context);
  const early = endOfJob(result, check, null);
  if (early?.type === 'interrupted' || !result)
    return early ?? { type: 'interrupted', reason: 'stopped', deliberate: true };
  if (result.reason === 'exited' && result.exit.code === 0)
    return (await printedOutcome(context, result)) ?? finishStep(context, result);
  const unseen = result.exit.code === EXIT.notNow;
  if (result.reason === 'exited' && result.exit.code !== 1 && !unseen) return exitFailure(result);
  if (waited >= wall) {
    return {
      type: 'failed',
      outcome: 'timeout',
      error: { class: 'timeout', message: `not ready after ${wall} s` },
    };
  }
  const interval = Math.min(phase.intervalSeconds ?? settings.pollInterval, wall - waited);
  const until = new Date(Date.parse(context.now()) + Math.max(interval, 0.05) * 1000).toISOString();
  const lastLine = result.stdoutTail.trim().split('\n').at(-1)?.slice(0, 300);
  return {
    type: 'waiting',
    until,
    gate: false,
    // Only a check that worked shows that a person is needed.
    ...(phase.notify && !unseen ? { person: true } : {}),
    reason: lastLine ? `${phase.id}: ${lastLine}` : `${phase.id}: not ready yet`,
  };
}

/**
 * The end of a poll that names outcomes of its own: the first printed line says which one, and what is
 * below it is captured as `stdout`. Undefined for a poll that is simply ready.
 */
async function printedOutcome(
  context: PhaseContext<PhaseOf<'poll'>>,
  result: JobResult,
): Promise<AttemptEnd | undefined> {
  const known = ownOutcomes(context.phase);
  if (known.length === 0) return undefined;
  const [first = '', ...rest] = result.stdoutTail.trim().split('\n');
  const outcome = first.trim();
  const text = rest.join('\n').trim();
  const all = context.phase.onSuccess || context.phase.on?.success ? [...known, 'success'] : known;
  if (!all.includes(outcome)) {
    const message = `it said ${JSON.stringify(outcome.slice(0, 80))}, which is none of ${all.join(', ')}`;
    return {
      type: 'failed',
      error: { class: 'protocol', message },
      output: excerpt(result.stdoutTail, 'end'),
    };
  }
  const captured = await capture(context, { stdout: text, result: undefined });
  if (!captured.ok) return { ...captured.end, output: excerpt(text, 'start') };
  return { type: 'done', outcome, captured: captured.values, output: excerpt(text, 'start') };
}
