import type { EngineEvent } from '../../model/events.ts';
import { isVerbal, saysHolder, withNames } from '../../model/state/explain.ts';
import { wentWell } from '../../model/verdict.ts';
import { clock, endOf, oneLine, usageText, whichAttempt, wholeSeconds } from '../style.ts';

const HEARTBEAT_MS = 60_000;

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
  /** Remarks about a phase that succeeded, or about an issue that is complete. */
  remarksOf?(ticketId: string, phase: string | null): readonly string[];
  /** Show what agents say and do. */
  verbose: boolean;
}

export type Mark = '⏳' | '✓' | '✗' | '‖';

/** The progress of an issue run as plain lines. */
export class RunLines {
  readonly #options: RunLinesOptions;
  readonly #marks = new Map<string, Mark>();
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
    this.#timer = setInterval(() => this.beat(), 1000);
    this.#timer.unref();
  }

  /** Prints a heartbeat after a minute without output. */
  beat(): void {
    const now = this.#options.clock();
    if (now - this.#lastLine < HEARTBEAT_MS) return;
    this.#say(`⏳ Still running... (${wholeSeconds(now - this.#start)} elapsed)`);
  }

  listen(event: EngineEvent): void {
    const { nameOf } = this.#options;
    switch (event.type) {
      case 'attempt:start':
        this.#say(`● ${nameOf(event.ticketId)}: ${event.phase} started${again(event)}`);
        if (event.agent) this.#detail(event.ticketId, `agent ${event.agent}`);
        return;
      case 'attempt:session':
        return void this.#detail(event.ticketId, `session ${event.sessionId}`);
      case 'attempt:end':
        this.#ended(event);
        return void this.#known(event);
      case 'ticket:status':
        return void this.#status(event);
      case 'workspace:keep':
        return void this.#say(
          `! ${nameOf(event.ticketId)}: worktree kept at ${event.path} (${oneLine(event.reason)})`,
        );
      case 'problem':
        return void this.#say(
          `! ${event.ticketId ? `${nameOf(event.ticketId)}: ` : ''}${oneLine(event.message, 400)}`,
        );
      case 'attempt:text':
        if (event.notice) return void this.#say(`! ${nameOf(event.ticketId)}: ${oneLine(event.text)}`);
        if (!this.#options.verbose) return;
        for (const line of event.text.trimEnd().split('\n'))
          this.#say(`  ${nameOf(event.ticketId)} │ ${oneLine(line, 2000)}`);
        return;
      case 'attempt:tool':
        if (this.#options.verbose && !event.done)
          this.#say(
            `  ${nameOf(event.ticketId)} │ ${oneLine(event.name, 80)} ${oneLine(event.summary, 400)}`,
          );
        return;
      default:
        return;
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #ended(event: Extract<EngineEvent, { type: 'attempt:end' }>): void {
    const name = this.#options.nameOf(event.ticketId);
    const time = `(${wholeSeconds(event.ms)})`;
    if (wentWell(event)) {
      this.#say(`● ${name}: ${event.phase} ✓ ${time}`);
      return void this.#remark(event.ticketId, event.phase);
    }
    if (event.status === 'limit') return void this.#say(`● ${name}: ${event.phase} ⏸ usage limit`);
    if (event.status === 'interrupted') return void this.#say(`● ${name}: ${event.phase} stopped`);
    this.#say(`● ${name}: ${event.phase} ✗`);
  }

  /** Details of a phase that has ended. */
  #known(event: Extract<EngineEvent, { type: 'attempt:end' }>): void {
    const { ticketId, outcome, error, usage } = event;
    const verdict = outcome !== null && outcome !== 'success' && outcome !== 'failure';
    if (verdict) this.#detail(ticketId, outcome);
    if (error) this.#detail(ticketId, error.message);
    if (usage) this.#detail(ticketId, usageText(usage));
  }

  #detail(ticketId: string, text: string): void {
    if (this.#details && text !== '') this.#about(ticketId, text);
  }

  /** Remarks are always shown, details are not. */
  #remark(ticketId: string, phase: string | null): void {
    for (const text of this.#options.remarksOf?.(ticketId, phase) ?? []) this.#about(ticketId, text);
  }

  #about(ticketId: string, text: string): void {
    this.#say(`  ${this.#options.nameOf(ticketId)}   ${oneLine(text, 400)}`);
  }

  #status(event: Extract<EngineEvent, { type: 'ticket:status' }>): void {
    const { ticketId, status } = event;
    const { nameOf } = this.#options;
    const name = nameOf(ticketId);
    const time = wholeSeconds(this.#options.msOf(ticketId));
    if (status === 'complete') {
      this.#marks.set(ticketId, '✓');
      this.#say(`✓ Issue ${name} completed (${time})`);
      this.#remark(ticketId, null);
      return void this.#progress();
    }
    const isTold = event.hold?.kind === 'gate' || saysHolder(event.hold?.reason ?? '');
    if (status === 'failed' || (status === 'needs_attention' && !isTold)) {
      this.#marks.set(ticketId, '✗');
      this.#say(`✗ Issue ${name} failed (${time}): ${oneLine(this.#options.reasonOf(ticketId), 200)}`);
      return void this.#progress();
    }
    const gate = event.hold?.kind === 'gate';
    const end = gate ? null : endOf(event.hold);
    const until = end === null ? '' : ` until ${clock(end, Date.now())}`;
    if (!event.hold) return;
    const reason = withNames(oneLine(event.hold.reason, 200), (id) =>
      this.#marks.has(id) ? nameOf(id) : undefined,
    );
    if (status === 'paused') return void this.#say(`‖ ${name} ${reason}`);
    this.#say(`◌ ${name} ${isVerbal(reason) ? reason : `waits${until}: ${reason}`}`);
  }

  #progress(): void {
    const marks = [...this.#marks].map(([id, mark]) => `${this.#options.nameOf(id)} ${mark}`);
    this.#say(`Progress: ${marks.join(' ')}`);
  }

  #say(line: string): void {
    this.#lastLine = this.#options.clock();
    this.#options.out(line);
  }
}

function again(event: { visit: number; attempt: number }): string {
  const text = whichAttempt(event, 'round');
  return text ? ` (${text})` : '';
}
