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
  const line = planLines(status, style(false), Date.parse(NOW), false).find((each) => each.includes(why));
  expect(line?.includes('until')).toBe(tells);
});
