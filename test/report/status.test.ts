import { expect, it } from 'vitest';
import { planLines } from '../../src/report/status-text.ts';
import { style } from '../../src/report/style-and-phrases.ts';
import { at, NOW, plan, ticket } from '../model/build.ts';

const reason = 'today’s budget is used up: $2.00 of $2.00';
const held = ticket({ status: 'ready', hold: { kind: 'budget', reason, until: at(60) } });

it.each([
  [reason, true],
  [`usage limit: ${reason}`, true],
  ['the plan is paused', false],
])('the end of a hold stands beside its own reason alone: %s', (why, tells) => {
  const status = { plan: plan(), tickets: [{ ticket: held, why, next: '' }], problems: [] };
  const line = planLines(status, style(false), Date.parse(NOW), { detailed: false }).find((each) =>
    each.includes(why),
  );
  expect(line?.includes('until')).toBe(tells);
});

it('shows what needs a person first, folds equal reasons and many that are done', () => {
  const many = (status: 'failed' | 'complete' | 'queued', count: number, why: string) =>
    Array.from({ length: count }, (_, index) => {
      const ticketId = `${status[0]}${index + 1}`;
      return { ticket: ticket({ ticketId, status, title: '' }), why, next: `signalbox retry p ${ticketId}` };
    });
  const tickets = [
    ...many('complete', 11, ''),
    ...many('queued', 2, 'usage limit of claude'),
    ...many('failed', 9, 'no tests'),
  ];
  const lines = planLines({ plan: plan(), tickets, problems: [] }, style(false), Date.parse(NOW), {
    detailed: false,
  });
  expect(lines.slice(2).map((line) => line.trim().replace(/\s+/g, ' '))).toEqual([
    'Need you (9)',
    '✗ 9 tickets failed f1, f2, f3, f4, f5, f6, f7, f8, …',
    'no tests',
    `→ signalbox retry --failed ${plan().id}`,
    'Waiting (2)',
    expect.stringMatching(/^◌ q1 queued/),
    'usage limit of claude',
    '→ signalbox retry p q1',
    expect.stringMatching(/^◌ q2 queued/),
    'usage limit of claude',
    '→ signalbox retry p q2',
    'Done (11)',
    '✓ 11 tickets complete c1, c2, c3, c4, c5, c6, c7, c8, …',
    '→ signalbox retry p c1',
  ]);
  const whole = planLines({ plan: plan(), tickets, problems: [] }, style(false), Date.parse(NOW), {
    detailed: true,
  });
  expect(whole.filter((line) => line.includes(' failed '))).toHaveLength(9);
  expect(whole.filter((line) => /\(\d+\)$/.test(line))).toEqual([
    '  Need you (9)',
    '  Waiting (2)',
    '  Done (11)',
  ]);
});
