import type { JobResult } from '../machine/jobs/follow-job.ts';
import { EXIT } from '../model/actions.ts';
import type { AttemptEnd } from '../model/state/attempt-end-types-and-waits.ts';
import { decisionsOf, hasCheck, ownOutcomes, type PhaseOf } from '../model/workflow.ts';
import { renderArg } from '../workflows/templates/render-template.ts';
import { variablesOf } from './attempt-variables-and-environment.ts';
import { capture, excerpt, lastWords } from './capture-values-and-excerpt-output.ts';
import { failure } from './judge-agent-attempt.ts';
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
  const result = await checkOnce(context);
  const limits = { wallSeconds: settings.timeouts.pollCheckSeconds, idleSeconds: null };
  const early = endOfJob(result, limits);
  if (early?.type === 'interrupted' || !result)
    return early ?? { type: 'interrupted', reason: 'stopped', deliberate: true };
  if (result.reason === 'exited' && result.exit.code === 0)
    return (await printedOutcome(context, result)) ?? finishStep(context, result);
  const unseen = result.exit.code === EXIT.notNow;
  if (result.reason === 'exited' && result.exit.code !== 1 && !unseen) return exitFailure(result);
  if (waited >= wall) {
    return { ...failure('timeout', `not ready after ${wall} s`), outcome: 'timeout' };
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
    return { ...failure('protocol', message), output: excerpt(result.stdoutTail, 'end') };
  }
  const captured = await capture(context, { stdout: text, result: undefined });
  if (!captured.ok) return { ...captured.end, output: excerpt(text, 'start') };
  return { type: 'done', outcome, captured: captured.values, output: excerpt(text, 'start') };
}

type Gate = PhaseContext<PhaseOf<'gate'>>;

/**
 * Asks a person. Runs again at a deadline, to take the failure edge, and, where it names a script or action, to check
 * whether the question was answered elsewhere. A check that fails answers nothing: the question stays open.
 */
export async function performGate(context: Gate): Promise<AttemptEnd> {
  const { phase, attempt } = context;
  const now = Date.parse(context.now());
  // A start in the future was recorded by a clock that was ahead.
  const began = Math.min(Date.parse(attempt.startedAt), now);
  const deadline = phase.timeoutSeconds ? began + phase.timeoutSeconds * 1000 : null;
  if (deadline !== null && now >= deadline) {
    return { ...failure('timeout', `no answer for ${phase.timeoutSeconds} s`), outcome: 'timeout' };
  }
  const looks = hasCheck(phase);
  const seen = looks ? await checkForAnswer(context) : null;
  if (seen && 'decision' in seen) {
    const { decision, message } = seen;
    const captured = { [`${phase.id}_decision`]: decision, [`${phase.id}_message`]: message };
    return { type: 'done', outcome: decision, captured, output: message };
  }
  const question = phase.prompt
    ? await renderArg(phase.prompt, variablesOf(context))
    : `"${phase.id}" needs a decision`;
  const decisions = decisionsOf(phase);
  // An open question has no choices to name.
  const isOpen = decisions.length === 1 && decisions[0] === 'answer';
  const asks = isOpen ? question.trim() : `${question.trim()} (${decisions.join(' | ')})`;
  const reason = seen?.problem ? `${asks}; could not look for an answer: ${seen.problem}` : asks;
  return { type: 'waiting', gate: true, reason, decisions, until: nextCheck(context, deadline), looks };
}

function nextCheck({ phase, settings, now }: Gate, deadline: number | null): string | null {
  const interval = Math.max(phase.intervalSeconds ?? settings.pollInterval, 0.05) * 1000;
  const times = [deadline, hasCheck(phase) ? Date.parse(now()) + interval : null];
  const [first] = times.filter((time) => time !== null).sort((a, b) => a - b);
  return first === undefined ? null : new Date(first).toISOString();
}

type Seen = { decision: string; message: string } | { problem: string | null };

async function checkForAnswer(context: Gate): Promise<Seen> {
  const { phase, place } = context;
  const { id, command, args = [], action, with: inputs } = phase;
  const poll = { id, type: 'poll', command, args, action, with: inputs } as const;
  // Uses the repository: a gate may be open for weeks, and the worktree may be gone by then.
  const result = await checkOnce({ ...context, phase: poll, place: { ...place, worktree: place.repo } });
  if (result?.reason !== 'exited')
    return { problem: result?.reason === 'timeout' ? 'it took too long' : null };
  if (result.exit.code === 1 || result.exit.code === EXIT.notNow) return { problem: null };
  if (result.exit.code !== 0) return { problem: said(result) };
  const [decision = '', ...rest] = result.stdoutTail.trim().split('\n');
  if (Object.hasOwn(phase.on, decision.trim()))
    return { decision: decision.trim(), message: rest.join('\n').trim() };
  const known = Object.keys(phase.on).join(', ');
  return { problem: `it said ${JSON.stringify(decision.slice(0, 80))}, which is none of ${known}` };
}

function said({ stderrTail, stdoutTail, exit }: JobResult): string {
  return lastWords(stderrTail) || lastWords(stdoutTail) || `it exited with code ${exit.code}`;
}
