import { expect, it } from 'vitest';
import type { Plan } from '../../src/model/plan.ts';
import type { Ticket } from '../../src/model/ticket.ts';
import { statusOf } from '../../src/report/plan-and-ticket-status.ts';
import { summary } from '../../src/report/plan-headers-and-summaries.ts';
import { planLines, workLine } from '../../src/report/status-text.ts';
import { style } from '../../src/report/style-and-phrases.ts';
import { at, attempt, NOW, plan, ticket } from '../model/build.ts';
import { firstOnly } from '../support/tiers.ts';
import { within } from '../support/within.ts';

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

it('says of a ticket whose worker is gone how to start another one', () => {
  const left = ticket({ status: 'running' });
  const shown = (none: string | undefined) =>
    statusOf({
      view: { plans: [plan()], tickets: new Map([['p/t', left]]), problems: [] },
      holder: { isLive: () => false, leaseLeft: () => 0 },
      daemon: false,
      now: Date.parse(NOW),
      whyNoWorker: () => none,
    })[0]?.tickets[0];
  const none = 'no worker is running. Start one: signalbox worker';
  expect(shown(none)).toMatchObject({ why: `its worker is gone; ${none}`, next: '' });
  expect(shown(undefined)).toMatchObject({ next: 'another worker takes it over' });
});

it('counts what only the clone of a worker has merged as work that is to be merged', () => {
  const path = '/home/m1/api';
  const output = `signalbox/main is now at 0123456789.\nTo bring it into your checkout: git -C ${path} merge --ff-only signalbox/main`;
  const integrated = ticket({
    status: 'complete',
    branch: 'ticket/p/t',
    base: { ref: 'origin/main', commit: 'a'.repeat(40), remote: null },
    phaseHistory: [attempt('integrate', 'success', { output })],
  });
  const of = (each: Ticket) => [
    workLine(plan(), [each])[0],
    summary(
      { plan: plan(), tickets: [each], wanted: 1, problems: [], held: new Map(), ms: 1, stopped: false },
      style(false),
    ).some((line) => line.includes(path)),
  ];
  expect(of(integrated)).toEqual(['Work: 1 merged', true]);
  const machine = { host: 'm1', state: '/home/m1/state' };
  expect(of({ ...integrated, machine })).toEqual(['Work: 1 on its branch → signalbox merge p', false]);
});

it('says where the work of a plan is, and what merges it', () => {
  const url = 'https://github.com/acme/web/pull/3';
  const base = { ref: 'main', commit: 'a'.repeat(40), remote: null };
  const done = (ticketId: string, context: object = {}) =>
    ticket({ ticketId, status: 'complete', branch: `ticket/p/${ticketId}`, base, context });
  const [branch, pull] = [done('a'), done('b', { pr_url: url })];
  expect(workLine(plan(), [branch])).toEqual(['Work: 1 on its branch → signalbox merge p']);
  expect(workLine(plan(), [pull])).toEqual([
    'Work: 1 pull request → signalbox merge p --pr',
    `  pull request ${url}`,
  ]);
  const archived = plan({ status: 'archived' });
  expect(workLine(archived, [branch, pull])).toEqual([
    'Work: 1 pull request, 1 on its branch',
    `  pull request ${url}`,
    '  → signalbox integrate p a',
  ]);
  const run = {
    plan: plan(),
    wanted: 1,
    problems: [],
    held: new Map<string, string>(),
    ms: 1,
    stopped: false,
  };
  expect(summary({ ...run, tickets: [branch] }, style(false)).slice(-2)).toEqual([
    'Work: 1 on its branch → signalbox merge p',
    'To look at it: signalbox diff p a',
  ]);
  expect(summary({ ...run, tickets: [pull] }, style(false)).at(-1)).toBe(`  pull request ${url}`);
});

it('ends a run with what was cancelled as that, and one command to retry what failed', () => {
  const [gone, failed] = [
    ticket({ ticketId: 'a', status: 'failed', cancelledAt: NOW }),
    ticket({ ticketId: 'b', status: 'failed', error: 'nothing was committed' }),
  ];
  const run = { wanted: 2, problems: [], held: new Map<string, string>(), ms: 7_000, stopped: false };
  const said = (status: Plan['status'], tickets: Ticket[]) =>
    summary({ ...run, plan: plan({ status }), tickets }, style(false)).join('\n');
  const alone = said('active', [gone, failed]);
  expect(alone).toContain('\n0 of 2 done · 1 needs you · 1 cancelled · 7s\n');
  expect(alone).toContain('\nTo retry b: signalbox retry p b && signalbox run p\n');
  expect(said('archived', [gone, ticket({ ticketId: 'c', status: 'paused' })])).toContain(
    '\n0 of 2 done · 2 cancelled · 7s',
  );
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

const CHAINS = [
  ['of sound tickets', 'queued', 1, 'waits for a (not complete yet)', ''],
  ['behind one that failed', 'failed', 1, 'waits for a (failed)', 'signalbox retry p a'],
  ['whose blockers are all listed twice', 'queued', 2, 'lists "a" twice', ''],
] as const;

for (const [index, [what, status, times, why, next]] of CHAINS.entries())
  it(`explains a chain of 20,000 tickets in no time: ${what}`, firstOnly(index), () => {
    const whole = plan({ tickets: [{ ticketId: 'a' }] });
    const one = ticket({ ticketId: 'a' });
    const chain = Array.from({ length: 20_000 }, (_, number) => ({
      ...whole.tickets[0],
      ticketId: `t${number}`,
      blockedBy: Array.from({ length: times }, () => (number === 0 ? 'a' : `t${number - 1}`)),
    })) as Plan['tickets'];
    const tickets = chain.map(({ ticketId }): [string, Ticket] => [`p/${ticketId}`, { ...one, ticketId }]);
    const view = {
      plans: [{ ...whole, tickets: [...whole.tickets, ...chain] }],
      tickets: new Map<string, Ticket>([['p/a', { ...one, status }], ...tickets]),
      problems: [],
    };
    const holder = { isLive: () => false, leaseLeft: () => undefined };
    const began = performance.now();
    const [shown] = statusOf({ view, holder, daemon: true, now: Date.parse(NOW) });
    expect(performance.now() - began).toBeLessThan(within(3_000));
    expect(shown?.tickets[1]).toMatchObject({ why: expect.stringContaining(why), next });
    expect(shown?.tickets.at(-1)?.next).toBe(next);
  });

it('shortens the name of a run with many issues', () => {
  const name = Array.from({ length: 40 }, (_, at) => `#${at + 100}`).join(' ');
  const status = { plan: plan({ id: 'run-1', name }), tickets: [], problems: [] };
  const [title] = planLines(status, style(false), Date.parse(NOW), { detailed: false });
  expect(title).toMatch(/^#100 .{20,56}#\d{3}… \(run-1\)$/);
});
