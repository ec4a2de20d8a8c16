import type { EngineEvent } from '../../model/events.ts';
import { saysHolder, startsWithVerb, withNames } from '../../model/state/explain-ticket.ts';
import { isSuperseded, type Ticket } from '../../model/ticket.ts';
import { isSuccess } from '../../model/verdict-criteria-and-missing-checks.ts';
import { ReportedWaits } from '../event-line.ts';
import { oneLine } from '../printable-text.ts';
import { untilText, usageText, whichAttempt, wholeSeconds, withoutOutput } from '../style-and-phrases.ts';

const HEARTBEAT_MS = 60_000;
/** So many are named below a heartbeat. */
const MAX_RUNNING = 5;

interface RunLinesOptions {
  /** One whole line, in one write. */
  out(line: string): void;
  /** Monotonic milliseconds. */
  clock(): number;
  /** The name of an issue: `#100`, or its id. */
  nameOf(ticketId: string): string;
  /** Milliseconds of work on an issue. */
  msOf(ticketId: string): number;
  /** Why an issue failed, in a few words. */
  reasonOf(ticketId: string): string;
  /** Remarks about a phase that succeeded, or about the verdict on an issue. */
  remarksOf?(ticketId: string, phase: string | null): readonly string[];
  /** How to answer the gate of an issue, a line each. */
  howToAnswer?(ticketId: string): readonly string[];
  /** Show what agents say and do. */
  verbose: boolean;
  /** A live block shows starts, progress and time. */
  live?: boolean;
}

export type Mark = '⏳' | '✓' | '✗' | '‖';

/** The mark of an issue. A gate, or a ticket that another engine has, is not over. */
export function markOf({ status, hold }: Pick<Ticket, 'status' | 'hold'>): Mark {
  if (status === 'complete') return '✓';
  if (status === 'failed') return '✗';
  if (status === 'needs_attention')
    return hold?.kind === 'gate' || saysHolder(hold?.reason ?? '') ? '⏳' : '✗';
  return isSuperseded({ hold }) ? '‖' : '⏳';
}

/** `Progress: #100 ✓ #101 ⏳`, and its short form, `Progress: 33 ✓ 4 ✗ 13 ⏳`. */
export function progressLines(marks: readonly (readonly [name: string, mark: Mark])[]) {
  const counts = (['✓', '✗', '⏳', '‖'] as const).flatMap((mark) => {
    const count = marks.filter(([, each]) => each === mark).length;
    return count > 0 ? [`${count} ${mark}`] : [];
  });
  return {
    whole: `Progress: ${marks.map(([name, mark]) => `${name} ${mark}`).join(' ')}`,
    counts: `Progress: ${counts.join(' ')}`,
  };
}

/** The progress of an issue run as plain lines. */
export class RunLines {
  readonly #options: RunLinesOptions;
  readonly #marks = new Map<string, Mark>();
  /** Phases at work, by ticket id. */
  readonly #running = new Map<string, string>();
  readonly #waits = new ReportedWaits();
  readonly #start: number;
  #lastLine: number;
  #details = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: RunLinesOptions) {
    this.#options = options;
    this.#start = options.clock();
    this.#lastLine = this.#start;
  }

  /** `details` shows more of each phase, for runs of one issue at a time. */
  begin(marks: ReadonlyMap<string, Mark>, details = false): void {
    this.#details = details;
    for (const [id, mark] of marks) this.#marks.set(id, mark);
    this.#progress();
    if (this.#options.live) return;
    this.#timer = setInterval(() => this.beat(), 1000);
    this.#timer.unref();
  }

  /** Prints a heartbeat after a minute without output. */
  beat(): void {
    const now = this.#options.clock();
    if (now - this.#lastLine < HEARTBEAT_MS) return;
    this.#say(`⏳ Still running... (${wholeSeconds(now - this.#start)} elapsed)`);
    const names = [...this.#running].map(([id, phase]) => `${this.#options.nameOf(id)} ${phase}`);
    const more = names.length > MAX_RUNNING ? ` +${names.length - MAX_RUNNING} more` : '';
    if (names.length > 0) this.#say(`  Running: ${names.slice(0, MAX_RUNNING).join(', ')}${more}`);
  }

  listen(event: EngineEvent): void {
    const { nameOf, verbose, live = false } = this.#options;
    if (event.type === 'problem') {
      const name = event.ticketId ? `${nameOf(event.ticketId)}: ` : '';
      return void this.#say(`! ${name}${oneLine(event.message, 400)}`);
    }
    if (event.type === 'preflight') return void this.#say(`· ${oneLine(event.message, 400)}`);
    if (!('ticketId' in event) || this.#waits.repeats(event)) return;
    const { ticketId } = event;
    const name = nameOf(ticketId);
    switch (event.type) {
      case 'attempt:start': {
        this.#running.set(ticketId, event.phase);
        if (live && !verbose) return;
        const again = whichAttempt(event, 'round');
        this.#say(`● ${name}: ${event.phase} started${again && ` (${again})`}`);
        return void this.#detail(ticketId, event.agent ? `agent ${event.agent}` : '');
      }
      case 'attempt:adopt':
        return void this.#running.set(ticketId, event.phase);
      case 'attempt:session':
        return void this.#detail(ticketId, `session ${event.sessionId}`);
      case 'attempt:end':
        return void this.#ended(event, name);
      case 'ticket:status':
        return void this.#status(event, name);
      case 'workspace:keep':
        return void this.#say(`! ${name}: worktree kept at ${event.path} (${oneLine(event.reason)})`);
      case 'attempt:text':
        if (event.notice) return void this.#say(`! ${name}: ${oneLine(event.text)}`);
        for (const line of verbose ? event.text.trimEnd().split('\n') : [])
          this.#say(`  ${name} │ ${oneLine(line, 2000)}`);
        return;
      case 'attempt:tool':
        if (verbose && !event.done)
          this.#say(`  ${name} │ ${oneLine(event.name, 80)} ${oneLine(event.summary, 400)}`);
        return;
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #ended(event: Extract<EngineEvent, { type: 'attempt:end' }>, name: string): void {
    const { ticketId, phase, status, outcome, error, usage } = event;
    this.#running.delete(ticketId);
    const well = isSuccess(event);
    const how = well
      ? `${event.note ? '–' : '✓'} (${wholeSeconds(event.ms)})`
      : status === 'limit'
        ? '⏸ usage limit'
        : status === 'interrupted'
          ? error?.class === 'overloaded'
            ? '⏸ provider overloaded'
            : 'stopped'
          : '✗';
    this.#say(`● ${name}: ${phase} ${how}`);
    if (event.note) this.#about(ticketId, event.note);
    if (well) this.#remarks(ticketId, phase);
    const verdict = outcome === 'success' || outcome === 'failure' ? '' : (outcome ?? '');
    const known = well ? [] : (this.#options.remarksOf?.(ticketId, null) ?? []);
    const reason = known.find((text) => verdict && text.startsWith(verdict)) ?? verdict;
    for (const text of [reason, withoutOutput(error?.message ?? '')].filter(Boolean))
      if (how === '✗') this.#about(ticketId, text);
      else this.#detail(ticketId, text);
    this.#detail(ticketId, usageText(usage));
  }

  #detail(ticketId: string, text: string): void {
    if (this.#details && text !== '') this.#about(ticketId, text);
  }

  /** Remarks and why a phase failed are always shown, details are not. */
  #remarks(ticketId: string, phase: string | null): void {
    for (const text of this.#options.remarksOf?.(ticketId, phase) ?? []) this.#about(ticketId, text);
  }

  #about(ticketId: string, text: string): void {
    this.#say(`  ${this.#options.nameOf(ticketId)}   ${oneLine(text, 400)}`);
  }

  #status({ ticketId, status, hold }: Extract<EngineEvent, { type: 'ticket:status' }>, name: string): void {
    const { nameOf, msOf, reasonOf } = this.#options;
    const time = wholeSeconds(msOf(ticketId));
    const mark = markOf({ status, hold });
    if (status === 'complete') {
      this.#marks.set(ticketId, mark);
      this.#say(`✓ Issue ${name} completed (${time})`);
      this.#remarks(ticketId, null);
      return void this.#progress();
    }
    if (mark === '✗') {
      this.#marks.set(ticketId, mark);
      this.#say(`✗ Issue ${name} failed (${time}): ${oneLine(reasonOf(ticketId), 200)}`);
      return void this.#progress();
    }
    if (!hold) return;
    const reason = withNames(oneLine(hold.reason, 200), (id) =>
      this.#marks.has(id) ? nameOf(id) : undefined,
    );
    if (status === 'paused') return void this.#say(`‖ ${name} ${reason}`);
    const until = hold.kind === 'gate' ? '' : untilText(hold, Date.now());
    this.#say(`◌ ${name} ${startsWithVerb(reason) ? reason : `waits${until}: ${reason}`}`);
    if (hold.kind === 'gate')
      for (const line of this.#options.howToAnswer?.(ticketId) ?? []) this.#say(`  ${name}   ${line}`);
  }

  #progress(): void {
    if (this.#options.live) return;
    const marks = [...this.#marks].map(([id, mark]) => [this.#options.nameOf(id), mark] as const);
    this.#say(progressLines(marks).whole);
  }

  #say(line: string): void {
    this.#lastLine = this.#options.clock();
    this.#options.out(line);
  }
}
