import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromSnapshot, newlyAsking, withChange } from '../../page/live/board-state.ts';
import { routeOf } from '../../page/live/route-of.ts';
import { byDay, roundTop, sumsBy, tokensText } from '../../page/logic/add-up-costs.ts';
import { coloured } from '../../page/logic/ansi.ts';
import { chooseAttempt } from '../../page/logic/choose-attempt.ts';
import { filesOf } from '../../page/logic/diff.ts';
import { bySection, linesOf } from '../../page/logic/fold-rows.ts';
import { gateToShow } from '../../page/logic/gate-to-show.ts';
import { layOut } from '../../page/logic/graph-layout.ts';
import { parseJson } from '../../page/logic/parse-json.ts';
import { nextOffset, opened, rangeOf, withEarlier, withLater } from '../../page/logic/transcript-window.ts';
import type { Attempt, Hold } from '../../src/model/ticket.ts';
import { hasWords } from '../../src/report/top/filter-and-group-rows.ts';
import type { Board, BoardRow, Transcript } from '../../src/web/schemas-of-api-answers-events-and-bodies.ts';
import { attempt as attemptOf } from '../model/build.ts';

const row = (ticketId: string, more: Partial<BoardRow> = {}): BoardRow => ({
  ...{
    planId: 'p',
    ticketId,
    section: 'waiting',
    status: 'queued',
    title: `Title of ${ticketId}`,
    planName: 'Plan',
  },
  ...{ why: 'it waits', next: '', hold: null, phase: null, visit: 1, attempt: 1, since: null, agent: null },
  ...{
    action: null,
    printedAt: null,
    idleSeconds: null,
    usage: null,
    unpriced: 0,
    machine: null,
    pullRequest: null,
  },
  ...{ decisions: [], legal: [] },
  ...more,
});

const board = (rows: BoardRow[]): Board => ({
  ...{
    at: '2026-01-01T00:00:00.000Z',
    engines: [],
    running: 0,
    maximum: 1,
    limits: [],
    problems: [],
    plans: [],
  },
  today: { usd: 0, unpriced: 0, budgetUsd: null },
  counts: { 'need you': 0, running: 0, waiting: 0, done: 0 },
  rows,
});
const change = { at: 'later', plans: [], rows: [], gone: [], events: [] };

describe('the board in the page', () => {
  it('takes over rows that changed and drops those that are gone', () => {
    const before = fromSnapshot(board([row('a'), row('b')]));
    const asks = row('a', { section: 'need you', status: 'failed' });
    const after = withChange(before, { ...change, rows: [asks], gone: ['p/b'] });
    expect([...after.rows.values()]).toEqual([asks]);
    expect(newlyAsking(before, after)).toEqual([asks]);
    expect(newlyAsking(after, after)).toEqual([]);
    expect(newlyAsking(null, after)).toEqual([]);
  });

  it('has sections in their order, and the tickets of a plan in its order, also those that changed', () => {
    const before = fromSnapshot(board([row('T-9'), row('T-10'), row('a'), row('x', { section: 'running' })]));
    const { rows } = withChange(before, { ...change, rows: [row('T-9', { why: 'another' })] });
    const sections = bySection(rows.values(), new Map());
    expect(sections.waiting.map(({ ticketId }) => ticketId)).toEqual(['T-9', 'T-10', 'a']);
    expect(sections.running).toHaveLength(1);
  });

  it('folds many rows with one reason, and no others', () => {
    const rows = ['a', 'b', 'c', 'd'].map((id) => row(id, { why: 'usage limit' }));
    const all = [row('e'), ...rows, row('f')];
    const sizes = (lines: ReturnType<typeof linesOf>) => lines.map((line) => line.rows.length);
    expect(sizes(linesOf('waiting', all))).toEqual([4, 1, 1]);
    expect(sizes(linesOf('done', all))).toEqual([1, 1, 1, 1, 1, 1]);
    const question = row('q', { decisions: ['yes'] });
    const [first, second] = linesOf('need you', [...all, question]);
    expect([first?.rows, second?.rows.length]).toEqual([[question], 4]);
  });

  it('finds rows by all words', () => {
    expect(hasWords(row('a', { agent: 'claude' }), 'CLAUDE title')).toBe(true);
    expect(hasWords(row('a'), 'claude')).toBe(false);
  });
});

it('texts that would be shown in another order than they have are made visible', () => {
  const title = 'a\u202eb\u2066c \\u202e \\\\u202e \u001b[31m';
  const shown = 'a\ufffdb\ufffdc \\u202e \\\\u202e \u001b[31m';
  const raw = JSON.stringify({ title });
  const escaped = raw.replaceAll('\u202e', '\\u202e').replaceAll('\u2066', '\\u2066');
  expect(escaped).not.toBe(raw);
  for (const text of [raw, escaped]) expect(parseJson(text)).toEqual({ title: shown });
});

describe('addresses', () => {
  it.each([
    ['/', { page: 'board' }],
    ['/plans', { page: 'plans' }],
    ['/costs', { page: 'costs' }],
    ['/report', { page: 'report' }],
    ['/plans/a%20b', { page: 'plan', plan: 'a b' }],
    ['/plans/p/tickets/t', { page: 'ticket', plan: 'p', ticket: 't' }],
    ['/plans/p/tickets/t/more', { page: 'unknown' }],
    ['/plans/p/other/t', { page: 'unknown' }],
    ['/%E0', { page: 'unknown' }],
    ['/elsewhere', { page: 'unknown' }],
  ])('%s', (path, route) => {
    expect(routeOf(path)).toEqual(route);
  });
});

describe('colours of agents', () => {
  it('become classes, and everything else stays text', () => {
    expect(coloured('a\u001b[31mred\u001b[1mbold\u001b[0mplain<b>')).toEqual([
      { text: 'a', classes: '' },
      { text: 'red', classes: 'c-red' },
      { text: 'bold', classes: 'c-red c-bold' },
      { text: 'plain<b>', classes: '' },
    ]);
    expect(coloured('\u001b[38;5;2mg\u001b[39m\u001b[38;2;1;2;3mx\u001b[44my\u001b[m')).toEqual([
      { text: 'g', classes: 'c-green' },
      { text: 'x', classes: '' },
      { text: 'y', classes: 'b-blue' },
    ]);
    const near = ['5;208', '5;220', '5;51', '5;245', '2;40;200;90', '2;200;80;210', '2;90;90;100'];
    expect(near.map((code) => coloured(`\u001b[38;${code}mx`)[0]?.classes)).toEqual([
      'c-red',
      'c-yellow',
      'c-cyan',
      '',
      'c-green',
      'c-magenta',
      '',
    ]);
  });

  it('lose no text', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('a', '\n', '<', '\u001b[31m', '\u001b[m', '\u001b[1;44m')),
        (parts) => {
          const text = parts.join('');
          const wanted = parts.filter((part) => !part.startsWith('\u001b')).join('');
          expect(
            coloured(text)
              .map((piece) => piece.text)
              .join(''),
          ).toBe(wanted);
        },
      ),
    );
  });
});

describe('a diff', () => {
  it('is split into files with numbered lines', () => {
    const text = [
      'diff --git a/a.ts b/a.ts',
      'index 1..2 100644',
      '--- a/a.ts',
      '+++ b/a.ts',
      '@@ -1,3 +1,3 @@ head',
      ' same',
      '--- looks like a head',
      '+++ so does this',
      ' last',
      '\\ No newline at end of file',
      'diff --git a/old.ts b/new.ts',
      'rename from old.ts',
      'rename to new.ts',
      'diff --git a/x.png b/x.png',
      'new file mode 100644',
      'Binary files /dev/null and b/x.png differ',
    ].join('\n');
    const [first, second, third] = filesOf(text);
    expect(first).toMatchObject({ name: 'a.ts', added: 1, removed: 1, change: '' });
    expect(first?.lines.map(({ kind, before, after }) => [kind, before, after])).toEqual([
      ['hunk', null, null],
      ['same', 1, 1],
      ['removed', 2, null],
      ['added', null, 2],
      ['same', 3, 3],
      ['note', null, null],
    ]);
    expect(second).toMatchObject({ name: 'new.ts', change: 'was old.ts' });
    expect(third).toMatchObject({ name: 'x.png', change: 'new', lines: [{ text: 'A binary file.' }] });
  });
});

describe('the drawing of dependencies', () => {
  it('puts everything behind what it needs', () => {
    const { nodes, edges, columns } = layOut([
      { id: 'c', needs: ['a', 'b'] },
      { id: 'a', needs: [] },
      { id: 'b', needs: ['a'] },
      { id: 'd', needs: ['of another plan'] },
    ]);
    const column = Object.fromEntries(nodes.map((node) => [node.id, node.column]));
    expect(column).toEqual({ a: 0, b: 1, c: 2, d: 0 });
    expect(edges).toHaveLength(3);
    expect(columns).toBe(3);
  });

  it('ends for circles, too, and gives every node a place of its own', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(12), fc.nat(12)), { maxLength: 40 }), (pairs) => {
        const nodes = Array.from({ length: 13 }, (_, id) => ({
          id: String(id),
          needs: pairs.filter(([to]) => to === id).map(([, from]) => String(from)),
        }));
        const placed = layOut(nodes).nodes.map(({ column, row }) => `${column} ${row}`);
        expect(new Set(placed).size).toBe(13);
      }),
    );
  });
});

describe('a window of a transcript', () => {
  const entry = (at: number, done = true) => ({
    ...{ at, part: 0, kind: 'tool' as const, text: `${at}`, cut: 0 },
    tool: { name: 'Bash', done, failed: false, output: null },
  });
  const part = (from: number, to: number, more: Partial<Transcript> = {}): Transcript => ({
    ...{ from, to, size: 1_000_000, ended: true, entries: [entry(from)] },
    ...more,
  });

  const full = (from: number, to: number) =>
    part(from, to, { entries: Array.from({ length: 100 }, (_, each) => entry(from + each)) });

  it('keeps a bounded number of parts, and knows where it is', () => {
    let window = opened(full(900_000, 1_000_000), true);
    for (let to = 900_000; to > 0; to -= 100_000) window = withEarlier(window, full(to - 100_000, to));
    expect(rangeOf(window)).toEqual({ from: 0, to: 600_000 });
    expect(window.pieces).toHaveLength(6);
    expect(window.atEnd).toBe(false);
    while (!window.atEnd) {
      const from = nextOffset(window);
      window = withLater(window, full(from, Math.min(1_000_000, from + 100_000)));
    }
    expect(rangeOf(window)).toEqual({ from: 400_000, to: 1_000_000 });
  });

  it('keeps parts that have few entries, because they may not fill the screen', () => {
    let window = opened(part(900_000, 1_000_000), true);
    for (let to = 900_000; to > 0; to -= 100_000) window = withEarlier(window, part(to - 100_000, to));
    expect(rangeOf(window)).toEqual({ from: 0, to: 1_000_000 });
    expect(window.atEnd).toBe(true);
  });

  it('replaces a tool call by its end, and takes no part that does not fit', () => {
    const window = opened(
      part(0, 20, { size: 20, ended: false, entries: [entry(0), entry(10, false)] }),
      true,
    );
    expect(nextOffset(window)).toBe(10);
    const later = withLater(window, part(10, 40, { size: 40, entries: [entry(10), entry(30)] }));
    expect(later.pieces.flatMap(({ entries }) => entries)).toEqual([entry(0), entry(10), entry(30)]);
    expect(later.atEnd).toBe(true);
    expect(withLater(window, part(30, 40))).toBe(window);
    expect(withEarlier(window, part(0, 10))).toBe(window);
  });
});

describe('costs', () => {
  const cost = (day: string, agent: string, usd: number | null) => ({
    ...{ day, planId: 'p', phase: 'build', agent, attempts: 1, unpriced: usd === null ? 1 : 0, seconds: 60 },
    usage: { inputTokens: 10, outputTokens: 1, cacheReadTokens: null, cacheWriteTokens: null, costUsd: usd },
  });
  const rows = [cost('2026-02-27', 'a', 1), cost('2026-03-01', 'b', 3), cost('2026-03-01', 'a', null)];

  it('are added up, the dearest first', () => {
    expect(
      sumsBy(rows, 'agent').map(({ name, usd, unpriced, tokens }) => [name, usd, unpriced, tokens]),
    ).toEqual([
      ['b', 3, 0, 11],
      ['a', 1, 1, 22],
    ]);
  });

  it('say that tokens are unknown where no agent has reported any', () => {
    const [known] = rows;
    if (!known) throw new Error('There is no row.');
    const silent = { ...known, usage: { ...known.usage, inputTokens: null, outputTokens: null } };
    expect(sumsBy([silent], 'agent').map(({ tokens }) => tokensText(tokens))).toEqual(['tokens unknown']);
    expect(sumsBy([silent, known], 'agent').map(({ tokens }) => tokensText(tokens))).toEqual(['11 tokens']);
  });

  it('have every day, also those without any', () => {
    const days = byDay(rows, 'agent', { to: '2026-03-02' });
    expect(days.map(({ day, usd, unpriced }) => [day, usd, unpriced])).toEqual([
      ['2026-02-27', 1, 0],
      ['2026-02-28', 0, 0],
      ['2026-03-01', 3, 1],
      ['2026-03-02', 0, 0],
    ]);
  });

  it('have a scale that ends with a round number', () => {
    expect([0, 0.03, 1, 16.4, 250.1].map(roundTop)).toEqual([1, 0.05, 1, 20, 500]);
  });
});

describe('the attempt that a ticket page opens', () => {
  const gate: Hold = { kind: 'gate', reason: 'Ship it?', until: null };
  const facts = (key: string, status: Attempt['status'], more: Record<string, unknown> = {}) => ({
    ...{ key, stdoutBytes: 9, stderrBytes: 0, hasPrompt: true },
    attempt: attemptOf(key.slice(0, -1), status, more),
  });
  const [failed, again] = [facts('implement1', 'failure'), facts('implement2', 'success')];
  const asks = facts('ask1', 'running', { asks: 'Ship it?' });
  const checks = facts('checks1', 'failure');
  it.each([
    ['the one before a gate', [failed, again, asks], { status: 'needs_attention', hold: gate }, again],
    ['a failed one before a gate', [again, checks, asks], { status: 'needs_attention', hold: gate }, checks],
    ['the one that failed last', [again, checks, facts('clean1', 'success')], { status: 'failed' }, checks],
    ['none that a later one put right', [failed, again], { status: 'needs_attention' }, again],
    ['the one that was asked for', [failed, again, asks], { status: 'failed' }, failed, 'implement1'],
    ['the one that runs', [failed, facts('implement2', 'running')], { status: 'running' }, 1],
  ] as const)('is %s', (_, attempts, ticket, expected, wanted: string | null = null) => {
    const chosen = chooseAttempt({ attempts: [...attempts], ticket: { hold: null, ...ticket } }, wanted);
    expect(chosen).toBe(typeof expected === 'number' ? attempts[expected] : expected);
  });
});

describe('the question that a ticket page shows', () => {
  const asks = (key: string, more: object = {}) => ({
    key,
    asks: 'Ship it?',
    decisions: ['yes', 'no'],
    ...more,
  });
  const facts = (key: string, more: Record<string, unknown> = {}) => ({
    ...{ key, stdoutBytes: 0, stderrBytes: 0, hasPrompt: false },
    attempt: attemptOf('ask', 'interrupted', more),
  });
  const first = asks('ask#1#1');
  const paused = [facts('ask#1#1')];
  const answered = [facts('ask#1#1', { answeredBy: { by: 'Ada', door: 'cli' } })];
  it('comes back with its draft when the gate asks again after a pause', () => {
    expect(gateToShow({ gate: null, attempts: paused }, first, true)).toBe(first);
    const again = asks('ask#1#2');
    expect(gateToShow({ gate: again, attempts: paused }, first, true)).toBe(again);
  });
  it.each([
    ['another visit', asks('ask#2#1'), paused],
    ['another text', asks('ask#1#2', { asks: 'Delete it?' }), paused],
    ['other decisions', asks('ask#1#2', { decisions: ['no', 'yes'] }), paused],
    ['one that was answered', asks('ask#1#2'), answered],
  ])('is not replaced below a draft: %s', (_, open, attempts) => {
    expect(gateToShow({ gate: open, attempts }, first, true)).toBe(first);
    expect(gateToShow({ gate: open, attempts }, first, false)).toBe(open);
  });
});
