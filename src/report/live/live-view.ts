import { messageOf } from '../../model/errors.ts';
import type { EngineEvent } from '../../model/events.ts';
import { refKey } from '../../model/ids-and-branch-names.ts';
import type { SpentDollars } from '../../model/limits/budget.ts';
import { type Naming, nameOf } from '../../model/state/explain-ticket.ts';
import type { Ticket } from '../../model/ticket.ts';
import { lineOf, ReportedWaits } from '../event-line.ts';
import { type Lines, oneLine } from '../printable-text.ts';
import type { Style } from '../style-and-phrases.ts';
import { cells, rowsOf, wrapLines } from '../tables-and-text-wrapping.ts';
import type { Answer } from './answer-box.ts';
import { frame } from './draw-frame.ts';
import { isAnswering, liveState, observe, openGates, pressKeys, refresh } from './live-state.ts';

/** The terminal: its size now, and a way to write to it. */
export interface Screen {
  columns(): number;
  rows(): number;
  write(text: string): void;
}

export interface LiveOptions extends Naming {
  screen: Screen;
  style: Style;
  /** Makes a line fit to be printed. */
  safe: (line: string) => string;
  /** The caller prints the lines; the view only draws its block. */
  silent?: boolean;
  /** Also print what the live rows show: starts, sessions, what agents say and do. */
  verbose: boolean;
  /** Sends the answer to a gate. Without it, keys do nothing. */
  answer?: (answer: Answer) => Promise<void>;
  /** Called when gates begin or cease to wait for an answer; says whether keys are read now. */
  readKeys?: (wanted: boolean) => boolean;
  /** What was spent of budgets; asked once a second. */
  spent?: () => readonly SpentDollars[];
  /** The tickets as the store has them now, in order. */
  tickets: () => Iterable<Ticket>;
  /** Makes `tickets` show what other parts of the program have just written. */
  refresh?: () => Promise<void>;
}

const REDRAW_MS = 100;
const TICK_MS = 1000;
/** With more tickets, the time between two drawings is so many times that of a drawing, for a small part of the processor. */
const MANY_TICKETS = 500;
const REST_FACTOR = 20;
/** Shown in the rows only; too frequent for lines. */
const SHOWN_IN_ROWS_ONLY: ReadonlySet<EngineEvent['type']> = new Set([
  'attempt:start',
  'attempt:session',
  'attempt:text',
  'attempt:tool',
  'attempt:usage',
]);

/** Erases from the block's first row down. Erasing the whole screen would make tmux and others keep it in the scrollback. */
const ERASE = '\r\u001b[2K\u001b[C\u001b[J\r';

/** A key that a terminal sends as a sequence, Esc alone, or text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: sequences begin with one
const SEQUENCE_OR_TEXT = /\u001b(?:\[[\d;]*[A-Z~]|O[A-Z])?|[^\u001b]+/g;

/** Prints events as plain lines, and below them a small block that is redrawn when it changes. */
export class Live {
  readonly #options: LiveOptions;
  readonly #state = liveState(Date.now());
  #lines: string[] = [];
  /** The block on the screen. */
  #drawn: string[] = [];
  /** The terminal may have wrapped or cut the block. */
  #damaged = false;
  /** The minimum number of rows above the block when it was drawn. */
  #above = 0;
  /** The same now, after all changes of the terminal's size. */
  #left = 0;
  #drawnAt = Number.NEGATIVE_INFINITY;
  #drawMs = 0;
  /** The store has changed since the tickets were taken over. */
  #isStale = false;
  /** The width of the names' column, for this number of tickets. */
  #nameWidth = { tickets: 0, cells: 0 };
  #spent: readonly SpentDollars[] = [];
  #spentAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #due = Number.POSITIVE_INFINITY;
  #closed = false;
  readonly #waits = new ReportedWaits();
  /** How many answers were sent. */
  #sent = 0;
  /** Called when no answer is being written, and when a question was answered elsewhere. */
  readonly #waiting: (() => void)[] = [];
  /** The shell has the terminal for now. */
  #away = false;

  constructor(options: LiveOptions) {
    this.#options = options;
  }

  event(event: EngineEvent): void {
    const now = Date.now();
    const { verbose, tickets, silent } = this.#options;
    if ('phase' in event && !this.#state.tickets.has(refKey(event))) refresh(this.#state, tickets(), now);
    observe(this.#state, event, now);
    // The store knows the decisions and the pull request.
    if (event.type === 'ticket:status' && event.hold?.kind === 'gate') this.#isStale = true;
    this.#redraw();
    const isNotice = event.type === 'attempt:text' && event.notice === true;
    if (silent || (SHOWN_IN_ROWS_ONLY.has(event.type) && !verbose && !isNotice)) return;
    if (this.#waits.repeats(event)) return;
    const line = lineOf(event, { ...this.#options, now, names: this.#names() });
    if (line !== undefined) this.print(line);
  }

  /** Prints lines that are not events. */
  print(lines: Lines): void {
    const { safe, screen } = this.#options;
    this.#lines.push(...wrapLines([lines].flat().map(safe), screen.columns()));
    if (this.#closed) this.#put([]);
    else this.#redraw();
  }

  /** Applies what was typed. On a busy machine several keys come together. */
  keys(typed: string): void {
    this.#takeOver();
    for (const keys of typed.match(SEQUENCE_OR_TEXT) ?? []) {
      const answer = pressKeys(this.#state, keys);
      if (answer) void this.#send(answer);
    }
    this.#boxChanged();
  }

  async #send(answer: Answer): Promise<void> {
    try {
      await this.#options.answer?.(answer);
      this.#state.box = null;
      this.#sent++;
    } catch (error) {
      const { box } = this.#state;
      if (box) Object.assign(box, { isSending: false, problem: messageOf(error) });
    }
    this.changed();
    this.#takeOver();
    this.#boxChanged();
  }

  #wakeWaiting(): void {
    for (const done of this.#waiting.splice(0)) done();
  }

  #boxChanged(): void {
    if (!this.#state.box) this.#wakeWaiting();
    this.#redraw();
  }

  /** Nothing but gates is left: waits until one is answered here, which is true, or the person leaves them for later. */
  async answered(signal: AbortSignal): Promise<boolean> {
    const before = this.#sent;
    const state = this.#state;
    // A question may be too new to be reported as a change.
    if (this.#options.refresh) {
      await this.#options.refresh();
      this.#isStale = true;
    }
    this.#takeOver();
    state.isAsking = this.#options.readKeys?.(openGates(state).length > 0) ?? false;
    this.#redraw();
    while (this.#sent === before && this.#isAsking() && !signal.aborted)
      await new Promise<void>((done) => {
        this.#waiting.push(done);
        signal.addEventListener('abort', () => done(), { once: true });
      });
    state.isAsking = false;
    return this.#sent > before;
  }

  #isAsking(): boolean {
    const state = this.#state;
    // The store may show the answer before it is known to have been sent.
    if (state.box?.isSending) return true;
    return isAnswering(state) || (state.isAsking && openGates(state).length > 0);
  }

  /** The terminal's size has changed. */
  resized(): void {
    const { screen } = this.#options;
    const grown = rowsOf(this.#drawn, screen.columns()) - this.#drawn.length;
    // tmux keeps the last rows, empty ones too: as many rows as the block grows by scroll off at the top.
    this.#left = Math.max(0, Math.min(this.#left, this.#above - grown, screen.rows() - 1));
    this.#damaged = true;
    this.#redraw();
  }

  /** The store was changed from outside. */
  changed(): void {
    this.#isStale = true;
    this.#redraw();
  }

  #takeOver(): void {
    if (this.#isStale) refresh(this.#state, this.#options.tickets(), Date.now());
    this.#isStale = false;
  }

  /** Removes the block until `back` is called: the shell has the terminal. */
  leave(): void {
    if (this.#closed || this.#away) return;
    this.#away = true;
    clearTimeout(this.#timer);
    this.#due = Number.POSITIVE_INFINITY;
    this.#put([]);
  }

  /** Draws the block again, below what is on the screen now. */
  back(): void {
    this.#away = false;
    this.#above = 0;
    this.#left = 0;
    this.#redraw();
  }

  /** Keeps the lines and removes the block. */
  close(): void {
    if (this.#closed) return;
    const { box } = this.#state;
    if (box?.message.trim()) this.print(`Not sent to ${box.key}: ${oneLine(box.message)}`);
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#put([]);
  }

  /** The width of the names' column in printed lines; very long names do not count. */
  #names(): number {
    const { tickets } = this.#state;
    if (this.#nameWidth.tickets !== tickets.size) {
      const widths = [...tickets.values()].map((ticket) => cells(nameOf(ticket, this.#options)));
      const widest = widths.reduce((most, each) => Math.max(most, each), 0);
      this.#nameWidth = { tickets: tickets.size, cells: Math.min(24, widest) };
    }
    return this.#nameWidth.cells;
  }

  /** Redraws soon, at most ten times a second. */
  #redraw(): void {
    if (!this.#closed && !this.#away) this.#wakeAt(Math.max(performance.now(), this.#restedAt(REDRAW_MS)));
  }

  #restedAt(ms: number): number {
    const rest = this.#state.tickets.size > MANY_TICKETS ? REST_FACTOR * this.#drawMs : 0;
    return this.#drawnAt + Math.max(ms, rest);
  }

  /** Uses the monotonic clock. */
  #wakeAt(time: number): void {
    if (time >= this.#due) return;
    clearTimeout(this.#timer);
    this.#due = time;
    this.#timer = setTimeout(() => this.#draw(), time - performance.now()).unref();
  }

  #draw(): void {
    const { screen } = this.#options;
    const began = performance.now();
    this.#takeOver();
    const above = this.#left + this.#lines.length;
    const spent = this.#spentNow();
    const wantsKeys = openGates(this.#state).length > 0 || this.#state.box !== null;
    const keys = this.#options.readKeys?.(wantsKeys) ?? false;
    // In the background no key can be read.
    if (!keys) this.#state.isAsking = false;
    if (!this.#isAsking()) this.#wakeWaiting();
    const view = { ...this.#options, spent, keys, columns: screen.columns(), rows: screen.rows(), above };
    this.#due = Number.POSITIVE_INFINITY;
    this.#put(frame(this.#state, view, Date.now()).map(this.#options.safe));
    this.#drawnAt = performance.now();
    this.#drawMs = this.#drawnAt - began;
    this.#wakeAt(this.#restedAt(TICK_MS));
  }

  #spentNow(): readonly SpentDollars[] {
    const now = performance.now();
    if (now - this.#spentAt < TICK_MS) return this.#spent;
    this.#spentAt = now;
    this.#spent = this.#options.spent?.() ?? [];
    return this.#spent;
  }

  /** Erases the block, prints new lines and draws the new block, in one write. */
  #put(block: string[]): void {
    const { screen } = this.#options;
    const lines = this.#lines.splice(0);
    const same = block.length === this.#drawn.length && block.every((line, at) => line === this.#drawn[at]);
    if (same && lines.length === 0 && !this.#damaged) return;
    const erase = this.#drawn.length > 0 ? ERASE : '';
    this.#drawn = block;
    this.#damaged = false;
    this.#above = Math.min(this.#left + lines.length, screen.rows() - block.length);
    this.#left = this.#above;
    screen.write(erase + lines.map((line) => `${line}\n`).join('') + blockWithCursorBack(block));
  }
}

/**
 * Draws the block and moves the cursor back to its beginning. There it stays when the terminal wraps lines again, and a
 * terminal that gets lower drops the rows below the cursor first. A line that is too wide is cut, not wrapped.
 */
function blockWithCursorBack(block: readonly string[]): string {
  if (block.length === 0) return '';
  const up = block.length > 1 ? `\u001b[${block.length - 1}A` : '';
  return `\u001b[?7l${block.join('\n')}\u001b[?7h\r${up}`;
}
