import { stripVTControlCharacters } from 'node:util';
import type { AgentError, AgentEvent, AgentExit as Exit } from '../../model/agent-and-adapter-types.ts';
import type { ErrorClass } from '../../model/ticket.ts';
import { namesWait, resetFromProse } from './reset-time.ts';
import { MAX_LINE_BYTES } from './split-lines.ts';

export type { Exit };

/** Waiting does not fix these, whatever else the message says. */
const EMPTY =
  /credit balance|insufficient_quota|payment required|credits? (?:\w+ ){0,3}(?:depleted|exhausted|used up)|(?:insufficient|out of|not enough) (?:\w+ )?(?:credit|funds|balance)/i;
/** A word used for an empty account as well as for a limit: a message that names a time means a limit. */
const QUOTA = /quota/i;
const BY_TIME = /daily quota|per ?(?:day|hour|minute)/i;

/** First match wins. These are checked before the status code, which cannot express them. */
const SPECIFIC: [ErrorClass, RegExp][] = [
  [
    'context',
    /(?:prompt|input|request)(?: is)? too (?:long|large)|context (?:window|length|limit)|maximum number of tokens/i,
  ],
  [
    'billing',
    /current quota|quota exceeded|billing[ _](?:is|not|account|details|error|hard)|usage not included/i,
  ],
];
const OVERLOADED =
  /overloaded|high demand|at capacity|internal server error|service unavailable|bad gateway/i;
const GENERAL: [ErrorClass, RegExp][] = [
  [
    'limit',
    // Not the name of a file, such as `rate-limit.test.ts`.
    /hit your .{0,40}limit|(?:usage|session|weekly|daily|monthly|hour) limit|rate.?limit(?![\w-]*[./]\w)|limit reached|too many requests/i,
  ],
  [
    'auth',
    /api key|authenticat|unauthorized|not logged in|log in again|\/login|oauth|(?:access|refresh) token/i,
  ],
  // Nothing listens at the provider's address: it is wrong, or what should answer there was not started.
  ['crash', /econnrefused|connection refused/i],
  ['overloaded', OVERLOADED],
  [
    'overloaded',
    /server error|unavailable|timed? ?out|disconnected|connection|network error|terminated|econn|enotfound|eai_again/i,
  ],
  // Messages about limits often link to the billing page, so this word alone is the weakest sign.
  ['billing', /billing/i],
  ['config', /(?:unknown|invalid) model|model.{0,80}not (?:found|exist|supported|available)/i],
];

/** Whether a text, or the beginning of one, says that an account is empty. */
export function isEmptied(message: string): boolean {
  return EMPTY.test(message);
}

/** The class of a provider's error by its status and words; null when neither is known. */
export function classify(message: string, status: number | null): ErrorClass | null {
  if (isEmptied(message) || status === 402) return 'billing';
  if (QUOTA.test(message) && (BY_TIME.test(message) || namesWait(message))) return 'limit';
  return byWords(message, SPECIFIC) ?? byStatus(status) ?? byWords(message, GENERAL);
}

/** A complete error. A limit or overload gets the time from its text, which is never sure. */
export function errorOf(kind: ErrorClass, message: string, now: string, zone?: string): AgentError {
  const text = message.trim().slice(0, 4000);
  const resetAt = kind === 'limit' || kind === 'overloaded' ? resetFromProse(text, now, zone) : null;
  const isTimed = kind === 'limit' || resetAt !== null;
  return isTimed ? { class: kind, message: text, resetAt, sure: false } : { class: kind, message: text };
}

/**
 * A status in the words of any program, such as `HTTP/1.1 503` or `status code: 429`, or as a line of its own. Any other number may
 * be a count.
 */
const NAMED_STATUS =
  /(?:http\S{0,4}|status|error|code)\W{1,4}(429|50[0234]|529)\b|^\s*(429|50[0234]|529)\s*(?:$|\{)/im;

/** A shorter wait may be about anything, such as a test. */
const LEAST_WAIT_MS = 1_000;

/**
 * What a program without a protocol says about its provider: only what is no ordinary failure of its own. A wait that it names without a
 * reason is taken for an overload, for which nothing waits for ever.
 */
export function classifyWords(message: string): 'limit' | 'overloaded' | null {
  const [, named, alone] = NAMED_STATUS.exec(message) ?? [];
  const status = Number(named ?? alone);
  const kind = classify(message, status);
  if (kind === 'limit') return 'limit';
  const isOther = kind !== null && kind !== 'overloaded';
  const waits = !isOther && namesWait(message, LEAST_WAIT_MS);
  return waits || status >= 500 || OVERLOADED.test(message) ? 'overloaded' : null;
}

/** The event for a CLI that retries by itself: a limit that it waits for, or a final refusal. */
export function troubleEvent({ class: kind, message, resetAt }: AgentError): AgentEvent {
  return kind === 'limit'
    ? { type: 'limit', resetAt: resetAt ?? null, sure: false, message }
    : { type: 'refused', message };
}

function byWords(message: string, table: [ErrorClass, RegExp][]): ErrorClass | null {
  return table.find(([, words]) => words.test(message))?.[0] ?? null;
}

function byStatus(status: number | null): ErrorClass | null {
  if (status === null) return null;
  if (status === 401 || status === 403) return 'auth';
  if (status === 404) return 'config';
  if (status === 413) return 'context';
  if (status === 429) return 'limit';
  return status === 408 || status >= 500 ? 'overloaded' : null;
}

const USAGE =
  /unknown (?:option|argument)|unexpected argument|unrecognized|invalid value|required argument|cannot be used with|error loading config/i;
const NO_SESSION = /no (?:saved )?(?:conversation|session|rollout) found|already in use/i;
const NOISE =
  /^(?:Reading additional input from stdin|WARNING: proceeding|Warning: (?:Basic terminal|256-color)|YOLO mode|\[STARTUP\]|Ripgrep is not available)/;
/** The exit codes that shells and supervisors use for HUP, INT, KILL and TERM. */
const SIGNAL_CODES = new Set([129, 130, 137, 143]);

export function wasSignalled(exit: Exit): boolean {
  return exit.signal !== null || (exit.code !== null && SIGNAL_CODES.has(exit.code));
}

/** The answer reached the length that the model allows. */
export const CUT_OFF: AgentError = {
  class: 'context',
  message: 'The answer was cut off at the length that the model allows.',
};

/** The error of a process that ended without its CLI's end event. */
export function unfinished(cli: string, exit: Exit, now: string): AgentError {
  if (wasSignalled(exit)) {
    const how = exit.signal ?? `exit code ${exit.code}`;
    return { class: 'interrupted', message: `${cli} was stopped (${how}) before it had finished.` };
  }
  if (exit.skippedIn) return tooLong(cli, exit.skippedIn);
  const tail = stderrText(exit.stderrTail);
  const said = tail === '' ? '' : ` It said: ${tail}`;
  const message = `${cli} ended with exit code ${exit.code ?? 'unknown'} and no result.${said}`;
  if (exit.code === 126 || exit.code === 127 || USAGE.test(tail)) return { class: 'config', message };
  if (NO_SESSION.test(tail)) return { class: 'protocol', message };
  const kind = classify(tail, null);
  if (kind) return errorOf(kind, message, now);
  return { class: exit.code === 0 ? 'protocol' : 'crash', message };
}

/** The error of a process whose result may be in a line that was too long to be read. */
export function tooLong(cli: string, file: string): AgentError {
  const most = `${MAX_LINE_BYTES / 1024 / 1024} MB`;
  return {
    class: 'protocol',
    message: `${cli} printed a line of more than ${most}, which was not read: ${file}`,
  };
}

/** The end of stderr, without colours and without lines that a CLI prints on every run. */
export function stderrText(tail: string): string {
  const lines = stripVTControlCharacters(tail)
    .split('\n')
    .filter((line) => line.trim() !== '' && !NOISE.test(line));
  return lines.join('\n').trim().slice(-2000);
}
