import { appendFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeDirectory } from '../machine/files/make-directory-and-handle-storage-errors.ts';
import { readOrEmpty } from '../machine/files/read-and-remove-files.ts';
import { messageOf } from '../model/errors.ts';
import { parseJson } from '../model/text/parse-json-and-find-places.ts';
import { asRecord, asText } from '../model/text/values-of-unknown-type.ts';

/** One line: an intent, or its result. */
interface JournalLine {
  at: string;
  what: string;
  state: 'intent' | 'done' | 'failed' | 'noted';
  facts: Record<string, unknown>;
}

/** Changes on GitHub. Each has two crash points: its intent is written, and it is made but not written. */
export const FORGE_EFFECTS = ['push', 'create', 'edit', 'comment', 'merge'] as const;
type ForgeEffect = (typeof FORGE_EFFECTS)[number];
export type ForgeCrashPoint = `forge:${ForgeEffect}-${'meant' | 'done'}`;
type Crash = (point: ForgeCrashPoint) => void;

interface JournalOptions {
  now(): string;
  crash?: Crash | undefined;
  /** Called immediately before each change; throws where it must not be made. */
  mayAct?: (() => Promise<void>) | undefined;
}

/** Intents and results, line by line: after a crash it shows what may have happened on GitHub. */
export class ForgeJournal {
  readonly #file: string;
  readonly #options: JournalOptions;

  constructor(file: string, options: JournalOptions) {
    this.#file = file;
    this.#options = options;
  }

  async record<T extends object>(
    what: ForgeEffect,
    about: Record<string, unknown>,
    work: () => Promise<T>,
  ): Promise<T> {
    const { crash, mayAct } = this.#options;
    this.#write({ what, state: 'intent', ...about });
    crash?.(`forge:${what}-meant`);
    try {
      await mayAct?.();
      const done = await work();
      crash?.(`forge:${what}-done`);
      this.#write({ what, state: 'done', ...about, result: done });
      return done;
    } catch (error) {
      this.#write({ what, state: 'failed', ...about, error: messageOf(error) });
      throw error;
    }
  }

  /** Records the result of an intent that a crash left open. Writes nothing where none is open. */
  settle(what: string, result: object): void {
    const open = this.unsettled().find((line) => line.what === what);
    if (open) this.#write({ what, state: 'done', found: true, result });
  }

  /** Records something that needs no intent. */
  note(what: string, about: Record<string, unknown>): void {
    this.#write({ what, state: 'noted', ...about });
  }

  /** Everything so far, oldest first. A line that a crash cut off is left out. */
  lines(): JournalLine[] {
    return readOrEmpty(this.#file)
      .split('\n')
      .flatMap((line) => {
        const facts = asRecord(parseJson(line));
        const { state } = facts;
        const known = state === 'intent' || state === 'done' || state === 'failed' || state === 'noted';
        return known ? [{ at: asText(facts.at), what: asText(facts.what), state, facts }] : [];
      });
  }

  /** Intents without a result: a crash may have come before or after the change. */
  unsettled(): JournalLine[] {
    const open = new Map<string, JournalLine>();
    for (const line of this.lines()) {
      if (line.state === 'intent') open.set(line.what, line);
      else open.delete(line.what);
    }
    return [...open.values()];
  }

  /** Commits that origin is known to have had: pushed by Signalbox, or found there and taken over. Oldest first. */
  heads(): { commit: string; at: string }[] {
    return this.lines().flatMap(({ what, state, at, facts }) => {
      const found = what === 'found' ? facts.commit : asRecord(facts.result).commit;
      const known = what === 'found' || (what === 'push' && state === 'done');
      return known && asText(found) !== '' ? [{ commit: asText(found), at }] : [];
    });
  }

  /** Commits whose pull request was merged from here. */
  merged(): string[] {
    let meant = '';
    return this.lines().flatMap(({ what, state, facts }) => {
      if (what !== 'merge') return [];
      if (state === 'intent') meant = asText(facts.commit);
      return state === 'done' && meant !== '' ? [meant] : [];
    });
  }

  /** Feedback that was answered. */
  answered(): Set<string> {
    const ids = this.lines().flatMap(({ what, facts }) =>
      what === 'answered' && Array.isArray(facts.ids) ? facts.ids.map(String) : [],
    );
    return new Set(ids);
  }

  #write(line: Record<string, unknown>): void {
    makeDirectory(dirname(this.#file));
    appendFileSync(this.#file, `${JSON.stringify({ at: this.#options.now(), ...line })}\n`, { mode: 0o600 });
  }
}
