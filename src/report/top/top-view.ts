import { messageOf } from '../../model/errors.ts';
import type { TicketRef } from '../../model/ids-and-branch-names.ts';
import type { Screen } from '../live/live-view.ts';
import type { Style } from '../style-and-phrases.ts';
import type { Board, BoardRow } from '../view-schemas.ts';
import { type Listing, listing } from './draw-board.ts';
import { drawScreen, type Stale } from './draw-screen.ts';
import type { Shown } from './filter-and-group-rows.ts';
import { ChangedLines, KeySplitter } from './split-keys-and-rewrite-changed-lines.ts';
import {
  afterBoardChange,
  type Effect,
  pressKey,
  startState,
  type TopState,
  type WhyClosed,
} from './top-state.ts';

interface TopOptions {
  screen: Screen;
  style: Style;
  /** Makes a line fit to be printed. */
  safe: (line: string) => string;
  /** Reads the board; throws while the state cannot be read. */
  read(now: number): Board;
  /** When the store last answered: what is read from memory may be older than the reading. */
  answeredAt(): number;
  logTail(ref: TicketRef): readonly string[];
  /** Says who answered a gate. */
  whyClosed: WhyClosed;
  /** Does what a key needs. */
  act(effect: Effect): void;
  empty: readonly string[];
}

/** Changes are collected for this long: at most four frames a second. */
const FRAME_MS = 250;
const SECOND_MS = 1000;
/** A frame that takes much CPU time on this machine is drawn less often: all of them take at most one part in so many. */
const COST_SHARE = 25;
const MAX_FRAME_MS = 1000;
/** A timer that ends a moment too early would find the same second. */
const LATE_MS = 5;
/** While nothing runs or counts down. A watch may have missed something, and an engine that is killed changes nothing. */
const IDLE_MS = 5000;

/** The alternate screen, without a cursor and without wrapping; what is pasted is marked. */
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[?2004h';
const LEAVE = '\u001b[?2004l\u001b[?7h\u001b[?25h\u001b[?1049l';

/** The live board: reads again what has changed, and writes rows that differ. */
export class TopView {
  readonly #options: TopOptions;
  readonly #rows = new ChangedLines();
  readonly #keys = new KeySplitter();
  #state = startState();
  #board: Board;
  #readAt: number;
  #stale: Stale | null = null;
  #list: { board: Board; shown: Shown; columns: number; made: Listing } | undefined;
  #tail: readonly string[] = [];
  /** The ticket whose log it is. */
  #tailOf: string | null = null;
  #scroll = 0;
  #page = 1;
  #timer: NodeJS.Timeout | undefined;
  #due = Number.POSITIVE_INFINITY;
  #drawnAt = Number.NEGATIVE_INFINITY;
  #frameMs = FRAME_MS;
  /** Another program, or the shell, has the terminal. */
  #isAway = true;

  /** Throws where the state cannot be read. */
  constructor(options: TopOptions) {
    this.#options = options;
    const now = Date.now();
    this.#board = options.read(now);
    this.#readAt = now;
  }

  /** Takes the screen and draws. */
  enter(): void {
    if (!this.#isAway) return;
    this.#isAway = false;
    this.#rows.forget();
    this.#options.screen.write(ENTER);
    this.#draw(true);
  }

  /** Gives the screen back as it was. May be called at any time, and again. */
  leave(): void {
    if (this.#isAway) return;
    this.#isAway = true;
    clearTimeout(this.#timer);
    this.#due = Number.POSITIVE_INFINITY;
    this.#options.screen.write(LEAVE);
  }

  /** The store has changed. */
  changed(): void {
    if (!this.#isAway) this.#wakeAt(Math.max(performance.now(), this.#drawnAt + this.#frameMs));
  }

  resized(): void {
    this.#rows.forget();
    if (!this.#isAway) this.#draw(false);
  }

  /** Applies what was typed. */
  keys(typed: string): void {
    for (const key of this.#keys.split(typed)) {
      if (this.#isAway) return;
      const { rows } = this.#listing();
      const { state, effect } = pressKey(this.#state, key, { board: this.#board, rows, page: this.#page });
      this.#state = state;
      if (effect) this.#options.act(effect);
    }
    if (!this.#isAway) this.#draw(false);
  }

  /** Changes what is shown, such as a message. */
  update(change: (state: TopState) => TopState): void {
    this.#state = change(this.#state);
    if (!this.#isAway) this.#draw(false);
  }

  #wakeAt(time: number): void {
    if (time >= this.#due) return;
    clearTimeout(this.#timer);
    this.#due = time;
    this.#timer = setTimeout(() => this.#draw(true), time - performance.now());
  }

  #read(now: number): void {
    try {
      this.#board = this.#options.read(now);
      this.#readAt = now;
      this.#stale = null;
    } catch (error) {
      this.#stale = { message: messageOf(error), since: Math.min(this.#readAt, this.#options.answeredAt()) };
    }
  }

  #listing(): Listing {
    const [board, { shown }, columns] = [this.#board, this.#state, this.#options.screen.columns()];
    const known = this.#list;
    if (known?.board === board && known.shown === shown && known.columns === columns) return known.made;
    const made = listing(board, shown, columns, Date.now());
    this.#list = { board, shown, columns, made };
    return made;
  }

  /** Reads first where that is wanted: a key alone changes what is shown, and must not wait. */
  #draw(reads: boolean): void {
    const began = process.cpuUsage();
    const { screen, style, safe, empty } = this.#options;
    const [columns, rows] = [Math.max(1, screen.columns()), Math.max(1, screen.rows())];
    // Whole seconds, so that clocks move once a second.
    const now = Math.floor(Date.now() / SECOND_MS) * SECOND_MS;
    if (reads) this.#read(Date.now());
    const list = this.#listing();
    this.#state = afterBoardChange(this.#state, list.rows, this.#board, this.#options.whyClosed);
    const selected = list.rows[this.#state.place];
    const of = this.#state.selected;
    if (!this.#stale) this.#tail = selected ? this.#options.logTail(selected) : [];
    else if (of !== this.#tailOf) this.#tail = [];
    this.#tailOf = of;
    const { lines, scroll } = drawScreen(
      {
        board: this.#board,
        list,
        state: this.#state,
        tail: this.#tail,
        stale: this.#stale,
        empty,
        scroll: this.#scroll,
      },
      { columns, rows, style, now },
    );
    this.#scroll = scroll;
    this.#page = Math.max(1, Math.floor(rows / 2));
    const text = this.#rows.update(lines.map(safe), columns);
    if (text !== '') screen.write(text);
    if (!reads) return;
    const { user, system } = process.cpuUsage(began);
    const cost = ((user + system) / 1000) * COST_SHARE;
    this.#frameMs = Math.max(FRAME_MS, Math.min(MAX_FRAME_MS, cost));
    this.#planNext();
  }

  #planNext(): void {
    this.#drawnAt = performance.now();
    this.#due = Number.POSITIVE_INFINITY;
    const isMoving = this.#stale !== null || counts(this.#board, Date.now());
    this.#wakeAt(this.#drawnAt + (isMoving ? SECOND_MS - (Date.now() % SECOND_MS) + LATE_MS : IDLE_MS));
  }
}

/** Whether something runs or counts down. */
function counts({ rows, limits }: Board, now: number): boolean {
  const isMoving = ({ section, hold }: BoardRow) =>
    section === 'running' || (hold?.until != null && Date.parse(hold.until) > now);
  return limits.length > 0 || rows.some(isMoving);
}
