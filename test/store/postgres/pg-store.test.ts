import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Changed } from '../../../src/model/ids-and-branch-names.ts';
import type { Ticket } from '../../../src/model/ticket.ts';
import { LOCKS } from '../../../src/store/postgres/schema.ts';
import { type Database, scratchDatabase } from '../../support/postgres.ts';
import { waitFor } from '../../support/wait-for.ts';
import { codeOf, planOf, REF, ticketOf } from '../store-support.ts';
import { CuttingProxy, storeAt } from './support.ts';

const bump = (ticket: Ticket): Ticket => ({
  ...ticket,
  context: { ...ticket.context, n: Number(ticket.context.n ?? 0) + 1 },
});

async function opened() {
  const database = await scratchDatabase();
  const store = await storeAt(database.address);
  await store.create(planOf('p', 't', 'u'), [ticketOf('p', 't'), ticketOf('p', 'u')]);
  return { database, store };
}

/** A connection of a person with `psql`. */
async function psql({ address }: Database): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: address });
  client.on('error', () => undefined);
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

describe('finished plans', () => {
  it('are known by name, and read when something asks for them', async () => {
    const { database, store } = await opened();
    await store.updatePlan('p', (plan) => ({ ...plan, status: 'complete' }));
    for (const each of [store, await storeAt(database.address)]) {
      expect(each.glance().plans).toEqual([]);
      expect(each.glance().tickets.size).toBe(0);
      expect([...(each.glance().finished?.ids() ?? [])]).toEqual(['p']);
      expect(each.glance().finished?.since(0, 5)).toEqual(['p']);
      expect(each.glance().finished?.since(Date.now() + 60_000)).toEqual([]);
      expect(each.hasPlan('p')).toBe(true);
      expect(each.plan('p').status).toBe('complete');
      expect(each.glance().finished?.ticket(REF)?.title).toBe('T');
      expect(each.glance().finished?.named([REF.ticketId, 'none'])).toEqual([REF]);
      expect(each.view().tickets.size).toBe(2);
      expect(each.view('p').tickets.size).toBe(2);
    }
  });

  it('are read again when they change, and have their tickets when they are opened again', async () => {
    const { database, store } = await opened();
    const other = await storeAt(database.address);
    await store.updatePlan('p', (plan) => ({ ...plan, status: 'complete' }));
    await other.refresh();
    expect(other.ticket(REF).title).toBe('T');
    const { cursor } = other.changes();
    await store.updateTicket(REF, (ticket) => ({ ...ticket, title: 'new' }));
    expect(store.ticket(REF).title).toBe('new');
    await other.refresh();
    expect(other.changes(cursor).changed).toEqual([REF]);
    expect(other.ticket(REF).title).toBe('new');
    await store.updatePlan('p', (plan) => ({ ...plan, status: 'active' }));
    await other.refresh();
    for (const each of [store, other]) {
      expect(each.glance().tickets.get('p/t')?.title).toBe('new');
      expect(each.glance().problems).toEqual([]);
      expect(each.glance().tickets.size).toBe(2);
    }
  });
});

describe('what a person does with psql', () => {
  it('is noticed, and never overwritten', async () => {
    const { database, store } = await opened();
    const seen: Changed[] = [];
    onTestFinished(store.watch((changed) => seen.push(changed)));
    await database.query(
      `update signalbox.tickets set doc = replace(doc, '"T"', '"theirs"') where ticket_id = 't'`,
    );
    await waitFor('the report', () => seen.length > 0);
    expect(seen).toEqual([[REF]]);
    expect(store.ticket(REF)).toMatchObject({ title: 'theirs', rev: 0 });
    expect(await store.updateTicket(REF, bump)).toMatchObject({ title: 'theirs', rev: 2 });
  });

  it('is a problem where the text cannot be used, until the ticket is restored', async () => {
    const { database, store } = await opened();
    const good = store.ticket(REF);
    await database.query(`update signalbox.tickets set doc = '{broken' where ticket_id = 't'`);
    await store.refresh();
    expect(store.glance().problems).toMatchObject([{ planId: 'p', ticketId: 't' }]);
    expect(store.view('p').problems[0]?.message).toContain('not valid JSON');
    expect(await codeOf(() => store.ticket(REF))).toBe('state/malformed');
    expect(await codeOf(() => store.updateTicket(REF, bump))).toBe('state/malformed');
    expect(store.text(REF)).toBe('{broken');
    await store.restoreTicket(good);
    expect(store.ticket(REF).title).toBe('T');
    expect(store.glance().problems).toEqual([]);
    expect(await database.query('select doc from signalbox.records')).toEqual([{ doc: '{broken' }]);
  });

  it('may be a ticket that no plan lists, or an entry without a ticket', async () => {
    const { database, store } = await opened();
    await database.query(`update signalbox.tickets set ticket_id = 'x' where ticket_id = 't'`);
    await store.refresh();
    expect(store.glance().problems.map(({ ticketId }) => ticketId)).toEqual(['t', 'x']);
    expect([...store.glance().tickets.keys()]).toEqual(['p/u']);
  });

  it('is seen in the order of the commits: nothing that was committed late is missed', async () => {
    const { database, store } = await opened();
    const other = await storeAt(database.address);
    const slow = await psql(database);
    await slow.query('begin');
    await slow.query(
      `update signalbox.tickets set doc = replace(doc, '"T"', '"slow"') where ticket_id = 't'`,
    );
    const fast = store.updateTicket({ planId: 'p', ticketId: 'u' }, bump);
    const locks = `select 1 from pg_locks where database = (select oid from pg_database where datname = current_database()) and locktype = 'advisory' and not granted`;
    await waitFor('a write that waits', async () => (await database.query(locks)).length > 0);
    await other.refresh();
    expect(other.ticket(REF).title).toBe('T');
    await slow.query('commit');
    await fast;
    await other.refresh();
    expect(other.ticket(REF).title).toBe('slow');
    expect(other.ticket({ planId: 'p', ticketId: 'u' }).context.n).toBe(1);
  });
});

describe('a lost connection', () => {
  const end = `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'signalbox'`;

  it('is opened again, and everything is read again', async () => {
    const { database, store } = await opened();
    const seen: Changed[] = [];
    onTestFinished(store.watch((changed) => seen.push(changed)));
    await database.query(end);
    await database.query(
      `alter table signalbox.tickets disable trigger announce;
       update signalbox.tickets set doc = replace(doc, '"T"', '"meanwhile"') where ticket_id = 't';
       alter table signalbox.tickets enable trigger announce`,
    );
    await waitFor('the change', () => store.ticket(REF).title === 'meanwhile');
    expect(seen).toEqual([[REF]]);
    expect((await store.updateTicket(REF, bump)).context.n).toBe(1);
  });

  it('is a storage error for a write, which an engine repeats', async () => {
    const { database, store } = await opened();
    const { address, server } = database;
    const proxy = await CuttingProxy.to(server.port);
    let repeated = 0;
    const persist = async <T>(write: () => T | Promise<T>): Promise<T> => {
      for (;;) {
        try {
          return await write();
        } catch (error) {
          expect((error as { code: string }).code).toBe('state/storage');
          expect(String(error)).not.toContain(server.password);
          repeated += 1;
        }
      }
    };
    const through = await storeAt(proxy.address(address), { persist });
    let isFirst = true;
    const onceFor = (statement: string) => (text: string) => {
      if (!isFirst || !text.includes(statement)) return false;
      isFirst = false;
      return true;
    };
    // What the server has done although its answer was lost is not done again.
    proxy.losesAnswerTo = onceFor('update signalbox.tickets');
    expect((await through.updateTicket(REF, bump)).context.n).toBe(1);
    isFirst = true;
    proxy.losesAnswerTo = onceFor('insert into signalbox.events');
    await through.append('p', { type: 'plan:status', planId: 'p', status: 'active', v: 1, at: 'now' });
    isFirst = true;
    proxy.losesAnswerTo = onceFor('commit');
    await through.create(planOf('q', 't'), [ticketOf('q', 't')]);
    expect(repeated).toBe(3);
    await store.refresh();
    expect(store.ticket(REF)).toMatchObject({ rev: 1, context: { n: 1 } });
    expect(store.events('p')).toHaveLength(1);
    expect(store.hasPlan('q')).toBe(true);
  });

  it('leaves what was read, and says what is wrong', async () => {
    const { database } = await opened();
    const proxy = await CuttingProxy.to(database.server.port);
    const store = await storeAt(proxy.address(database.address));
    proxy.losesAnswerTo = () => true;
    proxy.cut();
    expect(store.ticket(REF).title).toBe('T');
    const failed = store.updateTicket(REF, bump);
    await expect(failed).rejects.toMatchObject({ code: 'state/storage' });
    await expect(failed).rejects.not.toThrow(database.server.password);
    await expect(store.refresh()).rejects.toMatchObject({ code: 'state/storage' });
  });
});

it('forgets deletions after a while: a mirror that is older reads everything', async () => {
  const { database, store } = await opened();
  const { cursor } = store.changes();
  await database.query(`alter table signalbox.tickets disable trigger announce;
    alter table signalbox.plans disable trigger announce;
    delete from signalbox.plans; delete from signalbox.deleted;
    update signalbox.meta set swept = nextval('signalbox.change')`);
  await store.refresh();
  expect(store.glance().plans).toEqual([]);
  expect(store.changes(cursor).changed).toContainEqual({ planId: 'p', ticketId: null });
});

it('has at most two connections, and none that keeps it alive', async () => {
  const { database, store } = await opened();
  await store.updatePlan('p', (plan) => ({ ...plan, status: 'complete' }));
  expect(store.ticket(REF).title).toBe('T');
  expect(store.events('p')).toEqual([]);
  const rows = await database.query(
    `select 1 from pg_stat_activity where datname = current_database() and application_name like 'signalbox%'`,
  );
  expect(rows).toHaveLength(2);
});

it('a change that counts what others have begun sees it, also if both begin at once', async () => {
  const { database, store } = await opened();
  const stores = [store, await storeAt(database.address)];
  const beginIfAlone = (each: (typeof stores)[number]) => (ticket: Ticket) =>
    each.tickets('p').some(({ context }) => context.n) ? ticket : bump(ticket);
  const both = await Promise.all(
    ['t', 'u'].map((ticketId, index) => {
      const own = stores[index] ?? store;
      return own.fleet.updateAlone({ planId: 'p', ticketId }, beginIfAlone(own));
    }),
  );
  expect(both.filter(({ context }) => context.n)).toHaveLength(1);
});

it('a process that is stopped inside a transaction holds the others up for seconds, not for ever', {
  tags: 'full',
}, async () => {
  const { database, store } = await opened();
  const stopped = await storeAt(database.address);
  let wake = (): void => undefined;
  const inside = stopped.session.exclusively(async (query) => {
    await query('begin');
    await query('select pg_advisory_xact_lock($1, $2)', [LOCKS.class, LOCKS.changes]);
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  });
  onTestFinished(async () => {
    wake();
    await inside;
  });
  await waitFor('the lock', async () => (await database.query(HELD_LOCKS)).length > 0);
  expect(await store.updateTicket(REF, bump)).toMatchObject({ context: { n: 1 } });
});

const HELD_LOCKS = `select from pg_locks where locktype = 'advisory' and objid = ${LOCKS.changes} and granted
and database = (select oid from pg_database where datname = current_database())`;
