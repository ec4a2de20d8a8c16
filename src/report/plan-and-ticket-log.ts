import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { adapterFor } from '../agents/adapters-and-agent-problems.ts';
import { lineSplitter } from '../agents/reading/split-lines.ts';
import { readJson } from '../machine/files/read-and-remove-files.ts';
import type { Machine } from '../machine/machine.ts';
import type { AgentEvent } from '../model/agent.ts';
import type { TicketRef } from '../model/ids-and-branch-names.ts';
import { lineRedactor, type Redact } from '../model/text/find-and-redact-secrets.ts';
import { type Attempt, attemptKey, type Ticket } from '../model/ticket.ts';
import type { Store } from '../store/store-interface.ts';
import { lineOf } from './event-line.ts';
import { clock, oneLine, type Style, safeJson, usageText, whichAttempt } from './style-and-phrases.ts';

export interface LogOptions {
  planId: string;
  ticketId: string | null;
  phase: string | null;
  /** Only the last failed attempt. */
  failed?: boolean;
  /** All that tools printed, not only the last line. */
  full?: boolean;
  json: boolean;
  style: Style;
  /** Takes secrets out of what agents printed. */
  redact: Redact;
}

/** A log to follow: every call returns the new lines. */
export function createLog(store: Store, machine: Machine, options: LogOptions): () => string[] {
  return options.ticketId === null
    ? eventLog(store, options)
    : ticketLog(store, machine, { planId: options.planId, ticketId: options.ticketId }, options);
}

function eventLog(store: Store, { planId, phase, json, style }: LogOptions): () => string[] {
  let shown = 0;
  return () => {
    const events = store.events(planId);
    const fresh = events.slice(shown);
    shown = events.length;
    return fresh.flatMap((event) => {
      if (phase && !('phase' in event && event.phase === phase)) return [];
      if (json) return [safeJson(event)];
      const line = lineOf(event, { style, withPlan: false, verbose: false, now: Date.parse(event.at) });
      return line === undefined ? [] : [`${style.dim(clock(event.at, Date.parse(event.at)))} ${line}`];
    });
  };
}

function ticketLog(store: Store, machine: Machine, ref: TicketRef, options: LogOptions): () => string[] {
  const logs = new Map<string, (attempt: Attempt) => string[]>();
  return () => {
    const { phaseHistory, worktree } = store.ticket(ref);
    const last = phaseHistory.findLast(({ status }) => status === 'failure');
    return phaseHistory.flatMap((attempt) => {
      if (options.phase && attempt.phase !== options.phase) return [];
      if (options.failed && attempt !== last) return [];
      const key = attemptKey(attempt);
      const more = logs.get(key) ?? attemptLog(machine.job(ref, attempt), worktree, options);
      logs.set(key, more);
      return more(attempt);
    });
  };
}

/** The readable output of one attempt. Every call returns the lines since the last one. */
function attemptLog(
  dir: string,
  worktree: string | null,
  { json, full = false, style, redact }: LogOptions,
): (attempt: Attempt) => string[] {
  // A secret may span several lines of output.
  const printed: Record<string, Redact> = { stdout: lineRedactor(redact), stderr: lineRedactor(redact) };
  const lines: string[] = [];
  let output: ReturnType<typeof lineSplitter> | undefined;
  let tools: ToolLines | undefined;
  let offset = 0;
  let begun = false;
  let ended = false;
  return (attempt) => {
    if (ended) return [];
    const { phase, visit, attempt: number, agent, startedAt, outcome } = attempt;
    const say = (kind: string, output: string): void => {
      const text = (printed[kind] ?? redact)(output);
      if (json) lines.push(safeJson({ phase, visit, attempt: number, kind, text }));
      else if (kind === 'begin' || kind === 'end') lines.push(style.dim(oneLine(text, 400)));
      else lines.push(...relative(text.trimEnd(), worktree).split(/\r?\n/).map(indented));
    };
    if (!begun) {
      const which = whichAttempt(attempt);
      say(
        'begin',
        `── ${phase}${which && ` [${which}]`}${agent ? ` (${agent})` : ''} ${json ? startedAt : clock(startedAt, Date.now())}`,
      );
    }
    begun = true;
    offset = readFrom(join(dir, 'stdout'), offset, (chunk) => {
      // The record of how to read the output exists only once the process has started.
      tools ??= new ToolLines((text) => say('stdout', text), { json, full });
      output ??= lineSplitter(readable(dir, attempt, tools));
      output.push(chunk);
    });
    tools?.showOpen();
    if (attempt.completedAt !== null) {
      output?.flush();
      tools?.showOpen();
      const errors = lineSplitter((line) => say('stderr', line));
      readFrom(join(dir, 'stderr'), 0, (chunk) => errors.push(chunk));
      errors.flush();
      say('end', `── ${endOf(attempt)}`);
      const verdict = outcome !== null && outcome !== 'success' && outcome !== 'failure';
      if (verdict && attempt.output) for (const line of attempt.output.split('\n')) say('verdict', line);
      ended = true;
    }
    return lines.splice(0);
  };
}

/** Reads a file from an offset to its end, and returns where that is. */
function readFrom(file: string, start: number, take: (chunk: Buffer) => void): number {
  if (!existsSync(file)) return start;
  const fd = openSync(file, 'r');
  try {
    const buffer = Buffer.alloc(64 * 1024);
    for (let offset = start; ; ) {
      const count = readSync(fd, buffer, 0, buffer.length, offset);
      if (count === 0) return offset;
      offset += count;
      take(buffer.subarray(0, count));
    }
  } finally {
    closeSync(fd);
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
  if (json) return safeJson({ kind: 'rest', status, text: reason });
  const why = reason && status !== 'complete' ? `: ${oneLine(reason, 400)}` : '';
  return style.bold(`── ${oneLine(ticket.ticketId)} ${status.replaceAll('_', ' ')}${why}`);
}

/** Turns the protocol of an agent into text; other output is shown as it is. */
function readable(dir: string, attempt: Attempt, tools: ToolLines): (line: string) => void {
  const adapterName = readJson<{ agent?: { adapter: string } }>(join(dir, 'command.json'))?.agent?.adapter;
  if (!attempt.agent || !adapterName) return (line) => tools.say(line);
  const reader = adapterFor(adapterName).reader({
    now: attempt.startedAt,
    usageBefore: null,
    wantsData: false,
  });
  return (line) => {
    for (const event of reader.line(line)) tools.show(event);
  };
}

/** Shows a tool call as one line when it has ended; one that is still open when there is nothing more to read, as begun. */
class ToolLines {
  readonly say: (text: string) => void;
  readonly #json: boolean;
  readonly #full: boolean;
  readonly #open: string[] = [];

  constructor(say: (text: string) => void, { json, full }: { json: boolean; full: boolean }) {
    this.say = say;
    this.#json = json;
    this.#full = full;
  }

  show(event: AgentEvent): void {
    const call = event.type === 'tool' ? `${event.name} ${event.summary}`.trimEnd() : '';
    if (event.type === 'tool' && !this.#json) {
      if (!event.done) return void this.#open.push(call);
      const at = this.#open.indexOf(call);
      if (at >= 0) this.#open.splice(at, 1);
      const printed = event.output?.trimEnd().split(/\r?\n/) ?? [];
      const last = printed.findLast((line) => line.trim() !== '')?.trim() ?? '';
      const tail = this.#full || last === '' ? '' : `: ${oneLine(last, 200)}`;
      this.say(`${event.failed ? '✗' : '✓'} ${call}${tail}`);
      if (this.#full) for (const line of printed) this.say(`    ${line}`);
      return;
    }
    const text = textOf(event);
    if (!text) return;
    this.showOpen();
    this.say(text);
  }

  showOpen(): void {
    for (const call of this.#open.splice(0)) this.say(`▸ ${call}`);
  }
}

/** Paths in a worktree without the way to it. */
function relative(text: string, worktree: string | null): string {
  return worktree ? text.replaceAll(`${worktree}/`, '') : text;
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
