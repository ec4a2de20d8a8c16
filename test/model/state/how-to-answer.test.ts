import { describe, expect, it } from 'vitest';
import { answerTo, howToAnswer } from '../../../src/model/state/explain-ticket.ts';
import { Attempt } from '../../../src/model/ticket-schema.ts';
import { NOW, ticket } from '../build.ts';

const asked = (more: Partial<Attempt>, context = {}) =>
  ticket({
    context,
    phaseHistory: [Attempt.parse({ phase: 'ask', status: 'running', startedAt: NOW, ...more })],
  });

describe('how to answer a gate', () => {
  it('is a command for each decision, below the pull request', () => {
    const waiting = asked({ decisions: ['approve', 'reject'] }, { pr_url: 'https://github.com/o/r/pull/3' });
    const name = `${waiting.planId} ${waiting.ticketId}`;
    expect(howToAnswer(waiting, {})).toEqual([
      'Pull request: https://github.com/o/r/pull/3',
      `→ signalbox respond ${name} approve`,
      `→ signalbox respond ${name} reject`,
    ]);
    expect(answerTo(waiting, {})).toBe(`signalbox respond ${name} <approve|reject>`);
    expect(answerTo(asked({ decisions: ['approve'] }), {})).toBe(`signalbox respond ${name} approve`);
    expect(howToAnswer(asked({ decisions: ['answer'] }), {})).toEqual([
      `→ signalbox respond ${name} answer "…"`,
    ]);
  });

  it('is the general command where the decisions are unknown, and that of specs for a unit', () => {
    const { planId, ticketId } = asked({});
    expect(howToAnswer(asked({}), {})).toEqual([`→ signalbox respond ${planId} ${ticketId} <decision>`]);
    expect(howToAnswer(asked({ decisions: ['answer'] }), { kind: 'spec' })).toEqual([
      `→ signalbox resume ${planId} --answer "…"`,
    ]);
  });
});
