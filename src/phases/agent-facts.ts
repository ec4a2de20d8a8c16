import type { AgentError, AgentResult } from '../model/agent.ts';
import type { AttemptEnd } from '../model/state/outcome.ts';
import type { ErrorClass, Json } from '../model/ticket.ts';
import { feedbackText } from '../workflows/index.ts';
import type { PhaseContext } from './context.ts';
import { excerpt } from './excerpt.ts';

/** What is known of a turn whatever it came to. */
export type Facts = Pick<AttemptEnd, 'sessionId' | 'usage' | 'output'>;

export function factsOf(result: AgentResult): Facts {
  const said = result.data === undefined ? result.text : (feedbackText(result.data as Json) ?? result.text);
  return { sessionId: result.sessionId, usage: result.usage, output: excerpt(said, 'start') };
}

export function failure(kind: ErrorClass, message: string): AttemptEnd {
  return { type: 'failed', error: { class: kind, message } };
}

/**
 * Without a reset time the wait grows with every limit in a row, up to an hour. A reset time is believed once;
 * when the limit is still there then, each further wait is longer, so that a wrong one does not make us spin.
 */
export function parked(context: PhaseContext, limit: AgentError, facts: Facts): AttemptEnd {
  const history = context.ticket.phaseHistory.filter((entry) => entry.completedAt !== null);
  let inARow = 0;
  for (let i = history.length - 1; history[i]?.status === 'limit'; i--) inARow++;
  const now = Date.parse(context.now());
  const later = (seconds: number) => now + Math.min(seconds * 2 ** inARow, 3600) * 1000;
  const reset = limit.resetAt ? Date.parse(limit.resetAt) : Number.NaN;
  const time = Number.isNaN(reset) ? later(300) : inARow === 0 ? reset : Math.max(reset, later(1));
  const { sessionId, usage, output } = facts;
  const until = new Date(time).toISOString();
  return { type: 'parked', until, reason: limit.message, sessionId, usage, output };
}
