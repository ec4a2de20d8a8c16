import { InputError, messageOf } from '../../model/errors.ts';
import { jsonText } from '../../model/extra-fields.ts';
import { refKey, type StateRef } from '../../model/ids-and-branch-names.ts';
import type { Plan } from '../../model/plan.ts';
import { isFinished } from '../../model/plans/latest-plans-and-unknown-name-errors.ts';
import type { Ticket } from '../../model/ticket.ts';
import { type KnownKinds, parsePlan, parseTicket } from '../parse-and-cache-state-files.ts';
import { missing } from '../state-file-io.ts';
import type { StoreProblem } from '../store-interface.ts';

/** A row of the tables, as it was last read or written. */
export interface Row<T extends Plan | Ticket> {
  rev: number;
  /** The number of its last change. */
  changed: number;
  text: string;
  writer: string | null;
  /** What the text says, or why it cannot be used. */
  value: T | InputError;
}

/** A row of a plan or ticket as the statements in `plan-event-and-lease-statements.ts` return it. */
export interface RawRow {
  plan_id: string;
  ticket_id: string | null;
  rev: number;
  changed: number;
  doc: string;
  writer: string | null;
}

/** A plan with its tickets. */
export interface PlanRows {
  plan: Row<Plan>;
  tickets: Map<string, Row<Ticket>>;
}

/** Reads the texts of rows. */
export class RowReader {
  readonly #kinds: KnownKinds;
  readonly #location: (ref: StateRef) => string;

  constructor(kinds: KnownKinds, location: (ref: StateRef) => string) {
    this.#kinds = kinds;
    this.#location = location;
  }

  plan(raw: RawRow): Row<Plan> {
    const path = this.#location({ planId: raw.plan_id, ticketId: null });
    return rowOf(raw, () => parsePlan(raw.doc, path, raw.plan_id, this.#kinds));
  }

  ticket(raw: RawRow): Row<Ticket> {
    const ref = { planId: raw.plan_id, ticketId: raw.ticket_id ?? '' };
    return rowOf(raw, () => parseTicket(raw.doc, this.#location(ref), ref, this.#kinds));
  }

  /** A plan with its tickets, what is wrong with them, and the tickets that can be used, by `plan/ticket`. */
  examine(
    id: string,
    rows: PlanRows,
  ): { plan?: Plan; tickets: Map<string, Ticket>; problems: StoreProblem[] } {
    const problems: StoreProblem[] = [];
    const note = (ticketId: string | null, what: unknown) => {
      const ref = { planId: id, ticketId };
      problems.push({ ...ref, path: this.#location(ref), message: messageOf(what) });
    };
    const tickets = new Map<string, Ticket>();
    const plan = rows.plan.value;
    if (plan instanceof InputError) {
      note(null, plan);
      return { tickets, problems };
    }
    const listed = new Set(plan.tickets.map(({ ticketId }) => ticketId));
    for (const ticketId of listed) {
      const ref = { planId: id, ticketId };
      const ticket = rows.tickets.get(ticketId)?.value ?? missing(this.#location(ref));
      if (ticket instanceof InputError) note(ticketId, ticket);
      else tickets.set(refKey(ref), ticket);
    }
    for (const ticketId of rows.tickets.keys())
      if (!listed.has(ticketId)) note(ticketId, 'the ticket is not listed in its plan, so it is not run');
    return { plan, tickets, problems };
  }
}

function rowOf<T extends Plan | Ticket>({ rev, changed, doc, writer }: RawRow, parse: () => T): Row<T> {
  try {
    return { rev, changed, text: doc, writer, value: parse() };
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return { rev, changed, text: doc, writer, value: error };
  }
}

/** What the columns beside the text repeat. */
export function columnsOf(value: Plan | Ticket): { claim: string | null; repo: string | null; doc: string } {
  const { claim, repo } = value;
  return {
    claim: claim?.token ?? null,
    repo: typeof repo === 'string' ? repo : null,
    doc: jsonText(value, 2),
  };
}

export function usable<T extends Plan | Ticket>(row: Row<T> | undefined): T | undefined {
  return row === undefined || row.value instanceof InputError ? undefined : row.value;
}

/** A text that cannot be used counts as not finished, so that it is shown. */
export function isRowFinished(row: Row<Plan>): boolean {
  const plan = usable(row);
  return plan !== undefined && isFinished(plan);
}
