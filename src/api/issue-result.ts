import type { Refused } from '../engine/issue-run.ts';
import { isSuperseded } from '../engine/stopped.ts';
import type { Plan } from '../model/plan.ts';
import type { Attempt, Ticket, Usage } from '../model/ticket.ts';
import { totalUsage } from '../model/usage.ts';

export interface PhaseResult {
  phase: string;
  success: boolean;
  durationSeconds: number;
  error?: string;
  /** Class of the error: auth, limit, timeout, evidence… */
  failureCategory?: string;
  output?: string;
  /** What the phase decided, where it decides: qa's verdict. */
  verdict?: string;
  usage: Usage | null;
}

export interface IssueResult {
  /** 0 for work that has no number; `id` names it then. */
  issueNumber: number;
  id: string;
  title: string;
  success: boolean;
  phaseResults: PhaseResult[];
  durationSeconds: number;
  abortReason?: string;
  loopTriggered: boolean;
  branch: string | null;
  prNumber?: number;
  prUrl?: string;
  failureCategory?: string;
  /** It was complete before this run and was not run again. */
  skipped?: boolean;
  locked?: { pid: number; hostname: string; startedAt: string; command: string };
  /** None of its phases has begun. */
  notStarted?: boolean;
  /** It waits for its turn: nothing has failed. Only where a run was left to a daemon. */
  pending?: boolean;
  /** How to go on with it: a command, or what to change. */
  next?: string;
  usage: Usage | null;
}

/** What an issue came to. The one place where success is decided: the ticket is complete, or it is not. */
export function issueResult(ticket: Ticket, plan: Plan): IssueResult {
  const source = ticket.source as { number?: number | null; already?: boolean } | undefined;
  const ended = ticket.phaseHistory.filter(
    (entry) => entry.completedAt !== null && entry.status !== 'skipped',
  );
  const failed = ended.findLast((entry) => entry.error !== null);
  // That a phase was not entered once more is on record, but nothing ran.
  const attempts = ended.filter((entry) => entry.error?.class !== 'visits');
  const success = ticket.status === 'complete';
  const url = typeof ticket.context.pr_url === 'string' ? ticket.context.pr_url : undefined;
  const number = url ? Number(/\/(\d+)$/.exec(url)?.[1]) : Number.NaN;
  return {
    issueNumber: source?.number ?? 0,
    id: ticket.ticketId,
    title: ticket.title,
    success,
    phaseResults: attempts.map(phaseResult),
    durationSeconds: span(attempts),
    ...(success ? {} : { abortReason: reasonOf(ticket) }),
    loopTriggered: attempts.some((entry) => entry.visit > 1),
    branch: ticket.branch,
    ...(url ? { prUrl: url } : {}),
    ...(Number.isNaN(number) ? {} : { prNumber: number }),
    ...(!success && failed?.error ? { failureCategory: failed.error.class } : {}),
    ...(source?.already ? { skipped: true } : {}),
    ...(isWaiting(ticket) && attempts.length === 0 ? { notStarted: true } : {}),
    ...(isPending(ticket, plan) ? { pending: true } : {}),
    ...nextOf(ticket),
    usage: totalUsage(attempts.map((entry) => entry.usage)),
  };
}

export function refusedResult(refused: Refused): IssueResult {
  const number = refused.item?.number ?? Number(/^#?(\d+)$/.exec(refused.reference)?.[1] ?? 0);
  return {
    issueNumber: number,
    id: refused.item?.id ?? refused.reference,
    title: refused.item?.title ?? '',
    success: false,
    phaseResults: [],
    durationSeconds: 0,
    abortReason: refused.reason,
    loopTriggered: false,
    branch: null,
    ...(refused.locked ? { locked: refused.locked } : {}),
    ...(refused.hint ? { next: refused.hint } : {}),
    usage: null,
  };
}

function isPending(ticket: Ticket, plan: Plan): boolean {
  const { detached } = (plan.run ?? {}) as { detached?: boolean };
  return detached === true && (isWaiting(ticket) || ticket.status === 'running');
}

function isWaiting({ status }: Ticket): boolean {
  return status === 'queued' || status === 'ready';
}

/** The command that goes on with a ticket; none where only others keep it waiting. */
function nextOf(ticket: Ticket): { next?: string } {
  const { planId, ticketId } = ticket;
  const resume = `signalbox resume ${planId}`;
  switch (ticket.status) {
    case 'failed':
      return { next: `signalbox retry ${planId} ${ticketId} && ${resume}` };
    case 'needs_attention':
      return ticket.hold?.kind === 'gate'
        ? { next: `signalbox respond ${planId} ${ticketId} approve && ${resume}` }
        : { next: `signalbox retry ${planId} ${ticketId} && ${resume}` };
    case 'paused':
      return isSuperseded(ticket) ? {} : { next: resume };
    default:
      return {};
  }
}

/** `Phase exec failed`, or why it never came to that. */
export function reasonOf(ticket: Ticket): string {
  if (ticket.status === 'paused') return ticket.hold?.reason ?? 'paused';
  if (ticket.hold?.kind === 'gate') return 'waits for approval';
  if (isWaiting(ticket)) return ticket.hold?.reason ?? 'not started';
  // That it could not go back once more is a consequence; what sent it back is the reason.
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
  const verdict = entry.outcome !== null && entry.outcome !== 'success' && entry.outcome !== 'failure';
  return {
    phase: entry.phase,
    success: entry.status === 'success' && entry.outcome !== 'AC_NOT_MET' && entry.outcome !== 'fail',
    durationSeconds: span([entry]),
    ...(entry.error ? { error: entry.error.message, failureCategory: entry.error.class } : {}),
    ...(entry.output ? { output: entry.output } : {}),
    ...(verdict && entry.outcome ? { verdict: entry.outcome } : {}),
    usage: entry.usage,
  };
}

function span(entries: readonly Attempt[]): number {
  const [first] = entries;
  const last = entries.at(-1)?.completedAt;
  return first && last ? Math.max(0, Date.parse(last) - Date.parse(first.startedAt)) / 1000 : 0;
}
