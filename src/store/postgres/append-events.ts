import { ownIdentity } from '../../machine/process-identity-and-signals.ts';
import { InputError } from '../../model/errors.ts';
import type { StoredEvent } from '../../model/events.ts';
import type { HeldTicket } from '../store-interface.ts';
import { hasCode } from './change-plans-and-tickets.ts';
import { APPEND } from './plan-event-and-lease-statements.ts';
import { LOCK_CLASSES } from './schema.ts';
import type { PgContext } from './store-context-and-command-records.ts';

interface Waiting {
  planId: string;
  key: string;
  doc: string;
  /** An event that only the holder of a ticket's claim may store. */
  claim: HeldTicket | undefined;
  resolve(): void;
  reject(error: unknown): void;
}

/** Stores events in their order. Those that come while a statement is under way are stored together by the next one. */
export class EventQueue {
  readonly #context: PgContext;
  #waiting: Waiting[] = [];
  #sending: Promise<void> | undefined;

  constructor(context: PgContext) {
    this.#context = context;
  }

  append(planId: string, event: StoredEvent, claim?: HeldTicket): Promise<void> {
    const doc = JSON.stringify(event);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ planId, key: this.#context.writeId(), doc, claim, resolve, reject });
      this.#sending ??= this.#send();
    });
  }

  async #send(): Promise<void> {
    while (this.#waiting.length > 0) {
      const [first] = this.#waiting;
      const end = this.#waiting.findIndex(({ planId }) => planId !== first?.planId);
      const batch = this.#waiting.splice(0, end < 0 ? this.#waiting.length : end);
      try {
        await this.#store(first?.planId ?? '', batch);
        for (const each of batch) each.resolve();
      } catch (error) {
        for (const each of batch) each.reject(error);
      }
    }
    this.#sending = undefined;
  }

  /** Resolves when all that was appended is stored, or was refused. */
  async settled(): Promise<void> {
    await this.#sending;
  }

  async #store(planId: string, batch: readonly Waiting[]): Promise<void> {
    const values = [
      planId,
      batch.map(({ key }) => key),
      batch.map(({ doc }) => doc),
      this.#context.person,
      ownIdentity().host,
      LOCK_CLASSES.events,
      batch.map(({ claim }) => claim?.ticketId ?? null),
      batch.map(({ claim }) => claim?.token ?? null),
    ];
    try {
      await this.#context.write((query) => query(APPEND, values));
    } catch (error) {
      if (hasCode(error, '23503')) throw new InputError('plan/unknown', `There is no plan "${planId}".`);
      throw error;
    }
  }
}
