import { InputError } from '../../model/errors.ts';
import { refKey, type StateRef, type TicketRef } from '../../model/ids-and-branch-names.ts';
import type { Plan } from '../../model/plan.ts';
import type { Ticket } from '../../model/ticket.ts';
import { parseUsage } from '../parse-without-zod.ts';
import type { StoreProblem, StoreView } from '../store-interface.ts';
import {
  isRowFinished,
  type PlanRows,
  type RawRow,
  type Row,
  type RowReader,
  usable,
} from './parse-plan-and-ticket-rows.ts';
import type { ChangedRow, FinishedRow } from './plan-event-and-lease-statements.ts';

export interface MirrorOptions {
  reader: RowReader;
  /** Called for every plan and ticket that has changed. */
  onChange(ref: StateRef): void;
  /** Reads a finished plan with its tickets, and waits for the answer. */
  readPlan(id: string): RawRow[];
  /** Finds tickets of finished plans, and waits for the answer. */
  findNamed(ids: readonly string[]): TicketRef[];
}

/** An open plan, what is wrong with it, and its tickets by id. */
interface OpenPlan extends PlanRows {
  problems: StoreProblem[];
}

/** Finished plans that were read stay in memory until they change, at most so many. */
const MAX_READ_PLANS = 200;

/** Plans that are not finished, as they were when the database was last asked; of finished ones, the names and those that were read. */
export class Mirror {
  readonly #options: MirrorOptions;
  readonly #open = new Map<string, OpenPlan>();
  readonly #tickets = new Map<string, Ticket>();
  /** When they changed last. */
  #finished = new Map<string, number>();
  readonly #read = new Map<string, PlanRows>();
  #lists: Pick<StoreView, 'plans' | 'problems'> | undefined;
  #usage: { text: string; tickets: Ticket[] } = { text: '[]', tickets: [] };
  /** All changes up to this number are known. */
  cursor = -1;

  constructor(options: MirrorOptions) {
    this.#options = options;
  }

  /** Replaces everything, and reports what is different. */
  load(rows: readonly ChangedRow[], finished: readonly FinishedRow[], cursor: number): void {
    const { reader, onChange } = this.#options;
    const plans = new Map<string, PlanRows>();
    for (const raw of rows) {
      if (raw.kind === 'record') this.setUsage(raw.doc);
      if (raw.kind === 'plan') plans.set(raw.plan_id, { plan: reader.plan(raw), tickets: new Map() });
    }
    for (const raw of rows)
      if (raw.kind === 'ticket')
        plans.get(raw.plan_id)?.tickets.set(raw.ticket_id ?? '', this.#sameTicket(raw) ?? reader.ticket(raw));
    this.#read.clear();
    for (const id of this.#open.keys()) if (!plans.has(id)) this.#close(id);
    const [before, now] = [this.#finished, new Map(finished.map(({ id, at }) => [id, at]))];
    for (const id of new Set([...before.keys(), ...now.keys()]))
      if (this.cursor >= 0 && before.get(id) !== now.get(id)) onChange({ planId: id, ticketId: null });
    this.#finished = now;
    for (const [id, each] of plans) this.#setOpen(id, each);
    this.cursor = cursor;
  }

  /** Takes over what has changed, in the order of the changes; `whole`: all tickets of `opened`. Returns what other processes did. */
  apply(
    rows: readonly ChangedRow[],
    whole: readonly RawRow[],
    isOwn: (writer: string | null) => boolean,
  ): StateRef[] {
    const { reader } = this.#options;
    const opened = new Set(this.opened(rows));
    const foreign: StateRef[] = [];
    for (const raw of rows) {
      const { plan_id: planId, ticket_id: ticketId } = raw;
      this.cursor = Math.max(this.cursor, raw.changed);
      if (raw.kind === 'record') this.setUsage(raw.doc);
      else if (raw.kind === 'plan' && opened.has(planId)) {
        const own = whole.filter((each) => each.plan_id === planId);
        const tickets = new Map(own.map((each) => [each.ticket_id ?? '', reader.ticket(each)]));
        this.#setOpen(planId, { plan: reader.plan(raw), tickets });
        if (!isOwn(raw.writer)) foreign.push({ planId, ticketId });
      } else if (this.#take(raw) && !isOwn(raw.writer)) foreign.push({ planId, ticketId });
    }
    return foreign;
  }

  /** Plans in these rows that are open and of which not all tickets are known. */
  opened(rows: readonly ChangedRow[]): string[] {
    return rows.flatMap((raw) =>
      raw.kind === 'plan' && !raw.finished && !this.#open.has(raw.plan_id) ? [raw.plan_id] : [],
    );
  }

  /** Takes over one plan or ticket; whether that was news. */
  #take(raw: ChangedRow): boolean {
    const { reader, onChange } = this.#options;
    const { plan_id: planId, ticket_id: ticketId } = raw;
    if (raw.kind === 'deleted') return this.remove({ planId, ticketId });
    if (ticketId !== null) {
      const open = this.#open.get(planId);
      if (!open) {
        const isKnown = this.#read.get(planId)?.tickets.get(ticketId)?.changed === raw.changed;
        if (!isKnown) this.#read.delete(planId);
        if (!isKnown) onChange({ planId, ticketId });
        return !isKnown;
      }
      if (open.tickets.get(ticketId)?.changed === raw.changed) return false;
      this.#setTicket(planId, ticketId, reader.ticket(raw));
      return true;
    }
    const known = this.#open.get(planId)?.plan ?? this.#read.get(planId)?.plan;
    if (known?.changed === raw.changed) return false;
    this.setPlan(planId, reader.plan(raw), raw.at);
    return true;
  }

  /** Takes over a plan that was written or read. */
  setPlan(id: string, plan: Row<Plan>, at: number): void {
    const open = this.#open.get(id);
    if (!isRowFinished(plan)) return void this.#setOpen(id, { plan, tickets: open?.tickets ?? new Map() });
    if (open) this.#close(id);
    else this.#options.onChange({ planId: id, ticketId: null });
    this.#read.delete(id);
    this.#finished.set(id, at);
  }

  setTicket({ planId, ticketId }: TicketRef, row: Row<Ticket>): void {
    if (this.#open.has(planId)) return void this.#setTicket(planId, ticketId, row);
    this.#read.delete(planId);
    this.#options.onChange({ planId, ticketId });
  }

  setUsage(text: string): void {
    if (text === this.#usage.text) return;
    this.#usage = { text, tickets: parseUsage(text) };
  }

  get usage(): readonly Ticket[] {
    return this.#usage.tickets;
  }

  #sameTicket({ plan_id, ticket_id, changed }: RawRow): Row<Ticket> | undefined {
    const known = this.#open.get(plan_id)?.tickets.get(ticket_id ?? '');
    return known?.changed === changed ? known : undefined;
  }

  #setOpen(id: string, rows: PlanRows): void {
    const { reader, onChange } = this.#options;
    const before = this.#open.get(id);
    const { problems, tickets } = reader.examine(id, rows);
    for (const ticketId of before?.tickets.keys() ?? []) {
      const key = refKey({ planId: id, ticketId });
      if (!tickets.has(key) && this.#tickets.delete(key)) onChange({ planId: id, ticketId });
    }
    for (const [key, ticket] of tickets) {
      if (this.#tickets.get(key) === ticket) continue;
      this.#tickets.set(key, ticket);
      onChange({ planId: id, ticketId: ticket.ticketId });
    }
    this.#finished.delete(id);
    this.#read.delete(id);
    this.#open.set(id, { ...rows, problems });
    if (before?.plan.changed === rows.plan.changed && before.problems.length + problems.length === 0) return;
    this.#lists = undefined;
    onChange({ planId: id, ticketId: null });
  }

  #setTicket(planId: string, ticketId: string, row: Row<Ticket>): void {
    const open = this.#open.get(planId);
    if (!open) return;
    open.tickets.set(ticketId, row);
    const key = refKey({ planId, ticketId });
    // A ticket that is known to be listed has no influence on the others.
    const isPlain =
      open.problems.length === 0 && this.#tickets.has(key) && !(row.value instanceof InputError);
    if (!isPlain) {
      this.#tickets.delete(key);
      this.#options.onChange({ planId, ticketId });
      return void this.#setOpen(planId, open);
    }
    this.#tickets.set(key, row.value as Ticket);
    this.#options.onChange({ planId, ticketId });
  }

  #close(id: string): void {
    const { onChange } = this.#options;
    for (const ticketId of this.#open.get(id)?.tickets.keys() ?? [])
      if (this.#tickets.delete(refKey({ planId: id, ticketId }))) onChange({ planId: id, ticketId });
    this.#open.delete(id);
    this.#lists = undefined;
    onChange({ planId: id, ticketId: null });
  }

  /** Whether there was one. */
  remove({ planId, ticketId }: StateRef): boolean {
    const { onChange } = this.#options;
    if (ticketId === null) {
      const wasFinished = this.#finished.delete(planId);
      this.#read.delete(planId);
      if (this.#open.has(planId)) this.#close(planId);
      else if (wasFinished) onChange({ planId, ticketId: null });
      else return false;
      return true;
    }
    this.#read.delete(planId);
    const open = this.#open.get(planId);
    if (!open?.tickets.delete(ticketId)) return false;
    this.#tickets.delete(refKey({ planId, ticketId }));
    onChange({ planId, ticketId });
    this.#setOpen(planId, open);
    return true;
  }

  has(planId: string): boolean {
    return this.#open.has(planId) || this.#finished.has(planId);
  }

  ids(): string[] {
    return [...this.#open.keys(), ...this.#finished.keys()].sort();
  }

  /** The rows of a plan. A finished one is read if that was not done yet. */
  rows(planId: string): PlanRows | undefined {
    const known = this.#open.get(planId) ?? this.#read.get(planId);
    if (known || !this.#finished.has(planId)) return known;
    const [rows] = rowsOf(this.#options.readPlan(planId), this.#options.reader).values();
    if (!rows) return undefined;
    if (this.#read.size >= MAX_READ_PLANS) this.#read.delete([...this.#read.keys()][0] ?? '');
    this.#read.set(planId, rows);
    return rows;
  }

  /** Those of an open plan, without asking the database. */
  openRows(planId: string): PlanRows | undefined {
    return this.#open.get(planId);
  }

  /** The live view: it changes with the plans. */
  get view(): StoreView {
    this.#lists ??= this.#listed();
    return { ...this.#lists, tickets: this.#tickets, finished: this.#finishedPlans };
  }

  #listed(): Pick<StoreView, 'plans' | 'problems'> {
    const all = [...this.#open].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
    return {
      plans: all.flatMap(({ plan }) => usable(plan) ?? []),
      problems: all.flatMap(({ problems }) => problems),
    };
  }

  readonly #finishedPlans: NonNullable<StoreView['finished']> = {
    ids: () => this.#finished.keys(),
    since: (time, most) =>
      [...this.#finished]
        .filter(([, at]) => at >= time)
        .sort(([, a], [, b]) => b - a)
        .slice(0, most)
        .map(([id]) => id),
    plan: (id) => (this.#finished.has(id) ? usable(this.rows(id)?.plan) : undefined),
    ticket: ({ planId, ticketId }) =>
      this.#finished.has(planId) ? usable(this.rows(planId)?.tickets.get(ticketId)) : undefined,
    named: (ids) => this.#options.findNamed(ids).filter(({ planId }) => this.#finished.has(planId)),
  };
}

/** Plans with their tickets, from rows in which a plan comes before its tickets. */
export function rowsOf(raws: readonly RawRow[], reader: RowReader): Map<string, PlanRows> {
  const plans = new Map<string, PlanRows>();
  for (const raw of raws) {
    if (raw.ticket_id === null) plans.set(raw.plan_id, { plan: reader.plan(raw), tickets: new Map() });
    else plans.get(raw.plan_id)?.tickets.set(raw.ticket_id, reader.ticket(raw));
  }
  return plans;
}
