import { StoreConnection } from '../report/board/notice-lost-store.ts';
import type { BoardReader } from '../report/board/read-board.ts';
import type { Store } from '../store/store-interface.ts';
import { NumberedBoardChanges } from './numbered-board-changes.ts';

/** Changes are collected for this long. */
const COLLECT_MS = 250;
/** While something runs its output grows, which no watch reports. Otherwise a watch may have missed something. */
const RUNNING_MS = 1_000;
const IDLE_MS = 5_000;
/** The board is kept for this long after the last reader has left: a page that is reloaded comes back at once. */
const LINGER_MS = 30_000;
/** Pieces of events that are read before others get their turn. */
const MAX_PIECES = 4;

/** Reads the board again when something has changed, for all readers together and only while there are some. */
export class LiveBoard {
  readonly #store: Store;
  readonly #open: () => BoardReader;
  #reader: BoardReader;
  readonly #listeners = new Set<() => void>();
  readonly #cursors = new Map<string, string>();
  #feed = new NumberedBoardChanges();
  #unwatch: (() => void) | undefined;
  #connection: StoreConnection | undefined;
  /** Plans that have changed: on a fleet, only their events are asked for. Those of an event may be stored after those of its change. */
  #changed = new Set<string>();
  #changedBefore = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #linger: NodeJS.Timeout | undefined;
  #dueAt = 0;
  #problem: unknown;
  #readAt = '';

  /** `open`: opens a reader, which keeps what it has read of running attempts. */
  constructor(store: Store, open: () => BoardReader) {
    this.#store = store;
    this.#open = open;
    this.#reader = open();
  }

  get feed(): NumberedBoardChanges {
    return this.#feed;
  }

  /** When the state was last read; null while it can be read. */
  get oldSince(): string | null {
    if (this.#problem === undefined) return null;
    const answeredAt = this.#connection?.answeredAt ?? Date.now();
    return new Date(Math.min(Date.parse(this.#readAt), answeredAt)).toISOString();
  }

  /** Calls back after every change, until the returned function is called. The board is up to date when this returns. */
  follow(onChange: () => void): () => void {
    clearTimeout(this.#linger);
    this.#linger = undefined;
    if (!this.#unwatch) {
      // Watching would create an empty directory.
      this.#store.refuseIfGone();
      this.#unwatch = this.#store.watch((changed) => {
        this.#reader.changed(changed);
        const plans = changed === 'unknown' ? this.#cursors.keys() : changed.map(({ planId }) => planId);
        for (const planId of plans) this.#changed.add(planId);
        this.#schedule(COLLECT_MS);
      });
      this.#connection = new StoreConnection(this.#store, () => this.#schedule(0));
      this.#read();
    }
    if (this.#problem !== undefined && !this.#feed.hasBoard) throw this.#problem;
    this.#listeners.add(onChange);
    return () => {
      this.#listeners.delete(onChange);
      if (this.#listeners.size === 0) this.#linger ??= setTimeout(() => this.close(), LINGER_MS).unref();
    };
  }

  /** Stops reading. The next reader gets a new board. */
  close(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#linger);
    this.#unwatch?.();
    this.#unwatch = undefined;
    this.#connection?.close();
    this.#timer = undefined;
    this.#linger = undefined;
    this.#dueAt = 0;
    this.#cursors.clear();
    this.#feed = new NumberedBoardChanges();
    this.#reader = this.#open();
  }

  /** Reads after this time, or earlier if that was planned. */
  #schedule(ms: number): void {
    const at = performance.now() + ms;
    if (this.#timer && this.#dueAt <= at) return;
    clearTimeout(this.#timer);
    this.#dueAt = at;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#read();
    }, ms).unref();
  }

  #read(): void {
    try {
      this.#connection?.refuseIfLost();
      const board = this.#reader.read(Date.now());
      this.#connection?.refuseIfLost();
      // A page that is kept open sorts rows into sections itself, and cannot know the order of tickets that move between them.
      this.#feed.update({ ...board, rows: this.#reader.rowsByPlan });
      const isBehind = this.#readEvents(board.plans.map(({ id }) => id));
      this.#problem = undefined;
      this.#readAt = board.at;
      const isRunning = board.rows.some(({ status }) => status === 'running');
      this.#schedule(isBehind ? 0 : isRunning ? RUNNING_MS : IDLE_MS);
    } catch (error) {
      // The state cannot be read now. Readers keep what they have and see how old it is.
      this.#problem = error;
      this.#schedule(IDLE_MS);
    }
    for (const listener of [...this.#listeners]) listener();
  }

  /** Takes over new events of the plans on the board; true if there are more. */
  #readEvents(plans: readonly string[]): boolean {
    let isBehind = false;
    const mayHaveMore = (id: string) =>
      !this.#store.fleet || !this.#cursors.has(id) || this.#changed.has(id) || this.#changedBefore.has(id);
    for (const planId of plans.filter(mayHaveMore)) {
      for (let pieces = 0; ; pieces++) {
        const known = this.#cursors.get(planId);
        const { events, cursor } = this.#store.eventsAfter(planId, known);
        this.#cursors.set(planId, cursor);
        for (const event of events) this.#feed.addEvent(event);
        if (events.length === 0) break;
        if (pieces >= MAX_PIECES) {
          isBehind = true;
          break;
        }
      }
    }
    for (const planId of this.#cursors.keys()) if (!plans.includes(planId)) this.#cursors.delete(planId);
    if (!isBehind) [this.#changedBefore, this.#changed] = [this.#changed, new Set()];
    return isBehind;
  }
}
