import { describe, expect, it, onTestFinished } from 'vitest';
import { secondsWithSleep } from '../../../src/machine/jobs/start-and-read-job.ts';
import { ownIdentity } from '../../../src/machine/process-identity-and-signals.ts';
import { HeldError } from '../../../src/model/errors.ts';
import type { Claim } from '../../../src/model/lease-and-claim-messages.ts';
import type { Store } from '../../../src/store/store-interface.ts';
import { type Database, scratchDatabase } from '../../support/postgres.ts';
import { waitFor } from '../../support/wait-for.ts';
import { codeOf, planOf, REF, ticketOf } from '../store-support.ts';
import { storeAt } from './support.ts';

/** A claim of a machine that cannot be seen from here. */
const theirs: Claim = {
  ...ownIdentity(),
  host: 'far',
  machine: 'far',
  boot: 'far',
  token: 'theirs',
  by: 'worker',
  renewedAt: '2026-01-01',
};

async function claimedByOther(leaseMs: number, seen = 'clock_timestamp()'): Promise<Database> {
  const database = await scratchDatabase();
  const store = await storeAt(database.address);
  await store.create(planOf('p', 't'), [{ ...ticketOf('p', 't'), claim: theirs }]);
  await database.query(
    `insert into signalbox.holders (token, by, identity, started, lease_ms, seen) values ($1, 'worker', $2, true, $3, ${seen})`,
    [theirs.token, JSON.stringify(theirs), leaseMs],
  );
  return database;
}

const take = (store: Store, claim: Claim, isLive: (claim: Claim) => boolean) =>
  store.updateTicket(REF, (ticket) => {
    if (ticket.claim && isLive(ticket.claim)) throw new HeldError('ticket/held', 'Held.');
    return { ...ticket, claim };
  });

describe('a claim of another machine', () => {
  it('lives as long as its lease, by the clock of the database', async () => {
    const database = await claimedByOther(60_000);
    const store = await storeAt(database.address);
    const holder = store.holder('worker');
    expect(holder.isLive(theirs)).toBe(true);
    expect(holder.leaseLeft(theirs)).toBeGreaterThan(50_000);
    expect(holder.leaseLeft(theirs)).toBeLessThanOrEqual(60_000);
    expect(holder.hasOthers()).toBe(true);
    await database.query(`update signalbox.holders set lease_ms = 0`);
    await store.refresh();
    expect(holder.isLive(theirs)).toBe(false);
    expect(holder.leaseLeft(theirs)).toBe(0);
    expect(holder.hasOthers()).toBe(false);
    await take(store, holder.claim('2026-01-02'), (claim) => holder.isLive(claim));
    expect(store.ticket(REF).claim?.token).toBe(holder.token);
  });

  it('has its whole lease after a restart of the database', async () => {
    const database = await claimedByOther(3_600_000, `'2020-01-01'`);
    const store = await storeAt(database.address);
    expect(store.holder('worker').isLive(theirs)).toBe(true);
    const [started] = await database.query<{ left: number }>(
      `select extract(epoch from pg_postmaster_start_time() + interval '1 hour' - clock_timestamp())::float8 * 1000 as left`,
    );
    expect(store.holder('worker').leaseLeft(theirs)).toBeLessThanOrEqual((started?.left ?? 0) + 10_000);
  });

  it('that looks dead from here is not overruled when it was renewed', async () => {
    const database = await claimedByOther(1, `clock_timestamp() + interval '50 ms'`);
    const store = await storeAt(database.address);
    const holder = store.holder('worker');
    await waitFor('the end of the lease, as seen from here', () => !holder.isLive(theirs));
    await database.query(`update signalbox.holders set seen = clock_timestamp(), lease_ms = 60000`);
    const taken = take(store, holder.claim('2026-01-02'), (claim) => holder.isLive(claim));
    expect(await codeOf(() => taken)).toBe('ticket/held');
    expect(holder.isLive(theirs)).toBe(true);
  });
});

describe('a holder', () => {
  it('renews its lease while it is started, and gives it up at the end', async () => {
    const database = await scratchDatabase();
    const store = await storeAt(database.address, { leaseMs: 200 });
    const holder = store.holder('worker');
    const seen = async () =>
      (await database.query<{ seen: Date }>(`select seen from signalbox.holders`))[0]?.seen.getTime() ?? 0;
    let renewedAt: number | undefined;
    holder.onRenewed((sentAt) => {
      renewedAt = sentAt;
    });
    await holder.start();
    const first = await seen();
    await waitFor('a renewal', async () => (await seen()) > first);
    expect(renewedAt).toBeLessThanOrEqual(secondsWithSleep());
    // A holder that was removed comes back: its tickets may be another's by then, which their claims show.
    await database.query('delete from signalbox.holders');
    await waitFor('a new registration', async () => (await seen()) > 0);
    await holder.stop();
    expect(await seen()).toBe(0);
  });

  it('is registered before a claim of it is written', async () => {
    const database = await scratchDatabase();
    const store = await storeAt(database.address);
    const holder = store.holder('run');
    await store.create({ ...planOf('p', 't'), claim: holder.claim('2026-01-01') }, [ticketOf('p', 't')]);
    const rows = await database.query(
      'select h.started from signalbox.holders h join signalbox.plans p on p.claim = h.token',
    );
    expect(rows).toEqual([{ started: false }]);
  });

  it('takes a role when its holder is gone, and not before', async () => {
    const database = await claimedByOther(60_000);
    await database.query(
      `insert into signalbox.roles (name, token, claim) values ('scheduler', 'theirs', $1)`,
      [JSON.stringify(theirs)],
    );
    const [one, two] = [await storeAt(database.address), await storeAt(database.address)];
    const [first, second] = [one.holder('worker'), two.holder('worker')];
    expect(await first.takeRole('scheduler', first.claim('now'))).toEqual(theirs);
    await database.query(`update signalbox.holders set lease_ms = -1000000000 where token = 'theirs'`);
    const taken = await Promise.all([
      first.takeRole('scheduler', first.claim('now')),
      second.takeRole('scheduler', second.claim('now')),
    ]);
    expect(taken.filter((other) => other === undefined)).toHaveLength(1);
    await (taken[0] === undefined ? first : second).releaseRole('scheduler');
    expect(await second.takeRole('scheduler', second.claim('now'))).toBeUndefined();
  });
});

describe('after a time in which a machine did not reach the database', () => {
  /** Who has a lease of a second after a worker renews its own, which it did three seconds ago; the others did it at these times. */
  async function liveAfterRenewal(...seen: string[]): Promise<string[]> {
    const database = await scratchDatabase();
    // A restart, too, gives everybody a whole lease.
    const isOld = "select where clock_timestamp() - pg_postmaster_start_time() > interval '4 seconds'";
    await waitFor('a server that runs for some time', async () => (await database.query(isOld)).length > 0);
    const store = await storeAt(database.address, { leaseMs: 1000 });
    const holder = store.holder('worker');
    await holder.start();
    onTestFinished(() => holder.stop());
    const add = `insert into signalbox.holders (token, by, identity, started, lease_ms, seen)
      values ($1, 'worker', $2, true, 1000, clock_timestamp() - $1::text::interval)`;
    for (const time of seen) await database.query(add, [time, JSON.stringify(theirs)]);
    const wasAt = `update signalbox.holders set seen = clock_timestamp() - interval '3 s' where token = $1`;
    await database.query(wasAt, [holder.token]);
    await holder.renew();
    const live = 'select token from signalbox.holders where signalbox.lease_left(seen, lease_ms) > 0';
    const rows = await database.query<{ token: string }>(live);
    return rows.map(({ token }) => (token === holder.token ? 'own' : token)).sort();
  }

  it('the first one that is back gives the others a whole lease, but not those that were gone before', async () => {
    expect(await liveAfterRenewal('2.8 s', '3.7 s', '9 s')).toEqual(['2.8 s', '3.7 s', 'own']);
  });

  it('gives nothing to others if it was away alone', async () => {
    expect(await liveAfterRenewal('2.8 s', '0.1 s')).toEqual(['0.1 s', 'own']);
  });
});

it('a session of the database that dies inside `alone` lets others in', async () => {
  const database = await scratchDatabase();
  const [one, two] = [await storeAt(database.address), await storeAt(database.address)];
  let leave = (): void => undefined;
  let isInside = false;
  const inside = one.alone('slots', () => {
    isInside = true;
    return new Promise<void>((resolve) => {
      leave = resolve;
    });
  });
  onTestFinished(() => leave());
  await waitFor('one that is inside', () => isInside);
  const pids = `select pid from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`;
  await database.query(`select pg_terminate_backend(pid) from (${pids}) as inside`);
  expect(await two.alone('slots', async () => 'in')).toBe('in');
  leave();
  await inside;
});
