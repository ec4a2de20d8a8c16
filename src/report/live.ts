import type { EngineEvent } from '../model/events.ts';
import { refKey } from '../model/ids.ts';
import type { Ticket } from '../model/ticket.ts';
import { frame } from './frame.ts';
import { lineOf } from './lines.ts';
import { liveState, observe, refresh } from './live-state.ts';
import { type Naming, nameOf } from './names.ts';
import type { Style } from './style.ts';
import { cells } from './width.ts';

/** The terminal: its size now, and a way to write to it. */
export interface Screen {
  columns(): number;
  rows(): number;
  write(text: string): void;
}

export interface LiveOptions extends Naming {
  screen: Screen;
  style: Style;
  /** Takes out of a line what could act on the terminal. */
  safe: (line: string) => string;
  /** Also scroll what the live rows already show: starts, sessions, what agents say and do. */
  verbose: boolean;
  /** The tickets as the store has them now, in order. */
  tickets: () => Iterable<Ticket>;
}

const REDRAW_MS = 100;
const TICK_MS = 1000;
/** A terminal that kept its size for so long after a change will hardly change again soon. */
const STEADY_MS = 5000;
/** The rows show these, and change too often to be kept as lines. */
const IN_ROW: ReadonlySet<EngineEvent['type']> = new Set([
  'attempt:start',
  'attempt:session',
  'attempt:text',
  'attempt:tool',
  'attempt:usage',
]);

/** From the block's first row down. Not all of the screen in one: tmux and others would keep it in the scrollback. */
const ERASE = '\r\u001b[2K\u001b[C\u001b[J\r';

/** Events scroll by as plain lines; below them stands a small block that is drawn anew when it changes. */
export class Live {
  readonly #options: LiveOptions;
  readonly #state = liveState(Date.now());
  #lines: string[] = [];
  /** The block as it stands on the screen. */
  #drawn: string[] = [];
  /** The terminal may have broken it or taken rows of it away. */
  #damaged = false;
  #rows = 0;
  /** So many lines of ours are above the block on the screen, at least. */
  #above = 0;
  #resizedAt = Number.POSITIVE_INFINITY;
  #drawnAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #due = Number.POSITIVE_INFINITY;
  #closed = false;

  constructor(options: LiveOptions) {
    this.#options = options;
  }

  event(event: EngineEvent): void {
    const now = Date.now();
    const { verbose, tickets } = this.#options;
    if ('phase' in event && !this.#state.tickets.has(refKey(event))) refresh(this.#state, tickets(), now);
    observe(this.#state, event, now);
    this.#redraw();
    if (IN_ROW.has(event.type) && !verbose) return;
    const line = lineOf(event, { ...this.#options, now, names: this.#names() });
    if (line !== undefined) this.print(line);
  }

  /** Lines that are no event. */
  print(text: string): void {
    this.#lines.push(...this.#options.safe(text).split('\n'));
    if (this.#closed) this.#put([]);
    else this.#redraw();
  }

  /** The terminal has another size. */
  resized(): void {
    const { screen } = this.#options;
    const grown = rowsOf(this.#drawn, screen.columns()) - this.#drawn.length;
    // tmux keeps the last rows on the screen, empty ones too: as many as the block grows by leave it at the top.
    this.#above = Math.max(0, Math.min(this.#above, this.#rows - this.#drawn.length) - grown);
    this.#rows = screen.rows();
    this.#damaged = true;
    this.#resizedAt = performance.now();
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
    const widths = [...this.#state.tickets.values()].map((ticket) => cells(nameOf(ticket, this.#options)));
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
    const { screen } = this.#options;
    this.#rows = screen.rows();
    // After a change little is known of what is above; tokens and cost come back all the same.
    const steady = performance.now() - this.#resizedAt >= STEADY_MS;
    const above = steady ? Number.POSITIVE_INFINITY : this.#above + this.#lines.length;
    const view = { ...this.#options, columns: screen.columns(), rows: this.#rows, above };
    this.#due = Number.POSITIVE_INFINITY;
    this.#put(frame(this.#state, view, Date.now()));
    this.#drawnAt = performance.now();
    this.#wakeAt(this.#drawnAt + TICK_MS);
  }

  /** One write: the block away, the new lines, the new block. */
  #put(block: string[]): void {
    const lines = this.#lines.splice(0);
    const same = block.length === this.#drawn.length && block.every((line, at) => line === this.#drawn[at]);
    if (same && lines.length === 0 && !this.#damaged) return;
    const erase = this.#drawn.length > 0 ? ERASE : '';
    this.#drawn = block;
    this.#damaged = false;
    this.#above += lines.length;
    this.#options.screen.write(erase + lines.map((line) => `${line}\n`).join('') + standing(block));
  }
}

/**
 * The block with the cursor back at its beginning, which stays there however the terminal breaks lines anew; rows below
 * the cursor are what it gives up first when it becomes lower. A line that is too wide already is cut, not wrapped.
 */
function standing(block: readonly string[]): string {
  if (block.length === 0) return '';
  const up = block.length > 1 ? `\u001b[${block.length - 1}A` : '';
  return `\u001b[?7l${block.join('\n')}\u001b[?7h\r${up}`;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours have no width
const COLOURS = /\u001b\[[0-9;]*m/g;

/** Rows that the lines take where the terminal breaks them anew. */
function rowsOf(lines: readonly string[], columns: number): number {
  return lines.reduce(
    (sum, line) => sum + Math.max(1, Math.ceil(cells(line.replace(COLOURS, '')) / columns)),
    0,
  );
}
