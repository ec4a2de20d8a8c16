import { adapterFor } from '../agents/adapters-and-agent-problems.ts';
import { lineSplitter } from '../agents/reading/split-lines.ts';
import type { Machine } from '../machine/machine-files-and-locks.ts';
import type { AgentEvent } from '../model/agent-and-adapter-types.ts';
import type { TicketRef } from '../model/ids-and-branch-names.ts';
import { lineRedactor, type Redact } from '../model/text/find-and-redact-secrets.ts';
import { type Attempt, attemptKey, type Ticket } from '../model/ticket.ts';
import { whyUnchecked } from '../model/verdict-criteria-and-missing-checks.ts';
import type { Store } from '../store/store-interface.ts';
import { lineOf } from './event-line.ts';
import { type OutputSource, outputOf } from './find-attempt-output.ts';
import { oneLine, safeJson } from './printable-text.ts';
import { clock, type Style, usageText, whichAttempt } from './style-and-phrases.ts';
import { wrapLines } from './tables-and-text-wrapping.ts';

export interface LogOptions {
  planId: string;
  ticketId: string | null;
  phase: string | null;
  /** Only the last failed attempt, or the one that led to a phase that may not be entered again. */
  failed?: boolean;
  /** All that tools printed, not only the last line. */
  full?: boolean;
  json: boolean;
  style: Style;
  /** Of the terminal. What agents printed is not broken. */
  columns?: number | undefined;
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
    const shown = options.failed ? lastFailed(phaseHistory) : phaseHistory;
    return shown.flatMap((attempt) => {
      if (options.phase && attempt.phase !== options.phase) return [];
      const key = attemptKey(attempt);
      const more = logs.get(key) ?? attemptLog(outputOf(store, machine, ref, attempt), worktree, options);
      logs.set(key, more);
      return more(attempt);
    });
  };
}

/** The last failed attempt. One that was not begun, because its phase was entered too often, comes with what led there. */
function lastFailed(history: readonly Attempt[]): Attempt[] {
  const last = history.findLastIndex(({ status }) => status === 'failure');
  const failed = history[last];
  const isVisitLimit = failed?.error?.class === 'visits';
  const before = history.slice(0, Math.max(last, 0)).findLast(({ status }) => status !== 'skipped');
  return [...(isVisitLimit && before ? [before] : []), ...(failed ? [failed] : [])];
}

interface AttemptLogOptions extends Pick<LogOptions, 'json' | 'full' | 'style' | 'redact' | 'columns'> {
  /** Begin this many bytes before the end of what is there. */
  tailBytes?: number;
  /** Called with what the agent reports. */
  onEvent?: (event: AgentEvent) => void;
}

/** The readable output of one attempt. Every call returns the lines since the last one. */
export function attemptLog(
  source: OutputSource,
  worktree: string | null,
  { json, full = false, style, columns, redact, tailBytes, onEvent }: AttemptLogOptions,
): (attempt: Attempt) => string[] {
  const start = tailBytes === undefined ? 0 : Math.max(0, source.size - tailBytes);
  // A secret may span several lines of output, and the first line may be in the middle of one.
  const printed: Record<string, Redact> = {
    stdout: lineRedactor(redact, start > 0),
    stderr: lineRedactor(redact),
  };
  const lines: string[] = [];
  let output: ReturnType<typeof lineSplitter> | undefined;
  let tools: ToolLines | undefined;
  let offset = start;
  let isCut = start > 0;
  let begun = false;
  let ended = false;
  return (attempt) => {
    if (ended) return [];
    const { phase, visit, attempt: number, agent, startedAt, outcome } = attempt;
    const say = (kind: string, output: string): void => {
      const text = (printed[kind] ?? redact)(output);
      if (json) lines.push(safeJson({ phase, visit, attempt: number, kind, text }));
      else if (kind === 'begin' || kind === 'end')
        lines.push(...wrapLines(oneLine(text, 400), columns).map(style.dim));
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
    offset = source.read('stdout', offset, (read) => {
      const chunk = isCut ? read.subarray(read.indexOf(LINE_FEED) + 1 || read.length) : read;
      if (chunk.length === 0) return;
      isCut = false;
      // The record of how to read the output exists only once the process has started.
      tools ??= new ToolLines((text) => say('stdout', text), { json, full });
      output ??= lineSplitter(readable(source.adapter, attempt, tools, onEvent));
      output.push(chunk);
    });
    tools?.showOpen();
    if (attempt.completedAt !== null) {
      output?.flush();
      tools?.showOpen();
      const errors = lineSplitter((line) => say('stderr', line));
      source.read('stderr', 0, (chunk) => errors.push(chunk));
      errors.flush();
      say('end', `── ${endOf(attempt)}`);
      const verdict = outcome !== null && outcome !== 'success' && outcome !== 'failure';
      if (verdict && attempt.output) for (const line of attempt.output.split('\n')) say('verdict', line);
      ended = true;
    }
    return lines.splice(0);
  };
}

const LINE_FEED = 10;

function endOf(attempt: Attempt): string {
  const outcome = attempt.outcome && attempt.outcome !== attempt.status ? ` → ${attempt.outcome}` : '';
  const usage = usageText(attempt.usage);
  const tail = usage ? ` (${usage})` : '';
  const why = attempt.error?.message ?? whyUnchecked(attempt);
  return `${attempt.status}${outcome}${why && `: ${why}`}${tail}`;
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
function readable(
  adapterName: string | undefined,
  attempt: Attempt,
  tools: ToolLines,
  onEvent: AttemptLogOptions['onEvent'],
): (line: string) => void {
  if (!attempt.agent || !adapterName) return (line) => tools.say(line);
  const reader = adapterFor(adapterName).reader({
    now: attempt.startedAt,
    usageBefore: null,
    wantsData: false,
  });
  return (line) => {
    for (const event of reader.line(line)) {
      onEvent?.(event);
      tools.show(event);
    }
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
