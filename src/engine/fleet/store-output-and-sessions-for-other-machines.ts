import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as delay } from 'node:timers/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import { makeDirectory } from '../../machine/files/make-directory-and-handle-storage-errors.ts';
import { readFrom, readJson } from '../../machine/files/read-and-remove-files.ts';
import { writeAtomic } from '../../machine/files/write-atomic-and-note-facts.ts';
import { refOf } from '../../model/ids-and-branch-names.ts';
import { lineRedactor, type Redact } from '../../model/text/find-and-redact-secrets.ts';
import { type Attempt, attemptKey, type Ticket } from '../../model/ticket.ts';
import { AGENT_HOME } from '../../phases/enter-sandbox.ts';
import { packHome, unpackHome } from '../../sandbox/agent-home.ts';
import { OUTPUT_STREAMS, type OutputPiece } from '../../store/store-interface.ts';
import type { EngineContext } from '../context.ts';

/** The adapter of an agent that has a home of its own for each ticket. The sessions of others are in the user's home. */
function sandboxedAdapter({ settings }: EngineContext, agent: string): string | undefined {
  const { sandbox, adapter } =
    (Object.hasOwn(settings.agents, agent) ? settings.agents[agent] : undefined) ?? {};
  return sandbox === 'bwrap' ? adapter : undefined;
}

/** Stores the session of an attempt that has ended, so that another machine can continue it. */
export async function keepSession(
  engine: EngineContext,
  ticket: Ticket,
  { agent, session }: { agent: string | null; session: string | null },
): Promise<void> {
  const { store, machine, holder, redact } = engine;
  const adapter = agent ? sandboxedAdapter(engine, agent) : undefined;
  if (!store.sessions || !agent || !session || !adapter) return;
  const files = packHome(join(machine.jobsOf(ticket), AGENT_HOME), adapter, redact);
  if (!files) return;
  // Without it, another machine begins a new session.
  await store.sessions.keep(refOf(ticket), holder.token, { agent, session, files }).catch(() => false);
}

/** Brings sessions of another machine here, where the worktree has the same path. Returns the ids of those that can be continued. */
export async function restoreSessions(
  engine: EngineContext,
  ticket: Ticket,
  worktree: string,
): Promise<string[]> {
  const { store, machine } = engine;
  if (!store.sessions || ticket.worktree !== worktree) return [];
  const kept = await store.sessions.of(refOf(ticket)).catch(() => []);
  return kept.flatMap(({ agent, files }) => {
    const adapter = sandboxedAdapter(engine, agent);
    if (!adapter) return [];
    unpackHome(join(machine.jobsOf(ticket), AGENT_HOME), adapter, files);
    return ticket.phaseHistory.flatMap((each) =>
      each.agent === agent && each.sessionId ? [each.sessionId] : [],
    );
  });
}

/** Stands for an agent, where sessions are kept. */
const FORGE = '@forge';
/** What was done on GitHub for a ticket, and which feedback its texts are about. */
const FORGE_FILES = /^(forge\.jsonl|feedback-[0-9a-f]{16}\.json)$/;
const MAX_BYTES = 16 * 1024 * 1024;

/** Stores what an attempt has recorded of GitHub, so that another machine does not answer the same feedback again. */
export async function keepForgeRecord(engine: EngineContext, ticket: Ticket): Promise<void> {
  const { store, machine, holder, redact } = engine;
  const { sessions } = store;
  const dir = machine.jobsOf(ticket);
  const names = sessions && existsSync(dir) ? readdirSync(dir).filter((name) => FORGE_FILES.test(name)) : [];
  if (!sessions || names.length === 0) return;
  const texts = names.map((name) => [name, redact(readFileSync(join(dir, name), 'utf8'))] as const);
  const files = gzipSync(JSON.stringify(Object.fromEntries(texts)));
  const kept = { agent: FORGE, session: FORGE, files };
  await machine.storage.write(() => sessions.keep(refOf(ticket), holder.token, kept));
}

/** Brings what was recorded on another machine here, in place of an older state. */
export async function restoreForgeRecord({ store, machine }: EngineContext, ticket: Ticket): Promise<void> {
  const { sessions } = store;
  const all = sessions ? await machine.storage.write(() => sessions.of(refOf(ticket))) : [];
  const packed = all.find(({ agent }) => agent === FORGE)?.files;
  if (!packed) return;
  const text = gunzipSync(packed, { maxOutputLength: MAX_BYTES }).toString('utf8');
  const dir = machine.jobsOf(ticket);
  makeDirectory(dir);
  for (const [name, content] of Object.entries(JSON.parse(text) as Record<string, string>))
    if (FORGE_FILES.test(name)) writeAtomic(join(dir, name), content);
}

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
