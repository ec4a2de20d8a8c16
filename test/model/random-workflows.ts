import fc from 'fast-check';
import { edgesOf, type Phase, retryOf, Workflow } from '../../src/model/workflow.ts';

const TERMINALS = [
  { id: 'end', type: 'terminal' },
  { id: 'help', type: 'terminal', notify: true },
];

/**
 * Small workflows of every phase type whose edges may lead anywhere: forwards, back, to themselves, or nowhere.
 * Most phases name their maxVisits; the bound that all others have is so high that only the tables walk up to it.
 */
export const workflows: fc.Arbitrary<Workflow> = fc.integer({ min: 1, max: 5 }).chain((count) => {
  const ids = Array.from({ length: count }, (_, n) => `p${n}`);
  const target = fc.constantFrom(...ids, 'end', 'help');
  const visits = fc.option(fc.integer({ min: 1, max: 3 }), { freq: 60, nil: undefined });
  const edges = {
    maxVisits: visits,
    onSuccess: fc.option(target, { nil: undefined }),
    onFailure: fc.option(target, { nil: undefined }),
  };
  const retries = {
    maxRetries: fc.option(fc.integer({ min: 0, max: 2 }), { nil: undefined }),
    retry: fc.option(
      fc.record({ max: fc.integer({ min: 0, max: 2 }), delaySeconds: fc.constantFrom(0, 5) }),
      {
        nil: undefined,
      },
    ),
  };
  const on = fc.option(fc.dictionary(fc.constantFrom('pass', 'fail', 'timeout'), target, { maxKeys: 2 }), {
    nil: undefined,
  });
  const phase = (id: string) =>
    fc.oneof(
      fc.record({
        id: fc.constant(id),
        type: fc.constant('agent'),
        prompt: fc.constant('x'),
        on,
        ...retries,
        ...edges,
      }),
      fc.record({
        id: fc.constant(id),
        type: fc.constant('script'),
        command: fc.constant('x'),
        on,
        ...retries,
        ...edges,
      }),
      fc.record({
        id: fc.constant(id),
        type: fc.constant('poll'),
        command: fc.constant('x'),
        ...retries,
        ...edges,
      }),
      fc.record({
        id: fc.constant(id),
        type: fc.constant('gate'),
        maxVisits: visits,
        on: fc.dictionary(fc.constantFrom('yes', 'no'), target, { minKeys: 1, maxKeys: 2 }),
        onFailure: fc.option(target, { nil: undefined }),
      }),
    );
  return fc
    .tuple(...ids.map(phase))
    .map((phases) => Workflow.parse({ name: 'random', phases: [...phases, ...TERMINALS] }));
});

/** The bound on visits of a phase, as its workflow says it or as the engine does. */
export function capOf(phase: Phase): number {
  return (phase.type === 'terminal' ? undefined : phase.maxVisits) ?? 100;
}

/** No walk through the workflow has more attempts than this, as long as nothing but work, failure and crashes happens. */
export function mostAttempts(flow: Workflow, interruptions: number): number {
  let sum = 0;
  for (const phase of flow.phases) sum += (capOf(phase) + 2) * (retryOf(phase).max + 1) * (interruptions + 1);
  return sum;
}

/** Outcomes that make sense for a phase, and some that do not. */
export function outcomesFor(phase: Phase): string[] {
  return [...new Set([...Object.keys(edgesOf(phase)), 'success', 'failure', 'timeout', 'surprise'])];
}
