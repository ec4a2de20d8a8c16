import type { TicketRef } from '../ids-and-branch-names.ts';
import { type Claim, onceEnded, onceLeaseIsOver, sayOther } from '../lease-and-claim-messages.ts';
import { type Plan, type PlanKindName, sharesWorkspace } from '../plan.ts';
import { type Hold, isCancelled, isMarkedBlocked, newerRunOf, openAttempt, type Ticket } from '../ticket.ts';
import { unchecked, verdictWithReservation } from '../verdict-criteria-and-missing-checks.ts';

/** What is known about engines when a ticket's state is explained. */
interface Surroundings {
  /** Some live engine drives this ticket, or a person is in its session. */
  driven: boolean;
  /** Some live engine would take tickets of this plan. */
  engine: boolean;
  /** What keeps it from starting, as things are now; null when nothing does. */
  blocked?: string | null;
  /** What is left of the lease of its engine, where that cannot be seen from here; 0: it is over. */
  leaseMs?: number | undefined;
  /** Workers drive the tickets, and no run or daemon. */
  onFleet?: boolean;
  /** Waits that have ended by then are not mentioned. */
  now?: number;
}

export interface Explanation {
  /** Why it is where it is, in a few words; empty when there is nothing to say. */
  why: string;
  /** What happens next, or what a person can do: a sentence or a command. */
  next: string;
}

export function explain(ticket: Ticket, plan: Plan, around: Surroundings): Explanation {
  const explanation = explainStatus(ticket, plan, around);
  if (!around.driven || ticket.claim?.by !== 'session') return explanation;
  const { pid, agent } = ticket.claim;
  const inside = `a person is in its session (pid ${agent?.pid ?? pid})`;
  if (ticket.status === 'ready' || ticket.status === 'queued')
    return { why: inside, next: 'continues when that has ended' };
  return { ...explanation, why: explanation.why ? `${explanation.why}; ${inside}` : inside };
}

function explainStatus(ticket: Ticket, plan: Plan, around: Surroundings): Explanation {
  const names = `${ticket.planId} ${ticket.ticketId}`;
  switch (ticket.status) {
    case 'complete':
      return {
        why: [verdictWithReservation(ticket), unchecked(ticket)].filter(Boolean).join('; '),
        next: '',
      };
    case 'failed':
      return { why: ticket.error ?? 'failed', next: `signalbox retry ${names}` };
    case 'paused':
      return paused(ticket, plan, around);
    case 'needs_attention':
      return attention(ticket, plan, names);
    case 'running':
      return running(ticket, plan, around);
    case 'queued':
    case 'ready':
      return waiting(ticket, plan, around);
  }
}

/** `33 of 50 done, 13 need you, 4 waiting`. What was given up is not counted among what needs a person. */
export function sayOutcome(stored: readonly Ticket[]): string {
  const tickets = stored.map(asShown);
  const count = (is: (ticket: Ticket) => boolean) => tickets.filter(is).length;
  const done = count(({ status }) => status === 'complete');
  const needed = count(
    (ticket) => ticket.status === 'needs_attention' || (ticket.status === 'failed' && !isCancelled(ticket)),
  );
  const running = count(({ status }) => status === 'running');
  const cancelled = count(isCancelled);
  const waiting = tickets.length - done - needed - running - cancelled;
  return [
    `${done} of ${tickets.length} done`,
    ...(needed > 0 ? [`${needed} ${needed === 1 ? 'needs' : 'need'} you`] : []),
    ...(running > 0 ? [`${running} running`] : []),
    ...(waiting > 0 ? [`${waiting} waiting`] : []),
    ...(cancelled > 0 ? [`${cancelled} cancelled`] : []),
  ].join(', ');
}

/** The command that answers a gate, with its decision, or all of them to choose from. */
export function answerTo(ticket: Ticket, plan: Pick<Plan, 'kind'>): string {
  const { decisions = [] } = openAttempt(ticket) ?? {};
  const [only, ...others] = decisions;
  const isOnly = only !== undefined && others.length === 0;
  return commandToAnswer(ticket, plan, isOnly ? only : `<${decisions.join('|') || 'decision'}>`);
}

function commandToAnswer({ planId, ticketId }: TicketRef, { kind }: Pick<Plan, 'kind'>, decision: string) {
  return kind === 'spec'
    ? `signalbox resume ${planId} --answer "…"`
    : `signalbox respond ${planId} ${ticketId} ${decision}`;
}

/** The commands that answer a gate: one for each decision. */
export function answerCommands(ticket: Ticket, plan: Pick<Plan, 'kind'>): string[] {
  const { decisions = [] } = openAttempt(ticket) ?? {};
  if (plan.kind === 'spec' || decisions.length === 0) return [answerTo(ticket, plan)];
  return decisions.map((each) => commandToAnswer(ticket, plan, each === 'answer' ? 'answer "…"' : each));
}

/** What a person needs to answer a gate: where the work can be seen, and a command for each decision. */
export function howToAnswer(ticket: Ticket, plan: Pick<Plan, 'kind'>): string[] {
  const url = ticket.context.pr_url;
  return [
    ...(typeof url === 'string' ? [`Pull request: ${url}`] : []),
    ...answerCommands(ticket, plan).map((command) => `→ ${command}`),
  ];
}

function paused(ticket: Ticket, plan: Plan, { leaseMs }: Surroundings): Explanation {
  const why = ticket.hold?.reason ?? 'paused';
  if (ticket.unseen) return { why: `${why}. ${ticket.unseen}`, next: onceEnded(ticket) };
  const resume = `signalbox resume ${plan.status === 'paused' ? plan.id : `${plan.id} ${ticket.ticketId}`}`;
  if (!leaseMs || !ticket.claim) return { why, next: resume };
  return { why: `${why}; held by ${sayOther(ticket.claim)}`, next: onceLeaseIsOver(leaseMs, resume) };
}

function attention(ticket: Ticket, plan: Plan, names: string): Explanation {
  if (ticket.hold?.kind === 'gate') return { why: ticket.hold.reason, next: answerTo(ticket, plan) };
  if (isMarkedBlocked(ticket)) {
    const next = ticket.unit
      ? `delete the \`_Blocked_\` line of ${ticket.unit.id} and run the spec again`
      : `once that is settled: signalbox retry ${names}`;
    return { why: `blocked: ${ticket.hold?.reason}`, next };
  }
  return {
    why: ticket.error ?? ticket.hold?.reason ?? 'a person must check it',
    next: commandOfWorkflow(ticket) ?? `signalbox retry ${names}`,
  };
}

/** The command that the workflow gives for the end where the ticket is. Other texts never name one. */
function commandOfWorkflow(ticket: Ticket): string | undefined {
  return isEndOfWorkflow(ticket) ? /`(signalbox [^`]+)`/.exec(ticket.error ?? '')?.[1] : undefined;
}

/** Whether its error is the description of the end where it is. A failure that led there has its own. */
function isEndOfWorkflow({ error, hold, currentPhase }: Ticket): boolean {
  return !hold && currentPhase !== null && error?.startsWith(`${currentPhase}: `) === true;
}

/** Whether it is one of those that `retry --failed` takes: it failed, even if a person is to check it, and asks nothing. */
export function isToRetry(ticket: Ticket): boolean {
  const { status, hold, unseen } = ticket;
  if (status === 'needs_attention') return !hold && !unseen && !isEndOfWorkflow(ticket);
  return status === 'failed' && !isCancelled(ticket) && newerRunOf(ticket) === undefined;
}

/** The command that continues a plan. */
export function runCommand({ id, kind }: Plan): string {
  return `signalbox ${(kind && CONTINUED_BY[kind]) ?? 'run'} ${id}`;
}

/** Kinds that are not in this list, because another program registered them, are run like a plan that a person wrote. */
const CONTINUED_BY: Readonly<Record<PlanKindName, string>> = { run: 'resume', spec: 'resume' };

function running(ticket: Ticket, plan: Plan, around: Surroundings): Explanation {
  const open = openAttempt(ticket);
  if (!around.driven) {
    if (around.onFleet) return { why: 'its worker is gone', next: 'another worker takes it over' };
    const why = 'its engine is gone';
    if (open && around.leaseMs !== undefined) {
      const how = sharesWorkspace(plan) ? 'and asks you' : 'in a new worktree';
      const next = `the next run or daemon takes it over, ${how} unless its process has ended: ${runCommand(plan)}`;
      return { why: `${why}, and its process cannot be seen from here`, next };
    }
    if (plan.kind === 'run') return { why, next: runCommand(plan) };
    const takes = 'the next run or daemon takes it over where it is';
    return { why, next: plan.kind === 'spec' ? `${takes}: ${runCommand(plan)}` : takes };
  }
  const times = open && open.attempt > 1 ? `, attempt ${open.attempt}` : '';
  const note = open?.note ? `: ${open.note}` : '';
  // Before an attempt is recorded, commits are fetched, the worktree is made and packages are installed.
  const why = open ? `${open.phase}${times}${note}` : 'its workspace is being prepared';
  if (around.leaseMs === undefined || !ticket.claim) return { why, next: '' };
  return {
    why: [why, `held by ${sayOther(ticket.claim)}`].filter(Boolean).join('; '),
    // Another worker takes over what a silent one drives.
    next: around.onFleet ? '' : onceLeaseIsOver(around.leaseMs, runCommand(plan)),
  };
}

function waiting(ticket: Ticket, plan: Plan, around: Surroundings): Explanation {
  const begun = ticket.phaseHistory.length > 0;
  const hold = currentHold(ticket, around);
  if (plan.status !== 'active' && plan.status !== 'complete') {
    const fix: Record<string, string> = {
      draft: `signalbox plan approve ${plan.id}`,
      paused: `signalbox resume ${plan.id}`,
    };
    const status = plan.status === 'draft' ? 'a draft' : plan.status;
    const moved = plan.movedTo === undefined ? '' : `: it was moved to ${plan.movedTo}`;
    return { why: `the plan is ${status}${moved}`, next: fix[plan.status] ?? '' };
  }
  if (hold?.unpriced)
    return {
      why: hold?.reason ?? '',
      next: `once you have checked: signalbox retry ${ticket.planId} ${ticket.ticketId}`,
    };
  if (!begun && around.blocked) return { why: around.blocked, next: '' };
  const then = (what: string) => (around.engine ? what : `${what}, with: ${runCommand(plan)}`);
  if (hold?.kind === 'limit') {
    const now = around.engine ? `; to try now: signalbox retry ${ticket.planId} ${ticket.ticketId}` : '';
    const why = /usage limit/i.test(hold.reason) ? hold.reason : `usage limit: ${hold.reason}`;
    return { why, next: `${then('continues at the reset')}${now}` };
  }
  if (hold?.kind === 'overload')
    return { why: `provider overloaded: ${hold.reason}`, next: then('is tried again') };
  if (hold?.kind === 'shortage') return { why: hold.reason, next: then('is tried again') };
  if (hold?.kind === 'backoff') return { why: hold.reason, next: then('is tried again') };
  if (hold?.kind === 'delay') return { why: hold.reason, next: then('starts then') };
  if (hold?.kind === 'blocked' && hold.until) return { why: hold.reason, next: then('checks again') };
  if (hold?.person) return { why: hold.reason, next: then('continues once that is done') };
  if (hold?.kind === 'poll') return { why: hold.reason, next: then('checks again') };
  if (hold?.kind === 'memory') return { why: hold.reason, next: then('checks again') };
  if (hold?.kind === 'budget') {
    const moves = begun ? 'continues' : 'starts';
    return { why: hold.reason, next: then(`${moves} ${hold.until ? 'then' : 'when the budget is raised'}`) };
  }
  if (hold) return { why: hold.reason, next: '' };
  if (!around.engine) return { why: 'no engine is running', next: runCommand(plan) };
  return { why: sharesWorkspace(plan) ? 'waits for the one before it' : 'waits for a free slot', next: '' };
}

const ENDS_BY_ITSELF: ReadonlySet<Hold['kind']> = new Set([
  'limit',
  'overload',
  'shortage',
  'backoff',
  'delay',
  'budget',
]);

/**
 * The hold of a ticket; null where a wait is over, and the ticket only waits to be driven. For kinds that do not end by
 * themselves, `until` is only the next check. `blocked`: what blocks the ticket now, which may differ from the stored reason.
 */
export function currentHold(
  { status, hold }: Pick<Ticket, 'status' | 'hold'>,
  { now = 0, blocked }: Pick<Surroundings, 'now' | 'blocked'>,
): Hold | null {
  if (hold === null || (status !== 'ready' && status !== 'queued')) return hold;
  const isOld = hold.kind === 'blocked' && hold.until === null && blocked === null;
  const isPast = ENDS_BY_ITSELF.has(hold.kind) && Date.parse(hold.until ?? '') <= now;
  return isOld || isPast ? null : hold;
}

/** The ticket as it is shown: a gate that checks for an answer elsewhere still asks. */
export function asShown(ticket: Ticket): Ticket {
  const asks = ticket.status === 'running' ? openAttempt(ticket)?.asks : undefined;
  if (asks === undefined) return ticket;
  return {
    ...ticket,
    status: 'needs_attention',
    hold: { kind: 'gate', reason: asks, until: null, looks: true },
  };
}

const DRIVEN = 'is driven by ';
const INSIDE = /(?:^|; )a person is in its session \(/;

/** What a ticket waits for while another process has this claim on it, in place of its own hold. */
export function heldBy(claim: Claim, ticket: Ticket, plan: Plan): Hold {
  const hold: Hold = { kind: 'blocked', reason: `${DRIVEN}${sayOther(claim)}`, until: null };
  if (claim.by !== 'session') return hold;
  const { why: reason } = explain(ticket, plan, { driven: true, engine: true });
  const isAsked = ticket.status === 'needs_attention' || ticket.status === 'paused';
  return { ...((isAsked && ticket.hold) || hold), reason };
}

/** Whether a reason was made by `heldBy`. Such reasons are never stored. */
export function saysHolder(reason: string): boolean {
  return reason.startsWith(DRIVEN) || INSIDE.test(reason);
}

/** Whether a reason continues the name of its ticket, as in "a waits for b". */
export function startsWithVerb(reason: string): boolean {
  return reason.startsWith('waits for ') || reason.startsWith(DRIVEN);
}

/** How tickets are named in output. */
export interface Naming {
  /** Put the plan before the ticket: a daemon works on many. */
  withPlan: boolean;
  /** The name of a ticket that is not its id: `#100`. */
  called?: (ticketId: string) => string | undefined;
}

export function nameOf({ planId, ticketId }: TicketRef, { withPlan, called }: Naming): string {
  return withPlan ? `${planId}/${ticketId}` : (called?.(ticketId) ?? ticketId);
}

/** A reason with issues called as in all other lines: `waits for 100 (failed)` is `waits for #100 (failed)`. */
export function withNames(reason: string, called: Naming['called']): string {
  const named = (whole: string, before: string, id: string) => {
    const name = called?.(id);
    return name === undefined ? whole : `${before}${name}`;
  };
  if (reason.startsWith('waits for ')) return reason.replace(/(^waits for |\), )([^\s,(]+)/g, named);
  return reason.replace(/^(the plan stops at the first failure, and )(\S+)/, named);
}
