import { describe, expect, it } from 'vitest';
// @ts-expect-error: a plain script of the checkout
import { problemsOf as unchecked } from '../../tools/demo/verify.mjs';

interface Attempt {
  phase: string;
  status: string;
  outcome: string;
  sessionId: string | null;
  startedAt: string;
  completedAt: string;
}
interface Outcome {
  plan: { status: string };
  tickets: { ticketId: string; branch: string; status: string; phaseHistory: Attempt[] }[];
  merged: string[];
}
const problemsOf: (outcome: Outcome) => string[] = unchecked;

const attempt = (phase: string, second: number, more: Partial<Attempt> = {}): Attempt => ({
  phase,
  status: 'success',
  outcome: 'success',
  sessionId: null,
  startedAt: `2026-03-01T12:00:0${second}.000Z`,
  completedAt: `2026-03-01T12:00:0${second + 1}.000Z`,
  ...more,
});

/** What a good demo leaves behind. */
function good() {
  const limit = { status: 'limit', sessionId: 's-1' };
  const histories = {
    parser: [attempt('implement', 0)],
    cli: [attempt('implement', 2)],
    docs: [
      attempt('implement', 0),
      attempt('self_review', 1, { outcome: 'fail' }),
      attempt('implement', 2),
      attempt('self_review', 3, { outcome: 'pass' }),
    ],
    cache: [attempt('implement', 0, limit), attempt('implement', 2, { sessionId: 's-1' })],
  };
  const tickets = Object.entries(histories).map(([ticketId, phaseHistory]) => ({
    ticketId,
    branch: `ticket/${ticketId}`,
    status: 'complete',
    phaseHistory,
  }));
  const of = (id: keyof typeof histories) =>
    tickets.find(({ ticketId }) => ticketId === id) as (typeof tickets)[0];
  return { plan: { status: 'complete' }, tickets, merged: tickets.map(({ branch }) => branch), of };
}

type Good = ReturnType<typeof good>;

const FLAWS: [string, (demo: Good) => unknown][] = [
  ['the plan is active, not complete', (demo) => Object.assign(demo.plan, { status: 'active' })],
  ['ticket docs is failed, not complete', (demo) => Object.assign(demo.of('docs'), { status: 'failed' })],
  [
    'cli did not wait for parser',
    (demo) => demo.of('cli').phaseHistory.splice(0, 1, attempt('implement', 0)),
  ],
  ['docs was reviewed with pass, not fail,pass', (demo) => demo.of('docs').phaseHistory.splice(1, 1)],
  ['docs did not go back to implement', (demo) => demo.of('docs').phaseHistory.splice(2, 1)],
  [
    'cache did not hit its usage limit',
    (demo) => Object.assign(demo.of('cache').phaseHistory[0] ?? {}, { status: 'failure' }),
  ],
  [
    'cache did not go on in its session',
    (demo) => Object.assign(demo.of('cache').phaseHistory[1] ?? {}, { sessionId: 's-2' }),
  ],
  ['the work of cache is not in main', (demo) => demo.merged.pop()],
];

describe('what the demo checks', () => {
  it('has nothing to say about a good one', () => {
    expect(problemsOf(good())).toEqual([]);
  });

  it.each(FLAWS)('says: %s', (problem, spoil) => {
    const demo = good();
    spoil(demo);
    expect(problemsOf(demo)).toEqual([problem]);
  });

  it('says what is missing altogether', () => {
    expect(problemsOf({ plan: { status: 'active' }, tickets: [], merged: [] })).toContain(
      'ticket parser is missing, not complete',
    );
  });
});
