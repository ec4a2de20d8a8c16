import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Live } from '../../../src/report/live/live-view.ts';
import { printable } from '../../../src/report/printable-text.ts';
import { style } from '../../../src/report/style-and-phrases.ts';
import { attemptOf, START, ticket, usage } from '../samples.ts';
import { Terminal } from '../terminal.ts';

beforeEach(() => void vi.useFakeTimers({ now: START }));
afterEach(() => void vi.useRealTimers());

const SAYS = 'Reading the code to see how times are kept, and where their zones get lost on the way';
const SIZES: [columns: number, rows: number][] = [
  [80, 24],
  [120, 30],
  [160, 40],
  [240, 12],
];
/** One word: lines are broken between words. */
const LONG =
  'a line that is longer than the terminal is wide, so that it takes two rows of it, or three'.replaceAll(
    ' ',
    '_',
  );

/** A view with so many tickets at work that talk a lot. */
function open(terminal: Terminal, tickets = 3) {
  const ids = Array.from({ length: tickets }, (_, at) => `t${at}`);
  const all = ids.map((id) => ticket(id));
  const [withPlan, verbose] = [false, false];
  const live = new Live({
    screen: terminal,
    style: style(true),
    withPlan,
    verbose,
    safe: (line) => printable(line, true),
    tickets: () => all,
  });
  const say = (text: string) => {
    for (const id of ids) live.event(attemptOf(id, 'implement').text(text));
    vi.advanceTimersByTime(200);
  };
  for (const id of ids) live.event(attemptOf(id, 'implement').start());
  say(SAYS);
  const resize = (columns: number, rows: number) => {
    terminal.resize(columns, rows);
    live.resized();
    vi.advanceTimersByTime(200);
  };
  return { live, say, resize };
}

const rules = (terminal: Terminal) => terminal.lines.filter((line) => line.startsWith('─'));
const totals = (terminal: Terminal) => terminal.lines.filter((line) => line.startsWith('Progress: '));

describe('the live view when the terminal changes its size', () => {
  it.each([
    [[40, 24]],
    [
      [50, 24],
      [25, 24],
    ],
    [[120, 24]],
    [[80, 10]],
    [[80, 3]],
    [[40, 10]],
    [
      [40, 10],
      [80, 24],
    ],
    [
      [50, 12],
      [30, 12],
      [30, 5],
      [100, 40],
    ],
    [
      [200, 60],
      [100, 60],
      [50, 20],
      [80, 24],
    ],
  ])('has one block, and leaves the lines alone: %j', (...sizes) => {
    const terminal = new Terminal(80, 24);
    const { live, resize } = open(terminal);
    const lines = [LONG, 'one', LONG, 'two', 'three'];
    for (const line of lines) live.print(line);
    vi.advanceTimersByTime(200);
    for (const [columns = 80, rows = 24] of sizes) {
      resize(columns, rows);
      expect(totals(terminal)).toHaveLength(1);
      expect(rules(terminal).length).toBeLessThanOrEqual(1);
    }
    live.print('and on');
    live.close();
    expect(terminal.text).toBe([...lines, 'and on'].join('\n'));
  });

  it('draws again what the terminal took away, though nothing else has changed', () => {
    const terminal = new Terminal(80, 24);
    const { resize } = open(terminal);
    const before = terminal.lines;
    terminal.resize(80, 4);
    resize(80, 24);
    expect(terminal.lines).toEqual(before);
  });

  it('leaves nothing when it draws before it hears of the other width', () => {
    const terminal = new Terminal(100, 30);
    const { live, say, resize } = open(terminal);
    live.print(LONG);
    for (const columns of [70, 55, 40]) {
      terminal.resizeUntold(columns, 30);
      say(`${SAYS} (${columns})`);
      live.print(`at ${columns}`);
      say(`${SAYS} again (${columns})`);
    }
    resize(40, 30);
    expect(totals(terminal)).toHaveLength(1);
    expect(rules(terminal)).toHaveLength(1);
    live.close();
    expect(terminal.text).toBe(`${LONG}\nat 70\nat 55\nat 40`);
  });

  it('shows tokens and cost where little is above it, and what agents say as lines come', () => {
    const terminal = new Terminal(100, 30);
    const { live, resize } = open(terminal, 4);
    for (const id of ['t0', 't1', 't2', 't3'])
      live.event(attemptOf(id, 'implement').usage(usage(12_000, 0.25)));
    live.print('a line');
    vi.advanceTimersByTime(200);
    resize(60, 30);
    vi.advanceTimersByTime(2000);
    resize(120, 30);
    const used = (text: RegExp) => terminal.lines.filter((line) => text.test(line));
    expect(used(/ 2s {2}Reading.*… +12\.0k · \$0\.25$/)).toHaveLength(4);
    expect(terminal.lines.at(-1)).toBe('2s · 48.0k tokens · $1.00');
    for (let line = 2; line <= 11; line++) live.print(`line ${line}`);
    vi.advanceTimersByTime(200);
    expect(used(/ zones.*… +12\.0k tokens · \$0\.25$/)).toHaveLength(4);
    live.close();
    expect(terminal.lines).toHaveLength(11);
  });

  const steps = fc.array(
    fc.oneof(
      fc.record({ say: fc.string({ maxLength: 200 }) }),
      fc.record({ print: fc.integer({ min: 0, max: 150 }) }),
      fc.record({ wait: fc.integer({ min: 1, max: 20 }) }),
      fc.record({
        rows: fc.option(fc.integer({ min: 2, max: 60 })),
        part: fc.option(fc.double({ min: 0.15, max: 3, noNaN: true })),
        late: fc.boolean(),
      }),
    ),
    { maxLength: 25 },
  );
  // Without breaking lines anew, what is cut off is gone: wide enough for what is printed.
  const least = (columns: number, kind: 'tmux' | 'xterm') =>
    Math.max(kind === 'tmux' ? 24 : 35, Math.ceil(columns / 2));

  it.each(['tmux', 'xterm'] as const)('keeps every line and nothing else, as %s does it', (kind) => {
    fc.assert(
      fc.property(
        steps,
        fc.integer({ min: 1, max: 14 }),
        fc.constantFrom(...SIZES),
        (todo, tickets, size) => {
          let [columns, rows] = size;
          const printed: string[] = [];
          const terminal = new Terminal(columns, rows, kind);
          const { live, say, resize } = open(terminal, tickets);
          for (const [at, step] of todo.entries()) {
            if ('say' in step) say(step.say);
            else if ('print' in step) {
              printed.push(`${at}:${'x'.repeat(kind === 'tmux' ? step.print : step.print % 30)}`.trim());
              live.print(printed.at(-1) ?? '');
            } else if ('wait' in step) vi.advanceTimersByTime(step.wait * 1000);
            else {
              columns = Math.min(240, Math.max(least(columns, kind), Math.ceil(columns * (step.part ?? 1))));
              if (step.late) {
                terminal.resizeUntold(columns, rows);
                say('Before it is known.');
              }
              rows = step.rows ?? rows;
              resize(columns, rows);
            }
          }
          live.close();
          expect(terminal.text).toBe(printed.join('\n'));
        },
      ),
      { numRuns: 60 },
    );
  });
});
