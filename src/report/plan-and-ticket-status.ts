import { groupBy } from '../model/group-and-remember.ts';
import { parseRef, refKey } from '../model/ids-and-branch-names.ts';
import type { Plan } from '../model/plan.ts';
import { planProblems } from '../model/plans/dependency-and-branch-problems.ts';
import { ticketOf } from '../model/plans/plans-view.ts';
import {
  blockedBy,
  failuresIn,
  haltedHold,
  type StuckBlocker,
  stuckBlockers,
} from '../model/state/blockers-and-stop-on-failure.ts';
import type { Explanation } from '../model/state/explain-ticket.ts';
import { asShown, currentHold, explain } from '../model/state/explain-ticket.ts';
import { waitsForTicketInTree } from '../model/state/turns-in-shared-workspace-start-limit-and-pauses.ts';
import { isCancelled, newerRunOf, type Ticket } from '../model/ticket.ts';
import type { Holder, StoreProblem, StoreView } from '../store/store-interface.ts';

export interface TicketStatus extends Explanation {
  ticket: Ticket;
}

export interface PlanStatus {
  plan: Plan;
  tickets: TicketStatus[];
  problems: StoreProblem[];
}

export interface StatusInput {
  view: StoreView;
  holder: Pick<Holder, 'isLive' | 'leaseLeft'>;
  daemon: boolean;
  now: number;
  /** The plans to report; the others are only read for why tickets wait. Default: all. */
  isWanted?: ((plan: Plan) => boolean) | undefined;
  /** On a fleet: why no worker can take a ticket that may start. */
  whyNoWorker?: ((plan: Plan, ticket: Ticket) => string | undefined) | undefined;
}

export const MAY_START: ReadonlySet<Ticket['status']> = new Set(['queued', 'ready']);

/** Plans with their tickets in order, each with the reason why it waits and the next command. */
export function statusOf(input: StatusInput): PlanStatus[] {
  const { holder, daemon, now, isWanted = () => true, whyNoWorker } = input;
  const view = withShownGates(input.view, holder);
  const newer = newerRuns(view);
  const knownAcyclic = new Set<string>();
  const failureOf = failuresIn(view);
  const stuckBlocker = stuckBlockers(view);
  const problemsOf = groupBy(view.problems, ({ planId }) => planId);
  return view.plans.filter(isWanted).map((plan) => {
    const broken = planProblems(plan, view, knownAcyclic);
    const brokenTickets = new Map(broken.toReversed().map((problem) => [problem.ticketId, problem]));
    const failed = failureOf(plan);
    const engine = daemon || (plan.claim !== null && holder.isLive(plan.claim));
    const tickets: TicketStatus[] = [];
    for (const entry of plan.tickets.toSorted((a, b) => a.order - b.order)) {
      const stored = ticketOf(view, { planId: plan.id, ticketId: entry.ticketId });
      if (!stored) continue;
      const driven = stored.claim !== null && holder.isLive(stored.claim);
      const leaseMs = stored.claim ? holder.leaseLeft(stored.claim) : undefined;
      const hold =
        stored.status === 'complete'
          ? undefined
          : (blockedBy(view, plan, entry) ??
            (failed === undefined || failed === entry.ticketId ? null : haltedHold(failed)) ??
            waitsForTicketInTree(view, plan, stored));
      const wrong = brokenTickets.get(entry.ticketId) ?? broken[0];
      const blocked = wrong?.message ?? hold?.reason ?? null;
      const current = currentHold(stored, { now, blocked });
      const ticket = current === stored.hold ? stored : { ...stored, hold: current };
      const isGone = ticket.status === 'running';
      const mayStart =
        plan.status === 'active' && (isGone || MAY_START.has(ticket.status)) && !current && !driven;
      const missing = mayStart && blocked === null ? whyNoWorker?.(plan, ticket) : undefined;
      const onFleet = whyNoWorker !== undefined;
      const explained = explain(ticket, plan, { driven, engine, blocked, now, leaseMs, onFleet });
      const waits = missing && { why: isGone ? `${explained.why}; ${missing}` : missing, next: '' };
      const { why, next } = superseded(ticket, waits || explained, newer);
      const root = why !== '' && why === blocked && !wrong ? stuckBlocker(plan, entry) : undefined;
      tickets.push({ ticket, why, next: next || (root ? commandToFree(root, { engine, now }, newer) : '') });
    }
    return { plan, tickets, problems: problemsOf.get(plan.id) ?? [] };
  });
}

/** The command that frees tickets which wait for this one. A ticket of an archived plan is taken out of their list. */
function commandToFree(
  { ticket, plan, waiter }: StuckBlocker,
  around: { engine: boolean; now: number },
  newer: ReadonlyMap<string, string>,
): string {
  if (plan.status !== 'archived')
    return superseded(ticket, explain(ticket, plan, { driven: false, ...around }), newer).next;
  const { plan: theirs, entry } = waiter;
  const rest = entry.blockedBy.filter((text) => refKey(parseRef(text, theirs.id)) !== refKey(ticket));
  return `signalbox plan edit ${theirs.id} ${entry.ticketId} --blocked-by "${rest.join(',')}"`;
}

/** Shows a gate that an engine is checking right now as the question that it is. */
function withShownGates(view: StoreView, holder: StatusInput['holder']): StoreView {
  const shown: Ticket[] = [];
  for (const ticket of view.tickets.values()) {
    if (!ticket.claim) continue;
    const asked = asShown(ticket);
    if (asked !== ticket && holder.isLive(ticket.claim)) shown.push(asked);
  }
  if (shown.length === 0) return view;
  return {
    ...view,
    tickets: new Map([...view.tickets, ...shown.map((each) => [refKey(each), each] as const)]),
  };
}

/** The newer runs that superseded tickets, by ticket. */
function newerRuns({ tickets }: StoreView): Map<string, string> {
  const newer = new Map<string, string>();
  for (const { planId, supersedes } of tickets.values())
    for (const key of supersedes ?? []) newer.set(key, planId);
  return newer;
}

/** A superseded issue continues in the newer run. */
function superseded(
  ticket: Ticket,
  { why, next }: Explanation,
  newer: ReadonlyMap<string, string>,
): Explanation {
  if (ticket.status === 'complete') return { why, next };
  const run = newer.get(refKey(ticket)) ?? newerRunOf(ticket);
  if (run === undefined) return { why, next };
  const by = `superseded by ${run}`;
  return { why: why.includes(by) ? why : `${why}; ${by}`, next: `signalbox status --plan ${run}` };
}

/** The form for `--json`: the ticket's own fields, `why` and `next`. */
export function statusJson({ plan, tickets, problems }: PlanStatus) {
  return { plan, tickets: tickets.map(({ ticket, why, next }) => ({ ...ticket, why, next })), problems };
}

/** The same for all plans. One that cannot be read has the reason in place of its content. */
export function allStatusJson(plans: readonly PlanStatus[], view: StoreView) {
  const unreadable = problemsWithoutPlan(view).map((problem) => ({
    plan: null,
    tickets: [],
    problems: [problem],
  }));
  return [...plans.map(statusJson), ...unreadable];
}

/** Problems whose plan could not be read. */
export function problemsWithoutPlan(view: StoreView): StoreProblem[] {
  const known = new Set(view.plans.map((plan) => plan.id));
  return view.problems.filter((problem) => !known.has(problem.planId));
}

/** The order of every view: what needs a person comes first. */
export const BOARD_SECTIONS = ['need you', 'running', 'waiting', 'done'] as const;
export type BoardSection = (typeof BOARD_SECTIONS)[number];

export const SECTION_NAMES: Readonly<Record<BoardSection, string>> = {
  'need you': 'Need you',
  running: 'Running',
  waiting: 'Waiting',
  done: 'Done',
};
const SECTION_BY_STATUS: Record<Ticket['status'], BoardSection> = {
  needs_attention: 'need you',
  failed: 'need you',
  running: 'running',
  ready: 'waiting',
  queued: 'waiting',
  paused: 'waiting',
  complete: 'done',
};

/** Whether a ticket belongs to a section. */
export function isIn(section: BoardSection, ticket: Ticket): boolean {
  return sectionOf(ticket) === section;
}

/** A cancelled ticket is done: no person has to act on it. */
export function sectionOf(ticket: Ticket): BoardSection {
  return SECTION_BY_STATUS[isCancelled(ticket) ? 'complete' : ticket.status];
}
