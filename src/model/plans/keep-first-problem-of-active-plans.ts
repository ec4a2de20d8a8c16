import { type Changed, defaultBranch, namesAbove, parseRef } from '../ids-and-branch-names.ts';
import { type Plan, type PlanEntry, sharesWorkspace } from '../plan.ts';
import type { Ticket } from '../ticket.ts';
import { dependencyProblems, type PlanProblem, placeProblems } from './dependency-and-branch-problems.ts';
import { type PlansView, planOf, ticketsOf } from './plans-view.ts';

interface Kept {
  plan: Plan;
  /** What is wrong with it as it is written in plan.json. */
  written: PlanProblem | undefined;
  places: Places;
}

interface Options {
  /** Whether problems of the plan are needed. */
  isWanted(planId: string): boolean;
  /** A problem that is reported before all others. */
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
    const knownAcyclic = new Set<string>();
    for (const id of written) this.#read(view, id, knownAcyclic);
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

  #read(view: PlansView, id: string, knownAcyclic: Set<string>): void {
    const plan = this.#options.isWanted(id) ? planOf({ plans: view.plans }, id) : undefined;
    if (plan?.status !== 'active') return void this.#plans.delete(id);
    const written = this.#options.first(plan) ?? dependencyProblems(plan, view, knownAcyclic)[0];
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
