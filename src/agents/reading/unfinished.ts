import type { AgentError } from '../../model/agent.ts';
import { classify, errorOf } from './classify.ts';

export interface Exit {
  code: number | null;
  signal: string | null;
  stderrTail: string;
}

const USAGE =
  /unknown (?:option|argument|command)|unexpected argument|unrecognized|invalid value|required argument|cannot be used with|error loading config|invalid configuration/i;
const NO_SESSION = /no (?:conversation|saved session|recorded session|session|rollout) found|already in use/i;
const NOISE =
  /^(?:Reading additional input from stdin|WARNING: proceeding|Warning: (?:Basic terminal|256-color)|YOLO mode|\[STARTUP\]|Ripgrep is not available)/;
/** What shells and supervisors make of HUP, INT, KILL and TERM. */
const SIGNAL_CODES = new Set([129, 130, 137, 143]);

export function wasSignalled(exit: Exit): boolean {
  return exit.signal !== null || (exit.code !== null && SIGNAL_CODES.has(exit.code));
}

/** The error of a process that ended without its CLI's end event. */
export function unfinished(cli: string, exit: Exit, now: string): AgentError {
  if (wasSignalled(exit)) {
    const how = exit.signal ?? `exit code ${exit.code}`;
    return { class: 'interrupted', message: `${cli} was stopped (${how}) before it had finished.` };
  }
  const tail = stderrText(exit.stderrTail);
  const said = tail === '' ? '' : ` It said: ${tail}`;
  const message = `${cli} ended with exit code ${exit.code ?? 'unknown'} and no result.${said}`;
  if (exit.code === 126 || exit.code === 127 || USAGE.test(tail)) return { class: 'config', message };
  if (NO_SESSION.test(tail)) return { class: 'protocol', message };
  const kind = tail === '' ? null : classify(tail, null);
  if (kind) return errorOf(kind, message, now);
  return { class: exit.code === 0 ? 'protocol' : 'crash', message };
}

/** The last words on stderr, without lines a CLI prints on every run. */
export function stderrText(tail: string): string {
  const lines = tail.split('\n').filter((line) => line.trim() !== '' && !NOISE.test(line));
  return lines.join('\n').trim().slice(-2000);
}
