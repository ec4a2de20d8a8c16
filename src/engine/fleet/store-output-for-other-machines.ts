import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as delay } from 'node:timers/promises';
import { readFrom, readJson } from '../../machine/files/read-and-remove-files.ts';
import { refOf } from '../../model/ids-and-branch-names.ts';
import { lineRedactor, type Redact } from '../../model/text/find-and-redact-secrets.ts';
import { type Attempt, attemptKey, type Ticket } from '../../model/ticket.ts';
import { OUTPUT_STREAMS, type OutputPiece } from '../../store/store-interface.ts';
import type { EngineContext } from '../context.ts';

/** Interval at which new output is stored. */
const EVERY_MS = 500;
/** A character has at most four bytes in UTF-8, so a row has at most 64 KB. */
const ROW_CHARS = 16 * 1024;
/** Of one attempt. The whole output stays in its file. */
const MAX_CHARS = 4 * 1024 * 1024;
/** How long the end of an attempt waits for a store that does not answer. */
const LAST_MS = 5_000;

/** One stream of a job: what is new in its file, as redacted pieces of whole lines. */
class Stream {
  readonly #name: (typeof OUTPUT_STREAMS)[number];
  readonly #file: string;
  readonly #redact: Redact;
  readonly #decoder = new StringDecoder('utf8');
  #offset = 0;
  #rest = '';
  #number = 0;

  constructor(name: (typeof OUTPUT_STREAMS)[number], dir: string, redact: Redact) {
    this.#name = name;
    this.#file = join(dir, name);
    this.#redact = lineRedactor(redact);
  }

  /** `isLast`: what has no line end counts as a line. */
  *pieces(isLast: boolean): Iterable<OutputPiece> {
    if (existsSync(this.#file))
      this.#offset = readFrom(this.#file, this.#offset, (chunk) => {
        this.#rest += this.#decoder.write(chunk);
      });
    // A secret may be cut in two where a line is cut, so lines stay whole unless they are too long.
    const end =
      isLast || this.#rest.length > ROW_CHARS ? this.#rest.length : this.#rest.lastIndexOf('\n') + 1;
    const lines = this.#rest.slice(0, end);
    this.#rest = this.#rest.slice(end);
    if (lines === '') return;
    const clean = lines
      .split('\n')
      .map((line, index, all) => (index === all.length - 1 && line === '' ? '' : this.#redact(line)))
      .join('\n');
    for (let at = 0; at < clean.length; at += ROW_CHARS)
      yield { stream: this.#name, number: this.#number++, text: clean.slice(at, at + ROW_CHARS) };
  }
}

/** Stores the output of a running attempt for readers on other machines. The returned function resolves when the last of it is stored. */
export function shipOutput(engine: EngineContext, ticket: Ticket, attempt: Attempt): () => Promise<void> {
  const { store, machine, holder } = engine;
  const { output } = store;
  if (!output) return async () => undefined;
  const [ref, key] = [refOf(ticket), attemptKey(attempt)];
  const dir = machine.job(ticket, attempt);
  const streams = OUTPUT_STREAMS.map((name) => new Stream(name, dir, engine.redact));
  const waiting: OutputPiece[] = [];
  let hasBegun = false;
  let isOver = false;
  let chars = 0;
  const collect = (isLast: boolean) => {
    for (const stream of streams)
      for (const piece of stream.pieces(isLast)) {
        if (chars > MAX_CHARS) return;
        chars += piece.text.length;
        const isEnough = chars > MAX_CHARS;
        waiting.push(
          isEnough
            ? { ...piece, text: `\n… the rest is only on ${holder.claim('').host}, in ${dir}\n` }
            : piece,
        );
      }
  };
  const send = async (isLast: boolean) => {
    if (isOver) return;
    if (!hasBegun) {
      const adapter = readJson<{ agent?: { adapter: string } }>(join(dir, 'command.json'))?.agent?.adapter;
      if (!existsSync(join(dir, 'command.json'))) return;
      isOver = !(await output.begin(ref, key, holder.token));
      if (isOver) return;
      hasBegun = true;
      if (adapter) waiting.unshift({ stream: 'adapter', number: 0, text: adapter });
    }
    collect(isLast);
    if (waiting.length === 0) return;
    const pieces = waiting.slice(0, 64);
    isOver = !(await output.add(ref, key, holder.token, pieces));
    waiting.splice(0, pieces.length);
    if (waiting.length > 0) await send(isLast);
  };
  let turn: Promise<unknown> = Promise.resolve();
  // What a database that is away did not take is sent with the next.
  const next = (isLast: boolean) => {
    turn = turn.then(() => send(isLast)).catch(() => undefined);
    return turn;
  };
  const timer = setInterval(() => void next(false), EVERY_MS);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await Promise.race([next(true), delay(LAST_MS, undefined, { ref: false })]);
  };
}
