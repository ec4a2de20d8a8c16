import { InputError, SignalboxError } from '../../model/errors.ts';
import { requireId, type StateRef, type TicketRef } from '../../model/ids-and-branch-names.ts';
import type { Plan } from '../../model/plan.ts';
import { isFinished } from '../../model/plans/latest-plans-and-unknown-name-errors.ts';
import type { Ticket } from '../../model/ticket.ts';
import type { FleetClaim } from '../store-interface.ts';
import type { LeaseRow } from './copy-of-leases-roles-and-workers.ts';
import { inTransaction, type Query } from './database-connection.ts';
import { columnsOf, type RawRow, type Row, usable } from './parse-plan-and-ticket-rows.ts';
import {
  CLAIMED,
  NEW_PLAN,
  NEW_TICKETS,
  ONE_PLAN,
  ONE_TICKET,
  PUT_PLAN,
  PUT_TICKET,
} from './plan-event-and-lease-statements.ts';
import { LOCKS, SCHEMA } from './schema.ts';
import type { PgContext } from './store-context-and-command-records.ts';

/** A change of a ticket, and what else belongs to its transaction. */
interface TicketChange {
  ref: TicketRef;
  change(ticket: Ticket): Ticket;
  alsoIn(query: Query, ticket: Ticket): Promise<void>;
}

interface Written {
  changed: number;
  at: number;
}

/** Every change of plans and tickets, compared with the latest and then set. */
export class RowChanges {
  readonly #context: PgContext;

  constructor(context: PgContext) {
    this.#context = context;
  }

  /** `alone`: in a transaction in which no other process writes, after all is read that others have written. */
  async updateTicket(ref: TicketRef, change: (ticket: Ticket) => Ticket, alone = false): Promise<Ticket> {
    const { mirror } = this.#context.connected;
    const put = async (query: Query, before: Row<Ticket>, value: Ticket, writer: string) => {
      const written = await putTicket(query, before, value, writer);
      if (written) mirror.setTicket(ref, written);
      return written !== undefined;
    };
    return this.#update<Ticket>(ref, change, put, alone);
  }

  /**
   * Changes tickets in one transaction, if `may` says so in it; whether it did. A ticket that is not as it is in memory is left out: another
   * process has changed it.
   */
  async updateTogether(
    changes: readonly TicketChange[],
    may: (query: Query) => Promise<boolean>,
  ): Promise<boolean> {
    const { connected, writeId } = this.#context;
    return this.#exclusively(async (query) => {
      const written: Row<Ticket>[] = [];
      const isDone = await inTransaction(query, async () => {
        if (!(await may(query))) return false;
        for (const { ref, change, alsoIn } of changes) {
          const before = this.#known(ref) as Row<Ticket> | undefined;
          const ticket = usable(before);
          if (!before || !ticket) continue;
          const value = { ...change(ticket), rev: before.rev + 1 };
          const row = await putTicket(query, before, value, writeId());
          if (!row) continue;
          await alsoIn(query, value);
          written.push(row);
        }
        return true;
      });
      for (const row of written)
        if (!(row.value instanceof InputError)) connected.mirror.setTicket(row.value, row);
      if (written.length < changes.length) await connected.pull(query);
      return isDone;
    });
  }

  /** Claims a ticket in one transaction that counts what else is claimed. Two claims wait for each other. */
  async claim(ref: TicketRef, { hasRoom, change }: FleetClaim): Promise<Ticket> {
    const { connected, reader, writeId, unknown } = this.#context;
    return this.#exclusively(async (query) => {
      const taken = await inTransaction(query, async () => {
        // Others count and write before or after this, never in between.
        const locks = 'select pg_advisory_xact_lock($1, $2), pg_advisory_xact_lock($1, $3)';
        await query(locks, [LOCKS.class, LOCKS.slots, LOCKS.changes]);
        const before = (await this.#fetch(query, ref)) as Row<Ticket> | undefined;
        if (!before) throw unknown(ref);
        if (before.value instanceof InputError) throw before.value;
        const rows = await query<RawRow>(CLAIMED);
        const others = rows.flatMap((row) => {
          const isOwn = row.plan_id === ref.planId && row.ticket_id === ref.ticketId;
          return isOwn ? [] : (usable(reader.ticket(row)) ?? []);
        });
        const after = hasRoom(others) ? change(before.value) : before.value;
        if (after === before.value) return { ticket: after };
        await this.#register(query);
        const ticket = { ...after, rev: Math.max(before.rev, after.rev) + 1 };
        const row = await putTicket(query, before, ticket, writeId());
        return row ? { ticket, row } : { ticket: before.value };
      });
      if (taken.row) connected.mirror.setTicket(ref, taken.row);
      return taken.ticket;
    });
  }

  async updatePlan(id: string, change: (plan: Plan) => Plan, added: readonly Ticket[]): Promise<Plan> {
    const { connected } = this.#context;
    const put = async (query: Query, before: Row<Plan>, value: Plan, writer: string) => {
      const { claim, repo, doc } = columnsOf(value);
      const { rev } = value;
      const values = [id, before.rev, rev, doc, claim, repo, isFinished(value), writer];
      const write = async () => {
        const [done] = await query<Written>(PUT_PLAN, values);
        if (done) await insertTickets(query, id, added, writer);
        return done;
      };
      const wasOpen = connected.mirror.openRows(id) !== undefined;
      const done = added.length > 0 ? await inTransaction(query, write) : await write();
      if (!done) return false;
      // A plan that was finished until now needs its tickets, too.
      if (added.length > 0 || !wasOpen) await connected.pull(query);
      else connected.mirror.setPlan(id, { rev, changed: done.changed, text: doc, writer, value }, done.at);
      return true;
    };
    return this.#update<Plan>({ planId: id, ticketId: null }, change, put);
  }

  async create(plan: Plan, tickets: readonly Ticket[]): Promise<void> {
    const { connected, writeId, records } = this.#context;
    const id = requireId(plan.id, 'plan');
    const writer = writeId();
    const { claim, repo, doc } = columnsOf(plan);
    const exists = new InputError('plan/exists', `A plan "${id}" already exists.`, {
      hint: 'Choose another id.',
    });
    await this.#exclusively(async (query) => {
      const find = `select writer from ${SCHEMA}.plans where id = $1`;
      const [found] = await query<{ writer: string | null }>(find, [id]);
      // An earlier try may have been written although its answer was lost.
      if (found && found.writer !== writer) throw exists;
      const insert = async () => {
        await query(NEW_PLAN, [id, plan.rev, doc, claim, repo, isFinished(plan), writer]);
        await insertTickets(query, id, tickets, writer);
      };
      if (!found)
        await inTransaction(query, insert).catch((error: unknown) => {
          throw hasCode(error, '23505') ? exists : error;
        });
      await records.note(query, { planId: id, ticketId: null });
      await connected.pull(query);
    });
  }

  async remove({ planId, ticketId }: StateRef): Promise<void> {
    requireId(planId, 'plan');
    const { mirror } = this.#context.connected;
    await this.#exclusively(async (query) => {
      if (ticketId === null) await query(`delete from ${SCHEMA}.plans where id = $1`, [planId]);
      else
        await query(`delete from ${SCHEMA}.tickets where plan_id = $1 and ticket_id = $2`, [
          planId,
          requireId(ticketId, 'ticket'),
        ]);
      await this.#context.records.note(query, { planId, ticketId });
      mirror.remove({ planId, ticketId });
    });
  }

  async restore(ticket: Ticket): Promise<void> {
    const { connected, writeId } = this.#context;
    const { planId, ticketId } = ticket;
    await this.#exclusively(async (query) => {
      const row = await this.#fetch(query, { planId, ticketId });
      if (usable(row as Row<Ticket> | undefined)) return;
      const next = { ...ticket, rev: Math.max(ticket.rev, row?.rev ?? 0) + 1 };
      await inTransaction(query, async () => {
        if (row) await putRecord(query, `broken ${planId}/${ticketId}`, row.text);
        await insertTickets(query, planId, [next], writeId());
      });
      await connected.pull(query);
    });
  }

  #exclusively<T>(work: (query: Query) => Promise<T>): Promise<T> {
    return this.#context.write(async (query) => {
      await this.#register(query);
      return work(query);
    });
  }

  /**
   * Applies a change to what is in memory, and writes the result if that was the latest. A change that writes nothing or throws may
   * have been misled by an old state, so it is repeated with the latest.
   */
  async #update<T extends Plan | Ticket>(
    ref: StateRef,
    change: (value: T) => T,
    put: (query: Query, before: Row<T>, after: T, writer: string) => Promise<boolean>,
    alone = false,
  ): Promise<T> {
    requireId(ref.planId, 'plan');
    if (ref.ticketId !== null) requireId(ref.ticketId, 'ticket');
    const writer = this.#context.writeId();
    let tries = 0;
    const update = async (query: Query) => {
      tries += 1;
      // An earlier try may have been written although its answer was lost.
      for (let isLatest = tries > 1; ; isLatest = true) {
        const row = (isLatest ? await this.#fetch(query, ref) : this.#known(ref)) as Row<T> | undefined;
        if (isLatest && !row) throw this.#context.unknown(ref);
        if (!row || (!isLatest && this.#isDoubtful(row.value))) continue;
        if (row.value instanceof InputError) throw row.value;
        if (row.writer === writer) return row.value;
        const before = row.value;
        const after = ifLatest(isLatest, () => change(before));
        if (after === before && isLatest) return before;
        if (after === undefined || after === before) continue;
        await this.#register(query);
        const next = { ...after, rev: Math.max(before.rev, after.rev, row.rev) + 1 };
        if (!(await put(query, row, next, writer))) continue;
        await this.#context.records.note(query, ref);
        return next;
      }
    };
    const whileAlone = (query: Query) =>
      inTransaction(query, async () => {
        await waitForChanges(query);
        await this.#context.connected.pull(query);
        return update(query);
      });
    return this.#exclusively(alone ? whileAlone : update);
  }

  async #register(query: Query): Promise<void> {
    const { unregistered } = this.#context;
    for (const holder of unregistered) await holder.register(query);
    unregistered.clear();
  }

  #known({ planId, ticketId }: StateRef): Row<Plan> | Row<Ticket> | undefined {
    const rows = this.#context.connected.mirror.openRows(planId);
    return ticketId === null ? rows?.plan : rows?.tickets.get(ticketId);
  }

  /** Whether it cannot be read, or has a claim that looks dead, of which only the database can be sure. */
  #isDoubtful(value: Plan | Ticket | InputError): boolean {
    if (value instanceof InputError) return true;
    const { claim } = value;
    return claim !== null && (this.#context.connected.leases.left(claim.token) ?? 0) === 0;
  }

  /** Reads one plan or ticket with the lease of its claim, and takes over what others did. */
  async #fetch(query: Query, ref: StateRef): Promise<Row<Plan> | Row<Ticket> | undefined> {
    const { connected, reader } = this.#context;
    const { planId, ticketId } = ref;
    const [statement, values] = ticketId === null ? [ONE_PLAN, [planId]] : [ONE_TICKET, [planId, ticketId]];
    const [raw] = await query<RawRow & LeaseRow>(statement, values);
    if (raw?.token) connected.leases.note(raw);
    if (raw?.changed === this.#known(ref)?.changed) return this.#known(ref);
    await connected.pull(query);
    const latest = this.#known(ref);
    if (latest || !raw) return latest;
    return ticketId === null ? reader.plan(raw) : reader.ticket(raw);
  }
}

/** Writes a ticket if it is still as it was; undefined where another process was faster. */
async function putTicket(
  query: Query,
  before: Row<Ticket>,
  value: Ticket,
  writer: string,
): Promise<Row<Ticket> | undefined> {
  const { claim, repo, doc } = columnsOf(value);
  const { rev, planId, ticketId } = value;
  const values = [planId, ticketId, before.rev, rev, doc, claim, repo, writer];
  const [done] = await query<Written>(PUT_TICKET, values);
  return done && { rev, changed: done.changed, text: doc, writer, value };
}

/** The result; undefined where an error may be due to an old state. */
function ifLatest<T>(isLatest: boolean, work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (isLatest) throw error;
    return undefined;
  }
}

async function insertTickets(
  query: Query,
  planId: string,
  tickets: readonly Ticket[],
  writer: string,
): Promise<void> {
  if (tickets.length === 0) return;
  const columns = tickets.map(columnsOf);
  await query(NEW_TICKETS, [
    planId,
    tickets.map(({ ticketId }) => requireId(ticketId, 'ticket')),
    tickets.map(({ rev }) => rev),
    columns.map(({ doc }) => doc),
    columns.map(({ claim }) => claim),
    columns.map(({ repo }) => repo),
    writer,
  ]);
}

/** Lets changes of other processes come before or after this transaction, never in between. */
export async function waitForChanges(query: Query): Promise<void> {
  await query('select pg_advisory_xact_lock($1, $2)', [LOCKS.class, LOCKS.changes]);
}

export async function putRecord(query: Query, name: string, doc: string): Promise<void> {
  await query(
    `insert into ${SCHEMA}.records (name, rev, doc, changed, changed_at) values ($1, 1, $2, 0, now())
     on conflict (name) do update set doc = excluded.doc, rev = ${SCHEMA}.records.rev + 1`,
    [name, doc],
  );
}

/** Whether the server refused a statement with this code. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof SignalboxError && error.details.code === code;
}
