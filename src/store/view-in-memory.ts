import { parseRef, refKey, type StateRef, type TicketRef } from '../model/ids.ts';
import type { Plan } from '../model/plan.ts';
import { entryOf } from '../model/plans/plans-view.ts';
import type { Ticket } from '../model/ticket.ts';
import { directories, isFinished, type Layout, mayBePlan, viewPlan } from './layout-and-view.ts';
import { ifReadable, type StateReader, stampOf, timeOf } from './state-reader.ts';
import type { StoreProblem, StoreView } from './store-interface.ts';

/** A plan as it was last read; undefined where it cannot be. */
interface Kept {
  plan: Plan | undefined;
  problems: StoreProblem[];
}

interface KeptOptions {
  layout: Layout;
  reader: StateReader;
  /** A plan or ticket is no longer what it was. */
  onChange(ref: StateRef): void;
  /** A plan is open (again), or is not any more. */
  onOpen(planId: string, isOpen: boolean): void;
}

/** The plans that are not finished, in memory. Only what changed is read again; of finished plans only the names are kept. */
export class KeptView {
  readonly #options: KeptOptions;
  readonly #plans = new Map<string, Kept>();
  readonly #tickets = new Map<string, Ticket>();
  /** By id, the stamp of plan.json. */
  readonly #finished = new Map<string, string | undefined>();
  /** Tickets of finished plans that something has asked for, by refKey. */
  readonly #asked = new Map<string, Ticket | undefined>();
  #lists: Pick<StoreView, 'plans' | 'problems'> | undefined;

  constructor(options: KeptOptions) {
    this.#options = options;
    this.check('all');
  }

  /** As it is kept: it changes when the plans do. */
  get view(): StoreView {
    this.#lists ??= this.#listed();
    return { ...this.#lists, tickets: this.#tickets, finished: this.#finishedPlans };
  }

  openPlans(): Iterable<string> {
    return this.#plans.keys();
  }

  /** Compares what is kept with the files, of open plans or of all. */
  check(which: 'open' | 'all'): void {
    const names = new Set(directories(this.#options.layout.plans));
    for (const id of [...this.#plans.keys(), ...this.#finished.keys()]) if (!names.has(id)) this.#remove(id);
    for (const id of names) {
      if (!this.#finished.has(id)) {
        this.readPlan(id);
        // It may not have been possible to watch it before.
        if (this.#plans.has(id)) this.#options.onOpen(id, true);
      } else if (which === 'all' && this.#finished.get(id) !== this.#stamp(id)) this.readPlan(id);
    }
    if (which === 'open') return;
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
    const stamp = this.#stamp(id);
    viewPlan(id, read, { layout, reader, openOnly: true });
    const [plan] = read.plans;
    if (plan && isFinished(plan)) return void this.#finish(plan, stamp);
    const before = this.#plans.get(id);
    this.#forgetTickets(before?.plan, read.tickets);
    for (const ticket of read.tickets.values()) this.#setTicket(ticket);
    this.#finished.delete(id);
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
    // What is wrong with a ticket is said beside what is wrong with its plan, so both are read.
    const isPlain = kept?.problems.length === 0 && entryOf(kept.plan, ref) !== undefined;
    const read = () => reader.ticket(layout.ticketFile(ref), ref.planId, ref.ticketId);
    const ticket = isPlain ? ifReadable(read) : undefined;
    if (ticket) this.#setTicket(ticket);
    else this.readPlan(ref.planId);
  }

  /** Takes over what this process has written. */
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

  #setTicket(ticket: Ticket): void {
    const key = refKey(ticket);
    if (this.#tickets.get(key) === ticket) return;
    this.#tickets.set(key, ticket);
    this.#options.onChange(ticket);
  }

  /** Nothing of a finished plan stays in memory but its name. */
  #finish(plan: Plan, stamp: string | undefined): void {
    const { layout, reader, onChange, onOpen } = this.#options;
    const { id } = plan;
    const before = this.#plans.get(id);
    const isNews = before !== undefined || !this.#finished.has(id) || this.#finished.get(id) !== stamp;
    this.#finished.set(id, stamp);
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

  #stamp(id: string): string | undefined {
    return ifReadable(() => stampOf(this.#options.layout.planFile(id)));
  }

  readonly #finishedPlans: NonNullable<StoreView['finished']> = {
    ids: () => this.#finished.keys(),
    since: (time) =>
      [...this.#finished]
        .flatMap(([id, stamp]) => (timeOf(stamp) >= time ? [{ id, at: timeOf(stamp) }] : []))
        .sort((a, b) => b.at - a.at)
        .map(({ id }) => id),
    plan: (id) => {
      const { layout, reader } = this.#options;
      return this.#finished.has(id) ? ifReadable(() => reader.plan(layout.planFile(id), id)) : undefined;
    },
    ticket: (ref) => (this.#finished.has(ref.planId) ? this.#finishedTicket(ref) : undefined),
  };

  #finishedTicket(ref: TicketRef): Ticket | undefined {
    const { layout, reader } = this.#options;
    const ticket = ifReadable(() => reader.ticket(layout.ticketFile(ref), ref.planId, ref.ticketId));
    this.#asked.set(refKey(ref), ticket);
    return ticket;
  }
}

function sameTickets({ tickets: a }: Plan, { tickets: b }: Plan): boolean {
  return a.length === b.length && a.every(({ ticketId }, index) => ticketId === b[index]?.ticketId);
}

function sameProblems(a: readonly StoreProblem[], b: readonly StoreProblem[]): boolean {
  const isSame = (one: StoreProblem, other: StoreProblem | undefined) =>
    one.message === other?.message && one.path === other.path;
  return a.length === b.length && a.every((one, index) => isSame(one, b[index]));
}
