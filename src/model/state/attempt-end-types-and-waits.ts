import type { Attempt, ErrorClass, Hold, Json, Usage } from '../ticket.ts';
import type { Judged } from '../verdict-criteria-and-missing-checks.ts';

/** What is known of an attempt beside how it ended. */
export interface AttemptFacts {
  output?: string | null;
  sessionId?: string | null;
  usage?: Usage | null;
  /** How often its agent was started. */
  launches?: number;
  /** When its process ended, if it is recorded later. */
  endedAt?: string;
  /** How it judged the ticket's acceptance criteria, where it did. */
  criteria?: Judged[];
}

/**
 * How an attempt ended, which decides the ticket's next edge.
 * `done` takes the edge of its outcome; `failed` is tried again first; `parked`, `interrupted` and `waiting` consume nothing.
 */
export type AttemptEnd = AttemptFacts &
  (
    | { type: 'done'; outcome: string; captured: Record<string, Json> }
    /** Of an overload: `until` is the time that the provider named; `jitter`, from 0 to 1, spreads the waits. */
    | {
        type: 'failed';
        error: { class: ErrorClass; message: string };
        outcome?: string;
        until?: string | null;
        jitter?: number;
      }
    /** A usage limit or an overload was met, or a budget is used up. */
    | {
        type: 'parked';
        kind: 'limit' | 'overload' | 'budget' | 'shortage';
        until: string | null;
        reason: string;
      }
    /**
     * `deliberate`: a person or a shutdown stopped it, which is no sign that something is wrong with it.
     * `died`: the agent alone ended, by a signal from elsewhere.
     * `lost`: nothing says how it ended; with `asks` it may have done its work, and a person decides what is next.
     */
    | {
        type: 'interrupted';
        reason: string;
        deliberate: boolean;
        died?: boolean;
        lost?: boolean;
        asks?: boolean;
      }
    /**
     * `person`: a person has to do what it waits for. `shortSince`: its process has ended, but since this time the computer is too short
     * of something to judge the result.
     */
    | {
        type: 'waiting';
        until: string | null;
        reason: string;
        gate: boolean;
        decisions?: string[];
        /** `until` is the next check of the gate's script or action, not its deadline. */
        looks?: boolean;
        person?: boolean;
        shortSince?: string;
      }
  );

/** Error classes for which a retry cannot help: a person has to change something. */
export const NOT_RETRYABLE: ReadonlySet<string> = new Set([
  'auth',
  'billing',
  'config',
  'refused',
  'workspace',
  'visits',
  'budget',
]);

/** The reason of an agent that halts without giving one. */
export const NO_REASON = 'It gave no reason.';

/** After this many interruptions in a row the attempt has failed. */
export const MAX_INTERRUPTIONS = 5;

const LONGEST_DELAY_SECONDS = 365 * 86_400;

/** Backoff before repetition number `n` (1-based), in seconds. */
export function backoffSeconds(
  rule: { delaySeconds: number; factor: number; maxDelaySeconds: number },
  n: number,
): number {
  if (rule.delaySeconds <= 0) return 0;
  const grown = rule.delaySeconds * rule.factor ** (n - 1);
  return Math.min(LONGEST_DELAY_SECONDS, rule.maxDelaySeconds, grown);
}

const OVERLOAD = { delaySeconds: 5, factor: 2, maxDelaySeconds: 120 };
const MAX_OVERLOAD_SECONDS = 600;
/** An answer in between restarts the ten minutes, but not this count. */
const MAX_OVERLOADS = 50;

export function isOverload({ status, error }: Attempt): boolean {
  return status === 'interrupted' && error?.class === 'overloaded';
}

/**
 * Seconds to wait after the last of these attempts met an overload, or null when overloads have lasted for about ten
 * minutes in a row. An answer of the model in between begins a new row.
 */
export function overloadWait(attempts: readonly Attempt[], jitter: number): number | null {
  const row = attempts.slice(attempts.slice(0, -1).findLastIndex((entry) => !isOverload(entry)) + 1);
  const answered = row.findLastIndex(({ usage }) => (usage?.outputTokens ?? 0) > 0);
  const silent = row.slice(Math.max(0, answered));
  const waited = silent.slice(0, -1).reduce((sum, { completedAt, resetAt }) => {
    return sum + (Date.parse(resetAt ?? '') - Date.parse(completedAt ?? '') || 0) / 1000;
  }, 0);
  if (waited >= MAX_OVERLOAD_SECONDS || row.length > MAX_OVERLOADS) return null;
  return backoffSeconds(OVERLOAD, silent.length) * (1 + jitter / 4);
}

const MIN_SHORTAGE_MS = 5_000;
const MAX_SHORTAGE_MS = 60_000;
/** After this time a person is asked, and the wait continues. */
const ASK_AFTER_MS = 3_600_000;

/** The hold for a shortage of this computer. Each wait is as long as the shortage has lasted so far, within bounds. */
export function shortageHold(reason: string, since: string, now: string): Hold {
  const lasted = Math.max(0, Date.parse(now) - Date.parse(since) || 0);
  const wait = Math.min(MAX_SHORTAGE_MS, Math.max(MIN_SHORTAGE_MS, lasted));
  const until = new Date(Date.parse(now) + wait).toISOString();
  return { kind: 'shortage', reason, until, since, ...(lasted >= ASK_AFTER_MS ? { person: true } : {}) };
}
