import { type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentEvent } from '../../model/agent.ts';
import type { Redact } from '../../model/text/find-and-redact-secrets.ts';
import type { Attempt } from '../../model/ticket.ts';
import { attemptLog, outputInFiles } from '../plan-and-ticket-log.ts';
import { oneLine, style } from '../style-and-phrases.ts';

/** Of a long output only the end is read. One line of an agent can be as long as a file that it has read. */
const TAIL_BYTES = 256 * 1024;
const MAX_LINES = 200;
const MAX_ACTION_CHARS = 400;

/** The end of what an attempt printed, and the last thing its agent did. Each update reads only what is new. */
export class AttemptTail {
  readonly #dir: string;
  readonly #redact: Redact;
  readonly #more: ReturnType<typeof attemptLog>;
  #size = -1;
  #isEnded = false;
  #said: string | null = null;
  /** When it last printed something. */
  printedAt: number | null = null;
  /** The last lines, as `signalbox logs` shows them. */
  lines: readonly string[] = [];

  constructor(dir: string, { worktree, redact }: { worktree: string | null; redact: Redact }) {
    this.#dir = dir;
    this.#redact = redact;
    this.#more = attemptLog(outputInFiles(dir), worktree, {
      json: false,
      style: style(false),
      redact,
      tailBytes: TAIL_BYTES,
      onEvent: (event) => this.#note(event),
    });
  }

  /** The last thing its agent said or did; of a script, the last line. */
  get action(): string | null {
    return this.#said ?? this.lines.findLast((line) => !line.startsWith('── ')) ?? null;
  }

  update(attempt: Attempt): void {
    const files = ['stdout', 'stderr'].flatMap((name) => this.#stat(name) ?? []);
    this.printedAt = files.length === 0 ? null : Math.max(...files.map(({ mtimeMs }) => mtimeMs));
    const size = files.reduce((sum, each) => sum + each.size, 0);
    const isEnded = attempt.completedAt !== null;
    if (size === this.#size && isEnded === this.#isEnded) return;
    this.#size = size;
    this.#isEnded = isEnded;
    const fresh = this.#more(attempt);
    if (fresh.length > 0) this.lines = [...this.lines, ...fresh].slice(-MAX_LINES);
  }

  #stat(name: string): Stats | undefined {
    return statSync(join(this.#dir, name), { throwIfNoEntry: false });
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
