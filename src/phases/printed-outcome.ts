import type { JobResult } from '../machine/jobs/follow.ts';
import type { AttemptEnd } from '../model/state/outcome.ts';
import { ownOutcomes, type PhaseOf } from '../model/workflow.ts';
import { capture } from './capture.ts';
import type { PhaseContext } from './context.ts';
import { excerpt } from './excerpt.ts';

/**
 * The end of a poll that names outcomes of its own: the first line its script printed says which one, and what is
 * below it is captured as `stdout`. Undefined for a poll that is simply ready.
 */
export async function printedOutcome(
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
