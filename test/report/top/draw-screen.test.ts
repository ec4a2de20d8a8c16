import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { emptyBox } from '../../../src/report/live/answer-box.ts';
import { style } from '../../../src/report/style-and-phrases.ts';
import { cells } from '../../../src/report/tables-and-text-wrapping.ts';
import { listing } from '../../../src/report/top/draw-board.ts';
import { drawScreen, type Stale } from '../../../src/report/top/draw-screen.ts';
import { drawRow } from '../../../src/report/top/lay-out-and-draw-rows.ts';
import { afterBoardChange, startState, type TopState } from '../../../src/report/top/top-state.ts';
import type { Board } from '../../../src/report/view-schemas.ts';
import { at, NOW } from '../../model/build.ts';
import { board, row } from './boards.ts';

const now = Date.parse(NOW);

interface Given {
  columns?: number;
  rows?: number;
  state?: Partial<TopState>;
  tail?: string[];
  stale?: Stale;
  scroll?: number;
}

function draw(on: Board, { columns = 80, rows = 24, state = {}, tail = [], stale, scroll = 0 }: Given = {}) {
  const list = listing(on, state.shown ?? startState().shown, columns, now);
  const input = {
    board: on,
    list,
    state: afterBoardChange({ ...startState(), ...state }, list.rows, on),
    tail,
    stale: stale ?? null,
    empty: ['No open plans.'],
    scroll,
  };
  return drawScreen(input, { columns, rows, style: style(false), now });
}

const used = {
  inputTokens: 123_000,
  outputTokens: 0,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  costUsd: 1.25,
};
const BUSY = board([
  row('T-1', {
    section: 'need you',
    status: 'failed',
    title: 'Fix the typo',
    why: 'nothing was committed',
    next: 'signalbox retry p T-1',
    phase: 'build',
    legal: ['retry', 'skip'],
    usage: used,
  }),
  row('T-2', {
    section: 'running',
    status: 'running',
    title: 'Cache it',
    phase: 'review',
    visit: 2,
    since: at(-65),
    printedAt: at(-20),
    action: 'Bash npm test',
    idleSeconds: 30,
    usage: used,
  }),
  row('T-3', { why: 'waits for T-2 (running)', title: 'Later' }),
]);

describe('the screen of the board', () => {
  it('shows head, sections, the selected ticket with the end of its log, and the keys', () => {
    const { lines } = draw(BUSY, { columns: 100, tail: ['── build', 'first', 'last'] });
    expect(lines.map((line) => line.trimEnd())).toEqual([
      'no engine is running · 1 of 4 running · $0.00 today',
      '1 needs you · 1 running · 1 waiting · 0 done',
      expect.stringMatching(
        /^ {4}TICKET {2}TITLE +PHASE +TIME +SILENT {2}LAST ACTION OR REASON +TOKENS +COST$/,
      ),
      'Need you (1)',
      expect.stringMatching(/^▸ ✗ T-1 +Fix the typo +build +nothing was committed +123\.0k +\$1\.25$/),
      'Running (1)',
      expect.stringMatching(
        /^ {2}● T-2 +Cache it +review \(2\) +1m 05s +20s {2}Bash npm test +123\.0k +\$1\.25$/,
      ),
      'Waiting (1)',
      expect.stringMatching(/^ {2}◌ T-3 +Later +waits for T-2 \(running\)$/),
      ...Array.from({ length: 6 }, () => ''),
      `── p/T-1 · Fix the typo ${'─'.repeat(76)}`,
      'nothing was committed',
      '→ signalbox retry p T-1',
      '── build',
      'first',
      'last',
      '',
      '',
      'r retry · s skip · Enter log · d diff · w shell · e session · / filter · ? help · q quit',
    ]);
  });

  it('has in its head the engines, what was spent of the budget, and usage limits with the time that is left', () => {
    const engine = { by: 'worker', pid: 1, host: 'build-2', isElsewhere: true };
    const { lines } = draw({
      ...BUSY,
      engines: [{ ...engine, by: 'run', isElsewhere: false }, engine, { ...engine, pid: 2 }],
      today: { usd: 12.5, unpriced: 0, budgetUsd: 50 },
      limits: [{ account: 'claude', by: 'p/T-1', reason: '', until: at(3960) }],
    });
    expect(lines[0]).toBe('3 engines: run, 2 × worker on build-2 · 1 of 4 running · $12.50 of $50.00 today');
    expect(lines[1]).toMatch(/^Usage limit of claude until \d\d:\d\d:\d\d, in 1 h 6 m$/);
  });

  it('shows since when a ticket waits so that no one takes it for a duration', () => {
    const since = at(-60);
    const { lines } = draw(board([row('T-1', { status: 'failed', section: 'need you', since })]));
    expect(lines.join('\n')).toMatch(/ at \d\d:\d\d /);
  });

  it('paints a ticket yellow that is silent for more than a third of its idle limit', () => {
    const line = (idleSeconds: number, isSelected = false) => {
      const busy = board([row('T-0'), row('T-2', { ...BUSY.rows[1], idleSeconds })]);
      const { layout, nameOf, rows } = listing(busy, startState().shown, 80, now);
      const options = { nameOf, now, style: style(true), isSelected, width: 80 };
      return rows.map((each) => drawRow(each, layout, options)).find((each) => each.includes('T-2'));
    };
    const { yellow } = style(true);
    for (const text of [yellow('●'), yellow('    20s')]) {
      expect(line(59)).toContain(text);
      expect(line(61)).not.toContain(text);
    }
    const [start = ''] = yellow('|').split('|');
    expect(line(59, true)?.startsWith(start)).toBe(true);
    expect(line(61, true)).not.toContain(start);
  });

  it('counts the silence of an agent that has printed nothing from the beginning of its phase', () => {
    const running = { section: 'running', status: 'running', phase: 'build', since: at(-65) } as const;
    const line = (more: object) =>
      draw(board([row('T-2', { ...running, why: 'build', ...more })]), { columns: 100 }).lines.find((each) =>
        each.includes('● T-2'),
      );
    expect(line({ idleSeconds: 900 })).toMatch(/build +1m 05s +1m 05s/);
    // A script may be silent.
    expect(line({})?.trimEnd()).toMatch(/build +1m 05s$/);
  });

  it('fits every terminal: each line, the number of lines, the counts; the selected row keeps mark, ticket and reason', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 12, max: 220 }),
        fc.integer({ min: 3, max: 70 }),
        fc.nat(60),
        (columns, rows, selected) => {
          const many = board(
            Array.from({ length: 60 }, (_, each) =>
              row(`T-${each}`, {
                section: 'need you',
                status: 'failed',
                title: 'A title',
                why: 'because',
                phase: 'build',
                usage: used,
              }),
            ),
          );
          const { lines } = draw(many, {
            columns,
            rows,
            state: { selected: `p/T-${selected}`, place: selected },
          });
          expect(lines).toHaveLength(rows);
          for (const line of lines) expect(cells(line)).toBeLessThanOrEqual(columns);
          expect(lines.join('\n')).toMatch(/60 need you|!60/);
          if (selected < 60 && columns >= 24 && rows > 3)
            expect(lines.find((line) => line.startsWith('▸'))).toMatch(
              new RegExp(`^▸ ✗ T-${selected} .*because`),
            );
        },
      ),
      { numRuns: 60 },
    );
  });

  it('leaves out tokens first, then the title, never the reason', () => {
    const head = (columns: number) => draw(BUSY, { columns }).lines[2] ?? '';
    expect(head(100)).toContain('TOKENS');
    expect(head(90)).not.toContain('TOKENS');
    expect(head(90)).toContain('TITLE');
    expect(head(60)).not.toContain('TITLE');
    expect(head(60)).toContain('LAST ACTION');
    const narrow = draw(BUSY, { columns: 36 }).lines;
    expect(narrow.find((line) => line.startsWith('▸'))).toContain('nothing was committed');
    expect(narrow.join('\n')).toContain('!1 ●1 ◌1 ✓0');
  });

  it('scrolls as little as it must, with the heading of the first row, and counts the others', () => {
    const many = board(Array.from({ length: 50 }, (_, each) => row(`T-${each}`)));
    const first = draw(many);
    expect(first.scroll).toBe(0);
    expect(first.lines.join('\n')).toMatch(/↓ \d+ more/);
    const last = draw(many, { state: { selected: 'p/T-49' } });
    expect(last.lines.join('\n')).toMatch(/▸ ◌ T-49[\s\S]*↑ \d+ more$/m);
    const near = draw(many, { state: { selected: 'p/T-40' }, scroll: last.scroll });
    expect(near.scroll).toBe(last.scroll);
    const top = draw(many, { state: { selected: 'p/T-0' }, scroll: last.scroll });
    expect(top.lines.join('\n')).toMatch(/Waiting \(50\)\n▸ ◌ T-0/);
  });

  it('marks a board that is old with its age', () => {
    const stale = { message: 'The store does not answer.', since: now - 65_000 };
    const { lines } = draw(BUSY, { stale, columns: 120 });
    expect(lines[0]).toMatch(
      /^Not up to date: 1 m 5 s old, from \d\d:\d\d:\d\d\. The store does not answer\.$/,
    );
    expect(draw(BUSY, { stale, rows: 5, columns: 30 }).lines[0]).toContain('1 m 5 s old');
  });

  it('says why no row is shown', () => {
    expect(draw(board([])).lines.join('\n')).toContain('No open plans.');
    const shown = { filter: 'nothing has this', failuresOnly: false, grouping: 'section' as const };
    expect(draw(BUSY, { state: { shown } }).lines.join('\n')).toContain('No ticket is shown. Esc shows all.');
  });

  it('names the ticket in every question, and where the answer goes', () => {
    const ref = { planId: 'p', ticketId: 'T-1' };
    const confirm = draw(BUSY, {
      state: {
        mode: { kind: 'confirm', ref, question: 'Retry p/T-1 (Fix the typo)?', wish: { type: 'retry' } },
      },
    });
    expect(confirm.lines.slice(-2)).toEqual(['Retry p/T-1 (Fix the typo)?', 'y yes · any other key: no']);
    const skip = draw(BUSY, {
      state: { mode: { kind: 'phase', ref, phases: ['review', 'done'], chosen: 'done' } },
    });
    expect(skip.lines.slice(-3)).toEqual([
      'Skip: continue p/T-1 at which phase?',
      ' review  [done]',
      '← → choose · Enter continues there · Esc leaves',
    ]);
  });

  it('keeps the name of the ticket and the keys of a question on a low terminal', () => {
    const title = 'A title that takes several lines on a terminal as narrow as this one is';
    const asks = row('T-1', {
      section: 'need you',
      status: 'needs_attention',
      phase: 'ask',
      decisions: ['yes', 'no'],
      hold: { kind: 'gate', reason: `${title} and a prompt that is even longer?`.repeat(3), until: null },
    });
    const ref = { planId: 'p', ticketId: 'T-1' };
    const box = emptyBox({ ...ref, text: '', decisions: ['yes', 'no'], attempt: 'ask#1#1' });
    const question = `Retry p/T-1 (${title})? It starts again at ask.`;
    const modes = [
      ['Answer p/T-1: ', { kind: 'answer', box }, '  ← → choose ·…'],
      ['Retry p/T-1', { kind: 'confirm', ref, question, wish: { type: 'retry' } }, 'y yes · any other…'],
      [
        'Skip: continue p/T-1',
        { kind: 'phase', ref, phases: ['a', 'b'], chosen: 'a' },
        '← → choose · Enter…',
      ],
    ] as const;
    for (const rows of [6, 8, 12])
      for (const [first, mode, keys] of modes) {
        const { lines } = draw(board([asks]), { columns: 20, rows, state: { mode } });
        expect(lines).toContainEqual(expect.stringContaining(first));
        expect(lines.at(-1)).toBe(keys);
        for (const line of lines) expect(cells(line)).toBeLessThanOrEqual(20);
      }
  });

  it('offers a shell and a session only for a ticket of this machine', () => {
    const keys = (machine: string | null) => draw(board([row('T-1', { machine })])).lines.at(-1);
    expect(keys(null)).toContain('w shell · e session');
    expect(keys('build-2')).not.toMatch(/shell|session/);
  });

  it('keeps what agents printed inside its row', () => {
    const { lines } = draw(BUSY, { tail: ['a\tb\u001b[31mred\nnext'] });
    expect(lines.find((line) => line.startsWith('a '))).toBe('a  bred next');
  });
});
