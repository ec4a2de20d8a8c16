import type { EngineEvent } from '../model/events.ts';
import { refKey } from '../model/ids.ts';
import type { Ticket } from '../model/ticket.ts';
import { frame } from './frame.ts';
import { lineOf } from './lines.ts';
import { nameOf } from './live-rows.ts';
import { liveState, observe, refresh } from './live-state.ts';
import type { Style } from './style.ts';
import { cells } from './width.ts';

/** The terminal: its size now, and a way to write to it. */
export interface Screen {
  columns(): number;
  rows(): number;
  write(text: string): void;
}

export interface LiveOptions {
  screen: Screen;
  style: Style;
  withPlan: boolean;
  /** Takes out of a line what could act on the terminal. */
  safe: (line: string) => string;
  /** Also scroll what the live rows already show: starts, sessions, what agents say and do. */
  verbose: boolean;
  /** The tickets as the store has them now, in order. */
  tickets: () => Iterable<Ticket>;
}

const REDRAW_MS = 100;
const TICK_MS = 1000;
/** The rows show these, and change too often to be kept as lines. */
const IN_ROW: ReadonlySet<EngineEvent['type']> = new Set([
  'attempt:start',
  'attempt:session',
  'attempt:text',
  'attempt:tool',
  'attempt:usage',
]);

/** Events scroll by as plain lines; below them stands a small block that is drawn anew when it changes. */
export class Live {
  readonly #options: LiveOptions;
  readonly #state = liveState(Date.now());
  #lines: string[] = [];
  /** The block as it stands on the screen. */
  #drawn: string[] = [];
  #drawnAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #due = Number.POSITIVE_INFINITY;
  #closed = false;

  constructor(options: LiveOptions) {
    this.#options = options;
  }

  event(event: EngineEvent): void {
    const now = Date.now();
    const { style, withPlan, verbose, tickets } = this.#options;
    if ('phase' in event && !this.#state.tickets.has(refKey(event))) refresh(this.#state, tickets(), now);
    observe(this.#state, event, now);
    this.#redraw();
    if (IN_ROW.has(event.type) && !verbose) return;
    const line = lineOf(event, { style, withPlan, verbose, now, names: this.#names() });
    if (line !== undefined) this.print(line);
  }

  /** A line that is not an event. */
  print(text: string): void {
    this.#lines.push(this.#options.safe(text));
    if (this.#closed) this.#put([]);
    else this.#redraw();
  }

  /** The terminal has another size. */
  resized(): void {
    this.#redraw();
  }

  /** Somebody else has changed something in the store. */
  changed(): void {
    refresh(this.#state, this.#options.tickets(), Date.now());
    this.#redraw();
  }

  /** Leaves the lines and takes the block away. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#put([]);
  }

  /** Lines that scroll by stand in columns as far as the names are of a reasonable length. */
  #names(): number {
    const { withPlan } = this.#options;
    const widths = [...this.#state.tickets.values()].map((ticket) => cells(nameOf(ticket, withPlan)));
    return Math.min(24, Math.max(0, ...widths));
  }

  /** Soon, but not more often than ten times a second. */
  #redraw(): void {
    if (!this.#closed) this.#wakeAt(Math.max(performance.now(), this.#drawnAt + REDRAW_MS));
  }

  /** By a clock that nobody sets. */
  #wakeAt(time: number): void {
    if (time >= this.#due) return;
    clearTimeout(this.#timer);
    this.#due = time;
    this.#timer = setTimeout(() => this.#draw(), time - performance.now()).unref();
  }

  #draw(): void {
    const { screen, style, withPlan } = this.#options;
    const view = { columns: screen.columns(), rows: screen.rows(), style, withPlan };
    this.#due = Number.POSITIVE_INFINITY;
    this.#put(frame(this.#state, view, Date.now()));
    this.#drawnAt = performance.now();
    this.#wakeAt(this.#drawnAt + TICK_MS);
  }

  /**
   * One write: up to where the block began, clear, the new lines, the new block. Row by row: when all of the screen is
   * cleared at once, tmux and others keep what was on it in the scrollback.
   */
  #put(block: string[]): void {
    const lines = this.#lines.splice(0);
    const same = block.length === this.#drawn.length && block.every((line, at) => line === this.#drawn[at]);
    if (same && lines.length === 0) return;
    const up = rowsOf(this.#drawn, this.#options.screen.columns());
    const clear = up > 0 ? `\r\u001b[J${'\u001b[A\u001b[2K'.repeat(up)}` : '';
    this.#drawn = block;
    this.#options.screen.write(clear + [...lines, ...block].map((line) => `${line}\n`).join(''));
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours have no width
const COLOURS = /\u001b\[[0-9;]*m/g;

/** Terminals break lines anew when they become narrower: counts the rows that the block takes now. */
function rowsOf(lines: readonly string[], columns: number): number {
  return lines.reduce(
    (sum, line) => sum + Math.max(1, Math.ceil(cells(line.replace(COLOURS, '')) / columns)),
    0,
  );
}
