import { randomUUID } from 'node:crypto';
import { refKey } from '../model/ids.ts';
import type { Changed, StateRef } from './port.ts';

/** Numbers changes, so that a reader can ask for those since its last question. */
export class ChangeLog {
  /** Made with the first cursor: loading `node:crypto` costs a short command several milliseconds. */
  #id: string | undefined;
  readonly #last = new Map<string, { ref: StateRef; at: number }>();
  #count = 0;

  note(ref: StateRef): void {
    const { planId, ticketId } = ref;
    this.#last.set(keyOf(ref), { ref: { planId, ticketId }, at: ++this.#count });
  }

  since(cursor: string | undefined): { changed: Changed; cursor: string } {
    this.#id ??= randomUUID();
    const [id, count] = cursor?.split(' ') ?? [];
    const from = id === this.#id ? Number(count) : undefined;
    const newer = [...this.#last.values()].filter(({ at }) => from !== undefined && at > from);
    newer.sort((a, b) => a.at - b.at);
    return {
      changed: from === undefined ? 'unknown' : newer.map(({ ref }) => ref),
      cursor: `${this.#id} ${this.#count}`,
    };
  }
}

export function keyOf({ planId, ticketId }: StateRef): string {
  return ticketId === null ? planId : refKey({ planId, ticketId });
}
