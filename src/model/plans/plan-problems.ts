import { groupBy } from '../group-by.ts';
import {
  type Changed,
  defaultBranch,
  namesAbove,
  parseRef,
  refKey,
  type TicketRef,
} from '../ids-and-branch-names.ts';
import { type Plan, type PlanEntry, sharesWorkspace } from '../plan.ts';
import type { Ticket } from '../ticket.ts';
import { orderByDependencies } from './dependency-order.ts';
import { type PlansView, planOf, ticketsOf } from './plans-view.ts';

/** What makes a plan impossible to run as it is written. `sound` as in `dependencyProblems`. */
export function planProblems(plan: Plan, known: PlansView, sound?: Set<string>): PlanProblem[] {
  return [...dependencyProblems(plan, known, sound), ...placeProblems(plan, known)];
}

/** What is wrong with the branches and worktrees that its tickets name. */
function placeProblems(plan: Plan, known: PlansView): PlanProblem[] {
  const tickets = sharesWorkspace(plan) ? [] : ticketsOf(known, plan);
  if (!tickets.some(namesPlace)) return [];
  return [...sharedPlaces(plan, tickets), ...nestedBranches(plan, tickets)];
}

/** Default branches and worktrees differ by the tickets' ids: only chosen ones have to be compared. */
function namesPlace({ branch, worktree }: Ticket): boolean {
  return branch !== null || worktree !== null;
}

/** Two tickets on one branch or in one worktree would count each other's work as their own. */
function sharedPlaces(plan: Plan, tickets: readonly Ticket[]): PlanProblem[] {
  const seen = new Map<string, string>();
  const problems: PlanProblem[] = [];
  for (const ticket of tickets) {
    const { ticketId } = ticket;
    for (const field of ['branch', 'worktree'] as const) {
      const value = ticket[field] ?? (field === 'branch' ? defaultBranch(ticket) : null);
      if (value === null) continue;
      const key = `${field}\n${ticket.repo ?? plan.repo}\n${value}`;
      const other = seen.get(key);
      seen.set(key, ticketId);
      if (other === undefined || other === ticketId) continue;
      const message = `Ticket "${ticketId}" has the same ${field} as "${other}": ${value}.`;
      problems.push({ planId: plan.id, ticketId, message, path: field, in: 'ticket' });
    }
  }
  return problems;
}

/** Git cannot have a branch `x` and a branch `x/y`. */
function nestedBranches(plan: Plan, tickets: readonly Ticket[]): PlanProblem[] {
  const all = tickets.map((ticket) => ({
    ticketId: ticket.ticketId,
    branch: ticket.branch ?? defaultBranch(ticket),
    repo: ticket.repo ?? plan.repo,
  }));
  const owners = new Map(all.map(({ ticketId, branch, repo }) => [`${repo}\n${branch}`, ticketId]));
  return all.flatMap(({ ticketId, branch, repo }) => {
    const above = namesAbove(branch).find((name) => owners.has(`${repo}\n${name}`));
    if (above === undefined) return [];
    const other = owners.get(`${repo}\n${above}`);
    const message = `Ticket "${ticketId}" has the branch ${branch}, which git cannot have beside ${above} of "${other}".`;
    return [{ planId: plan.id, ticketId, message, path: 'branch', in: 'ticket' as const }];
  });
}

export interface PlanProblem {
  planId: string;
  ticketId: string | null;
  message: string;
  /** Where in plan.json, or in the ticket's file: `tickets[2].blockedBy[0]`. */
  path?: string;
  in?: 'plan' | 'ticket';
}

/**
 * What makes a plan impossible to run: duplicates, unknown blockers, a ticket that waits for itself. `sound` has tickets that are
 * known not to lead to a cycle, and gets more of them: for callers that ask about many plans.
 */
export function dependencyProblems(
  plan: Plan,
  view: Pick<PlansView, 'plans' | 'finished'>,
  sound = new Set<string>(),
): PlanProblem[] {
  const problems: PlanProblem[] = [];
  const waitsIn = (planId: string) => {
    const own = planId === plan.id ? plan : planOf(view, planId);
    return own && waitsOf(own);
  };
  const seen = new Set<string>();
  /** Where tickets wait for a plan that is missing or broken. */
  const lost: { planId: string; ticketId: string; path: string }[] = [];
  for (const [index, entry] of plan.tickets.entries()) {
    const { ticketId } = entry;
    const about = { planId: plan.id, ticketId, in: 'plan' as const };
    if (seen.has(ticketId))
      problems.push({
        ...about,
        message: `Ticket "${ticketId}" is listed twice.`,
        path: `tickets[${index}]`,
      });
    seen.add(ticketId);
    if (entry.blockedBy.length === 0) continue;
    const before = new Set<string>();
    for (const [place, text] of entry.blockedBy.entries()) {
      const ref = parseRef(text, plan.id);
      const key = refKey(ref);
      const path = `tickets[${index}].blockedBy[${place}]`;
      if (before.has(key))
        problems.push({
          ...about,
          message: `Ticket "${ticketId}" lists "${text}" twice in blockedBy.`,
          path,
        });
      before.add(key);
      const known = waitsIn(ref.planId);
      if (!known) lost.push({ planId: ref.planId, ticketId, path });
      else if (!known.has(ref.ticketId)) {
        const message = `Ticket "${ticketId}" is blocked by "${text}", which does not exist.`;
        problems.push({ ...about, message, path });
      }
    }
  }
  for (const [id, places] of groupBy(lost, ({ planId }) => planId)) {
    const [{ ticketId, path } = { ticketId: null, path: '' }] = places;
    const ids = [...new Set(places.map((place) => place.ticketId))];
    const wait = ids.length === 1 ? 'waits' : 'wait';
    const message = `There is no plan "${id}" that can be read, and ${ids.join(', ')} ${wait} for its tickets.`;
    problems.push({ planId: plan.id, ticketId, message, path, in: 'plan' });
  }
  for (const cycle of cycles(plan, waitsIn, sound)) {
    const ticketId = cycle[0]?.ticketId ?? null;
    const path = [...cycle, cycle[0]].map((ref) =>
      ref?.planId === plan.id ? ref.ticketId : ref && refKey(ref),
    );
    const index = plan.tickets.findIndex((entry) => entry.ticketId === ticketId);
    problems.push({
      planId: plan.id,
      ticketId,
      message: `Tickets wait for each other: ${path.join(' → ')}.`,
      path: `tickets[${index}].blockedBy`,
      in: 'plan',
    });
  }
  return problems;
}

type Waits = ReadonlyMap<string, readonly string[]>;
const waits = new WeakMap<readonly PlanEntry[], Waits>();

/** By ticket, what it waits for. Of one that is listed twice, both lists count. */
function waitsOf({ id, tickets }: Plan): Waits {
  const known = waits.get(tickets);
  if (known) return known;
  const found = new Map<string, string[]>();
  for (const { ticketId, blockedBy } of tickets) {
    const before = blockedBy.map((text) => refKey(parseRef(text, id)));
    found.set(ticketId, [...(found.get(ticketId) ?? []), ...before]);
  }
  waits.set(tickets, found);
  return found;
}

/** Cycles through tickets of this plan: at least one for each ticket that waits for itself, that one first. */
function cycles(
  plan: Plan,
  waitsIn: (planId: string) => Waits | undefined,
  sound: Set<string>,
): TicketRef[][] {
  if (plan.tickets.every((entry) => entry.blockedBy.length === 0)) return [];
  // Only what its tickets lead to can be in a cycle with them. A cycle begins with the item that was given first.
  const keys = new Set(plan.tickets.map(({ ticketId }) => refKey({ planId: plan.id, ticketId })));
  const items: { key: string; dependsOn: readonly string[] }[] = [];
  let allKnown = true;
  for (const key of keys) {
    const { planId, ticketId } = parseRef(key, plan.id);
    const dependsOn = sound.has(key) ? [] : waitsIn(planId)?.get(ticketId);
    allKnown &&= dependsOn !== undefined;
    items.push({ key, dependsOn: dependsOn ?? [] });
    for (const on of dependsOn ?? []) keys.add(on);
  }
  const found = orderByDependencies(items).cycles.map((cycle) => cycle.map((key) => parseRef(key, plan.id)));
  if (found.length === 0 && allKnown) for (const key of keys) sound.add(key);
  return found.filter(([first]) => first?.planId === plan.id);
}

interface Kept {
  plan: Plan;
  /** What is wrong with it as it is written in plan.json. */
  written: PlanProblem | undefined;
  places: Places;
}

interface Options {
  /** Whether problems of the plan are needed. */
  isWanted(planId: string): boolean;
  /** What is wrong with a plan whatever else there is. */
  first(plan: Plan): PlanProblem | undefined;
}

/** What makes active plans impossible to run, kept while plans and tickets change: of each plan the first problem. */
export class KeptProblems {
  readonly #options: Options;
  readonly #plans = new Map<string, Kept>();
  readonly #problems = new Map<string, PlanProblem>();
  /** The entries of plans that were checked, and of plans that they wait for. */
  readonly #entries = new Map<string, readonly PlanEntry[]>();
  /** By plan, those whose tickets wait for it. */
  readonly #behind = new Map<string, Set<string>>();

  constructor(options: Options) {
    this.#options = options;
  }

  /** By plan. */
  get problems(): ReadonlyMap<string, PlanProblem> {
    return this.#problems;
  }

  /** `changed`: all that may differ from the view that was given last. */
  update(view: PlansView, changed: Changed): void {
    let written = new Set<string>();
    const placed = new Set<string>();
    if (changed === 'unknown') {
      for (const map of [this.#plans, this.#problems, this.#entries, this.#behind]) map.clear();
      written = new Set(view.plans.map(({ id }) => id));
    } else {
      const plans = changed.filter(({ ticketId }) => ticketId === null).map(({ planId }) => planId);
      written = this.#concerned(view, new Set(plans));
      for (const { planId, ticketId } of changed) {
        if (ticketId === null) continue;
        if (this.#plans.get(planId)?.places.put(ticketId, view.tickets.get(`${planId}/${ticketId}`)))
          placed.add(planId);
      }
    }
    const sound = new Set<string>();
    for (const id of written) this.#read(view, id, sound);
    for (const id of new Set([...written, ...placed])) this.#conclude(view, id);
  }

  /** These plans, and all that wait in any way for those of them that list other entries than before. */
  #concerned(view: PlansView, changed: ReadonlySet<string>): Set<string> {
    const relisted = [...changed].filter((id) => {
      const before = this.#entries.get(id);
      return before !== undefined && before !== planOf(view, id)?.tickets;
    });
    // Afterwards: following one plan notes the entries of others, too.
    for (const id of relisted) this.#follow(view, id);
    const concerned = new Set(relisted);
    for (const id of concerned) for (const behind of this.#behind.get(id) ?? []) concerned.add(behind);
    return new Set([...changed, ...concerned]);
  }

  #read(view: PlansView, id: string, sound: Set<string>): void {
    const plan = this.#options.isWanted(id) ? planOf({ plans: view.plans }, id) : undefined;
    if (plan?.status !== 'active') return void this.#plans.delete(id);
    const written = this.#options.first(plan) ?? dependencyProblems(plan, view, sound)[0];
    this.#follow(view, id);
    const places = new Places(plan);
    for (const ticket of ticketsOf(view, plan)) places.put(ticket.ticketId, ticket);
    this.#plans.set(id, { plan, written, places });
  }

  #conclude(view: PlansView, id: string): void {
    const kept = this.#plans.get(id);
    const problem = kept?.written ?? (kept?.places.mayClash ? placeProblems(kept.plan, view)[0] : undefined);
    if (problem) this.#problems.set(id, problem);
    else this.#problems.delete(id);
  }

  /** Notes for which plans this one waits, and these in turn: a cycle may lead through any of them. */
  #follow(view: PlansView, planId: string): void {
    const ahead = new Set([planId]);
    for (const id of ahead) {
      const entries = planOf(view, id)?.tickets ?? NONE;
      if (this.#entries.get(id) === entries) continue;
      this.#entries.set(id, entries);
      for (const text of new Set(entries.flatMap(({ blockedBy }) => blockedBy))) {
        const other = parseRef(text, id).planId;
        if (other === id) continue;
        const behind = this.#behind.get(other) ?? new Set();
        this.#behind.set(other, behind.add(id));
        ahead.add(other);
      }
    }
  }
}

const NONE: readonly PlanEntry[] = [];

/** Finds out whether the branches and worktrees of a plan's tickets may clash, without comparing all of them each time. */
class Places {
  readonly #repo: string | null;
  readonly #isShared: boolean;
  /** By ticket, the texts that stand for what it has chosen or was given. */
  readonly #tickets = new Map<string, string[]>();
  readonly #counts = new Map<string, number>();
  #clashes = 0;

  constructor(plan: Plan) {
    this.#repo = plan.repo;
    this.#isShared = sharesWorkspace(plan);
  }

  get mayClash(): boolean {
    return this.#clashes > 0;
  }

  /** Updates a ticket. True: the result may have changed. */
  put(ticketId: string, ticket: Ticket | undefined): boolean {
    const before = this.#tickets.get(ticketId) ?? NO_PLACE;
    const after = ticket && !this.#isShared ? this.#placesOf(ticket) : NO_PLACE;
    if (before.length === after.length && before.every((text, index) => text === after[index])) return false;
    const mightHave = this.mayClash;
    for (const text of before) this.#count(text, -1);
    for (const text of after) this.#count(text, 1);
    if (after.length > 0) this.#tickets.set(ticketId, after);
    else this.#tickets.delete(ticketId);
    return mightHave || this.mayClash;
  }

  #placesOf(ticket: Ticket): string[] {
    const { branch, worktree } = ticket;
    const repo = ticket.repo ?? this.#repo;
    const places = worktree === null ? [] : [`worktree\n${repo}\n${worktree}`];
    // Default branches differ by the tickets' ids.
    if (branch === null || branch === defaultBranch(ticket)) return places;
    const above = namesAbove(branch).map((name) => `above\n${repo}\n${name}`);
    const isLikeDefault = branch === 'ticket' || branch.startsWith('ticket/');
    return [...places, `branch\n${repo}\n${branch}`, ...above, ...(isLikeDefault ? [LIKE_DEFAULT] : [])];
  }

  #count(text: string, more: 1 | -1): void {
    const pair = text.startsWith('branch\n') ? `above${text.slice(6)}` : `branch${text.slice(5)}`;
    const clashesOf = (count: number) => {
      if (count === 0) return 0;
      if (text === LIKE_DEFAULT) return 1;
      const isPlace = !text.startsWith('above\n');
      return (
        (isPlace && count > 1 ? 1 : 0) + (!text.startsWith('worktree\n') && this.#counts.has(pair) ? 1 : 0)
      );
    };
    const before = this.#counts.get(text) ?? 0;
    this.#clashes += clashesOf(before + more) - clashesOf(before);
    if (before + more > 0) this.#counts.set(text, before + more);
    else this.#counts.delete(text);
  }
}

const NO_PLACE: string[] = [];
const LIKE_DEFAULT = 'like a default branch';
