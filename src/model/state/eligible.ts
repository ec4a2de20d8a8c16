import { parseRef, refKey, refOf, type TicketRef } from '../ids-and-branch-names.ts';
import { type Plan, type PlanEntry, sharesWorkspace } from '../plan.ts';
import { entryOf, type PlansView, planOf, ticketOf, ticketsOf } from '../plans/plans-view.ts';
import { type Hold, sameHold, type Ticket } from '../ticket.ts';
import { blockedBy, failuresIn, haltedHold } from './blockers-and-stop-on-failure.ts';
import { settle } from './enter-and-leave-phases.ts';
import { type ReadyTurns, type Shortlist, waitsForBlockers } from './keep-shortlist-of-movable-tickets.ts';
import { isBrieflyPaused, isDue, movesByItself } from './next-step-or-rest.ts';
import { isYetToBegin, turnsOf } from './turns-in-shared-workspace-start-limit-and-pauses.ts';

/** All that is known of the work, as one view. */
export interface WorkView extends PlansView {
  /** Plans that are not run at all, and why. */
  broken: ReadonlyMap<string, unknown>;
}

export interface Limits {
  /** Maximum number of tickets with a running phase, all plans together. */
  maxConcurrency: number;
  /** Maximum number of them in one repository; null: no limit. */
  maxPerRepository?: number | null;
  /** The same text for all names of one repository; undefined: its plans give it one name. */
  repositoryKey?(named: string): string;
  /** refKeys of tickets that some live engine drives now and that count against the limit. */
  busy: ReadonlySet<string>;
  /** refKeys of all tickets that some live engine drives, polls included. */
  driven: ReadonlySet<string>;
  /** Why a ticket that was held back before its agent could start still is; undefined where that is unknown. */
  admits?(plan: Plan, ticket: Ticket): Hold | null | undefined;
  /** Whether tickets of a plan may begin; undefined: all may. */
  readiness?(plan: Plan): Readiness;
  /** On a fleet: whether a worker has a free slot for a ticket, which is taken by this call; undefined: this machine has one. */
  place?(plan: Plan, ticket: Ticket, slot: boolean): boolean;
  /** Skips finding out which plans wait for the limit of all plans together. */
  ignoresCrowded?: boolean;
  /** Whether this engine may drive a plan or ticket (a foreground run drives only its own). */
  mine(plan: Plan, entry: PlanEntry): boolean;
}

/** `unknown`: that is being found out. A hold keeps tickets of the plan from beginning; `again` is the next check. */
export type Readiness = 'ready' | 'unknown' | { hold: Hold; again: string };

interface Crowded extends TicketRef {
  status: Ticket['status'];
  phase: string | null;
  /** Nothing of its plan is running. */
  alone: boolean;
  /** The limit that it waits for. */
  limit: 'maxConcurrency' | 'maxPerRepository';
}

export interface Decision {
  /** To be driven now, in this order. `slot` is false for a poll that only has to check again. */
  dispatch: (TicketRef & { slot: boolean })[];
  /** Tickets whose status or hold is no longer true. */
  changes: Ticket[];
  /** Plans all of whose tickets are complete. */
  completed: string[];
  /** Of each plan the first that waits for nothing but a limit of all plans together. */
  crowded: Crowded[];
  /** The earliest time at which a hold ends by itself. */
  wakeAt: string | null;
}

/** Polls take no slot, but a hundred processes at one moment would slow the machine down. */
const MAX_POLLS_AT_ONCE = 8;
/** Interval of checks of free memory. */
const MEMORY_CHECK_MS = 5_000;

interface Candidate {
  plan: Plan;
  entry: PlanEntry;
  ticket: Ticket;
  slot: boolean;
  /** Its hold is no longer true, and has to go first. */
  lift: boolean;
  index: number;
}

/** A view, with what is asked of it for every ticket. */
interface Scene extends WorkView {
  failed: ReturnType<typeof failuresIn>;
  list: Pick<Shortlist, 'completed' | 'awake' | 'movable'>;
  ready?: ReadyTurns;
}

/**
 * Which tickets may run now, and what the others wait for. The work grows with the tickets and not with their square; with a
 * shortlist of this view, it grows with those that are on it.
 */
export function eligible(given: WorkView, limits: Limits, now: string, shortlist?: Shortlist): Decision {
  const view = sceneOf(given, shortlist);
  const isSound = ({ id }: Plan) => !view.broken.has(id);
  const completed = view.list.completed().filter(isSound);
  const decision: Decision = {
    dispatch: [],
    changes: [],
    completed: completed.map(({ id }) => id),
    crowded: [],
    wakeAt: null,
  };
  const candidates: Candidate[] = [];
  for (const [plan, places] of view.list.awake()) {
    if (!isSound(plan)) continue;
    const group = lowestMoving(view, plan, now);
    for (const index of places) {
      const entry = plan.tickets[index];
      if (!entry || entry.group > group) continue;
      const candidate = consider(view, limits, plan, entry, decision, now);
      if (candidate) candidates.push({ ...candidate, index });
    }
  }
  candidates.sort(compareTurns);
  fill(view, candidates, limits, decision, now);
  return decision;
}

function sceneOf(view: WorkView, shortlist: Shortlist | undefined): Scene {
  const plainly = failuresIn(view);
  if (!shortlist) return { ...view, failed: plainly, list: everything(view) };
  const failed = (plan: Plan) => {
    const known = shortlist.failed(plan);
    return known === null ? plainly(plan) : known;
  };
  return { ...view, failed, list: shortlist, ready: shortlist.ready() };
}

/** Considers every ticket, for callers without a shortlist. */
function everything(view: WorkView): Scene['list'] {
  const active = view.plans.filter(({ status }) => status === 'active');
  const isOver = (plan: Plan) => isAllComplete(plan, ticketsOf(view, plan));
  return {
    completed: () => active.filter(isOver),
    awake: () => active.flatMap((plan) => (isOver(plan) ? [] : [[plan, [...plan.tickets.keys()]]])),
    movable: ({ tickets }) => tickets.keys(),
  };
}

function consider(
  view: Scene,
  limits: Limits,
  plan: Plan,
  entry: PlanEntry,
  decision: Decision,
  now: string,
): Omit<Candidate, 'index'> | undefined {
  const key = refKey({ planId: plan.id, ticketId: entry.ticketId });
  const ticket = view.tickets.get(key);
  if (!ticket || limits.driven.has(key) || !limits.mine(plan, entry)) return undefined;
  // A run that waits for its tickets also waits for the person's command.
  if (isBrieflyPaused(ticket, now)) wakeBy(decision, ticket.hold?.goesOnBy ?? null);
  if (!movesByItself(ticket)) return undefined;
  if (waitsForBlockers(ticket)) {
    const halted = view.failed(plan);
    const hold = blockedBy(view, plan, entry) ?? (halted ? haltedHold(halted) : null);
    if (hold) {
      if (ticket.status !== 'queued' || !sameHold(ticket.hold, hold))
        decision.changes.push(settle(ticket, now, { status: 'queued', hold }));
      return undefined;
    }
  }
  const held =
    ticket.status === 'ready' && !isDue(ticket, now) ? currentHold(limits, plan, ticket) : undefined;
  if (held) {
    wakeBy(decision, held.kind === 'memory' ? later(now, MEMORY_CHECK_MS) : held.until);
    if (isWorthWriting(ticket.hold, held))
      decision.changes.push(settle(ticket, now, { status: 'ready', hold: held }));
    return undefined;
  }
  const lift = held === null;
  // Whether it is its turn is decided at each call.
  const waitsItsTurn = ticket.hold?.kind === 'delay' || ticket.hold?.kind === 'starts';
  if (!lift && !isDue(ticket, now) && ticket.status !== 'queued' && !waitsItsTurn) {
    wakeBy(decision, ticket.hold?.until ?? null);
    return undefined;
  }
  const slot = ticket.hold?.kind !== 'poll' && ticket.hold?.kind !== 'gate';
  return { plan, entry, ticket, slot, lift };
}

/** The current hold of a ticket whose agent may not start. It may have ended early, or it has no end time. */
function currentHold(limits: Limits, plan: Plan, ticket: Ticket): Hold | null | undefined {
  const kind = ticket.hold?.kind;
  // Its plan was not ready; whether it is now is asked before it begins.
  if (kind === 'broken' && ticket.phaseHistory.length === 0 && !ticket.hold?.until) return null;
  if (kind !== 'limit' && kind !== 'budget' && kind !== 'memory') return undefined;
  return limits.admits?.(plan, ticket);
}

/** Whether a changed hold is worth a write. Another amount of free memory or another report of the same limit is not. */
function isWorthWriting(before: Hold | null, after: Hold): boolean {
  if (before?.kind !== after.kind || before.until !== after.until) return true;
  return after.kind === 'budget' && before.reason !== after.reason;
}

function later(now: string, ms: number): string {
  return new Date(Date.parse(now) + ms).toISOString();
}

function wakeBy(decision: Decision, until: string | null): void {
  if (until && (decision.wakeAt === null || Date.parse(until) < Date.parse(decision.wakeAt)))
    decision.wakeAt = until;
}

/** Compares two tickets: started ones first, then by order, then as listed. */
function compareTurns(a: Candidate, b: Candidate): number {
  const begun = Number(b.ticket.phaseHistory.length > 0) - Number(a.ticket.phaseHistory.length > 0);
  return (
    begun ||
    a.entry.order - b.entry.order ||
    (a.plan.id < b.plan.id ? -1 : a.plan.id > b.plan.id ? 1 : a.index - b.index)
  );
}

/** All candidates in their turn, with those that are ready among them. */
function* merged(view: Scene, candidates: readonly Candidate[], limits: Limits): Iterable<Candidate> {
  let at = 0;
  for (;;) {
    const next = candidates[at];
    const ready = view.ready?.peek();
    const key = ready && refKey({ planId: ready.plan.id, ticketId: ready.entry.ticketId });
    const ticket = key === undefined ? undefined : view.tickets.get(key);
    const other = ready && ticket && { ...ready, ticket, slot: true, lift: false };
    if (!ready || (next && other && compareTurns(next, other) < 0)) {
      if (!next) return;
      at += 1;
      yield next;
    } else if (view.broken.has(ready.plan.id)) view.ready?.leave(ready.plan.id);
    else {
      view.ready?.take();
      if (other && !limits.driven.has(key ?? '') && limits.mine(ready.plan, ready.entry)) yield other;
    }
  }
}

function fill(view: Scene, candidates: Candidate[], limits: Limits, decision: Decision, now: string): void {
  let free = limits.maxConcurrency - limits.busy.size;
  let polls = MAX_POLLS_AT_ONCE - (limits.driven.size - limits.busy.size);
  const perPlan = new Map<string, number>();
  for (const key of limits.busy) {
    const planId = key.slice(0, key.indexOf('/'));
    perPlan.set(planId, (perPlan.get(planId) ?? 0) + 1);
  }
  const repositories = new RepositoryCount(view, limits);
  /** Plans of which nothing new begins now. */
  const closed = new Set<string>();
  const turns = turnsOf(view, now);
  let moreMemory = true;
  const isCrowded = new Set<string>();
  for (const { plan, ticket, slot, lift } of merged(view, candidates, limits)) {
    if (isYetToBegin(plan, ticket)) {
      if (closed.has(plan.id)) continue;
      const hold = turns(plan, ticket);
      if (hold !== undefined) {
        closed.add(plan.id);
        wakeBy(decision, hold?.until ?? null);
        const status = hold?.kind === 'blocked' ? 'queued' : 'ready';
        if (hold && !sameHold(ticket.hold, hold))
          decision.changes.push(settle(ticket, now, { status, hold }));
        continue;
      }
      if (ticket.hold?.kind === 'starts') {
        decision.changes.push(settle(ticket, now, { status: 'ready' }));
        continue;
      }
    }
    const ref = refOf(ticket);
    if (!slot) {
      if (polls <= 0 || limits.place?.(plan, ticket, slot) === false) continue;
      polls--;
      decision.dispatch.push({ ...ref, slot });
      continue;
    }
    const used = perPlan.get(plan.id) ?? 0;
    const most = sharesWorkspace(plan) ? 1 : plan.concurrency;
    const isFull = free <= 0 || (most !== null && used >= most);
    if (isFull || !repositories.hasRoom(plan, ticket)) {
      const mayOfItsPlan = most === null ? used === 0 : used < most;
      if (mayOfItsPlan && !limits.ignoresCrowded && !isCrowded.has(plan.id))
        decision.crowded.push({
          ...ref,
          status: ticket.status,
          phase: ticket.currentPhase,
          alone: used === 0,
          limit: isFull ? 'maxConcurrency' : 'maxPerRepository',
        });
      isCrowded.add(plan.id);
      // From now on nothing happens to those that wait for a slot alone. Other tickets of the plan may be in other repositories.
      if (isFull) view.ready?.leave(limits.ignoresCrowded && free <= 0 ? undefined : plan.id);
      // What it was blocked by is complete: now it waits for a slot alone.
      if (ticket.hold?.kind === 'blocked') decision.changes.push(settle(ticket, now, { status: 'ready' }));
      continue;
    }
    if (ticket.phaseHistory.length === 0) {
      const readiness = limits.readiness?.(plan) ?? 'ready';
      if (readiness !== 'ready') {
        perPlan.set(plan.id, used + 1);
        // The others wait for the result, as for a slot.
        if (readiness === 'unknown') {
          free--;
          repositories.add(plan, ticket);
        } else {
          wakeBy(decision, readiness.again);
          if (!sameHold(ticket.hold, readiness.hold))
            decision.changes.push(settle(ticket, now, { status: 'ready', hold: readiness.hold }));
        }
        continue;
      }
    }
    if (lift && ticket.hold?.kind === 'memory') {
      // One at a time: what it takes is seen only once it runs.
      wakeBy(decision, later(now, MEMORY_CHECK_MS));
      if (!moreMemory) continue;
      moreMemory = false;
    }
    if (!lift && limits.place?.(plan, ticket, slot) === false) continue;
    free--;
    repositories.add(plan, ticket);
    perPlan.set(plan.id, used + 1);
    if (lift) decision.changes.push(settle(ticket, now, { status: 'ready' }));
    else decision.dispatch.push({ ...ref, slot });
  }
}

/** Counts the running tickets of each repository, where that is limited. */
class RepositoryCount {
  readonly #most: number;
  readonly #keyOf: NonNullable<Limits['repositoryKey']>;
  readonly #counts = new Map<string, number>();

  constructor(view: PlansView, { busy, maxPerRepository, repositoryKey = (named) => named }: Limits) {
    this.#most = maxPerRepository ?? Number.POSITIVE_INFINITY;
    this.#keyOf = repositoryKey;
    if (this.#most === Number.POSITIVE_INFINITY) return;
    for (const key of busy) {
      const ticket = view.tickets.get(key);
      const plan = ticket && planOf(view, ticket.planId);
      if (plan) this.add(plan, ticket);
    }
  }

  hasRoom(plan: Plan, ticket: Ticket): boolean {
    if (this.#most === Number.POSITIVE_INFINITY) return true;
    return (this.#counts.get(this.#key(plan, ticket)) ?? 0) < this.#most;
  }

  add(plan: Plan, ticket: Ticket): void {
    if (this.#most === Number.POSITIVE_INFINITY) return;
    const key = this.#key(plan, ticket);
    if (key !== '') this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  #key(plan: Plan, ticket: Ticket): string {
    const named = repositoryOf(plan, ticket);
    return named ? this.#keyOf(named) : '';
  }
}

/** The repository that a ticket works in, as its plan names it. */
export function repositoryOf({ repo, repositories }: Plan, ticket: Ticket): string | null {
  const named = ticket.repo ?? repo;
  return named && (repositories?.[named] ?? named);
}

/** The first group in which something still moves; later ones wait for it. */
function lowestMoving(view: Scene, plan: Plan, now: string): number {
  if (plan.tickets.every((entry) => entry.group === plan.tickets[0]?.group)) return Number.POSITIVE_INFINITY;
  const known = new Map<string, boolean>();
  /** Whether a ticket may still come to an end without a person. One that waits for what will not, or for itself, does not. */
  const willMove = (owner: Plan, entry: PlanEntry): boolean => {
    const ref = { planId: owner.id, ticketId: entry.ticketId };
    const key = refKey(ref);
    const answer = known.get(key);
    if (answer !== undefined) return answer;
    known.set(key, false);
    const moves = canMove(owner, entry, ticketOf(view, ref));
    known.set(key, moves);
    return moves;
  };
  const canMove = (owner: Plan, entry: PlanEntry, ticket: Ticket | undefined): boolean => {
    if (!ticket) return false;
    if (isBrieflyPaused(ticket, now)) return true;
    if (ticket.status === 'needs_attention') return ticket.hold?.kind === 'gate';
    if (!movesByItself(ticket)) return false;
    if (ticket.phaseHistory.length > 0) return true;
    if (view.failed(owner) !== undefined) return false;
    return entry.blockedBy.every((text) => {
      const ref = parseRef(text, owner.id);
      if (ticketOf(view, ref)?.status === 'complete') return true;
      const other = planOf(view, ref.planId);
      const blocker = entryOf(other, ref);
      return other !== undefined && blocker !== undefined && willMove(other, blocker);
    });
  };
  let lowest = Number.POSITIVE_INFINITY;
  for (const place of view.list.movable(plan)) {
    const entry = plan.tickets[place];
    if (entry && entry.group < lowest && willMove(plan, entry)) lowest = entry.group;
  }
  return lowest;
}

/** It has tickets, and all of them are complete. */
export function isAllComplete({ tickets: listed }: Plan, tickets: readonly Ticket[]): boolean {
  const isAll = listed.length > 0 && tickets.length === listed.length;
  return isAll && tickets.every(({ status }) => status === 'complete');
}
