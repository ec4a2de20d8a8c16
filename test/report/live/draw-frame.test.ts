import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TICKET_STATUSES } from '../../../src/model/ticket-schema.ts';
import { elapsed, frame, liveRow } from '../../../src/report/live/draw-frame.ts';
import {
  type LiveState,
  type LiveTicket,
  liveState,
  pressKeys,
} from '../../../src/report/live/live-state.ts';
import { style } from '../../../src/report/style-and-phrases.ts';
import { cells } from '../../../src/report/tables-and-text-wrapping.ts';
import { START, usage } from '../samples.ts';

const view = { columns: 80, rows: 24, above: 100, style: style(false), withPlan: false };
const at = (seconds: number) => START + seconds * 1000;

function live(ticketId: string, more: Partial<LiveTicket> = {}): LiveTicket {
  const rest = {
    hold: null,
    since: START,
    phase: null,
    visit: 1,
    attempt: 1,
    activity: '',
    used: null,
    using: null,
    unpriced: 0,
    agent: null,
    answer: [],
    decisions: [],
  };
  return { planId: 'tea', ticketId, status: 'queued', ...rest, ...more };
}

function stateOf(...tickets: LiveTicket[]): LiveState {
  return { ...liveState(START), tickets: new Map(tickets.map((each) => [`tea/${each.ticketId}`, each])) };
}

it('the row of a ticket drops the reason of a wait that is over', () => {
  const hold = { kind: 'limit' as const, reason: 'five hours', until: new Date(at(60)).toISOString() };
  const text = (now: number) => liveRow(live('a', { status: 'ready', hold }), view, now)?.text;
  expect(text(at(59))).toMatch(/^waits until .*: five hours$/);
  expect(text(at(60))).toBe('waits for a free slot');
});

describe('frame', () => {
  it('has a row for each ticket that asks, runs or waits, in this order, the progress, and the cost', () => {
    const until = new Date(2026, 2, 1, 14, 3, 0);
    const now = until.getTime() - 60_000;
    const state = stateOf(
      live('parser', {
        status: 'running',
        phase: 'implement',
        since: now - 125_000,
        activity: 'read src/teas.js',
        used: usage(5210, 0.0123),
      }),
      live('cli', {
        hold: { kind: 'blocked', reason: 'waits for parser (not complete yet)', until: null },
        since: now - 9_000,
      }),
      live('docs', {
        status: 'running',
        phase: 'self_review',
        visit: 2,
        attempt: 3,
        since: now - 59_999,
        activity: 'Four teas.',
      }),
      live('cache', {
        status: 'ready',
        phase: 'implement',
        hold: { kind: 'limit', reason: 'limit reached', until: until.toISOString() },
        since: now,
      }),
      live('gate', {
        status: 'needs_attention',
        phase: 'approve',
        hold: { kind: 'gate', reason: 'merge it?', until: until.toISOString(), looks: true },
        since: now,
      }),
      live('slot', { since: now }),
      live('done', { status: 'complete', used: usage(100) }),
      live('bad', { status: 'failed' }),
      live('off', { status: 'paused' }),
    );
    state.startedAt = now - 3_600_000 - 180_000;
    expect(frame(state, { ...view, columns: 116 }, now)).toEqual([
      '─'.repeat(115),
      '! gate    approve          0s  waits for you: merge it?',
      `● parser  implement    2m 05s  ${'read src/teas.js'.padEnd(61)}  5.2k tokens · $0.0123`,
      '● docs    self_review     59s  [visit 2, attempt 3] Four teas.',
      '◌ cache   implement        0s  waits until 14:03:00, in 1 m 0 s: limit reached',
      '◌ cli     queued           9s  waits for parser (not complete yet)',
      '◌ slot    queued           0s  waits for a free slot',
      'Progress: parser ⏳ cli ⏳ docs ⏳ cache ⏳ gate ⏳ slot ⏳ done ✓ bad ✗ off ⏳',
      '1h 03m · 5.3k tokens · $0.0123',
    ]);
  });

  it('shows how long and why a ticket waits where there is little room', () => {
    const now = START;
    const hold = {
      kind: 'limit' as const,
      reason: 'usage limit of claude',
      until: new Date(now + 40_000).toISOString(),
    };
    const waits = live('limit-the-answers', {
      status: 'ready',
      phase: 'exec',
      hold,
      since: now,
      used: usage(300),
    });
    const [, row] = frame(stateOf(waits), { ...view, columns: 80 }, now);
    expect(row).toMatch(/^◌ limit-the-answers {2}exec +0s {2}waits 40 s: usage limit of… /);
  });

  it('is empty before there is any ticket, and has no rows when none runs or waits', () => {
    expect(frame(liveState(START), view, START)).toEqual([]);
    const state = stateOf(live('a', { status: 'complete' }));
    expect(frame(state, view, at(5)).slice(1)).toEqual(['Progress: a ✓', '5s']);
  });

  it('has one row for tickets that wait for the same, and none that runs or asks is folded', () => {
    const limit = { kind: 'limit', reason: 'limit reached', until: null } as const;
    const asks = { kind: 'gate', reason: 'merge it?', until: null } as const;
    const state = stateOf(
      live('a', { status: 'ready', phase: 'implement', hold: limit, since: at(3) }),
      live('b', { status: 'running', phase: 'implement', activity: 'reads' }),
      live('c', { status: 'ready', phase: 'implement', hold: limit, since: at(1) }),
      live('d'),
      live('e', { status: 'needs_attention', phase: 'ok', hold: asks }),
      live('f', { status: 'needs_attention', phase: 'ok', hold: asks }),
      live('g', { status: 'ready', phase: 'review', hold: limit, since: at(2) }),
      live('h', { status: 'running', phase: 'implement', activity: 'reads' }),
    );
    expect(frame(state, { ...view, rows: 40 }, at(5)).slice(1)).toEqual([
      '! e          ok           5s  waits for you: merge it?',
      '! f          ok           5s  waits for you: merge it?',
      '● b          implement    5s  reads',
      '● h          implement    5s  reads',
      '◌ 3 tickets               4s  waits: limit reached: a, c, g',
      '◌ d          queued       5s  waits for a free slot',
      'Progress: a ⏳ b ⏳ c ⏳ d ⏳ e ⏳ f ⏳ g ⏳ h ⏳',
      '5s',
    ]);
  });

  it('shows below a gate how to answer it, unless there is no room', () => {
    const hold = { kind: 'gate', reason: 'Merge it? (yes | no)', until: null } as const;
    const answer = ['Pull request: https://github.com/o/r/pull/3', '→ signalbox respond tea a yes'];
    const state = stateOf(live('a', { status: 'needs_attention', phase: 'ask', hold, answer }), live('b'));
    expect(frame(state, view, START).slice(1, 5)).toEqual([
      '! a  ask          0s  waits for you: Merge it? (yes | no)',
      '    Pull request: https://github.com/o/r/pull/3',
      '    → signalbox respond tea a yes',
      '◌ b  queued       0s  waits for a free slot',
    ]);
    expect(frame(state, { ...view, rows: 12 }, START)).toHaveLength(5);
    const narrow = (rows: number) => frame(state, { ...view, columns: 33, rows }, START).slice(2, -3);
    const url = ['    Pull request:', '      https://github.com/o/r/pu…'];
    expect(narrow(24)).toEqual([...url, '    → signalbox respond tea \\', '      a yes']);
    expect(narrow(17)).toEqual(url);
  });

  it('has an answer that is being written below the rows, and says that there is a key for it', () => {
    const hold = { kind: 'gate', reason: 'Merge it? (yes | no)', until: null } as const;
    const gate = { status: 'needs_attention', phase: 'ask', hold, decisions: ['yes', 'no'] } as const;
    const state = stateOf(live('a', gate), live('b', gate), live('c', { status: 'running', phase: 'do' }));
    const lines = () => frame(state, { ...view, keys: true }, START).slice(3);
    expect(frame(state, view, START)).not.toContain('  Press a to answer here.');
    expect(lines().slice(0, 2)).toEqual(['● c  do           0s', '  Press a to answer here.']);
    for (const keys of ['a', '\u001b[C', 'Looks', ' good']) expect(pressKeys(state, keys)).toBeUndefined();
    expect(lines().slice(0, 5)).toEqual([
      '● c  do           0s',
      'Answer a: Merge it? (yes | no)',
      '  Decision: [yes]  no ',
      '  Message, or none: Looks good▏',
      '  ← → choose · Enter sends · Esc leaves · ↑ ↓ 1 other question',
    ]);
    expect(frame(state, { ...view, keys: true, rows: 9 }, START)).toHaveLength(4);
  });

  it('shows a question as a whole, and the end of a message that is too long, where it is typed', () => {
    const reason = `${'May the settings page be shipped? '.repeat(3)}(yes | no)`;
    const hold = { kind: 'gate', reason, until: null } as const;
    const gate = { status: 'needs_attention', phase: 'ask', hold, decisions: ['yes', 'no'] } as const;
    const state = stateOf(live('a', { ...gate, used: usage(5000, 1) }));
    const lines = () => frame(state, { ...view, keys: true }, START);
    expect(lines()[1]).toBe(
      '! a  ask          0s  waits for you: May the settings page be shipped? May the…',
    );
    for (const keys of ['a', 'word '.repeat(400), '漢字', ' end']) pressKeys(state, keys);
    const [one, two, , message = ''] = lines().slice(2);
    expect(`${one} ${two}`).toBe(`Answer a: ${reason}`);
    expect(message).toMatch(/^ {2}Message, or none: …[word ]{40,}漢字 end▏$/);
    expect([78, 79]).toContain(cells(message));
  });

  it.each([
    [80, 'Progress: parser ✓ cli ✗ docs ⏳ cache ⏳ gate ⏳ off ‖'],
    [52, 'Progress: 1 ✓ 1 ✗ 3 ⏳ 1 ‖'],
    [24, 'Progress: 1 ✓ 1 ✗ 3 ⏳…'],
  ])('has the progress by name, or as counts, in %i columns', (columns, line) => {
    const newer = { kind: 'stopped', reason: 'stopped', until: null, supersededBy: 'run-2' } as const;
    const state = stateOf(
      live('parser', { status: 'complete' }),
      live('cli', { status: 'needs_attention' }),
      live('docs', { status: 'running' }),
      live('cache', { status: 'paused' }),
      live('gate', { status: 'needs_attention', hold: { kind: 'gate', reason: 'ok?', until: null } }),
      live('off', { status: 'paused', hold: newer }),
    );
    expect(frame(state, { ...view, columns }, at(5)).at(-2)).toBe(line);
  });

  it('puts the plan before the ticket where there are many plans', () => {
    const [, row] = frame(stateOf(live('a')), { ...view, withPlan: true }, START);
    expect(row).toContain('tea/a');
  });

  it.each([
    [80, '● parser  implement    5s  One expression for each family…  5.0k tokens · $1.00'],
    [60, '● parser  implement    5s  One expression…     5.0k · $1.00'],
    [40, '● parser  implement    5s  5.0k · $1.00'],
    [38, '● parser implement 5s 5.0k · $1.00'],
    [30, '● parser implement 5s $1.00'],
    [24, '● parser implement 5s'],
    [12, '● parser…'],
  ])('leaves out what has no room in %i columns', (columns, row) => {
    const ticket = live('parser', {
      status: 'running',
      phase: 'implement',
      activity: 'One expression for each family of spellings.',
      used: usage(5000, 1),
    });
    expect(frame(stateOf(ticket), { ...view, columns }, at(5))[1]).toBe(row);
  });

  it.each([
    [80, 2, 79],
    [80, 1, 40],
    [200, 100, 199],
    [200, 2, 199],
    [200, 1, 100],
    [76, 0, 38],
  ])('uses the whole width of %i columns, or half with only %i rows above it', (columns, above, width) => {
    const activity = 'w '.repeat(150);
    const ticket = live('parser', { status: 'running', phase: 'implement', activity });
    const [rule = '', row = ''] = frame(stateOf(ticket), { ...view, columns, above }, at(5));
    expect(cells(row)).toBeLessThanOrEqual(width);
    expect(cells(row)).toBeGreaterThan(width - 3);
    expect(cells(rule)).toBe(width);
  });

  it.each([
    [80, '5s · 5.0k tokens · $1.00'],
    [24, '5s · 5.0k · $1.00'],
    [12, '5s · $1.00'],
    [10, '5s'],
  ])('has what was used as it fits into %i columns', (columns, line) => {
    const state = stateOf(live('a', { status: 'running', used: usage(5000, 1) }), live('b'));
    expect(frame(state, { ...view, columns }, at(5)).at(-1)).toBe(line);
  });

  it.each([
    [120, '5s · 5.0k tokens · $1.00 · plan $1.00 of $20.00 (5 %) · today $41.00 of $50.00 (82 %)'],
    [80, '5s · 5.0k · $1.00 · plan $1.00 of $20.00 (5 %) · today $41.00 of $50.00 (82 %)'],
    [60, '5s · plan $1.00 of $20.00 (5 %)'],
    [30, '5s · $1.00'],
  ])('shows what was spent of budgets in %i columns', (columns, line) => {
    const spent = [
      { scope: 'plan', spent: 1, most: 20, unpriced: 0 },
      { scope: 'day', spent: 41, most: 50, unpriced: 0 },
    ] as const;
    const state = stateOf(live('a', { status: 'running', used: usage(5000, 1) }));
    expect(frame(state, { ...view, columns, spent }, at(5)).at(-1)).toBe(line);
  });

  it('never shows an unknown cost as none', () => {
    const cost = (...tickets: LiveTicket[]) => frame(stateOf(...tickets), view, START).at(-1);
    expect(cost(live('a', { used: usage(100), unpriced: 1 }))).toBe('0s · 100 tokens · cost unknown');
    expect(cost(live('a', { used: null, unpriced: 1 }))).toBe('0s · cost unknown');
    const known = live('b', { used: usage(100, 1.2) });
    expect(cost(live('a', { used: usage(100), unpriced: 1 }), known)).toBe(
      '0s · 200 tokens · at least $1.20',
    );
    // What an attempt costs may be known at its end only.
    expect(cost(live('a', { status: 'running', using: usage(100) }), known)).toBe('0s · 200 tokens · $1.20');
  });

  it('has rows before anything else where there is room for few lines', () => {
    const tickets = ['a', 'b', 'c', 'd', 'e'].map((id) =>
      live(id, { status: 'running', phase: 'implement' }),
    );
    const heads = (rows: number) =>
      frame(stateOf(...tickets), { ...view, rows }, START).map((line) => line.split(' ', 3).join(' '));
    const rule = '─'.repeat(79);
    const progress = 'Progress: a ⏳';
    expect(heads(2)).toEqual([progress]);
    expect(heads(5)).toEqual(['● a ', progress]);
    expect(heads(7)).toEqual([rule, '● a ', progress]);
    expect(heads(9)).toEqual([rule, '● a ', '● b ', progress]);
    expect(heads(11)).toEqual([rule, '● a ', '● b ', progress, '0s']);
    expect(heads(13)).toEqual([rule, '● a ', '● b ', '  …', progress, '0s']);
  });

  it('shows those that ask, then the running ones when there are too many, and counts the others', () => {
    const tickets = Array.from({ length: 49 }, (_, at) =>
      live(`t${at}`, at % 3 === 2 ? { status: 'running', phase: 'implement' } : {}),
    );
    const hold = { kind: 'gate', reason: 'ok?', until: null } as const;
    const gates = ['g1', 'g2', 'g3', 'g4', 'g5', 'g6', 'g7', 'g8'].map((id) =>
      live(id, { status: 'needs_attention', hold }),
    );
    const linesOf = (...all: LiveTicket[]) => frame(stateOf(...all), { ...view, rows: 24 }, START);
    const marks = (...all: LiveTicket[]) =>
      linesOf(...all)
        .slice(1, -3)
        .map((line) => line.charAt(0));
    const lines = linesOf(...tickets, ...gates.slice(0, 1));
    expect(lines).toHaveLength(11);
    expect(marks(...tickets, ...gates.slice(0, 1))).toEqual([...'!●●●●●●']);
    expect(marks(...tickets, ...gates)).toEqual([...'!!!!●●●']);
    expect(marks(...tickets.slice(2, 3), ...gates)).toEqual([...'!!!!!!●']);
    expect(lines.at(-3)).toBe('  … and 43 more');
    expect(lines.at(-2)).toBe('Progress: 50 ⏳');
  });

  it('shows nothing that moves the cursor or turns the text', () => {
    const activity = 'a\u001b[2Jb\u001b]0;x\u0007c\r\nd\u202ee\u200df\tg';
    const [, row] = frame(stateOf(live('a', { status: 'running', activity })), view, START);
    expect(row).toBe('● a               0s  abc de\u200df g');
  });

  it('is never wider or higher than the terminal, whatever there is to show', () => {
    const text = fc.string({ unit: 'binary', maxLength: 60 });
    const ticket = fc.record({
      status: fc.constantFrom(...TICKET_STATUSES),
      hold: fc.option(
        fc.record({ kind: fc.constant('gate' as const), reason: text, until: fc.constant(null) }),
      ),
      phase: fc.option(fc.stringMatching(/^[a-z_]{1,40}$/)),
      visit: fc.integer({ min: 1, max: 12 }),
      activity: text,
      since: fc.integer({ min: START - 1e9, max: START + 1e6 }),
      used: fc.option(fc.constant(usage(123_456, 12.3))),
    });
    const size = { columns: fc.integer({ min: 1, max: 120 }), rows: fc.integer({ min: 1, max: 30 }) };
    fc.assert(
      fc.property(fc.array(ticket, { maxLength: 40 }), size.columns, size.rows, (tickets, columns, rows) => {
        const state = stateOf(...tickets.map((more, at) => live(`ticket-${at}`, more)));
        const lines = frame(state, { ...view, columns, rows }, START);
        if (rows > 2) expect(lines.length).toBeLessThanOrEqual((rows - 1) / 2);
        expect(lines.length).toBeLessThan(Math.max(rows, 1));
        for (const line of lines) expect(cells(line)).toBeLessThan(Math.max(columns, 2));
      }),
    );
  });
});

describe('elapsed', () => {
  it.each([
    [-5, '0s'],
    [0, '0s'],
    [999, '0s'],
    [59_999, '59s'],
    [60_000, '1m 00s'],
    [246_000, '4m 06s'],
    [3_600_000, '1h 00m'],
    [360_000_000, '100h 00m'],
  ])('%i ms is %s', (ms, text) => {
    expect(elapsed(ms)).toBe(text);
  });
});
