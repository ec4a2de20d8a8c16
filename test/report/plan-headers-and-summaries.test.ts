import { describe, expect, it } from 'vitest';
import { Plan } from '../../src/model/plan-schema.ts';
import { planHeader, summary } from '../../src/report/plan-headers-and-summaries.ts';
import { style } from '../../src/report/style-and-phrases.ts';
import { ticket } from './samples.ts';

function viewOf(...ids: string[]) {
  const tickets = ids.map((ticketId, order) => ({ ticketId, order, blockedBy: [] }));
  const plan = Plan.parse({ id: 'tea', repo: '/r', status: 'active', tickets });
  return {
    plans: [plan],
    tickets: new Map(ids.map((id) => [`tea/${id}`, ticket(id, { title: `Do ${id}\u001b[2J` })])),
  };
}

const said = (ids: string[], some?: string[]) =>
  planHeader(viewOf(...ids), { planId: 'tea', ...(some ? { ticketIds: some } : {}) }, style(false));

describe('what a live view of a plan begins with', () => {
  it('is the plan and its tickets, those that were asked for', () => {
    expect(said(['parser', 'cli'])).toEqual([
      'tea: 2 tickets',
      '  parser  Do parser',
      '  cli     Do cli',
      '',
    ]);
    expect(said(['parser', 'cli'], ['cli'])).toEqual(['tea: 1 ticket', '  cli  Do cli', '']);
  });

  it('counts the units of a spec', () => {
    const view = viewOf('1', '2');
    const plans = view.plans.map((plan) => ({ ...plan, kind: 'spec' })) as unknown as Plan[];
    expect(planHeader({ ...view, plans }, { planId: 'tea' }, style(false))[0]).toBe('tea: 2 units');
  });

  it('is not long when there are many', () => {
    const lines = said(Array.from({ length: 50 }, (_, at) => `t${at}`));
    expect(lines).toHaveLength(23);
    expect(lines.at(-2)).toBe('  … and 30 more');
  });
});

it('the end of a plan that was stopped elsewhere names the command that continues it', () => {
  const ended = { wanted: 1, problems: [], held: new Map(), ms: 0, stopped: false };
  const lines = (status: Plan['status']) =>
    summary(
      {
        ...ended,
        plan: Plan.parse({ id: 'tea', repo: '/r', status, tickets: [] }),
        tickets: [ticket('a', { status: 'ready' })],
      },
      style(false),
    );
  expect(lines('paused').at(-1)).toBe('Stopped. Continue with: signalbox resume tea');
  expect(lines('active').at(-1)).toBe('Details: signalbox status --plan tea');
});
