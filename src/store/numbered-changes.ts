import { randomUUID } from 'node:crypto';
import { type Changed, refKey, type StateRef } from '../model/ids-and-branch-names.ts';

/** Number of changes that are kept. A reader that asks for older ones gets `unknown`: everything may have changed. */
const KEPT_CHANGES = 50_000;

/** Numbers changes, so that a reader can ask for those since its last call. */
export class ChangeLog {
  /** Made with the first cursor: loading `node:crypto` costs a short command several milliseconds. */
  #id: string | undefined;
  #changes: StateRef[] = [];
  #dropped = 0;

  note({ planId, ticketId }: StateRef): void {
    // Without a cursor, no caller can ask for what changed until now.
    if (this.#id === undefined) return;
    this.#changes.push({ planId, ticketId });
    if (this.#changes.length <= 2 * KEPT_CHANGES) return;
    this.#changes = this.#changes.slice(KEPT_CHANGES);
    this.#dropped += KEPT_CHANGES;
  }

  since(cursor: string | undefined): { changed: Changed; cursor: string } {
    this.#id ??= randomUUID();
    const [id, count] = cursor?.split(' ') ?? [];
    const from = id === this.#id ? Number(count) - this.#dropped : -1;
    const changed =
      from < 0 ? 'unknown' : [...new Map(this.#changes.slice(from).map((ref) => [keyOf(ref), ref])).values()];
    return { changed, cursor: `${this.#id} ${this.#dropped + this.#changes.length}` };
  }
}

export function keyOf({ planId, ticketId }: StateRef): string {
  return ticketId === null ? planId : refKey({ planId, ticketId });
}
