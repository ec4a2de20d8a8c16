import { isAlive, type ProcessIdentity } from '../../machine/process-identity-and-signals.ts';
import { HeldError } from '../../model/errors.ts';
import type { StoredEvent } from '../../model/events.ts';
import { onceLeaseIsOver } from '../../model/lease-and-claim-messages.ts';
import type { Ticket } from '../../model/ticket.ts';
import { type Delivery, type Fleet, SCHEDULER } from '../store-interface.ts';
import { type RowChanges, waitForChanges } from './change-plans-and-tickets.ts';
import { inTransaction, type Query } from './database-connection.ts';
import { type Boss, bossDatabase, JOB_OPTIONS, type Queue } from './pg-boss-queue.ts';
import type { PgHolder } from './pg-holder.ts';
import { EVENTS, HELD_ROLE, JOIN, LAST_EVENT, WORKERS } from './plan-event-and-lease-statements.ts';
import { SCHEMA } from './schema.ts';
import type { PgContext } from './store-context-and-command-records.ts';

/** Workers, the scheduler and the queue between them. */
export function pgFleet(
  context: PgContext,
  changes: RowChanges,
  queue: Queue,
  password: () => string,
): Fleet {
  const { connected, isOwn, leaseMs, persist, records, write } = context;
  const { leases, session } = connected;
  /** Uses the queue. */
  const ask = <T>(work: (boss: Boss) => Promise<T>) => persist(async () => work(await queue.started()));
  /** A command about a worker, and the record of it. What a worker does about itself is none. */
  const command = (name: string, about: string, work: (query: Query) => Promise<boolean>) =>
    write(async (query) => {
      const done = await work(query);
      if (done && records.isByPerson) await records.add(query, name, about);
      return done;
    });
  return {
    leaseMs,
    password,
    workers: () => leases.workers(),
    async join(holder, { id, host, version, slots, labels, repos }) {
      // The scheduler may send as soon as the worker is known.
      await ask((boss) => boss.createQueue(queueOf(id), JOB_OPTIONS));
      await write(async (query) => {
        const found = await query<{
          id: string;
          token: string;
          left: number | null;
          identity: string | null;
        }>(WORKERS);
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
        await records.add(query, 'worker', id);
        await leases.refresh(query);
      });
    },
    drain: (id) =>
      command('drain', id, async (query) => {
        const set = `update ${SCHEMA}.workers set draining = true where id = $1 returning id`;
        return (await query(set, [id])).length > 0;
      }),
    remove: (id) =>
      command('remove', id, async (query) => {
        const found = await query<{ id: string; left: number | null }>(WORKERS);
        const left = found.find((each) => each.id === id)?.left ?? 0;
        // Also where its process is seen to be gone: its agents may run until then.
        if (left > 0)
          throw new HeldError(
            'worker/live',
            `Worker ${id} may still run agents: its lease ends in ${Math.ceil(left / 1000)} s.`,
            { hint: `Let it end first: signalbox fleet drain ${id}` },
          );
        const remove = `delete from ${SCHEMA}.workers where id = $1 returning token`;
        const removed = await query<{ token: string }>(remove, [id]);
        for (const { token } of removed)
          await query(`delete from ${SCHEMA}.holders where token = $1`, [token]);
        return removed.length > 0;
      }),
    async takeRole(holder, name) {
      const own = holder as PgHolder;
      if (own.hasRole(name)) return true;
      if (own.isOthersRole(name)) return false;
      return (await persist(() => own.takeRole(name, own.claim(new Date().toISOString())))) === undefined;
    },
    async releaseRole(holder, name) {
      if ((holder as PgHolder).hasRole(name)) await (holder as PgHolder).releaseRole(name);
    },
    async dispatch(holder, orders, now) {
      const isSender = async (query: Query) => (await query(HELD_ROLE, [SCHEDULER, holder.token])).length > 0;
      const done = await changes.updateTogether(
        orders.map(({ worker, slot, ...ref }) => ({
          ref,
          change: (ticket: Ticket) => ({
            ...ticket,
            dispatch: { number: (ticket.dispatch?.number ?? 0) + 1, at: now, to: worker, slot },
          }),
          alsoIn: async (query: Query, { planId, ticketId, dispatch }: Ticket) => {
            const job = { planId, ticketId, number: dispatch?.number ?? 0 };
            await (await queue.started()).send(queueOf(worker), job, { db: bossDatabase(query) });
          },
        })),
        isSender,
      );
      // Another process took over while this one slept.
      if (!done) await write((query) => leases.refresh(query));
    },
    async fetch(worker, most) {
      const jobs = await ask((boss) => boss.fetch(queueOf(worker), { batchSize: most }));
      return jobs.map(({ id, data }) => ({ ...(data as Omit<Delivery, 'job'>), job: id }));
    },
    endJob: async (worker, job) => void (await ask((boss) => boss.complete(queueOf(worker), job))),
    tidyQueue: async () => (await queue.started()).supervise(),
    claim: (ref, claim) => changes.claim(ref, claim),
    updateAlone: (ref, change) => changes.updateTicket(ref, change, true),
    keepsClaim(holder, { planId, ticketId }) {
      const find = `select from ${SCHEMA}.tickets where plan_id = $1 and ticket_id = $2 and claim = $3`;
      return write((query) =>
        inTransaction(query, async () => {
          // A process that takes the ticket does so before or after this, never in between.
          await waitForChanges(query);
          await (holder as PgHolder).register(query);
          return (await query(find, [planId, ticketId, holder.token])).length > 0;
        }),
      );
    },
    async eventsOfOthers(planId, after) {
      if (after === undefined) {
        const [end] = await session.query<{ last: number }>(LAST_EVENT, [planId]);
        return { events: [], last: end?.last ?? 0 };
      }
      const rows = await session.query<{ number: number; doc: string; key: string }>(EVENTS, [planId, after]);
      const others = rows.filter(({ key }) => !isOwn(key));
      return {
        events: others.map(({ doc }) => JSON.parse(doc) as StoredEvent),
        last: rows.at(-1)?.number ?? after,
      };
    },
    onRenewed: (holder, listener) => (holder as PgHolder).onRenewed(listener),
  };
}

const queueOf = (worker: string) => `worker-${worker}`;
