import { describe, expect, it } from 'vitest';
import type { StoredEvent } from '../../src/model/events.ts';
import { style } from '../../src/report/style-and-phrases.ts';
import { reportHtml, reportMarkdown, reportText, workReport } from '../../src/report/work-report.ts';
import { attempt, NOW, plan, ticket } from '../model/build.ts';
import { within } from '../support/within.ts';

const now = Date.parse(NOW);
const ago = (hours: number) => new Date(now - hours * 3_600_000).toISOString();
const usage = (costUsd: number | null) => ({
  inputTokens: 1000,
  outputTokens: 0,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  costUsd,
});
const spent = (phase: string, costUsd: number | null, more: object = {}) =>
  attempt(phase, 'success', {
    agent: 'claude',
    usage: usage(costUsd),
    startedAt: ago(2),
    completedAt: ago(1),
    ...more,
  });

const base = { ref: 'main', commit: 'a'.repeat(40) };
const hostile = '<script>alert(1)</script> `x` **[b](javascript:1)** @team fixes #1';
const tickets = [
  {
    ticket: ticket({
      ticketId: 'ask',
      title: 'Ask',
      status: 'needs_attention',
      since: ago(3),
      hold: { kind: 'gate', reason: 'Merge it?', until: null },
    }),
    why: 'Merge it?',
    next: 'signalbox respond p ask <decision>',
  },
  ...['f1', 'f2', 'f3'].map((ticketId) => ({
    ticket: ticket({ ticketId, status: 'failed', title: hostile, error: 'no tests', since: ago(1) }),
    why: ticketId === 'f3' ? hostile : 'no tests',
    next: `signalbox retry p ${ticketId}`,
  })),
  {
    ticket: ticket({
      ticketId: 'done',
      title: 'Done',
      status: 'complete',
      since: ago(1),
      branch: 'ticket/p/done',
      base,
      phaseHistory: [spent('exec', 9), spent('checks', null, { agent: null, usage: null })],
      visits: { exec: 5 },
    }),
    why: '',
    next: '',
  },
  {
    ticket: ticket({
      ticketId: 'old',
      status: 'complete',
      since: ago(30),
      base,
      branch: 'ticket/p/old',
      phaseHistory: [1, 1, 1, 1].map((cost) =>
        spent('exec', cost, { startedAt: ago(31), completedAt: ago(30) }),
      ),
    }),
    why: '',
    next: '',
  },
  {
    ticket: ticket({ ticketId: 'w', status: 'queued', phaseHistory: [spent('exec', null)] }),
    why: 'usage limit',
    next: 'continues at the reset',
  },
];
const events: StoredEvent[] = [
  {
    type: 'command',
    command: 'respond',
    by: 'ann',
    detail: { decision: 'approve', message: 'secret words' },
    planId: 'p',
    ticketId: 'ask',
    v: 1,
    at: ago(2),
  },
  { type: 'command', command: 'retry', detail: {}, planId: 'p', ticketId: 'f1', v: 1, at: ago(20) },
];
const made = (own: (typeof tickets)[number][] = tickets, hours = 12) =>
  workReport({
    plans: [{ plan: plan(), tickets: own, problems: [] }],
    since: now - hours * 3_600_000,
    now,
    period: 'the last 12 hours',
    events,
    diffstat: () => '2 files changed, 3 insertions(+)',
    checkPhases: () => ['checks'],
    printedAt: () => null,
  });

describe('the report', () => {
  it('gives no time of an earlier wait to a ticket of a paused plan', () => {
    const hold = { kind: 'limit', reason: 'usage limit', until: ago(-1) } as const;
    const limited = { ticket: ticket({ ticketId: 'l', status: 'queued', hold }), next: 'signalbox resume p' };
    const text = (why: string) => reportText(made([{ ...limited, why }]), style(false)).join('\n');
    expect(text('the plan is paused')).toContain('    the plan is paused\n    → signalbox resume p');
    expect(text('usage limit')).toContain('    usage limit (until ');
  });

  it('offers no branch without commits to be merged', () => {
    const empty = { ticketId: 'e', status: 'complete', since: ago(1), branch: 'b', base } as const;
    const at = (tip: string) => made([{ ticket: ticket({ ...empty, tip }), why: '', next: '' }]);
    expect(reportText(at(base.commit), style(false)).join('\n')).not.toContain('merge');
    expect(reportText(at('b'.repeat(40)), style(false)).join('\n')).toContain('→ signalbox merge p');
  });

  it('begins with outcome and cost, then what needs a person, in one order', async () => {
    const report = await made();
    expect(report.sentence).toBe('1 of 6 done, 4 need you, 1 waiting · 2.0k tokens · at least $9.00');
    expect(report.sections.map(({ name }) => name)).toEqual([
      'decisions',
      'failures',
      'ready',
      'waiting',
      'dearest',
      'oddities',
      'decided',
    ]);
    const text = reportText(report, style(false)).join('\n');
    expect(text).toContain(
      '  p/ask: Ask\n    Merge it?\n    open for 3 h 0 m\n    → signalbox respond p ask <decision>\n',
    );
    expect(text).toContain('  2 tickets: p/f1, p/f2\n    no tests\n');
    expect(text).toContain('  To retry the 3 failed of p\n    → signalbox retry --failed p\n');
    expect(text).toContain(
      '  p/done: Done\n    on branch ticket/p/done · 2 files changed, 3 insertions(+) · checks passed\n    → signalbox diff p done\n',
    );
    expect(text).toContain('To merge all of p\n    → signalbox merge p');
    expect(text).toContain('p/done: exec cost $9.00, the median is $1.00');
    expect(text).toContain('p/done: exec was entered 5 times');
    expect(text).toMatch(/ {2}\d\d:\d\d:\d\d p\/ask: respond approve, by ann/);
    expect(reportText({ ...report, sections: made(tickets, 24).sections }, style(false)).join('\n')).toMatch(
      / {2}20\d\d-\d\d-\d\d \d\d:\d\d:\d\d p\/f1: retry/,
    );
    expect(text).not.toContain('secret words');
    expect(text).not.toContain('p/old');
  });

  it('lists what people did in order, one entry for all tickets of a plan, without the steps of a command', () => {
    const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1, 10, 0, seconds)).toISOString();
    const did = (planId: string, ticketId: string, seconds: number): StoredEvent => ({
      ...{ type: 'command', command: 'cancel', by: 'ann', detail: {} },
      ...{ planId, ticketId, v: 1, at: at(seconds) },
    });
    const step = { ...did('q', 'x', 29), command: 'pause', detail: { goesOnBy: at(59) } };
    const report = workReport({
      plans: [],
      since: Date.parse(at(0)),
      now: Date.parse(at(59)),
      period: '',
      events: [step, did('q', 'x', 30), did('p', 'a', 1), did('p', 'b', 2), did('p', 'c', 2)],
      diffstat: () => null,
      checkPhases: () => undefined,
      printedAt: () => null,
    });
    expect(report.sections.flatMap(({ items }) => items)).toMatchObject([
      { text: expect.stringMatching(/ p, 3 tickets: cancel, by ann$/), tickets: ['p/a', 'p/b', 'p/c'] },
      { text: expect.stringMatching(/ q\/x: cancel, by ann$/), tickets: ['q/x'] },
    ]);
  });

  it('calls a cost unusual where the lines of a run do: the median is that of all attempts that have ended', () => {
    const running = spent('exec', 0.01, { status: 'running', completedAt: null });
    const history = [...[1, 1, 1, 3, 3, 9].map((cost) => spent('exec', cost)), running];
    const odd = made([{ ticket: ticket({ ticketId: 'a', phaseHistory: history }), why: '', next: '' }]);
    expect(reportText(odd, style(false)).join('\n')).toContain('p/a: exec cost $9.00, the median is $2.00');
  });

  it('shows titles and reasons of others without effect', async () => {
    const report = await made();
    const html = reportHtml(report).join('\n');
    expect(html).not.toMatch(/<script|<a |javascript:1\)"|\son\w+=/i);
    expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(html).toContain("default-src 'none'");
    const markdown = reportMarkdown(report).join('\n');
    for (const file of [html, markdown]) {
      const [, until = ''] = /As of (\S+[+-]\d\d:\d\d);/.exec(file) ?? [];
      expect(Date.parse(until)).toBe(now);
    }
    expect(markdown).not.toMatch(/<script|(?<!\\)\]\(javascript|(?<!\\)\*\*|@team|fixes #/);
    expect(markdown).toContain('`signalbox retry --failed p`');
  });
});

it('finds what was unusual among 10,000 tickets in no time', () => {
  const one = ticket({ status: 'queued', phaseHistory: [spent('exec', 1)] });
  const [exec] = one.phaseHistory;
  const costs = Array.from({ length: 10_000 }, (_, number) => (number === 5_000 ? 9 : 1 + (number % 7) / 10));
  const many = costs.map((costUsd, number) => ({
    ticket: {
      ...one,
      ticketId: `t${number}`,
      phaseHistory: exec ? [{ ...exec, usage: usage(costUsd) }] : [],
    },
    why: '',
    next: '',
  }));
  const began = performance.now();
  const { sections } = workReport({
    plans: [{ plan: plan(), tickets: many, problems: [] }],
    since: Date.parse(ago(8)),
    now,
    period: '',
    events: [],
    diffstat: () => null,
    checkPhases: () => undefined,
    printedAt: () => null,
  });
  expect(performance.now() - began).toBeLessThan(within(3_000));
  expect(sections.find(({ name }) => name === 'oddities')?.items.map(({ text }) => text)).toEqual([
    'p/t5000: exec cost $9.00, the median is $1.30',
  ]);
});
