import { setTimeout as delay } from 'node:timers/promises';
import { SignalboxError } from '../../model/errors.ts';
import type { Store } from '../../store/store-interface.ts';

const PROBE_MS = 5000;
const ANSWER_MS = 4000;

/** Reads everything that others have written until now. Rejects where the store does not answer soon. */
export async function refreshSoon(store: Store): Promise<void> {
  store.refuseIfGone();
  const ended = new AbortController();
  const silent = delay(ANSWER_MS, undefined, { ref: false, signal: ended.signal }).then(() => {
    throw new SignalboxError('state/storage', 'The store does not answer.');
  });
  silent.catch(() => undefined);
  await Promise.race([store.refresh(), silent]).finally(() => ended.abort());
}

/** Whether a store can be read: one on another computer answers, and one in files has its directory. */
export class StoreConnection {
  readonly #store: Store;
  readonly #onChange: () => void;
  #problem: unknown;
  #answeredAt = Date.now();
  #timer: NodeJS.Timeout | undefined;

  /** `onChange`: called when it is lost, or found again. */
  constructor(store: Store, onChange: () => void) {
    this.#store = store;
    this.#onChange = onChange;
    if (store.fleet) this.#probeLater();
  }

  get answeredAt(): number {
    return this.#store.fleet ? this.#answeredAt : Date.now();
  }

  refuseIfLost(): void {
    if (this.#problem !== undefined) throw this.#problem;
    this.#store.refuseIfGone();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #probeLater(): void {
    this.#timer = setTimeout(() => void this.#probe(), PROBE_MS);
  }

  async #probe(): Promise<void> {
    const before = this.#problem;
    try {
      await refreshSoon(this.#store);
      this.#problem = undefined;
      this.#answeredAt = Date.now();
    } catch (error) {
      this.#problem = error;
    }
    if (!this.#timer) return;
    if (before !== this.#problem) this.#onChange();
    this.#probeLater();
  }
}
