import type { TicketRef } from '../../../model/ids-and-branch-names.ts';
import { countUnpriced, totalUsage } from '../../../model/limits/usage-cost-and-estimate.ts';
import { isGivenUp, type Plan, stoppedTogether } from '../../../model/plan.ts';
import { answerCommands, currentHold, withNames } from '../../../model/state/explain-ticket.ts';
import { type Attempt, isCancelled, isSuperseded, newerRunOf, type Ticket } from '../../../model/ticket.ts';
import {
  isSuccess,
  notMerged,
  verdictOf,
  verdictWithReservation,
} from '../../../model/verdict-criteria-and-missing-checks.ts';
import type { IssueResult, PhaseResult, Refused } from '../request-and-result-types.ts';
import { GATE, storedRun } from './stored-run-time-and-issue-names.ts';

/** The result of an issue. The only place that decides success: true if the ticket is complete. */
export function issueResult(stored: Ticket, plan: Plan): IssueResult {
  const ticket = { ...stored, hold: currentHold(stored, { now: Date.now() }) };
  const { source } = ticket;
  // Leaves out entries that only record that a phase was not entered again.
  const attempts = ticket.phaseHistory.filter(
    ({ completedAt, status, error }) =>
      completedAt !== null && status !== 'skipped' && error?.class !== 'visits',
  );
  const failed = attempts.findLast(
    (entry) => entry.error !== null || (entry.status === 'success' && !isSuccess(entry)),
  );
  const success = ticket.status === 'complete';
  const begun = attempts.length > 0;
  // Stopped between two phases, or before the first.
  const halted = isWaiting(ticket) && !isSuperseded(ticket) ? stoppedTogether(plan) : null;
  const waiting = ticket.status === 'needs_attention' && ticket.hold?.kind === 'gate';
  const reason = (begun && !ticket.hold && halted) || reasonOf(ticket);
  const cause = success || waiting || !failed ? undefined : causeOf(failed);
  const unpriced = countUnpriced(attempts);
  const url = typeof ticket.context.pr_url === 'string' ? ticket.context.pr_url : undefined;
  const number = url ? Number(/\/(\d+)$/.exec(url)?.[1]) : Number.NaN;
  return {
    issueNumber: source?.number ?? 0,
    id: ticket.ticketId,
    title: ticket.title,
    success,
    phaseResults: attempts.map(phaseResult),
    durationSeconds: workedSeconds(ticket),
    ...(success ? {} : { abortReason: withNames(reason, (id) => nameIn(plan, id)) }),
    ...(cause ? { cause } : {}),
    loopTriggered: attempts.some((entry) => entry.visit > 1),
    ...(success ? reviewAndMergeFields(ticket, attempts) : {}),
    branch: ticket.branch,
    ...(url ? { prUrl: url } : {}),
    ...(Number.isNaN(number) ? {} : { prNumber: number }),
    ...(cause && failed?.phase === 'pull_request' ? { prCreationError: cause } : {}),
    ...(success && !url && !source?.already ? { prSkippedReason: withoutPullRequest(plan) } : {}),
    ...(!success && !waiting && failed
      ? { failureCategory: failed.error?.class ?? (failed.outcome === 'reject' ? 'rejected' : 'verdict') }
      : {}),
    ...(source?.already ? { skipped: true } : {}),
    ...(isWaiting(ticket) && !begun ? { notStarted: true } : {}),
    ...(waiting ? { waiting: true } : {}),
    ...(ticket.status === 'paused' || (begun && halted !== null) ? { stopped: true } : {}),
    ...(isSuperseded(ticket) ? { superseded: true } : {}),
    ...(plan.run?.detached && (isWaiting(ticket) || ticket.status === 'running') ? { pending: true } : {}),
    ...(success || !isGivenUp(plan) ? nextOf(ticket, halted !== null) : { next: retryCommand(ticket) }),
    ...(waiting && !isGivenUp(plan) ? { answers: answersTo(ticket, plan) } : {}),
    usage: totalUsage(attempts.map((entry) => entry.usage)),
    ...(unpriced > 0 ? { unpriced } : {}),
  };
}

export function refusedResult(refused: Refused): IssueResult {
  const typed = Number(/^#?(\d+)$/.exec(refused.reference)?.[1] ?? 0);
  // A file may have a number as its id; it is no issue's number.
  const number = refused.item ? (refused.item.number ?? 0) : typed;
  return {
    issueNumber: number,
    id: refused.item?.id ?? (typed > 0 ? String(typed) : refused.reference),
    title: refused.item?.title ?? '',
    success: false,
    phaseResults: [],
    durationSeconds: 0,
    abortReason: refused.reason,
    loopTriggered: false,
    branch: null,
    ...(refused.locked ? { locked: refused.locked } : {}),
    ...(refused.waiting ? { waiting: true } : {}),
    ...(refused.notStarted ? { notStarted: true } : {}),
    ...(refused.hint ? { next: refused.hint } : {}),
    usage: null,
  };
}

/** `#12` for an issue of this run that is called by its number. */
function nameIn(plan: Plan, id: string): string | undefined {
  return plan.name.split(' ').includes(`#${id}`) ? `#${id}` : undefined;
}

function withoutPullRequest(plan: Plan): string {
  const config = storedRun(plan)?.config;
  if (config?.pr === false) return 'none was wanted';
  return config?.phases.includes('exec') ? 'there is no remote called origin' : 'no work was to be done';
}

function reviewAndMergeFields(
  ticket: Ticket,
  attempts: readonly Attempt[],
): Pick<IssueResult, 'verdict' | 'reservation' | 'notMerged' | 'fastForward'> {
  const judged = verdictOf(ticket);
  const reservation = verdictWithReservation(ticket);
  const output = attempts.findLast(({ phase }) => phase === 'integrate')?.output;
  const notMergedReason = notMerged(output);
  // As `signalbox integrate` printed it. On a fleet, it names the clone of a worker.
  const [, command] = /^To bring it into your checkout: (.+)$/m.exec(output ?? '') ?? [];
  return {
    ...(judged ? { verdict: judged.verdict } : {}),
    ...(reservation ? { reservation } : {}),
    ...(notMergedReason ? { notMerged: notMergedReason } : {}),
    ...(command && !ticket.machine ? { fastForward: command } : {}),
  };
}

function isWaiting({ status }: Ticket): boolean {
  return status === 'queued' || status === 'ready';
}

/** The command that continues a ticket; none while it only waits for others. */
function nextOf(ticket: Ticket, halted: boolean): { next?: string } {
  const { planId, ticketId } = ticket;
  const resume = `signalbox resume ${planId}`;
  const newer = newerRunOf(ticket);
  const elsewhere = ticket.hold?.supersededBy;
  if (newer !== undefined) return { next: `signalbox status --plan ${newer}` };
  // A person gave it up.
  if (isCancelled(ticket)) return {};
  switch (ticket.status) {
    case 'failed':
    case 'needs_attention':
      return ticket.hold?.kind === 'gate'
        ? { next: `signalbox respond ${planId} ${ticketId} approve && ${resume}` }
        : { next: retryCommand(ticket) };
    case 'paused':
      return { next: resume };
    default:
      if (elsewhere !== undefined) return { next: `signalbox resume ${elsewhere} && ${resume}` };
      return halted ? { next: resume } : {};
  }
}

function answersTo(ticket: Ticket, plan: Plan): string[] {
  return answerCommands(ticket, plan).map((command) => `${command} && signalbox resume ${plan.id}`);
}

/** Brings back a ticket that failed or was given up; the plan is continued with it. */
export function retryCommand({ planId, ticketId }: TicketRef): string {
  return `signalbox retry ${planId} ${ticketId} && signalbox resume ${planId}`;
}

/** `Phase exec failed`, or why no phase ran. */
export function reasonOf(ticket: Ticket): string {
  if (ticket.status === 'paused') return ticket.hold?.reason ?? 'paused';
  if (ticket.hold?.kind === 'gate') return 'waits for approval';
  if (isWaiting(ticket))
    return (
      ticket.hold?.reason ?? (ticket.phaseHistory.length > 0 ? 'waits for its next phase' : 'not started')
    );
  // The reason is what sent it back, not that it could not go back once more.
  const sender = ticket.phaseHistory.findLast(
    (entry) => entry.status !== 'skipped' && entry.error?.class !== 'visits',
  );
  if (sender?.outcome === 'reject') return sender.output ? `rejected: ${sender.output}` : 'rejected';
  const last = ticket.phaseHistory.findLast(
    (entry) =>
      (entry.status === 'failure' && entry.error?.class !== 'visits') || entry.outcome === 'AC_NOT_MET',
  );
  return last ? `Phase ${last.phase} failed` : (ticket.error ?? ticket.status);
}

function phaseResult(entry: Attempt): PhaseResult {
  const { outcome, criteria } = entry;
  const gaps = criteria?.filter(({ met }) => !met).map(({ criterion }) => criterion) ?? [];
  return {
    phase: entry.phase,
    success: isSuccess(entry),
    durationSeconds: workedIn(entry),
    ...(entry.error ? { error: entry.error.message, failureCategory: entry.error.class } : {}),
    ...(entry.output ? { output: entry.output } : {}),
    ...(outcome && outcome !== 'success' && outcome !== 'failure' ? { verdict: outcome } : {}),
    ...(criteria && {
      criteria: [...criteria],
      summary: { acMet: criteria.length - gaps.length, acTotal: criteria.length, gaps },
    }),
    usage: entry.usage,
  };
}

function causeOf(entry: Attempt): string | undefined {
  const text = entry.error?.message ?? entry.output ?? '';
  const line = text.trim().split('\n')[0] ?? '';
  const verdict = !entry.error && entry.outcome === 'AC_NOT_MET' ? entry.outcome : '';
  return [verdict, line].filter(Boolean).join(': ') || undefined;
}

/** Seconds that agents and scripts have worked on an issue, in all parts of its run; gates and waits left out. */
export function workedSeconds(ticket: Ticket): number {
  return roundedSeconds(ticket.phaseHistory.reduce((sum, entry) => sum + workedIn(entry), 0));
}

/** How long a run took: no less than any of its issues, because agents of a killed run continue. */
export function runSeconds(
  seconds: number,
  results: readonly Pick<IssueResult, 'durationSeconds'>[],
): number {
  return roundedSeconds(Math.max(seconds, ...results.map(({ durationSeconds }) => durationSeconds)));
}

/** As exact as timestamps are. */
export function roundedSeconds(seconds: number): number {
  return Math.round(seconds * 1000) / 1000;
}

/** A gate's attempt lasts until a person answers; no time counts as work. */
function workedIn({ phase, startedAt, completedAt }: Attempt): number {
  if (completedAt === null || phase === GATE) return 0;
  return Math.max(0, Date.parse(completedAt) - Date.parse(startedAt)) / 1000;
}
