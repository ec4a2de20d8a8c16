import { renderArg } from '../content/index.ts';
import type { AttemptEnd } from '../model/outcome.ts';
import type { PhaseOf } from '../model/workflow.ts';
import { type PhaseContext, variablesOf } from './context.ts';

/** Asks a person, and comes back only to take the failure edge when a deadline has passed. */
export async function performGate(context: PhaseContext<PhaseOf<'gate'>>): Promise<AttemptEnd> {
  const { phase, attempt } = context;
  const deadline = phase.timeoutSeconds ? Date.parse(attempt.startedAt) + phase.timeoutSeconds * 1000 : null;
  if (deadline !== null && Date.parse(context.now()) >= deadline) {
    const message = `nobody answered for ${phase.timeoutSeconds} s`;
    return { type: 'failed', outcome: 'timeout', error: { class: 'timeout', message } };
  }
  const question = phase.prompt
    ? await renderArg(phase.prompt, variablesOf(context))
    : `"${phase.id}" needs a decision`;
  const reason = `${question.trim()} (${Object.keys(phase.on).join(' | ')})`;
  return {
    type: 'waiting',
    gate: true,
    reason,
    until: deadline === null ? null : new Date(deadline).toISOString(),
  };
}
