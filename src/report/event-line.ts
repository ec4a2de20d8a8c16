import type { EngineEvent } from '../model/events.ts';
import { refKey } from '../model/ids-and-branch-names.ts';
import { type Naming, nameOf, startsWithVerb, withNames } from '../model/state/explain-ticket.ts';
import { oneLine } from './printable-text.ts';
import type { Style } from './style-and-phrases.ts';
import { duration, untilText, usageText, whichAttempt, withoutOutput } from './style-and-phrases.ts';
import { cells } from './tables-and-text-wrapping.ts';

interface LineOptions extends Naming {
  style: Style;
  /** Show what agents say and do. */
  verbose: boolean;
  now: number;
  /** The width of the names' column. */
  names?: number;
}

/** Finds waits that were reported before: the reset of a limit may move by a few milliseconds with each ticket that meets it. */
export class ReportedWaits {
  readonly #last = new Map<string, string>();

  repeats(event: EngineEvent): boolean {
    if (event.type !== 'ticket:status' && event.type !== 'attempt:start') return false;
    const ref = refKey(event);
    const hold = event.type === 'ticket:status' && event.status === 'ready' ? event.hold : null;
    if (!hold) {
      this.#last.delete(ref);
      return false;
    }
    const wait = `${oneLine(hold.reason, 1000)}${untilText(hold, Date.parse(hold.until ?? ''))}`;
    const isSame = this.#last.get(ref) === wait;
    this.#last.set(ref, wait);
    return isSame;
  }
}

/** One line for an event; undefined for events that are not shown. */
export function lineOf(event: EngineEvent, options: LineOptions): string | undefined {
  const { style } = options;
  const { planId } = event;
  const name =
    'ticketId' in event && event.ticketId ? nameOf({ planId, ticketId: event.ticketId }, options) : '';
  const pad = ' '.repeat(Math.max(0, (options.names ?? 0) - cells(name)));
  const bold = style.bold(name);
  const who = options.names ? `${bold} ${pad}` : bold;
  const at = `${bold}:${pad}`;
  switch (event.type) {
    case 'attempt:start': {
      const agent = event.agent ? style.dim(` (${event.agent})`) : '';
      return `${style.cyan('●')} ${at} ${event.phase} started${visitAndAttempt(event, style)}${agent}`;
    }
    case 'attempt:adopt':
      return `${style.cyan('●')} ${at} ${event.phase} taken over${visitAndAttempt(event, style)}`;
    case 'attempt:session':
      return style.dim(`  ${name}:${pad} ${event.phase} session ${oneLine(event.sessionId)}`);
    case 'attempt:end':
      return endLine(event, at, style);
    case 'attempt:text':
      if (event.notice) return `${style.yellow('!')} ${at} ${oneLine(event.text)}`;
      return options.verbose ? style.dim(`  ${name}${pad} │ ${oneLine(event.text)}`) : undefined;
    case 'attempt:tool':
      return options.verbose && !event.done
        ? style.dim(`  ${name}${pad} │ ${oneLine(event.name, 80)} ${oneLine(event.summary)}`)
        : undefined;
    case 'ticket:status':
      return statusLine(event, who, options);
    case 'workspace:keep':
      return `${style.yellow('!')} ${at} worktree kept at ${event.path} (${oneLine(event.reason)})`;
    case 'plan:status':
      return `${style.bold(oneLine(event.planId))}: plan ${event.status}`;
    case 'preflight':
      return style.dim(`· ${oneLine(planId)}: ${oneLine(event.message, 400)}`);
    case 'problem':
      return problemLine(event, { at, name }, style);
    case 'command': {
      const { phase, decision, message } = event.detail;
      return `${style.cyan('→')} ${at} ${[event.command, phase, decision, message].filter(Boolean).join(' ')}`;
    }
    case 'attempt:usage':
    case 'workspace:ready':
    case 'workspace:release':
      return undefined;
  }
}

function problemLine(
  { planId, ticketId, message }: Extract<EngineEvent, { type: 'problem' }>,
  { at, name }: { at: string; name: string },
  style: Style,
): string {
  const text = oneLine(message, 400);
  if (ticketId !== null && message.startsWith(`${ticketId} waits: `)) return `${style.yellow('!')} ${text}`;
  // Work on a base that is red starts all the same.
  const mark = message.startsWith('Base: ') ? style.yellow('!') : style.red('✗');
  return `${mark} ${name ? `${at} ` : planId && `${oneLine(planId)}: `}${text}`;
}

function visitAndAttempt(event: { visit: number; attempt: number }, style: Style): string {
  const text = whichAttempt(event);
  return text ? style.dim(` [${text}]`) : '';
}

function endLine(event: Extract<EngineEvent, { type: 'attempt:end' }>, at: string, style: Style): string {
  const facts = [duration(event.ms), usageText(event.usage)].filter(Boolean).join(' · ');
  const tail = style.dim(` (${facts})`);
  const phase = `${at} ${event.phase}${visitAndAttempt(event, style)}`;
  switch (event.status) {
    case 'success': {
      const plain = event.outcome === 'success' || event.outcome === null;
      const passed = event.note ? style.yellow(`– ${oneLine(event.note)}`) : style.green('✓');
      const verdict = plain ? passed : `→ ${event.outcome}`;
      return `${style.dim('·')} ${phase} ${verdict}${tail}`;
    }
    case 'limit':
      return `${style.yellow('●')} ${phase} usage limit${tail}`;
    case 'interrupted': {
      const how = event.error?.class === 'overloaded' ? 'provider overloaded' : 'interrupted';
      return `${style.yellow('●')} ${phase} ${how}${tail}`;
    }
    default: {
      const why = event.error
        ? `: ${oneLine(withoutOutput(event.error.message), 300)}`
        : event.outcome
          ? ` → ${event.outcome}`
          : '';
      return `${style.red('●')} ${phase} ${style.red('✗')}${tail}${why}`;
    }
  }
}

function statusLine(
  event: Extract<EngineEvent, { type: 'ticket:status' }>,
  who: string,
  { style, now, called }: LineOptions,
): string | undefined {
  const reason = event.hold && withNames(event.hold.reason, called);
  const until = untilText(event.hold, now);
  switch (event.status) {
    case 'complete':
      return `${style.green('✓')} ${who} complete`;
    case 'failed':
      return `${style.red('✗')} ${who} failed: ${oneLine(withoutOutput(event.error ?? ''), 300)}`;
    case 'needs_attention':
      return `${style.yellow('!')} ${who} needs attention: ${oneLine(withoutOutput(reason ?? event.error ?? ''), 1000)}`;
    case 'paused':
      return `${style.yellow('‖')} ${who} ${oneLine(reason ?? 'paused')}`;
    case 'ready':
      if (reason === null) return undefined;
      if (startsWithVerb(reason)) return `${style.yellow('◌')} ${who} ${oneLine(reason)}`;
      return `${style.yellow('◌')} ${who} waits${until}: ${oneLine(reason)}`;
    case 'queued':
      return reason === null ? undefined : `${style.dim('◌')} ${who} ${oneLine(reason)}`;
    case 'running':
      // The hold names another engine that has it.
      return reason === null ? undefined : `${style.dim('◌')} ${who} ${oneLine(reason)}`;
  }
}
