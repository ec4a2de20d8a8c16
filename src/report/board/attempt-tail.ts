import { type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentEvent } from '../../model/agent-and-adapter-types.ts';
import { SignalboxError } from '../../model/errors.ts';
import type { Redact } from '../../model/text/find-and-redact-secrets.ts';
import type { Attempt } from '../../model/ticket.ts';
import type { OutputSource } from '../find-attempt-output.ts';
import { attemptLog } from '../plan-ticket-and-attempt-log.ts';
import { oneLine } from '../printable-text.ts';
import { style } from '../style-and-phrases.ts';

/** Of a long output only the end is read. One line of an agent can be as long as a file that it has read. */
const TAIL_BYTES = 256 * 1024;
const MAX_LINES = 200;
const MAX_ACTION_CHARS = 400;
/** Output on another machine is asked for in the store, which blocks this process for a moment. */
const ASK_MS = 2000;

/** The end of what an attempt printed, and the last thing its agent did. Each update reads only what is new. */
export class AttemptTail {
  readonly #source: OutputSource;
  readonly #redact: Redact;
  #more: ReturnType<typeof attemptLog> | undefined;
  readonly #worktree: string | null;
  #askedAt = Number.NEGATIVE_INFINITY;
  #size = -1;
  #isEnded = false;
  #said: string | null = null;
  /** When it last printed something. */
  printedAt: number | null = null;
  /** The last lines, as `signalbox logs` shows them. */
  lines: readonly string[] = [];

  constructor(source: OutputSource, { worktree, redact }: { worktree: string | null; redact: Redact }) {
    this.#source = source;
    this.#redact = redact;
    this.#worktree = worktree;
  }

  get isElsewhere(): boolean {
    return this.#source.dir === null;
  }

  /** The last thing its agent said or did; of a script, the last line. */
  get action(): string | null {
    return this.#said ?? this.lines.findLast((line) => !line.startsWith('── ')) ?? null;
  }

  /** Whether output on another machine may be asked for again. */
  get isDue(): boolean {
    return performance.now() - this.#askedAt >= ASK_MS;
  }

  update(attempt: Attempt): void {
    const { dir } = this.#source;
    if (dir === null) {
      this.#ask(attempt);
      return;
    }
    const files = ['stdout', 'stderr'].flatMap((name) => stat(join(dir, name)) ?? []);
    this.printedAt = files.length === 0 ? null : Math.max(...files.map(({ mtimeMs }) => mtimeMs));
    const size = files.reduce((sum, each) => sum + each.size, 0);
    const isEnded = attempt.completedAt !== null;
    if (size === this.#size && isEnded === this.#isEnded) return;
    this.#size = size;
    this.#isEnded = isEnded;
    this.#read(attempt);
  }

  /** A store that does not answer leaves what is known; the board says how old that is. */
  #ask(attempt: Attempt): void {
    if (!this.isDue) return;
    try {
      this.#read(attempt);
    } catch (error) {
      if (!(error instanceof SignalboxError)) throw error;
    }
    this.#askedAt = performance.now();
  }

  #read(attempt: Attempt): void {
    this.#more ??= attemptLog(this.#source, this.#worktree, {
      json: false,
      style: style(false),
      redact: this.#redact,
      tailBytes: TAIL_BYTES,
      onEvent: (event) => this.#note(event),
    });
    const fresh = this.#more(attempt);
    if (fresh.length > 0) this.lines = [...this.lines, ...fresh].slice(-MAX_LINES);
  }

  #note(event: AgentEvent): void {
    const text =
      event.type === 'text'
        ? event.text
        : event.type === 'tool' && !event.done
          ? `${event.name} ${event.summary}`
          : '';
    const line = oneLine(this.#redact(text), MAX_ACTION_CHARS);
    if (line !== '') this.#said = line;
  }
}

function stat(file: string): Stats | undefined {
  return statSync(file, { throwIfNoEntry: false });
}
