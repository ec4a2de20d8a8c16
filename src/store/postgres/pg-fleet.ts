import { isAlive, type ProcessIdentity } from '../../machine/process-identity-and-signals.ts';
import { onceLeaseIsOver } from '../../model/claim.ts';
import { HeldError } from '../../model/errors.ts';
import type { StoredEvent } from '../../model/events.ts';
import type { Worker } from '../../model/fleet.ts';
import type { TicketRef } from '../../model/ids-and-branch-names.ts';
import type { Ticket } from '../../model/ticket.ts';
import {
  type Delivery,
  type Fleet,
  type FleetClaim,
  type Holder,
  type Order,
  SCHEDULER,
  type StoreOptions,
  type WorkerFacts,
} from '../store-interface.ts';
import type { RowChanges } from './change-plans-and-tickets.ts';
import type { CommandRecords } from './command-records.ts';
import type { Leases, PgHolder } from './pg-holder.ts';
import type { Queue } from './queue.ts';
import { LOCKS, SCHEMA } from './schema.ts';
import { inTransaction, type Query, type Session } from './session.ts';
import { EVENTS, HELD_ROLE, JOIN, LAST_EVENT, WORKERS } from './statements.ts';

interface FleetOptions {
  session: Session;
  leases: Leases;
  changes: RowChanges;
  queue: Queue;
  persist: NonNullable<StoreOptions['persist']>;
  leaseMs: number;
  records: CommandRecords;
  /** Whether an event is this process's. */
  isOwnKey(key: string): boolean;
}

/** Workers, the scheduler and the queue between them. */
export class PgFleet implements Fleet {
  readonly #options: FleetOptions;

  constructor(options: FleetOptions) {
    this.#options = options;
  }

  get leaseMs(): number {
    return this.#options.leaseMs;
  }

  workers(): readonly Worker[] {
    return this.#options.leases.workers();
  }

  async join(holder: Holder, facts: WorkerFacts): Promise<void> {
    const { id, host, version, slots, labels, repos } = facts;
    const { queue, leases, persist } = this.#options;
    // The scheduler may send as soon as the worker is known.
    await persist(() => queue.open(queueOf(id)));
    await this.#write(async (query) => {
      const found = await query<{ id: string; token: string; left: number | null; identity: string | null }>(
        WORKERS,
      );
      const other = found.find((each) => each.id === id && each.token !== holder.token);
      const process = other?.identity ? (JSON.parse(other.identity) as ProcessIdentity) : undefined;
      if (process && (other?.left ?? 0) > 0 && isAlive(process) !== false)
        throw new HeldError(
          'worker/held',
          `Worker ${id} is already running: process ${process.pid} on ${process.host}.`,
          {
            hint:
              isAlive(process) === undefined
                ? onceLeaseIsOver(other?.left ?? 0, 'signalbox worker')
                : 'One worker per state directory; give it more slots, or another SIGNALBOX_HOME.',
          },
        );
      await query(JOIN, [id, holder.token, host, version, slots, labels, repos]);
      await leases.refresh(query);
    });
  }

  async drain(id: string): Promise<boolean> {
    return this.#command('drain', id, async (query) => {
      const set = `update ${SCHEMA}.workers set draining = true where id = $1 returning id`;
      return (await query(set, [id])).length > 0;
    });
  }

  async remove(id: string): Promise<boolean> {
    return this.#command('remove', id, async (query) => {
      const removed = await query<{ token: string }>(
        `delete from ${SCHEMA}.workers where id = $1 returning token`,
        [id],
      );
      for (const { token } of removed) await query(`delete from ${SCHEMA}.holders where token = $1`, [token]);
      return removed.length > 0;
    });
  }

  async takeRole(holder: Holder, name: string): Promise<boolean> {
    const own = holder as PgHolder;
    if (own.hasRole(name)) return true;
    if (own.isOthersRole(name)) return false;
    const { persist } = this.#options;
    return (await persist(() => own.takeRole(name, own.claim(new Date().toISOString())))) === undefined;
  }

  async releaseRole(holder: Holder, name: string): Promise<void> {
    if ((holder as PgHolder).hasRole(name)) await (holder as PgHolder).releaseRole(name);
  }

  async dispatch(holder: Holder, orders: readonly Order[], now: string): Promise<void> {
    const { changes, queue, leases } = this.#options;
    // Loaded before the transaction begins.
    const isSender = async (query: Query) => (await query(HELD_ROLE, [SCHEDULER, holder.token])).length > 0;
    const done = await changes.updateTogether(
      orders.map(({ worker, slot, ...ref }) => ({
        ref,
        change: (ticket: Ticket) => ({
          ...ticket,
          dispatch: { number: (ticket.dispatch?.number ?? 0) + 1, at: now, to: worker, slot },
        }),
        alsoIn: async (query: Query, { planId, ticketId, dispatch }: Ticket) => {
          const { number = 0 } = dispatch ?? {};
          await queue.send(query, queueOf(worker), { planId, ticketId, number });
        },
      })),
      isSender,
    );
    // Another process took over while this one slept.
    if (!done) await this.#write((query) => leases.refresh(query));
  }

  async fetch(worker: string, most: number): Promise<Delivery[]> {
    const { persist, queue } = this.#options;
    const jobs = await persist(() => queue.fetch(queueOf(worker), most));
    return jobs.map(({ id, data }) => ({ ...(data as Omit<Delivery, 'job'>), job: id }));
  }

  async endJob(worker: string, job: string): Promise<void> {
    const { persist, queue } = this.#options;
    await persist(() => queue.end(queueOf(worker), job));
  }

  async tidyQueue(): Promise<void> {
    await this.#options.queue.tidy();
  }

  claim(ref: TicketRef, claim: FleetClaim): Promise<Ticket> {
    return this.#options.changes.claim(ref, claim);
  }

  async keepsClaim(holder: Holder, { planId, ticketId }: TicketRef): Promise<boolean> {
    const find = `select from ${SCHEMA}.tickets where plan_id = $1 and ticket_id = $2 and claim = $3`;
    return this.#write((query) =>
      inTransaction(query, async () => {
        // A process that takes the ticket does so before or after this, never in between.
        await query('select pg_advisory_xact_lock($1, $2)', [LOCKS.class, LOCKS.changes]);
        await (holder as PgHolder).register(query);
        return (await query(find, [planId, ticketId, holder.token])).length > 0;
      }),
    );
  }

  async eventsOfOthers(planId: string, after?: number): Promise<{ events: StoredEvent[]; last: number }> {
    const { session, isOwnKey } = this.#options;
    if (after === undefined) {
      const [end] = await session.query<{ last: number }>(LAST_EVENT, [planId]);
      return { events: [], last: end?.last ?? 0 };
    }
    const rows = await session.query<{ number: number; doc: string; key: string }>(EVENTS, [planId, after]);
    const others = rows.filter(({ key }) => !isOwnKey(key));
    return {
      events: others.map(({ doc }) => JSON.parse(doc) as StoredEvent),
      last: rows.at(-1)?.number ?? after,
    };
  }

  onRenewed(holder: Holder, listener: (sentAt: number) => void): void {
    (holder as PgHolder).onRenewed(listener);
  }

  /** A command about a worker, and the record of it. */
  #command(command: string, about: string, work: (query: Query) => Promise<boolean>): Promise<boolean> {
    const { records } = this.#options;
    return this.#write(async (query) => {
      const done = await work(query);
      if (done) await records.add(query, command, about);
      return done;
    });
  }

  #write<T>(work: (query: Query) => Promise<T>): Promise<T> {
    const { persist, session } = this.#options;
    return persist(() => session.exclusively(work));
  }
}

const queueOf = (worker: string) => `worker-${worker}`;
