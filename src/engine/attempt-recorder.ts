import type { TicketEvent } from '../model/state/reduce.ts';
import type { Usage } from '../model/ticket.ts';
import { type EngineContext, emit } from './context.ts';
import type { AttemptRef } from './status-events.ts';
import type { TicketWriter } from './ticket-writer.ts';

/** Some CLIs report usage with every message; each report would be a write. */
const USAGE_EVERY_MS = 2_000;
/** More lines than these are only in the output file. */
const SHOWN_PER_SECOND = 100;

/** Records and shows what an attempt reports while it runs. Writes happen one after the other, in the background. */
export class AttemptRecorder {
  readonly #parts: EngineContext;
  readonly #writer: TicketWriter;
  readonly #about: AttemptRef;
  readonly #mayShow = limiter(SHOWN_PER_SECOND);
  #tail: Promise<unknown> = Promise.resolve();
  #error: unknown;
  #session: string | null = null;
  #usageAt = Number.NEGATIVE_INFINITY;

  constructor(parts: EngineContext, writer: TicketWriter, about: AttemptRef) {
    this.#parts = parts;
    this.#writer = writer;
    this.#about = about;
  }

  session(sessionId: string, agent: string | null): void {
    if (sessionId === this.#session) return;
    this.#session = sessionId;
    this.#later({ type: 'session', sessionId });
    emit(this.#parts, { type: 'attempt:session', agent, sessionId, ...this.#about });
  }

  usage(usage: Usage): void {
    if (performance.now() - this.#usageAt < USAGE_EVERY_MS) return;
    this.#usageAt = performance.now();
    this.#later({ type: 'usage', usage });
    emit(this.#parts, { type: 'attempt:usage', usage, ...this.#about });
  }

  /** Said by the engine, not by the agent. */
  note(note: string): void {
    this.#later({ type: 'note', note });
    emit(this.#parts, { type: 'attempt:text', text: note, notice: true, ...this.#about });
  }

  text(text: string): void {
    if (text.trim() === '' || !this.#mayShow()) return;
    emit(this.#parts, { type: 'attempt:text', text, ...this.#about });
  }

  tool(name: string, summary: string, done: boolean): void {
    emit(this.#parts, { type: 'attempt:tool', name, summary, done, ...this.#about });
  }

  /** Resolves when everything is written; throws what went wrong, such as a lost claim. */
  async settled(): Promise<void> {
    await this.#tail;
    if (this.#error) throw this.#error;
  }

  #later(event: TicketEvent): void {
    this.#tail = this.#tail
      .then(() => this.#writer.apply(event))
      .catch((error: unknown) => {
        this.#error ??= error;
      });
  }
}

function limiter(perSecond: number): () => boolean {
  let began = Number.NEGATIVE_INFINITY;
  let count = 0;
  return () => {
    const now = performance.now();
    if (now - began >= 1000) {
      began = now;
      count = 0;
    }
    return ++count <= perSecond;
  };
}
