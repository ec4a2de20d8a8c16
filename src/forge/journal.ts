import { appendFileSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { messageOf } from '../model/errors.ts';

/** What was meant and what came of it, line by line: after a crash it shows what may have happened outside. */
export class ForgeJournal {
  readonly #file: string;
  readonly #now: () => string;

  constructor(file: string, now: () => string) {
    this.#file = file;
    this.#now = now;
  }

  async record<T extends object>(
    what: string,
    about: Record<string, unknown>,
    work: () => Promise<T>,
  ): Promise<T> {
    this.#write({ what, state: 'intent', ...about });
    try {
      const done = await work();
      this.#write({ what, state: 'done', ...about, result: done });
      return done;
    } catch (error) {
      this.#write({ what, state: 'failed', ...about, error: messageOf(error) });
      throw error;
    }
  }

  #write(line: Record<string, unknown>): void {
    mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 });
    appendFileSync(this.#file, `${JSON.stringify({ at: this.#now(), ...line })}\n`, { mode: 0o600 });
  }
}
