import { type Changed, parseRef, refKey } from '../ids-and-branch-names.ts';
import { type Plan, type PlanEntry, sharesWorkspace } from '../plan.ts';
import { firstIndex } from '../plans/dependency-order.ts';
import { type PlansView, planOf } from '../plans/plans-view.ts';
import { sameHold, type Ticket } from '../ticket.ts';
import { blockedBy, haltedHold, isFailure } from './blockers-and-stop-on-failure.ts';
import { movesByItself } from './next-step-or-rest.ts';

/** It cannot be read, or only a person moves it. */
const RESTS = 0;
const COMPLETE = 1;
/** It may move once another plan or ticket has changed, and its hold says so already. */
const WAITS = 2;
/** It waits for nothing but a slot. */
const READY = 3;
/** What it waits for depends on the time or on other things: it is considered every time. */
const AWAKE = 4;

type Standing = typeof RESTS | typeof COMPLETE | typeof WAITS | typeof READY | typeof AWAKE;

/** An active plan, with the standing of each of its entries. */
interface Listed {
  plan: Plan;
  standings: Uint8Array;
  /** How many entries have each standing. */
  counts: [number, number, number, number, number];
  /** By ticket id, its place in the plan. */
  places: ReadonlyMap<string, number>;
  /** Places in the order of their turns; undefined: as listed. */
  turns: readonly number[] | undefined;
  /** Its tickets begin whenever there is a slot: they need not take turns. */
  isPlain: boolean;
  /** Places of failures that stop the plan. */
  failures: Set<number>;
  /** Places of entries that are updated when their blockers change. */
  waiting: Set<number>;
  /** The first of `turns` that is ready; -1: none. */
  first: number;
}

/**
 * The tickets that a decision has to consider, updated while plans and tickets change. No decision would change the others, with
 * any limits and at any time.
 */
export class Shortlist {
  readonly #isWanted: (planId: string) => boolean;
  readonly #plans = new Map<string, Listed>();
  /** By what changes (a plan's id, or the refKey of a ticket): the refKeys of tickets that wait for it. */
  readonly #waiters = new Map<string, Set<string>>();
  readonly #awake = new Set<Listed>();
  readonly #complete = new Set<Listed>();
  /** Plans with ready tickets, by the turn of their first. */
  #ready: Listed[] = [];

  constructor(isWanted: (planId: string) => boolean = () => true) {
    this.#isWanted = isWanted;
  }

  /** `changed`: all that may differ from the view that was given last. */
  update(view: PlansView, changed: Changed): void {
    if (changed === 'unknown') {
      for (const id of [...this.#plans.keys()]) this.#drop(id);
      for (const { id } of view.plans) this.#list(view, id);
      return;
    }
    const plans = new Set(changed.flatMap(({ planId, ticketId }) => (ticketId === null ? planId : [])));
    for (const id of plans) this.#list(view, id);
    const again = new Set<string>();
    for (const { planId, ticketId } of changed) {
      const key = ticketId === null ? planId : refKey({ planId, ticketId });
      if (ticketId !== null && !plans.has(planId)) again.add(key);
      for (const waiter of this.#waiters.get(key) ?? []) again.add(waiter);
    }
    for (const key of again) {
      const { planId, ticketId } = parseRef(key, '');
      this.#look(view, planId, ticketId);
    }
  }

  /** Plans all of whose tickets are complete. */
  completed(): Plan[] {
    return [...this.#complete].map(({ plan }) => plan).sort(byId);
  }

  /** Plans with tickets that have to be considered, and the places of these. */
  awake(): [Plan, number[]][] {
    const listed = [...this.#awake].map((each): [Plan, number[]] => [each.plan, placesOf(each, isAwake)]);
    return listed.sort(([a], [b]) => byId(a, b));
  }

  /** Places of tickets that may still move. */
  movable(plan: Plan): Iterable<number> {
    const listed = this.#plans.get(plan.id);
    return listed ? placesOf(listed, (standing) => standing >= WAITS) : plan.tickets.keys();
  }

  /** The ticket whose failure stops a plan; null: nothing is known of the plan. */
  failed({ id }: Plan): string | undefined | null {
    const listed = this.#plans.get(id);
    return listed ? failedIn(listed) : null;
  }

  ready(): ReadyTurns {
    return new ReadyTurns(this.#ready);
  }

  #list(view: PlansView, id: string): void {
    this.#drop(id);
    const plan = this.#isWanted(id) ? planOf({ plans: view.plans }, id) : undefined;
    if (plan?.status !== 'active') return;
    const { tickets } = plan;
    const places = new Map(tickets.map(({ ticketId }, place) => [ticketId, place]));
    const listed: Listed = {
      plan,
      standings: new Uint8Array(tickets.length),
      counts: [tickets.length, 0, 0, 0, 0],
      places,
      turns: turnsOf(tickets),
      isPlain:
        !sharesWorkspace(plan) &&
        !plan.starts &&
        !plan.delaySeconds &&
        tickets.every(({ group }) => group === tickets[0]?.group),
      failures: new Set(),
      waiting: new Set(),
      first: -1,
    };
    this.#plans.set(id, listed);
    // A ticket that is listed twice has no place of its own; such a plan is refused anyway.
    if (places.size < tickets.length) listed.standings.fill(AWAKE);
    else this.#lookAtAll(view, listed);
    this.#place(listed);
  }

  #drop(id: string): void {
    const listed = this.#plans.get(id);
    if (!listed) return;
    for (const place of listed.waiting) this.#listen(listed, place, false);
    this.#plans.delete(id);
    this.#awake.delete(listed);
    this.#complete.delete(listed);
    this.#leaveReady(listed);
  }

  #look(view: PlansView, planId: string, ticketId: string): void {
    const listed = this.#plans.get(planId);
    const place = listed?.places.get(ticketId);
    if (!listed || place === undefined || listed.places.size < listed.standings.length) return;
    const failed = failedIn(listed);
    const isSame = this.#noteFailure(view, listed, place) || failedIn(listed) === failed;
    if (isSame) this.#judge(view, listed, place);
    else this.#lookAtAll(view, listed);
    this.#place(listed);
  }

  #lookAtAll(view: PlansView, listed: Listed): void {
    for (const place of listed.standings.keys()) this.#noteFailure(view, listed, place);
    for (const place of listed.standings.keys()) this.#judge(view, listed, place);
  }

  /** True: failures do not stop the plan. */
  #noteFailure(view: PlansView, { plan, failures }: Listed, place: number): boolean {
    if (!plan.stopOnFailure) return true;
    if (isFailure(ticketAt(view, plan, place))) failures.add(place);
    else failures.delete(place);
    return false;
  }

  #judge(view: PlansView, listed: Listed, place: number): void {
    const { plan, standings, counts } = listed;
    const ticket = ticketAt(view, plan, place);
    const entry = plan.tickets[place];
    const before = (standings[place] ?? RESTS) as Standing;
    const after = ticket && entry ? standingOf(view, listed, entry, ticket) : RESTS;
    standings[place] = after;
    counts[before] -= 1;
    counts[after] += 1;
    const mayBeHeld = after >= WAITS && ticket !== undefined && waitsForBlockers(ticket);
    if (mayBeHeld !== listed.waiting.has(place)) this.#listen(listed, place, mayBeHeld);
  }

  /** Starts or stops updating an entry when one of its blockers changes. */
  #listen({ plan, waiting }: Listed, place: number, listens: boolean): void {
    const { ticketId = '', blockedBy: names = [] } = plan.tickets[place] ?? {};
    if (names.length === 0) return;
    const waiter = refKey({ planId: plan.id, ticketId });
    for (const name of names) {
      const ref = parseRef(name, plan.id);
      // A change of its own plan makes everything new.
      const keys = ref.planId === plan.id ? [refKey(ref)] : [refKey(ref), ref.planId];
      for (const key of keys) {
        const known = this.#waiters.get(key) ?? new Set();
        if (listens) known.add(waiter);
        else known.delete(waiter);
        if (known.size > 0) this.#waiters.set(key, known);
        else this.#waiters.delete(key);
      }
    }
    if (listens) waiting.add(place);
    else waiting.delete(place);
  }

  /** Puts a plan where its tickets belong by their standings. */
  #place(listed: Listed): void {
    const { counts, standings } = listed;
    const isOdd = listed.places.size < standings.length;
    put(this.#awake, listed, isOdd || counts[AWAKE] > 0);
    put(this.#complete, listed, !isOdd && standings.length > 0 && counts[COMPLETE] === standings.length);
    const first = counts[READY] > 0 ? nextReady(listed, 0) : -1;
    if (first === listed.first) return;
    this.#leaveReady(listed);
    listed.first = first;
    if (first < 0) return;
    const turn = { listed, at: first };
    const place = firstIndex(this.#ready, (each) => comesBefore(turn, { listed: each, at: each.first }));
    this.#ready.splice(place, 0, listed);
  }

  #leaveReady(listed: Listed): void {
    if (listed.first >= 0) this.#ready = this.#ready.filter((each) => each !== listed);
    listed.first = -1;
  }
}

interface Turn {
  listed: Listed;
  /** In the order of the plan's turns. */
  at: number;
}

/** The ready tickets of all plans, in the order of their turns. */
export class ReadyTurns {
  /** The next of each plan, in order; those before `#at` are over. */
  #queue: Turn[];
  #at = 0;

  constructor(ready: readonly Listed[]) {
    this.#queue = ready.map((listed) => ({ listed, at: listed.first }));
  }

  /** The next one; it stays the next until it is taken. */
  peek(): { plan: Plan; entry: PlanEntry; index: number } | undefined {
    const turn = this.#queue[this.#at];
    if (!turn) return undefined;
    const index = placeAt(turn.listed, turn.at);
    return { plan: turn.listed.plan, entry: turn.listed.plan.tickets[index] as PlanEntry, index };
  }

  take(): void {
    const turn = this.#queue[this.#at];
    if (!turn) return;
    this.#at += 1;
    const at = nextReady(turn.listed, turn.at + 1);
    if (at < 0) return;
    const next = { ...turn, at };
    const place = firstIndex(this.#queue, (each) => comesBefore(next, each), this.#at);
    this.#queue.splice(place, 0, next);
  }

  /** Leaves out what is left of a plan, or of all. */
  leave(planId?: string): void {
    const left = planId === undefined ? [] : this.#queue.slice(this.#at);
    this.#queue = left.filter(({ listed }) => listed.plan.id !== planId);
    this.#at = 0;
  }
}

function standingOf(view: PlansView, listed: Listed, entry: PlanEntry, ticket: Ticket): Standing {
  const { plan } = listed;
  if (ticket.status === 'complete') return COMPLETE;
  if (ticket.status === 'paused' && ticket.hold?.goesOnBy) return AWAKE;
  if (!movesByItself(ticket)) return ticket.hold?.kind === 'gate' ? WAITS : RESTS;
  if (waitsForBlockers(ticket)) {
    const failed = failedIn(listed);
    const hold = blockedBy(view, plan, entry) ?? (failed === undefined ? null : haltedHold(failed));
    if (hold) return ticket.status === 'queued' && sameHold(ticket.hold, hold) ? WAITS : AWAKE;
  }
  const isNew = ticket.phaseHistory.length === 0 && ticket.hold === null && ticket.status !== 'running';
  return isNew && listed.isPlain ? READY : AWAKE;
}

/** Whether blockers, and failures that stop its plan, can keep a ticket back. */
export function waitsForBlockers({ status, phaseHistory }: Ticket): boolean {
  return status === 'queued' || phaseHistory.length === 0;
}

function ticketAt(view: PlansView, { id, tickets }: Plan, place: number): Ticket | undefined {
  return view.tickets.get(refKey({ planId: id, ticketId: tickets[place]?.ticketId ?? '' }));
}

function failedIn({ plan, failures }: Listed): string | undefined {
  return failures.size === 0 ? undefined : plan.tickets[Math.min(...failures)]?.ticketId;
}

function turnsOf(tickets: readonly PlanEntry[]): number[] | undefined {
  if (tickets.every(({ order }, at) => at === 0 || order >= (tickets[at - 1]?.order ?? order)))
    return undefined;
  const orderOf = (place: number) => tickets[place]?.order ?? 0;
  return [...tickets.keys()].sort((a, b) => orderOf(a) - orderOf(b) || a - b);
}

function placeAt({ turns }: Listed, at: number): number {
  return turns ? (turns[at] ?? -1) : at;
}

function nextReady(listed: Listed, from: number): number {
  for (let at = from; at < listed.standings.length; at += 1)
    if (listed.standings[placeAt(listed, at)] === READY) return at;
  return -1;
}

const isAwake = (standing: number) => standing === AWAKE;

function placesOf({ standings }: Listed, isMeant: (standing: number) => boolean): number[] {
  const places: number[] = [];
  for (let place = 0; place < standings.length; place += 1)
    if (isMeant(standings[place] ?? RESTS)) places.push(place);
  return places;
}

function comesBefore(a: Turn, b: Turn): boolean {
  const orderOf = ({ listed, at }: Turn) => listed.plan.tickets[placeAt(listed, at)]?.order ?? 0;
  return orderOf(a) < orderOf(b) || (orderOf(a) === orderOf(b) && a.listed.plan.id < b.listed.plan.id);
}

function byId(a: Plan, b: Plan): number {
  return a.id < b.id ? -1 : 1;
}

function put<T>(set: Set<T>, item: T, isIn: boolean): void {
  if (isIn) set.add(item);
  else set.delete(item);
}
