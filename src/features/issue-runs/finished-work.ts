import type { EngineContext } from '../../engine/context.ts';
import { refKey } from '../../model/ids.ts';
import { WORK_PHASE } from '../../model/issue-phases.ts';
import type { Ticket } from '../../model/ticket.ts';
import { tipOf } from '../../model/ticket.ts';
import { notMerged } from '../../model/verdict.ts';
import type { Workflow } from '../../model/workflow.ts';
import { whereIs } from '../landed/landed.ts';
import type { DoneBefore, Resumed } from './plan.ts';
import { type EarlierIssues, isNoted } from './previous-runs.ts';

/** Phases that only prepare another one: once that succeeded, they are not needed. */
const SERVES: Record<string, string> = { spec: WORK_PHASE, testgen: WORK_PHASE, smart_tests: 'checks' };

/** What is left to do of an issue: nothing, a part of what is wanted now, or (undefined) all of it. */
type Left = { done: DoneBefore } | { from: Resumed } | undefined;

interface LeftInput {
  /** All tickets of the issue, oldest first. */
  tickets: readonly Ticket[];
  earlier: EarlierIssues;
  workflow: Workflow;
  /** Phases that are wanted now, in their order. */
  wanted: readonly string[];
  /** It no longer waits. */
  closed: boolean;
}

/**
 * The one rule for "done before": phases that went well cover all that is wanted now, and their work is still there, on
 * its branch or merged. What covers a part is gone on from.
 */
export async function leftToDo(parts: EngineContext, input: LeftInput): Promise<Left> {
  const { tickets, workflow, wanted, closed } = input;
  const complete = tickets.filter((ticket) => ticket.status === 'complete' && !isNoted(ticket));
  const last = complete.at(-1);
  if (!last) return undefined;
  const covered = coveredBy(complete, workflow);
  const place = await placeOf(parts, input.earlier, last);
  const worked = covered.has(WORK_PHASE);
  if (place === 'gone' && !(closed && worked)) return undefined;
  const missing = wanted.filter((phase) => {
    const other = SERVES[phase];
    return !covered.has(phase) && !(other && wanted.includes(other) && covered.has(other));
  });
  const [phase] = missing;
  // What is merged, and whose branch is gone, has nothing left that could be looked at or opened.
  const over = worked && (closed || place !== 'branch');
  if (phase === undefined || over) return { done: { ...doneBefore(last), merged: place !== 'branch' } };
  if (![...covered].some((each) => wanted.includes(each))) return undefined;
  const visits = Object.fromEntries(wanted.slice(0, wanted.indexOf(phase)).map((each) => [each, 1] as const));
  return {
    from: {
      phase,
      visits,
      context: last.context,
      before: complete.map(refKey),
      tip: worked ? tipOf(last) : null,
    },
  };
}

/** The finished work of an issue that is not run now, for those that depend on it. */
export async function finishedWork(
  parts: EngineContext,
  { tickets, earlier, workflow }: Pick<LeftInput, 'tickets' | 'earlier' | 'workflow'>,
): Promise<Ticket | undefined> {
  const complete = tickets.filter((ticket) => ticket.status === 'complete' && !isNoted(ticket));
  const last = complete.at(-1);
  if (!last || !coveredBy(complete, workflow).has(WORK_PHASE)) return undefined;
  return (await placeOf(parts, earlier, last)) === 'gone' ? undefined : last;
}

/** Phases that went well and that nothing has gone before again since. */
function coveredBy(tickets: readonly Ticket[], { phases }: Workflow): Set<string> {
  const place = new Map(phases.map(({ id }, index) => [id, index]));
  const at = (phase: string) => place.get(phase) ?? -1;
  let covered: string[] = [];
  for (const { phaseHistory } of tickets) {
    const ran = phaseHistory.flatMap(({ phase, status, output }) =>
      status === 'success' && !(phase === 'integrate' && notMerged(output)) ? [phase] : [],
    );
    const first = Math.min(...ran.map(at), Number.POSITIVE_INFINITY);
    covered = [...covered.filter((phase) => at(phase) < first), ...ran];
  }
  return new Set(covered);
}

async function placeOf(parts: EngineContext, earlier: EarlierIssues, ticket: Ticket) {
  const { branch, base } = ticket;
  const repo = earlier.repoOf(ticket);
  if (branch === null || repo === undefined) return 'gone';
  const planBase = earlier.planOf(ticket)?.base ?? null;
  return whereIs(parts, ticket, { repo, branch, base: planBase, recordedBase: base });
}

function doneBefore(ticket: Ticket): Omit<DoneBefore, 'merged'> {
  const { branch, context } = ticket;
  const pullRequest = typeof context.pr_url === 'string' ? context.pr_url : null;
  return { branch, pullRequest, tip: tipOf(ticket), by: refKey(ticket) };
}
