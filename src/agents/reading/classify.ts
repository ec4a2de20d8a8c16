import type { AgentError, AgentEvent } from '../../model/agent.ts';
import type { ErrorClass } from '../../model/ticket.ts';
import { resetFromProse, tellsWait } from './reset-time.ts';

/** No time brings these back, whatever else is said. */
const EMPTY =
  /credit balance|insufficient_quota|payment required|\bcredits? (?:\w+ ){0,3}(?:depleted|exhausted|used up)|(?:insufficient|out of|no more|not enough) (?:\w+ )?(?:credits?|funds|balance)/i;
/** Words of an empty account and of a limit alike: whoever says when to come back means a limit. */
const QUOTA = /\bquota\b|\brate limit/i;
const BY_TIME = /\b(?:daily|hourly) quota|\bper ?(?:day|hour|minute)/i;

/** First match wins. What a status code cannot tell (a usage limit, a full context, an empty account) stands above it. */
const TELLING: [ErrorClass, RegExp][] = [
  ['limit', /hit your .{0,40}\blimit\b|usage limit (?:has been )?reached/i],
  [
    'context',
    /(?:prompt|input|request) is too (?:long|large)|request too large|context (?:window|length|limit)|maximum context|maximum number of tokens|ran out of room/i,
  ],
  [
    'billing',
    /current quota|quota exceeded|billing[ _](?:is|has|was|not|account|details|error|hard)|usage not included/i,
  ],
];
const GENERAL: [ErrorClass, RegExp][] = [
  [
    'limit',
    /(?:usage|rate|session|weekly|daily|monthly|hour) limit|rate.?limited|limit reached|too many requests/i,
  ],
  [
    'auth',
    /api key|authenticat|unauthori[sz]ed|not logged in|log ?in again|\/login|oauth|(?:access|refresh) token/i,
  ],
  [
    'overloaded',
    /overloaded|at capacity|server error|unavailable|bad gateway|time[ds]? ?out|disconnected|connection|network error|terminated|econn|enotfound|eai_again/i,
  ],
  // Many a limit names the page where more can be bought, so that this word alone says the least.
  ['billing', /\bbilling\b/i],
  [
    'config',
    /(?:unknown|invalid|unsupported) model|selected model|model\b.{0,80}(?:not found|not exist|not supported|not available)/i,
  ],
];

/** Whether a text tells of an account with nothing left in it, even when it is only the beginning of one. */
export function isEmptied(message: string): boolean {
  return EMPTY.test(message);
}

/** The class of a provider's error by its status and words; null when neither says anything. */
export function classify(message: string, status: number | null): ErrorClass | null {
  if (isEmptied(message) || status === 402) return 'billing';
  if (QUOTA.test(message) && (BY_TIME.test(message) || tellsWait(message))) return 'limit';
  return byWords(message, TELLING) ?? byStatus(status) ?? byWords(message, GENERAL);
}

/** A complete error: a limit gets the reset time its words give, which is never sure. */
export function errorOf(kind: ErrorClass, message: string, now: string, zone?: string): AgentError {
  const text = message.trim().slice(0, 4000);
  if (kind !== 'limit') return { class: kind, message: text };
  return { class: kind, message: text, resetAt: resetFromProse(text, now, zone), sure: false };
}

/** What a CLI that tries again by itself is found to be in: a limit that it waits for, or a refusal for good. */
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
