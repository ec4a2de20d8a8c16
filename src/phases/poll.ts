import type { AttemptEnd } from '../model/state/outcome.ts';
import type { PhaseOf } from '../model/workflow.ts';
import type { PhaseContext } from './context.ts';
import { printedOutcome } from './printed-outcome.ts';
import { endOfJob } from './run-job.ts';
import { lookOnce } from './run-script-once.ts';
import { exitFailure, finishCommand, NOT_NOW } from './script.ts';

/** Looks once: 0 is ready, 1 is not yet, 75 is that nothing could be seen, anything else has failed. The time in all is counted from the first look. */
export async function performPoll(context: PhaseContext<PhaseOf<'poll'>>): Promise<AttemptEnd> {
  const { phase, settings, attempt } = context;
  const wall = phase.timeoutSeconds ?? settings.timeouts.pollSeconds;
  const began = Date.parse(attempt.startedAt);
  // A clock that jumped back must not make the wait longer than it is.
  const waited = Math.max(0, Date.parse(context.now()) - began) / 1000;
  const check = settings.timeouts.pollCheckSeconds;
  const result = await lookOnce(context);
  const early = endOfJob(result, check, null);
  if (early?.type === 'interrupted' || !result)
    return early ?? { type: 'interrupted', reason: 'stopped', deliberate: true };
  if (result.reason === 'exited' && result.exit.code === 0)
    return (await printedOutcome(context, result)) ?? finishCommand(context, result);
  const unseen = result.exit.code === NOT_NOW;
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
  const said = result.stdoutTail.trim().split('\n').at(-1)?.slice(0, 300);
  return {
    type: 'waiting',
    until,
    gate: false,
    // Only who has looked knows that a person is waited for.
    ...(phase.notify && !unseen ? { person: true } : {}),
    reason: said ? `${phase.id}: ${said}` : `${phase.id}: not ready yet`,
  };
}
