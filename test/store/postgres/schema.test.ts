import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { inTransaction, type Query } from '../../../src/store/postgres/database-connection.ts';
import { initFleet } from '../../../src/store/postgres/init-fleet.ts';
import { checkSchema, migrate } from '../../../src/store/postgres/schema.ts';
import { type Database, scratchDatabase } from '../../support/postgres.ts';
import { codeOf, planOf, REF, ticketOf } from '../store-support.ts';
import { storeAt } from './support.ts';

async function connected({ address }: Database): Promise<Query> {
  const client = new pg.Client({ connectionString: address });
  client.on('error', () => undefined);
  await client.connect();
  onTestFinished(() => client.end());
  return async (text, values) => (await client.query(text, values as unknown[])).rows;
}

const place = ({ address }: Database) =>
  ({ address: { text: address, from: 'file' }, env: {}, cwd: '/' }) as const;

describe('the schemas', () => {
  it('are made by two at once, and kept by a third', async () => {
    const database = await scratchDatabase({ empty: true });
    expect(await codeOf(() => storeAt(database.address))).toBe('store/missing');
    const made = await Promise.all([initFleet(place(database)), initFleet(place(database))]);
    expect(made.map(({ schema }) => schema.from).sort()).toEqual([0, 1]);
    expect(made.map(({ queue }) => queue.from).sort((a, b) => a - b)[0]).toBe(0);
    expect(made[0]?.store).not.toContain(database.server.password);
    const store = await storeAt(database.address);
    await store.create(planOf('p', 't'), [ticketOf('p', 't')]);
    const again = await initFleet(place(database));
    expect(again.schema).toEqual({ from: 1, to: 1 });
    expect(again.queue.from).toBe(again.queue.to);
    expect(store.ticket(REF).title).toBe('T');
  });

  it('of a newer program are refused, unless it says that older ones may use them', async () => {
    const database = await scratchDatabase();
    const query = await connected(database);
    const steps = (oldest: number) => [
      { oldest: 1, sql: '' },
      { oldest, sql: 'alter table signalbox.plans add column later text' },
    ];
    expect(await inTransaction(query, () => migrate(query, steps(1)))).toEqual({ from: 1, to: 2 });
    await storeAt(database.address);
    await database.query('update signalbox.meta set oldest = 2');
    expect(await codeOf(() => storeAt(database.address))).toBe('store/newer');
    expect(await codeOf(() => initFleet(place(database)))).toBe('store/newer');
    expect(await codeOf(() => checkSchema(query, 2))).toBe('fine');
    expect(await codeOf(() => checkSchema(query, 3))).toBe('store/older');
  });

  it('of another pg-boss are refused, and say what to do', async () => {
    const database = await scratchDatabase();
    const store = await storeAt(database.address);
    await database.query('update signalbox_queue.version set version = version + 1');
    await expect(initFleet(place(database))).rejects.toMatchObject({ code: 'store/queue' });
    const sent = store.fleet.tidyQueue();
    await expect(sent).rejects.toMatchObject({ hint: expect.stringContaining('signalbox fleet init') });
  });

  it('are left as they were when a step fails', async () => {
    const database = await scratchDatabase();
    const query = await connected(database);
    const steps = [
      { oldest: 1, sql: '' },
      { oldest: 1, sql: 'create table signalbox.half (); select nonsense' },
    ];
    await expect(inTransaction(query, () => migrate(query, steps))).rejects.toThrow('nonsense');
    expect(await query(`select to_regclass('signalbox.half')::text as name`)).toEqual([{ name: null }]);
    expect(await query('select version from signalbox.meta')).toEqual([{ version: 1 }]);
  });
});

describe('the three roles', () => {
  /** Stores of a worker, a person and a viewer, with the printed grants. */
  async function asRoles() {
    const database = await scratchDatabase({ empty: true });
    const { grants } = await initFleet(place(database));
    const as = async (role: keyof typeof grants) => {
      // Roles belong to all databases of a server, so each test has its own.
      const name = `${database.name}_${role}`;
      const lines = grants[role].map((line) => line.replaceAll(`signalbox_${role}`, name));
      for (const line of lines) await database.query(line);
      await database.query(`alter role ${name} login password 'role-secret'`);
      onTestFinished(async () => {
        await database.query(`drop owned by ${name}`);
        await database.query(`drop role ${name}`);
      });
      const address = database.address.replace(/\/\/.*@/, `//${name}:role-secret@`);
      return { store: await storeAt(address), query: await connected({ ...database, address }) };
    };
    return { database, worker: await as('worker'), person: await as('person'), viewer: await as('viewer') };
  }

  it('may do what they are for, and none may change a schema', async () => {
    const { worker, person, viewer } = await asRoles();
    await person.store.create(planOf('p', 't'), [ticketOf('p', 't')]);
    await person.store.append('p', { type: 'plan:status', planId: 'p', status: 'active', v: 1, at: 'now' });
    const holder = worker.store.holder('worker');
    await holder.start();
    await worker.store.updateTicket(REF, (ticket) => ({ ...ticket, claim: holder.claim('now') }));
    await worker.query(
      `insert into signalbox.output (plan_id, ticket_id, attempt, stream, number, text) values ('p', 't', 'a', 'stdout', 1, 'x')`,
    );
    const place = { id: 'w', host: 'h', version: '1', slots: 1, labels: [], repos: [] };
    await worker.store.fleet.join(holder, place);
    await worker.store.fleet.takeRole(holder, 'scheduler');
    await worker.store.fleet.dispatch(holder, [{ ...REF, worker: 'w', slot: true }], 'now');
    const [delivery] = await worker.store.fleet.fetch('w', 1);
    expect(delivery).toMatchObject({ ...REF, number: 1 });
    await worker.store.fleet.endJob('w', delivery?.job ?? '');
    await worker.store.fleet.tidyQueue();
    // One login may be a person's and a worker's.
    await worker.store.create(planOf('q', 't'), [ticketOf('q', 't')]);
    await viewer.store.refresh();
    expect(viewer.store.ticket(REF).claim?.token).toBe(holder.token);
    expect(viewer.store.events('p')).toHaveLength(1);
    const rename = () => viewer.store.updateTicket(REF, (ticket) => ({ ...ticket, title: 'x' }));
    expect(await codeOf(rename)).toBe('store/forbidden');
    const all = [worker, person, viewer];
    for (const { query } of all)
      for (const statement of [
        'create table signalbox.more ()',
        'alter table signalbox.plans add column more text',
        'drop table signalbox.plans',
        'create table signalbox_queue.more ()',
        'update signalbox.meta set version = 7',
        'update signalbox.events set doc = doc',
        'delete from signalbox.deleted',
        "insert into signalbox.commands (database_user, command, about) values ('boss', 'stop', 'p')",
        "insert into signalbox.events (plan_id, key, doc, at) values ('p', 'k', '{}', '2020-01-01')",
        'truncate signalbox.plans cascade',
        'drop trigger one_writer on signalbox.plans',
        'delete from signalbox_queue.version',
        'update signalbox_queue.version set version = 1',
        // The owner would carry it out.
        "insert into signalbox_queue.bam (name, version, table_name, command) values ('x', 1, 'x', 'select 1')",
      ])
        await expect(query(statement)).rejects.toThrow(/permission denied|must be owner/);
    await expect(person.query('select * from signalbox_queue.job')).rejects.toThrow('permission denied');
    await expect(person.query('delete from signalbox.output')).rejects.toThrow('permission denied');
    await holder.stop();
  });

  it('are recorded with what they do', async () => {
    const { database, person } = await asRoles();
    await person.store.create(planOf('p', 't'), [ticketOf('p', 't')]);
    await person.store.append('p', { type: 'plan:status', planId: 'p', status: 'active', v: 1, at: 'now' });
    const [event] = await database.query('select database_user, machine from signalbox.events');
    expect(event).toMatchObject({ database_user: `${database.name}_person`, machine: expect.any(String) });
  });
});
