import { describe, expect, it } from 'vitest';
import type { StoredEvent } from '../../../src/model/events.ts';
import { scratchDatabase } from '../../support/postgres.ts';
import { planOf, REF, ticketOf } from '../store-support.ts';
import { storeAt } from './support.ts';

/** A ticket that one process has claimed, and another one that may take it. */
async function claimed() {
  const database = await scratchDatabase();
  const store = await storeAt(database.address);
  await store.create(planOf('p', 't'), [ticketOf('p', 't')]);
  const holder = store.holder('worker');
  const claimBy = (by: typeof holder) =>
    store.updateTicket(REF, (ticket) => ({ ...ticket, claim: by.claim('2026-01-01') }));
  await claimBy(holder);
  return { database, store, holder, claimBy };
}

const event = (text: string): StoredEvent => ({
  ...{ v: 1, at: '2026-01-01', type: 'attempt:session', agent: null, sessionId: text },
  ...{ ...REF, phase: 'build', visit: 1, attempt: 1 },
});

describe('a process that has lost a ticket', () => {
  it('stores no events of its attempts, neither while another one has it nor afterwards', async () => {
    const { store, holder, claimBy } = await claimed();
    const [ours, others] = [holder, store.holder('worker')].map(({ token }) => ({ ticketId: 't', token }));
    await store.append('p', event('before'), ours);
    await claimBy(store.holder('worker'));
    await store.append('p', event('late'), ours);
    await store.updateTicket(REF, (ticket) => ({ ...ticket, claim: null }));
    await Promise.all([
      store.append('p', event('later'), ours),
      store.append('p', event('never claimed'), others),
      store.append('p', event('of a command')),
    ]);
    const stored = store.events('p').map((each) => 'sessionId' in each && each.sessionId);
    expect(stored).toEqual(['before', 'of a command']);
  });

  it('has stored the events of its attempt before it releases the ticket', async () => {
    const { store, holder } = await claimed();
    const claim = { ticketId: 't', token: holder.token };
    const texts = ['one', 'two', 'three'];
    const appended = texts.map((text) => store.append('p', event(text), claim));
    await store.updateTicket(REF, (ticket) => ({ ...ticket, claim: null }));
    await Promise.all(appended);
    expect(store.events('p').map((each) => 'sessionId' in each && each.sessionId)).toEqual(texts);
  });

  it('learns it when it asks whether it still has it, and one that has it keeps it for a whole lease', async () => {
    const { database, store, holder, claimBy } = await claimed();
    const left = async () => {
      const [row] = await database.query<{ left: number }>(
        'select signalbox.lease_left(seen, lease_ms) as left from signalbox.holders where token = $1',
        [holder.token],
      );
      return row?.left ?? 0;
    };
    await database.query("update signalbox.holders set seen = clock_timestamp() - interval '40 seconds'");
    expect(await store.fleet.keepsClaim(holder, REF)).toBe(true);
    expect(await left()).toBeGreaterThan(50_000);
    await claimBy(store.holder('worker'));
    expect(await store.fleet.keepsClaim(holder, REF)).toBe(false);
  });
});
