import { describe, expect, it } from 'vitest';
import { Plan } from '../../../src/model/plan-schema.ts';
import { Ticket } from '../../../src/model/ticket-schema.ts';
import { scratchDatabase } from '../../support/postgres.ts';
import { storeAt } from './support.ts';

const ref = { planId: 'p', ticketId: 'a' };
const ATTEMPT = 'build#1#1';

async function claimed() {
  const database = await scratchDatabase();
  const store = await storeAt(database.address);
  await store.create(Plan.parse({ id: 'p', tickets: [{ ticketId: 'a' }] }), [
    Ticket.parse({ ...ref, title: 'T' }),
  ]);
  const holder = store.holder('test');
  const claim = holder.claim(new Date().toISOString());
  await store.updateTicket(ref, (ticket) => ({ ...ticket, claim }));
  return { database, store, token: holder.token };
}

describe('output in the database', () => {
  it('is read behind what is known, also from another connection, and may have NUL characters in it', async () => {
    const { database, store, token } = await claimed();
    expect(await store.output.begin(ref, ATTEMPT, token)).toBe(true);
    const piece = { stream: 'stdout', number: 0, text: 'one\0\n' } as const;
    expect(await store.output.add(ref, ATTEMPT, token, [piece, { ...piece, number: 1, text: 'two\n' }])).toBe(
      true,
    );
    // A row whose answer was lost is sent again.
    expect(await store.output.add(ref, ATTEMPT, token, [piece])).toBe(true);
    const other = await storeAt(database.address);
    expect(other.output.after(ref, ATTEMPT, {}).map(({ text }) => text)).toEqual(['one\uFFFD\n', 'two\n']);
    expect(other.output.after(ref, ATTEMPT, { stdout: 0 }).map(({ text }) => text)).toEqual(['two\n']);
    expect(await store.output.begin(ref, ATTEMPT, token)).toBe(true);
    expect(other.output.after(ref, ATTEMPT, {})).toEqual([]);
  });

  it('is refused from a process that has lost the ticket', async () => {
    const { store, token } = await claimed();
    await store.output.add(ref, ATTEMPT, token, [{ stream: 'stdout', number: 0, text: 'mine\n' }]);
    await store.updateTicket(ref, (ticket) => ({ ...ticket, claim: null }));
    const late = { stream: 'stdout', number: 1, text: 'late\n' } as const;
    expect(await store.output.add(ref, ATTEMPT, token, [late])).toBe(false);
    expect(await store.output.begin(ref, ATTEMPT, token)).toBe(false);
    expect(store.output.after(ref, ATTEMPT, {}).map(({ text }) => text)).toEqual(['mine\n']);
  });
});

it('sessions are kept one for each agent, and refused from a process that has lost the ticket', async () => {
  const { store, token } = await claimed();
  const kept = { agent: 'claude', session: 's-1', files: Buffer.from([0, 1, 255]) };
  expect(await store.sessions.keep(ref, token, kept)).toBe(true);
  expect(await store.sessions.keep(ref, token, { ...kept, session: 's-2' })).toBe(true);
  expect(await store.sessions.of(ref)).toEqual([{ ...kept, session: 's-2' }]);
  await store.updateTicket(ref, (ticket) => ({ ...ticket, claim: null }));
  expect(await store.sessions.keep(ref, token, kept)).toBe(false);
});
