import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { style } from '../../../src/report/style-and-phrases.ts';
import type { Effect } from '../../../src/report/top/top-state.ts';
import { TopView } from '../../../src/report/top/top-view.ts';
import type { Board } from '../../../src/report/view-schemas.ts';
import { board, row } from './boards.ts';

beforeEach(() => {
  vi.useFakeTimers({ now: Date.parse('2026-01-01T10:00:00.500Z') });
  // Frames that take much CPU time are drawn less often; here they take none.
  vi.spyOn(process, 'cpuUsage').mockReturnValue({ user: 0, system: 0 });
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

function open(first: Board, { columns = 80, rows = 24 } = {}) {
  const world = {
    board: first,
    problem: undefined as Error | undefined,
    size: { columns, rows },
    writes: [] as string[],
    reads: 0,
    effects: [] as Effect[],
  };
  const view = new TopView({
    screen: {
      columns: () => world.size.columns,
      rows: () => world.size.rows,
      write: (text) => void world.writes.push(text),
    },
    style: style(false),
    safe: String,
    read() {
      world.reads++;
      if (world.problem) throw world.problem;
      return world.board;
    },
    answeredAt: () => Date.now(),
    logTail: ({ ticketId }) => [`log of ${ticketId}`],
    whyClosed: () => undefined,
    act: (effect) => void world.effects.push(effect),
    empty: [],
  });
  view.enter();
  return { world, view };
}

/** The rows that were written. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the cursor is moved this way
const ROWS = /\u001b\[\d+;1H/g;

const waiting = (why: string) => board([row('a', { why })]);
const running = (since: string) => board([row('a', { section: 'running', status: 'running', since })]);

describe('the live board', () => {
  it('writes nothing while nothing runs or counts down', () => {
    const { world } = open(waiting('waits'));
    const [entered, frame] = [...world.writes];
    expect(world.writes).toHaveLength(2);
    expect(entered).toBe('\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[?2004h');
    expect(frame).toContain('waits');
    vi.advanceTimersByTime(60_000);
    expect(world.writes).toHaveLength(2);
    // It only looks whether an engine has died, or a watch has missed something.
    expect(world.reads).toBeLessThanOrEqual(14);
  });

  it('collects changes to at most four frames a second, and writes only the rows that differ', () => {
    const { world, view } = open(waiting('waits 0'));
    world.writes.length = 0;
    for (let each = 1; each <= 100; each++) {
      world.board = waiting(`waits ${each}`);
      view.changed();
      vi.advanceTimersByTime(10);
    }
    expect(world.writes.length).toBeLessThanOrEqual(4);
    expect(world.reads).toBeLessThanOrEqual(6);
    vi.advanceTimersByTime(250);
    const last = world.writes.at(-1) ?? '';
    expect(last).toContain('waits 100');
    // The row, and the reason of the selected ticket below it.
    expect(last.match(ROWS)).toHaveLength(2);
    expect(Buffer.byteLength(last)).toBeLessThan(300);
  });

  it('moves clocks once a second, with one row each', () => {
    const { world, view } = open(running('2026-01-01T10:00:00.123Z'));
    world.writes.length = 0;
    for (let each = 0; each < 40; each++) {
      view.changed();
      vi.advanceTimersByTime(250);
    }
    // It has run for less than a second when the first one ends.
    expect(world.writes).toHaveLength(9);
    for (const text of world.writes) expect(text.match(ROWS)).toHaveLength(1);
  });

  it('answers a key at once, without reading', () => {
    const { world, view } = open(board([row('a'), row('b')]));
    const { reads } = world;
    world.writes.length = 0;
    view.keys('j');
    expect(world.writes).toHaveLength(1);
    expect(world.writes[0]).toContain('▸ ◌ b');
    expect(world.reads).toBe(reads);
    view.keys('q');
    expect(world.effects).toEqual([{ type: 'quit' }]);
  });

  it('keeps the last frame while the store cannot be read, with its age', () => {
    const { world, view } = open(waiting('waits for T-9'));
    world.writes.length = 0;
    world.problem = new Error('no connection');
    view.changed();
    vi.advanceTimersByTime(12_000);
    const said = world.writes.join('\n');
    expect(said).toMatch(/Not up to date: 12 s old, from \d\d:\d\d:\d\d\. no connection/);
    world.problem = undefined;
    view.changed();
    world.writes.length = 0;
    vi.advanceTimersByTime(1000);
    expect(world.writes.join('')).toContain('waits for T-9');
    world.writes.length = 0;
    vi.advanceTimersByTime(4000);
    expect(world.writes).toEqual([]);
  });

  it('shows no log of another ticket while the store cannot be read', () => {
    const { world, view } = open(board([row('a'), row('b')]));
    expect(world.writes.join('')).toContain('log of a');
    world.problem = new Error('no connection');
    view.changed();
    vi.advanceTimersByTime(1000);
    world.writes.length = 0;
    view.keys('j');
    view.resized();
    const last = world.writes.at(-1);
    expect(last).toContain('── p/b');
    expect(last).not.toContain('log of');
  });

  it('leaves the screen as it was, and writes nothing until it comes back', () => {
    const { world, view } = open(running('2026-01-01T10:00:00.123Z'));
    view.leave();
    expect(world.writes.at(-1)).toBe('\u001b[?2004l\u001b[?7h\u001b[?25h\u001b[?1049l');
    world.writes.length = 0;
    view.leave();
    view.changed();
    view.keys('j');
    vi.advanceTimersByTime(5000);
    expect(world.writes).toEqual([]);
    view.enter();
    expect(world.writes).toHaveLength(2);
  });

  it('draws everything again for another size', () => {
    const { world, view } = open(waiting('waits'));
    world.writes.length = 0;
    world.size = { columns: 40, rows: 12 };
    view.resized();
    expect(world.writes.join('')).toContain('\u001b[H\u001b[2J');
    expect(world.writes.join('')).toContain('waits');
  });

  it('writes few rows for one event among a thousand tickets', () => {
    const rows = Array.from({ length: 1000 }, (_, each) => row(`T-${each}`, { why: 'waits' }));
    const { world, view } = open(board(rows));
    world.writes.length = 0;
    world.board = board(rows.map((each) => (each.ticketId === 'T-900' ? { ...each, why: 'now' } : each)));
    view.changed();
    vi.advanceTimersByTime(250);
    expect(world.writes).toEqual([]);
    world.board = board(rows.map((each) => (each.ticketId === 'T-3' ? { ...each, why: 'now' } : each)));
    view.changed();
    vi.advanceTimersByTime(250);
    expect(world.writes.join('').match(ROWS)).toHaveLength(1);
  });
});
