import { existsSync, readdirSync, type Stats } from 'node:fs';
import { statIfVisible } from '../machine/files/read-and-remove-files.ts';
import { ifUsable } from '../model/errors.ts';
import { idProblem, parseRef, refKey, type StateRef, type TicketRef } from '../model/ids-and-branch-names.ts';
import { PLAN_KINDS, type Plan } from '../model/plan.ts';
import { isFinished } from '../model/plans/latest-plans-and-unknown-name-errors.ts';
import { entryOf } from '../model/plans/plans-view.ts';
import type { Ticket } from '../model/ticket.ts';
import { distrustFinishedIndex, FinishedPlans } from './finished-index.ts';
import type { StateReader } from './parse-and-cache-state-files.ts';
import { directories, type Layout, mayBePlan, viewPlan } from './state-paths-and-read-plans.ts';
import type { StoreProblem, StoreView } from './store-interface.ts';

/** A plan as it was last read; undefined where it cannot be. */
interface PlanInMemory {
  plan: Plan | undefined;
  problems: StoreProblem[];
}

interface ViewOptions {
  layout: Layout;
  reader: StateReader;
  /** Called when a plan or ticket has changed. */
  onChange(ref: StateRef): void;
  /** Called when a plan is opened, opened again or finished. */
  onOpen(planId: string, isOpen: boolean): void;
  /** For a command that only shows plans: finished ones that were all checked a moment ago are not checked again. */
  trustsRecentCheck?: boolean;
}

/** The plans that are not finished, in memory. Only what changed is read again; of finished plans only the names are kept. */
export class ViewInMemory {
  readonly #options: ViewOptions;
  readonly #plansDir: string;
  readonly #plans = new Map<string, PlanInMemory>();
  readonly #tickets = new Map<string, Ticket>();
  readonly #finished: FinishedPlans;
  /** Plans of kinds that other processes may not know: each has to find that out for itself. */
  readonly #ofOtherKinds = new Set<string>();
  /** Tickets of finished plans that something has asked for, by refKey. */
  readonly #asked = new Map<string, Ticket | undefined>();
  #lists: Pick<StoreView, 'plans' | 'problems'> | undefined;

  constructor(options: ViewOptions) {
    this.#options = options;
    this.#plansDir = options.layout.plans;
    this.#finished = new FinishedPlans(options.layout.finishedIndex);
    const dir = this.#plansDir;
    const began = Date.now();
    const isTrusted = options.trustsRecentCheck === true && this.#finished.wasChecked(began);
    const stat = isTrusted ? undefined : (id: string) => this.#stat(id);
    // Most of them are finished: that they are directories is asked only of the others.
    for (const id of existsSync(dir) ? readdirSync(dir) : [])
      if (!this.#finished.confirm(id, stat) && !this.#isSeenFinished(id)) this.readPlan(id);
    if (!isTrusted) this.#noteFinished(began);
  }

  /** The live view: it changes with the plans. */
  get view(): StoreView {
    this.#lists ??= this.#listed();
    return { ...this.#lists, tickets: this.#tickets, finished: this.#finishedPlans };
  }

  /** Compares what is kept with the files, of open plans or of all. */
  check(which: 'open' | 'all'): void {
    const began = Date.now();
    const names = new Set(directories(this.#options.layout.plans));
    for (const id of [...this.#plans.keys(), ...this.#finished.ids()]) if (!names.has(id)) this.#remove(id);
    for (const id of names) {
      if (!this.#finished.has(id)) {
        this.readPlan(id);
        // Watching it may have failed before.
        if (this.#plans.has(id)) this.#options.onOpen(id, true);
      } else if (which === 'all' && !this.#finished.isSame(id, this.#stat(id))) this.readPlan(id);
    }
    if (which === 'open') return;
    this.#noteFinished(began);
    for (const [key, before] of [...this.#asked]) {
      const ref = parseRef(key, '');
      if (!this.#finished.has(ref.planId)) this.#asked.delete(key);
      else if (this.#finishedTicket(ref) !== before) this.#options.onChange(ref);
    }
  }

  /** Reads a plan and its tickets again, as far as their files have changed. */
  readPlan(id: string): void {
    const { layout, reader, onChange } = this.#options;
    if (!mayBePlan(layout.plans, id)) return void this.#remove(id);
    const read: StoreView = { plans: [], tickets: new Map(), problems: [] };
    const stat = this.#stat(id);
    viewPlan(id, read, { layout, reader, openOnly: true });
    const [plan] = read.plans;
    if (plan && isFinished(plan)) return void this.#finish(plan, stat);
    const before = this.#plans.get(id);
    this.#forgetTickets(before?.plan, read.tickets);
    for (const [key, ticket] of read.tickets) this.#setTicket(ticket, key);
    if (this.#finished.delete(id)) distrustFinishedIndex(layout);
    this.#plans.set(id, { plan, problems: read.problems });
    if (before && before.plan === plan && sameProblems(before.problems, read.problems)) return;
    this.#lists = undefined;
    onChange({ planId: id, ticketId: null });
    this.#options.onOpen(id, true);
  }

  readTicket(ref: TicketRef): void {
    const kept = this.#plans.get(ref.planId);
    if (this.#finished.has(ref.planId)) return;
    const { layout, reader } = this.#options;
    // Problems of tickets are reported beside those of their plan, so both are read.
    const isPlain = kept?.problems.length === 0 && entryOf(kept.plan, ref) !== undefined;
    const read = () => reader.ticket(layout.ticketFile(ref), ref.planId, ref.ticketId);
    const ticket = isPlain ? ifUsable(read) : undefined;
    if (ticket) this.#setTicket(ticket);
    else this.readPlan(ref.planId);
  }

  /** Updates the view with what this process has written. */
  wrote(value: Plan | Ticket): void {
    if ('ticketId' in value) {
      const kept = this.#plans.get(value.planId);
      if (kept?.problems.length === 0 && entryOf(kept.plan, value)) this.#setTicket(value);
      else this.readTicket(value);
      return;
    }
    const kept = this.#plans.get(value.id);
    if (!kept?.plan || isFinished(value) || !sameTickets(kept.plan, value))
      return void this.readPlan(value.id);
    kept.plan = value;
    this.#lists = undefined;
    this.#options.onChange({ planId: value.id, ticketId: null });
  }

  #listed(): Pick<StoreView, 'plans' | 'problems'> {
    const kept = [...this.#plans].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
    return {
      plans: kept.flatMap(({ plan }) => plan ?? []),
      problems: kept.flatMap(({ problems }) => problems),
    };
  }

  #setTicket(ticket: Ticket, key = refKey(ticket)): void {
    if (this.#tickets.get(key) === ticket) return;
    this.#tickets.set(key, ticket);
    this.#options.onChange(ticket);
  }

  /** Nothing of a finished plan stays in memory but its name. */
  #finish(plan: Plan, stat: Stats | undefined): void {
    const { layout, reader, onChange, onOpen } = this.#options;
    const { id } = plan;
    const before = this.#plans.get(id);
    const isNews = before !== undefined || !this.#finished.isSame(id, stat);
    this.#finished.set(id, stat, ticketIdsOf(plan));
    if (plan.kind && !PLAN_KINDS.some((kind) => kind === plan.kind)) this.#ofOtherKinds.add(id);
    for (const { ticketId } of before?.plan?.tickets ?? [])
      reader.release(layout.ticketFile({ planId: id, ticketId }));
    reader.release(layout.planFile(id));
    if (before) this.#close(id);
    if (isNews) onChange({ planId: id, ticketId: null });
    if (before) onOpen(id, false);
  }

  #remove(id: string): void {
    const wasOpen = this.#plans.has(id);
    if (!this.#finished.delete(id) && !wasOpen) return;
    this.#close(id);
    this.#options.onChange({ planId: id, ticketId: null });
    if (wasOpen) this.#options.onOpen(id, false);
  }

  #close(id: string): void {
    this.#forgetTickets(this.#plans.get(id)?.plan, new Map());
    this.#plans.delete(id);
    this.#lists = undefined;
  }

  #forgetTickets(plan: Plan | undefined, except: ReadonlyMap<string, Ticket>): void {
    for (const { ticketId } of plan?.tickets ?? []) {
      const ref = { planId: plan?.id ?? '', ticketId };
      if (!except.has(refKey(ref)) && this.#tickets.delete(refKey(ref))) this.#options.onChange(ref);
    }
  }

  #stat(id: string): Stats | undefined {
    return statIfVisible(`${this.#plansDir}/${id}/plan.json`);
  }

  /** Reads a plan that is probably finished, with few questions to the system: there may be thousands. */
  #isSeenFinished(id: string): boolean {
    const stat = idProblem(id) ? undefined : this.#stat(id);
    if (!stat?.isFile() || stat.size > MAX_QUICK_READ_BYTES) return false;
    const file = `${this.#plansDir}/${id}/plan.json`;
    const plan = ifUsable(() => this.#options.reader.plan(file, id, stat));
    if (!plan || !isFinished(plan)) return false;
    this.#finish(plan, stat);
    return true;
  }

  /** `began`: when the check of all finished plans began. */
  #noteFinished(began: number): void {
    this.#finished.recordCheck(began, (id) => !this.#ofOtherKinds.has(id));
  }

  readonly #finishedPlans: NonNullable<StoreView['finished']> = {
    ids: () => this.#finished.ids(),
    since: (time, most) => this.#finished.since(time, most),
    plan: (id) => {
      const { layout, reader } = this.#options;
      return this.#finished.has(id) ? ifUsable(() => reader.plan(layout.planFile(id), id)) : undefined;
    },
    ticket: (ref) => (this.#finished.has(ref.planId) ? this.#finishedTicket(ref) : undefined),
    named: (ids) =>
      [...this.#finished.ids()].flatMap((planId) => {
        const all = this.#finished.ticketIds(planId) ?? ticketIdsOf(this.#finishedPlans.plan(planId));
        const isNamed = (own: string) => ids.some((id) => own === id || own.endsWith(`-${id}`));
        // Most plans have none of them.
        if (!ids.some((id) => all.includes(id))) return [];
        return all.split(' ').flatMap((ticketId) => (isNamed(ticketId) ? { planId, ticketId } : []));
      }),
  };

  #finishedTicket(ref: TicketRef): Ticket | undefined {
    const { layout, reader } = this.#options;
    const ticket = ifUsable(() => reader.ticket(layout.ticketFile(ref), ref.planId, ref.ticketId));
    this.#asked.set(refKey(ref), ticket);
    return ticket;
  }
}

/** With spaces between them. */
function ticketIdsOf(plan: Plan | undefined): string {
  return (plan?.tickets ?? []).map(({ ticketId }) => ticketId).join(' ');
}

function sameTickets({ tickets: a }: Plan, { tickets: b }: Plan): boolean {
  return a.length === b.length && a.every(({ ticketId }, index) => ticketId === b[index]?.ticketId);
}

function sameProblems(a: readonly StoreProblem[], b: readonly StoreProblem[]): boolean {
  const isSame = (one: StoreProblem, other: StoreProblem | undefined) =>
    one.message === other?.message && one.path === other.path;
  return a.length === b.length && a.every((one, index) => isSame(one, b[index]));
}

/** A larger file is left to `readPlan`, so that it is not read twice where the plan is open. */
const MAX_QUICK_READ_BYTES = 20_000;
