import { join } from 'node:path';
import {
  type Claimed,
  claimedBy,
  extractTagged,
  readSignal,
} from '../agents/reading/result-block-and-signal.ts';
import { readText } from '../machine/files/read-and-remove-files.ts';
import type { AgentError, AgentResult } from '../model/agent-and-adapter-types.ts';
import { explained, shortageOf } from '../model/errors.ts';
import { type AttemptEnd, NO_REASON } from '../model/state/attempt-end-types-and-waits.ts';
import type { ErrorClass, Json } from '../model/ticket.ts';
import { judgedIn } from '../model/verdict-criteria-and-missing-checks.ts';
import type { PhaseOf } from '../model/workflow.ts';
import { feedbackText } from '../workflows/template-variables.ts';
import { capture, excerpt } from './capture-values-and-excerpt-output.ts';
import { missingEvidence } from './check-evidence.ts';
import type { PhaseContext } from './phase-context.ts';
import { returnToBranch } from './restore-shared-tree.ts';

type Context = PhaseContext<PhaseOf<'agent'>>;

/** A file in the job directory of a phase that may only read: the fingerprint of the tree before the attempt. */
export const FINGERPRINT_FILE = 'before.txt';

/** Decides how an attempt ended, from its result and the state of the worktree. */
export async function judge(
  context: Context,
  result: AgentResult,
  schema: Record<string, unknown> | null,
  before: string,
): Promise<AttemptEnd> {
  const facts = factsOf(result);
  const fail = (kind: ErrorClass, message: string) => ({ ...failure(kind, message), ...facts });
  if (result.error?.class === 'limit') return holdUntilLimitResets(context, result.error, facts);
  if (result.error?.class === 'interrupted') {
    return { type: 'interrupted', reason: result.error.message, deliberate: false, died: true, ...facts };
  }
  const claim = context.phase.signals ? claimedIn(result) : null;
  if (
    claim?.kind === 'halted' &&
    (result.ok || ERRORS_POSSIBLE_AFTER_RESULT.has(result.error?.class ?? 'protocol'))
  ) {
    const halt_reason = claim.reason || NO_REASON;
    return { type: 'done', outcome: 'halt', captured: { halt_reason }, ...facts, output: halt_reason };
  }
  if (result.error?.class === 'overloaded') {
    const { class: kind, message, resetAt = null } = result.error;
    return {
      type: 'failed',
      error: { class: kind, message },
      until: resetAt,
      jitter: Math.random(),
      ...facts,
    };
  }
  if (!result.ok)
    return fail(result.error?.class ?? 'protocol', result.error?.message ?? 'ended without a result');
  const strayed = await returnToBranch(context);
  if (strayed) return fail('evidence', strayed);
  const moved = await workspaceProblem(context);
  if (moved) return fail('workspace', moved);
  if (before && before !== (await fingerprint(context)))
    return fail('evidence', 'the phase may only read, but the working tree was changed');
  const missing = context.phase.expect && (await missingEvidence(context, context.phase.expect));
  if (missing) return fail('evidence', missing);
  if (claim?.kind === 'failed')
    return fail('evidence', `the agent gave up: ${claim.reason || 'it gave no reason'}`);
  if (claim?.kind === 'nothing') return fail('protocol', NO_SIGNAL);
  const captured = await capture(context, { stdout: result.text, result: result.data });
  if (!captured.ok) return { ...captured.end, ...facts };
  const outcome = schema ? String((result.data as { outcome: string }).outcome) : 'success';
  const judged = context.phase.criteria && judgedIn((result.data as { criteria?: Json }).criteria);
  return {
    type: 'done',
    outcome,
    captured: captured.values,
    ...facts,
    ...(judged ? { criteria: judged } : {}),
  };
}

/** Errors of a program that may have printed its result before. Any other class needs a fix first. */
const ERRORS_POSSIBLE_AFTER_RESULT: ReadonlySet<ErrorClass> = new Set(['exit', 'crash', 'protocol']);

const NO_SIGNAL =
  'the final message has neither <promise>TASK_DONE</promise> nor <promise>HALT</promise> on a line of its own';

/** What the final message claims, by a signal or by a tagged verdict. */
function claimedIn(result: AgentResult): Claimed {
  const said = extractTagged(result.text) as { outcome?: unknown; reason?: unknown } | undefined;
  const outcome = (['done', 'failed', 'halt'] as const).find((each) => each === said?.outcome);
  const reason = typeof said?.reason === 'string' ? { reason: said.reason } : {};
  return claimedBy(readSignal(result.text), outcome ? { outcome, ...reason } : null);
}

/** Why the worktree is not what it should be: commits on another branch, or in a replaced tree, are no evidence. */
async function workspaceProblem(context: Context): Promise<string | undefined> {
  const { repo, branch, worktree, inPlace } = context.place;
  try {
    await context.workspaces.verify({ repo, branch, path: worktree, inPlace });
    return undefined;
  } catch (error) {
    return explained(error);
  }
}

/**
 * The tree before this attempt, or before the one that it repeats: a change by an attempt that may only read must not
 * become the reference for the next one.
 */
export function fingerprintBefore({ ticket, phase, attempt, jobDir }: Context): string | undefined {
  const own = readText(join(jobDir, FINGERPRINT_FILE));
  if (own !== undefined || (ticket.retries[phase.id] ?? 0) === 0) return own;
  return readText(join(jobDir.replace(/\d+$/, String(attempt.attempt - 1)), FINGERPRINT_FILE));
}

export function fingerprint(context: Context): Promise<string> {
  return context.workspaces.fingerprint(context.place.worktree);
}

/** What is known of a turn, however it ended. */
export type Facts = Pick<AttemptEnd, 'sessionId' | 'usage' | 'output'>;

export function factsOf(result: AgentResult): Facts {
  const said = result.data === undefined ? result.text : (feedbackText(result.data as Json) ?? result.text);
  return { sessionId: result.sessionId, usage: result.usage, output: excerpt(said, 'start') };
}

export function failure(kind: ErrorClass, message: string): Extract<AttemptEnd, { type: 'failed' }> {
  return { type: 'failed', error: { class: kind, message } };
}

/** The same after an error, which may only mean that this computer is short of something. */
export function failureBy(kind: ErrorClass, error: unknown, message = explained(error)): AttemptEnd {
  const shortage = shortageOf(error);
  return shortage === undefined ? failure(kind, message) : failure('shortage', shortage);
}

/**
 * Without a reset time the wait grows with every limit in a row, up to an hour. A reset time is used as it is once. If
 * the limit is still there then, each further wait is longer, so that a wrong time causes no busy loop.
 */
export function holdUntilLimitResets(context: PhaseContext, limit: AgentError, facts: Facts): AttemptEnd {
  const history = context.ticket.phaseHistory.filter((entry) => entry.completedAt !== null);
  let inARow = 0;
  for (let i = history.length - 1; history[i]?.status === 'limit'; i--) inARow++;
  const now = Date.parse(context.now());
  const later = (seconds: number) => now + Math.min(seconds * 2 ** inARow, 3600) * 1000;
  const reset = limit.resetAt ? Date.parse(limit.resetAt) : Number.NaN;
  const time = Number.isNaN(reset) ? later(300) : inARow === 0 ? reset : Math.max(reset, later(1));
  const { sessionId, usage, output } = facts;
  const until = new Date(time).toISOString();
  return { type: 'parked', kind: 'limit', until, reason: limit.message, sessionId, usage, output };
}
