import { randomBytes } from 'node:crypto';
import type { StoredEvent } from '../model/events.ts';
import type { Board, BoardHead, BoardRow, PlanRow } from './schemas-of-api-answers-events-and-bodies.ts';

/** Events that are kept for readers that were away for a moment. */
const MAX_EVENTS = 2_000;
const MAX_EVENT_BYTES = 2 * 1024 * 1024;
/** Keys of rows that are gone. */
const MAX_GONE = 2_000;

type Row = { kind: 'plan'; row: PlanRow } | { kind: 'ticket'; row: BoardRow };
type Kept = Row & { seq: number; text: string };

/** Changes that a reader has not got yet. */
export interface News {
  id: string;
  head?: BoardHead;
  plans: PlanRow[];
  rows: BoardRow[];
  gone: string[];
  /** As JSON. */
  events: string[];
}

type ResetReason = 'restarted' | 'too old';

/**
 * The board as numbered changes. Of every row only the latest state is kept, so that a reader which was away or is slow gets what
 * is different now, and memory does not grow with the number of changes. Of events the latest are kept.
 */
export class NumberedBoardChanges {
  readonly #epoch = randomBytes(6).toString('hex');
  readonly #rows = new Map<string, Kept>();
  /** Keys of all rows, in the order of the last board. */
  #order: ReadonlySet<string> = new Set();
  #gone: { seq: number; key: string }[] = [];
  #events: { seq: number; text: string }[] = [];
  #eventBytes = 0;
  #head: { seq: number; text: string; value: BoardHead } | undefined;
  #seq = 0;
  /** The number of the latest change that is no longer kept. A reader that has not seen it must load the whole board. */
  #droppedUpTo = 0;

  get id(): string {
    return `${this.#epoch}.${this.#seq}`;
  }

  get hasBoard(): boolean {
    return this.#head !== undefined;
  }

  /** Takes over the board as it is now; true if something has changed. */
  update(board: Board): boolean {
    const before = this.#seq;
    const { at, rows, plans, ...head } = board;
    const text = JSON.stringify(head);
    if (this.#head?.text !== text) this.#head = { seq: ++this.#seq, text, value: head };
    const now = new Set<string>();
    for (const row of plans) this.#put(row.id, { kind: 'plan', row }, now);
    for (const row of rows) this.#put(`${row.planId}/${row.ticketId}`, { kind: 'ticket', row }, now);
    this.#order = now;
    for (const key of this.#rows.keys()) {
      if (now.has(key)) continue;
      this.#rows.delete(key);
      this.#gone.push({ seq: ++this.#seq, key });
    }
    if (this.#gone.length > MAX_GONE) {
      const dropped = this.#gone.splice(0, this.#gone.length - MAX_GONE);
      this.#droppedUpTo = Math.max(this.#droppedUpTo, dropped.at(-1)?.seq ?? 0);
    }
    return this.#seq > before;
  }

  #put(key: string, row: Row, now: Set<string>): void {
    now.add(key);
    // Most rows of a board are the ones of the last reading.
    if (this.#rows.get(key)?.row === row.row) return;
    const text = JSON.stringify(row.row);
    if (this.#rows.get(key)?.text === text) return;
    this.#rows.set(key, { ...row, text, seq: ++this.#seq });
  }

  addEvent(event: StoredEvent): void {
    const text = JSON.stringify(event);
    this.#events.push({ seq: ++this.#seq, text });
    this.#eventBytes += text.length;
    while (this.#events.length > MAX_EVENTS || this.#eventBytes > MAX_EVENT_BYTES) {
      const first = this.#events.shift();
      if (!first) return;
      this.#eventBytes -= first.text.length;
      this.#droppedUpTo = Math.max(this.#droppedUpTo, first.seq);
    }
  }

  /** Everything, without past events. */
  snapshot(at: string): { id: string; board: Board } {
    const head = this.#head?.value;
    if (!head) throw new Error('The board was not read yet.');
    const rows = [...this.#order].flatMap((key) => this.#rows.get(key) ?? []);
    return { id: this.id, board: { at, ...head, ...split(rows) } };
  }

  /** What has changed since an id; the reason where that cannot be said any more. */
  since(id: string): News | ResetReason {
    const [epoch, number] = id.split('.');
    const seq = Number(number);
    if (epoch !== this.#epoch || !Number.isInteger(seq) || seq < 0 || seq > this.#seq) return 'restarted';
    if (seq < this.#droppedUpTo) return 'too old';
    const isNew = (each: { seq: number }) => each.seq > seq;
    const rows = seq === this.#seq ? [] : [...this.#rows.values()].filter(isNew);
    return {
      id: this.id,
      ...(this.#head && isNew(this.#head) ? { head: this.#head.value } : {}),
      ...split(rows),
      gone: this.#gone.filter((each) => isNew(each) && !this.#rows.has(each.key)).map(({ key }) => key),
      events: this.#events.filter(isNew).map(({ text }) => text),
    };
  }
}

function split(all: readonly Row[]): { plans: PlanRow[]; rows: BoardRow[] } {
  return {
    plans: all.flatMap((each) => (each.kind === 'plan' ? [each.row] : [])),
    rows: all.flatMap((each) => (each.kind === 'ticket' ? [each.row] : [])),
  };
}
