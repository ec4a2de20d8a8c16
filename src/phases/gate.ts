import type { JobResult } from '../machine/jobs/follow-job.ts';
import { EXIT } from '../model/actions.ts';
import type { AttemptEnd } from '../model/state/attempt-end-and-backoff.ts';
import { decisionsOf, looksOutside, type PhaseOf } from '../model/workflow.ts';
import { renderArg } from '../workflows/templates/render-template.ts';
import { lastWords } from './attempt-output.ts';
import { variablesOf } from './attempt-variables-and-environment.ts';
import type { PhaseContext } from './phase-context.ts';
import { checkOnce } from './script-and-action-steps.ts';

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
    const message = `no answer for ${phase.timeoutSeconds} s`;
    return { type: 'failed', outcome: 'timeout', error: { class: 'timeout', message } };
  }
  const looks = looksOutside(phase);
  const seen = looks ? await checkForAnswer(context) : null;
  if (seen && 'decision' in seen) {
    const { decision, message } = seen;
    const captured = { [`${phase.id}_decision`]: decision, [`${phase.id}_message`]: message };
    return { type: 'done', outcome: decision, captured, output: message };
  }
  const question = phase.prompt
    ? await renderArg(phase.prompt, variablesOf(context))
    : `"${phase.id}" needs a decision`;
  const decisions = decisionsOf(phase).join(' | ');
  // An open question has no choices to name.
  const asks = decisions === 'answer' ? question.trim() : `${question.trim()} (${decisions})`;
  const reason = seen?.problem ? `${asks}; could not look for an answer: ${seen.problem}` : asks;
  return { type: 'waiting', gate: true, reason, until: nextCheck(context, deadline), looks };
}

function nextCheck({ phase, settings, now }: Gate, deadline: number | null): string | null {
  const interval = Math.max(phase.intervalSeconds ?? settings.pollInterval, 0.05) * 1000;
  const times = [deadline, looksOutside(phase) ? Date.parse(now()) + interval : null];
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
