import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { adapterFor } from '../agents/adapters.ts';
import { lineSplitter } from '../agents/reading/lines.ts';
import { readJson } from '../machine/files/regular.ts';
import type { Machine } from '../machine/machine.ts';
import type { AgentEvent } from '../model/agent.ts';
import type { TicketRef } from '../model/ids.ts';
import { lineRedactor, type Redact } from '../model/text/redact.ts';
import { type Attempt, attemptKey, type Ticket } from '../model/ticket.ts';
import type { Store } from '../store/port.ts';
import { lineOf } from './lines.ts';
import { clock, oneLine, type Style, usageText, whichAttempt } from './style.ts';

export interface LogOptions {
  planId: string;
  ticketId: string | null;
  phase: string | null;
  json: boolean;
  style: Style;
  /** Takes secrets out of what agents printed. */
  redact: Redact;
}

/** A log to follow: every call of `more` returns the new lines. */
export function createLog(store: Store, machine: Machine, options: LogOptions): { more(): string[] } {
  return options.ticketId === null
    ? eventLog(store, options)
    : ticketLog({ store, machine }, options, options.ticketId);
}

function eventLog(store: Store, { planId, phase, json, style }: LogOptions) {
  let shown = 0;
  return {
    more(): string[] {
      const events = store.events(planId);
      const fresh = events.slice(shown);
      shown = events.length;
      return fresh.flatMap((event) => {
        if (phase && !('phase' in event && event.phase === phase)) return [];
        if (json) return [JSON.stringify(event)];
        const line = lineOf(event, { style, withPlan: false, verbose: false, now: Date.parse(event.at) });
        return line === undefined ? [] : [`${style.dim(clock(event.at, Date.parse(event.at)))} ${line}`];
      });
    },
  };
}

function ticketLog(
  { store, machine }: { store: Store; machine: Machine },
  options: LogOptions,
  ticketId: string,
) {
  const { planId, phase } = options;
  const ref: TicketRef = { planId, ticketId };
  const logs = new Map<string, AttemptLog>();
  return {
    more(): string[] {
      const ticket: Ticket = store.ticket(ref);
      return ticket.phaseHistory.flatMap((attempt) => {
        if (phase && attempt.phase !== phase) return [];
        const key = attemptKey(attempt);
        const log = logs.get(key) ?? new AttemptLog(machine.job(ref, attempt), attempt, options);
        logs.set(key, log);
        return log.more(attempt);
      });
    },
  };
}

/** The readable output of one attempt so far. */
class AttemptLog {
  readonly #dir: string;
  readonly #attempt: Attempt;
  readonly #json: boolean;
  readonly #style: Style;
  readonly #redact: Redact;
  /** For output in which a secret may span several lines. */
  readonly #printed: Readonly<Record<'stdout' | 'stderr', Redact>>;
  readonly #offsets = new Map<string, number>();
  readonly #lines: string[] = [];
  #splitter: ReturnType<typeof lineSplitter> | undefined;
  #begun = false;
  #ended = false;

  constructor(dir: string, attempt: Attempt, { json, style, redact }: LogOptions) {
    this.#dir = dir;
    this.#attempt = attempt;
    this.#json = json;
    this.#style = style;
    this.#redact = redact;
    this.#printed = { stdout: lineRedactor(redact), stderr: lineRedactor(redact) };
  }

  more(attempt: Attempt): string[] {
    if (this.#ended) return [];
    if (!this.#begun) {
      this.#begun = true;
      const agent = attempt.agent ? ` (${attempt.agent})` : '';
      const which = whichAttempt(attempt);
      const again = which ? ` [${which}]` : '';
      this.#say('begin', `── ${attempt.phase}${again}${agent} ${attempt.startedAt}`);
    }
    this.#read('stdout', (chunk) => this.#output().push(chunk));
    if (attempt.completedAt !== null) {
      this.#splitter?.flush();
      const errors = lineSplitter((line) => this.#say('stderr', line));
      this.#read('stderr', (chunk) => errors.push(chunk));
      errors.flush();
      this.#say('end', `── ${endOf(attempt)}`);
      const verdict =
        attempt.outcome !== null && attempt.outcome !== 'success' && attempt.outcome !== 'failure';
      if (verdict && attempt.output)
        for (const line of attempt.output.split('\n')) this.#say('verdict', line);
      this.#ended = true;
    }
    return this.#lines.splice(0);
  }

  /** Created late: the record of how to read the output exists only once the process has started. */
  #output(): ReturnType<typeof lineSplitter> {
    this.#splitter ??= lineSplitter(readable(this.#dir, this.#attempt, (text) => this.#say('stdout', text)));
    return this.#splitter;
  }

  #say(kind: string, said: string): void {
    const redact = kind === 'stdout' || kind === 'stderr' ? this.#printed[kind] : this.#redact;
    const text = redact(said);
    const { phase, visit, attempt } = this.#attempt;
    if (this.#json) this.#lines.push(JSON.stringify({ phase, visit, attempt, kind, text }));
    else if (kind === 'begin' || kind === 'end') this.#lines.push(this.#style.dim(oneLine(text, 400)));
    else this.#lines.push(...text.trimEnd().split(/\r?\n/).map(indented));
  }

  #read(name: string, take: (chunk: Buffer) => void): void {
    const file = join(this.#dir, name);
    if (!existsSync(file)) return;
    const fd = openSync(file, 'r');
    try {
      const buffer = Buffer.alloc(64 * 1024);
      for (let offset = this.#offsets.get(name) ?? 0; ; ) {
        const count = readSync(fd, buffer, 0, buffer.length, offset);
        offset += count;
        this.#offsets.set(name, offset);
        if (count === 0) return;
        take(buffer.subarray(0, count));
      }
    } finally {
      closeSync(fd);
    }
  }
}

function endOf(attempt: Attempt): string {
  const outcome = attempt.outcome && attempt.outcome !== attempt.status ? ` → ${attempt.outcome}` : '';
  const usage = usageText(attempt.usage);
  const tail = usage ? ` (${usage})` : '';
  return `${attempt.status}${outcome}${attempt.error ? `: ${attempt.error.message}` : ''}${tail}`;
}

/** One line that keeps its indentation: agents write lists and code. */
function indented(line: string): string {
  const { length } = /^[ \t]{0,40}/.exec(line)?.[0].replaceAll('\t', '  ') ?? '';
  return `${' '.repeat(length)}${oneLine(line, 2000)}`.trimEnd();
}

/** The last line of `logs --follow`, when the ticket has stopped moving. */
export function restLine(ticket: Ticket, { json, style }: Pick<LogOptions, 'json' | 'style'>): string {
  const { status } = ticket;
  const reason = ticket.hold?.reason ?? ticket.error ?? '';
  if (json) return JSON.stringify({ kind: 'rest', status, text: reason });
  const why = reason && status !== 'complete' ? `: ${oneLine(reason, 400)}` : '';
  return style.bold(`── ${oneLine(ticket.ticketId)} ${status.replaceAll('_', ' ')}${why}`);
}

/** Turns the protocol of an agent into text; other output is shown as it is. */
function readable(dir: string, attempt: Attempt, say: (text: string) => void): (line: string) => void {
  const adapterName = readJson<{ agent?: { adapter: string } }>(join(dir, 'command.json'))?.agent?.adapter;
  if (!attempt.agent || !adapterName) return say;
  const reader = adapterFor(adapterName).reader({
    now: attempt.startedAt,
    usageBefore: null,
    wantsData: false,
  });
  return (line) => {
    for (const event of reader.line(line)) {
      const text = textOf(event);
      if (text) say(text);
    }
  };
}

function textOf(event: AgentEvent): string {
  switch (event.type) {
    case 'session':
      return `session ${event.id}`;
    case 'text':
      return event.text;
    case 'tool':
      return event.done ? '' : `▸ ${event.name} ${event.summary}`;
    case 'limit':
      return `usage limit: ${event.message}`;
    case 'refused':
      return `refused: ${event.message}`;
    case 'warning':
      return `warning: ${event.message}`;
    case 'usage':
      return '';
  }
}
