import type { TicketRef } from '../model/ids.ts';
import type { TicketEvent } from '../model/state/reduce.ts';
import type { Usage } from '../model/ticket.ts';
import { type EngineContext, emit } from './context.ts';
import type { Journal } from './ticket-writer.ts';

const USAGE_EVERY_MS = 2_000;

/** Records what an attempt reports while it runs. Writes happen one after the other, behind the attempt's back. */
export class Writer {
  readonly #parts: EngineContext;
  readonly #journal: Journal;
  readonly #about: TicketRef & { phase: string; visit: number; attempt: number };
  #tail: Promise<unknown> = Promise.resolve();
  #error: unknown;
  #session: string | null = null;
  #usageAt = Number.NEGATIVE_INFINITY;

  constructor(
    parts: EngineContext,
    journal: Journal,
    about: TicketRef & { phase: string; visit: number; attempt: number },
  ) {
    this.#parts = parts;
    this.#journal = journal;
    this.#about = about;
  }

  session(sessionId: string, agent: string | null): void {
    if (sessionId === this.#session) return;
    this.#session = sessionId;
    this.#later({ type: 'session', sessionId });
    emit(this.#parts, { type: 'attempt:session', agent, sessionId, ...this.#about });
  }

  /** Some CLIs report usage with every message: keeping each one would cost more than it tells. */
  usage(usage: Usage): void {
    if (performance.now() - this.#usageAt < USAGE_EVERY_MS) return;
    this.#usageAt = performance.now();
    this.#later({ type: 'usage', usage });
    emit(this.#parts, { type: 'attempt:usage', usage, ...this.#about });
  }

  /** Said by us, not by the agent: shown to everybody. */
  note(note: string): void {
    this.#later({ type: 'note', note });
    emit(this.#parts, { type: 'attempt:text', text: note, notice: true, ...this.#about });
  }

  /** Resolves when everything is written; throws what went wrong, such as a lost claim. */
  async settled(): Promise<void> {
    await this.#tail;
    if (this.#error) throw this.#error;
  }

  #later(event: TicketEvent): void {
    this.#tail = this.#tail
      .then(() => this.#journal.apply(event))
      .catch((error: unknown) => {
        this.#error ??= error;
      });
  }
}
