import { groupBy } from '../../model/group-and-remember.ts';
import { refKey } from '../../model/ids-and-branch-names.ts';
import type { Claim } from '../../model/lease-and-claim-messages.ts';
import { countUnpriced, totalUsage } from '../../model/limits/usage-cost-and-estimate.ts';
import type { Worker } from '../../model/place-tickets-on-workers.ts';
import type { Plan } from '../../model/plan.ts';
import { newestFirst } from '../../model/plans/latest-plans-and-unknown-name-errors.ts';
import { type Attempt, inStateSince, legalCommands, openAttempt, type Ticket } from '../../model/ticket.ts';
import type { Holder, StoreView } from '../../store/store-interface.ts';
import type { BoardSection, PlanStatus, TicketStatus } from '../plan-and-ticket-status.ts';
import { BOARD_SECTIONS, type StatusInput, sectionOf, statusOf } from '../plan-and-ticket-status.ts';
import type { Board, BoardRow, PlanRow } from '../view-schemas.ts';

/** What the output of a running attempt shows so far. */
export interface SeenOutput {
  action: string | null;
  printedAt: number | null;
}

export interface BoardInput {
  view: StoreView;
  /** Plans to show; others only explain why tickets wait. */
  isShown(plan: Plan): boolean;
  holder: Pick<Holder, 'isLive' | 'leaseLeft' | 'daemon'>;
  /** Whether something drives tickets; on a fleet also why no worker can take one. */
  drivers: Pick<StatusInput, 'daemon' | 'whyNoWorker'>;
  /** Of a fleet. */
  workers?: readonly Worker[] | undefined;
  /** Whether a ticket's worktree would be on this machine. */
  isHere(ticket: Ticket): boolean;
  now: number;
  maximum: number;
  today: Board['today'];
  limits: Board['limits'];
  output(ticket: Ticket, attempt: Attempt): SeenOutput | undefined;
  idleSeconds(ticket: Ticket, attempt: Attempt): number | null;
  /** What a reader that reads again and again keeps between two readings. */
  kept?: KeptRows;
}

/** The board, from what is stored and what is seen of running agents. */
export function boardOf(input: BoardInput): Board {
  const { view, now, maximum, today, limits } = input;
  const holder = remembering(input.holder);
  const daemon = input.holder.daemon();
  const plans = statusOf({ view, holder, now, ...input.drivers });
  const shown = plans.filter(({ plan }) => input.isShown(plan)).sort((a, b) => newestFirst(a.plan, b.plan));
  const found = shown.flatMap(({ plan, tickets }) =>
    tickets.map((each) => ({ ticket: each.ticket, row: keptRow(each, plan, { ...input, holder }) })),
  );
  input.kept?.clear();
  for (const each of found) input.kept?.set(refKey(each.row), each);
  const rows = found.map(({ row }) => row);
  const bySection = groupBy(rows, ({ section }) => section);
  bySection.get('need you')?.sort(questionsFirst);
  const count = (section: BoardSection) => bySection.get(section)?.length ?? 0;
  const known = new Set(view.plans.map(({ id }) => id));
  const claims = [...view.plans, ...view.tickets.values()].map(({ claim }) => claim);
  return {
    at: new Date(now).toISOString(),
    engines: enginesOf([daemon ?? null, ...claims], holder, input.workers),
    running: plans.reduce((sum, { tickets }) => sum + tickets.filter(isDriven(holder)).length, 0),
    maximum,
    today,
    limits,
    counts: {
      'need you': count('need you'),
      running: count('running'),
      waiting: count('waiting'),
      done: count('done'),
    },
    plans: shown.map(planOf),
    rows: BOARD_SECTIONS.flatMap((section) => bySection.get(section) ?? []),
    problems: view.problems.filter(
      ({ planId }) => !known.has(planId) || shown.some(({ plan }) => plan.id === planId),
    ),
  };
}

/** The order of what needs a person: a question is answered faster than a failure is understood. */
export function questionsFirst(a: BoardRow, b: BoardRow): number {
  return Number(b.decisions.length > 0) - Number(a.decisions.length > 0);
}

function planOf({ plan, tickets }: PlanStatus): PlanRow {
  const { id, name, status, kind, repo, workflow, createdAt } = plan;
  return {
    id,
    name: name || id,
    status,
    kind: kind ?? null,
    repo: repo ?? null,
    workflow: workflow ?? null,
    createdAt: createdAt ?? null,
    tickets: plan.tickets.length,
    complete: tickets.filter(({ ticket }) => ticket.status === 'complete').length,
  };
}

type Lives = Pick<Holder, 'isLive' | 'leaseLeft'>;

const isDriven =
  ({ isLive }: Lives) =>
  ({ ticket }: TicketStatus) =>
    ticket.status === 'running' && ticket.claim !== null && isLive(ticket.claim);

/** One engine has the claims of many tickets, and its process is searched for once. */
function remembering(holder: Lives): Lives {
  const keyOf = ({ token, agent }: Claim) => `${token} ${agent?.pid ?? ''}`;
  const live = new Map<string, boolean>();
  const left = new Map<string, number | undefined>();
  return {
    isLive(claim) {
      const known = live.get(keyOf(claim)) ?? holder.isLive(claim);
      live.set(keyOf(claim), known);
      return known;
    },
    leaseLeft(claim) {
      const key = keyOf(claim);
      if (!left.has(key)) left.set(key, holder.leaseLeft(claim));
      return left.get(key);
    },
  };
}

function enginesOf(
  claims: readonly (Claim | null)[],
  { isLive, leaseLeft }: Lives,
  workers: readonly Worker[] = [],
): Board['engines'] {
  const engines = new Map<string, Claim>();
  for (const claim of claims)
    if (claim && claim.by !== 'session' && !engines.has(claim.token) && isLive(claim))
      engines.set(claim.token, claim);
  // A worker without a ticket has no claim.
  const idle = workers.filter((worker) => worker.leaseLeft > 0 && !engines.has(worker.token));
  return [
    ...[...engines.values()].map((claim) => ({
      by: claim.by,
      pid: claim.pid,
      host: claim.host,
      isElsewhere: leaseLeft(claim) !== undefined,
    })),
    ...idle.map(({ pid, host, isElsewhere }) => ({ by: 'worker', pid, host, isElsewhere })),
  ];
}

interface KeptRow {
  row: BoardRow;
  ticket: Ticket;
}

/** The rows of the last reading in the order of their plans, by refKey. */
export type KeptRows = Map<string, KeptRow>;

/** The same row as before while nothing holds its ticket and nothing about it has changed: a board may have thousands of them. */
function keptRow(
  status: TicketStatus,
  plan: Plan,
  around: Parameters<typeof rowOf>[2] & { kept?: KeptRows | undefined },
): BoardRow {
  const { ticket, why, next } = status;
  const { kept } = around;
  if (!kept || ticket.claim !== null) return rowOf(status, plan, around);
  const known = kept.get(refKey(ticket));
  const isKnown =
    known !== undefined &&
    known.row.why === why &&
    known.row.next === next &&
    known.row.planName === (plan.name || plan.id) &&
    isSame(known.ticket, ticket);
  return isKnown ? known.row : rowOf(status, plan, around);
}

/** Compares all that a row is made of. The hold may have been explained again. */
function isSame(a: Ticket, b: Ticket): boolean {
  const isSameHold =
    a.hold?.kind === b.hold?.kind && a.hold?.reason === b.hold?.reason && a.hold?.until === b.hold?.until;
  return (
    isSameHold &&
    a.status === b.status &&
    a.title === b.title &&
    a.currentPhase === b.currentPhase &&
    a.since === b.since &&
    a.phaseHistory === b.phaseHistory &&
    a.context === b.context &&
    a.machine === b.machine &&
    a.claim === b.claim
  );
}

function rowOf(
  { ticket, why, next }: TicketStatus,
  plan: Plan,
  around: Pick<BoardInput, 'isHere' | 'output' | 'idleSeconds'> & { holder: Lives },
): BoardRow {
  const { holder, isHere, output, idleSeconds } = around;
  const open = openAttempt(ticket);
  const isRunning = ticket.status === 'running';
  const isLive = ticket.claim !== null && holder.isLive(ticket.claim);
  const seen = isRunning && isLive && open ? output(ticket, open) : undefined;
  const used = usedBy(ticket);
  const last = ticket.phaseHistory.at(-1);
  const url = ticket.context.pr_url;
  const { claim, planId, ticketId, status, hold } = ticket;
  const isElsewhere = claim !== null && holder.leaseLeft(claim) !== undefined;
  const asks = status === 'needs_attention' && hold?.kind === 'gate';
  return {
    planId,
    ticketId,
    section: sectionOf(ticket),
    status,
    title: ticket.title,
    planName: plan.name || plan.id,
    why,
    next,
    hold,
    phase: ticket.currentPhase,
    visit: last?.phase === ticket.currentPhase ? last.visit : 1,
    attempt: open?.attempt ?? 1,
    since: inStateSince(ticket),
    agent: open?.agent ?? ticket.phaseHistory.findLast(({ agent }) => agent !== null)?.agent ?? null,
    action: seen?.action ?? null,
    printedAt: seen?.printedAt ? new Date(seen.printedAt).toISOString() : null,
    idleSeconds: seen && open ? idleSeconds(ticket, open) : null,
    usage: used.usage,
    unpriced: used.unpriced,
    machine: isElsewhere ? claim.host : isHere(ticket) ? null : (ticket.machine?.host ?? null),
    // A workflow may take it from what an agent said, and a browser is opened with it.
    pullRequest: typeof url === 'string' && /^https?:\/\//i.test(url) ? url : null,
    decisions: asks ? (open?.decisions ?? []) : [],
    legal: legalCommands(ticket),
  };
}

type Used = Pick<BoardRow, 'usage' | 'unpriced'>;

const usedByTicket = new WeakMap<Ticket, Used>();

/** Computed once for every stored state: most tickets do not change between two frames. */
function usedBy(ticket: Ticket): Used {
  const { phaseHistory } = ticket;
  const used = usedByTicket.get(ticket) ?? {
    usage: totalUsage(phaseHistory.map(({ usage }) => usage)),
    unpriced: countUnpriced(phaseHistory),
  };
  usedByTicket.set(ticket, used);
  return used;
}

/** Silent for more than a third of its idle limit. */
export function isTooSilent({ printedAt, since, idleSeconds }: BoardRow, now: number): boolean {
  const last = printedAt ?? since;
  return idleSeconds !== null && last !== null && now - Date.parse(last) > (idleSeconds * 1000) / 3;
}
