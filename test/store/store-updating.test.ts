import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { extraFields } from '../../src/model/extra-fields.ts';
import { openStore } from '../../src/store/open-file-store-with-schemas.ts';
import { Fixture } from '../support/fixture.ts';
import { waitFor } from '../support/wait-for.ts';
import { State } from './scratch.ts';
import { REF } from './store-support.ts';

let worker: Fixture;
beforeAll(async () => {
  worker = await Fixture.build(new URL('worker.ts', import.meta.url));
});
afterAll(() => worker.remove());

describe('updating', () => {
  it('counts revisions, and writes nothing when nothing changed', async () => {
    const state = new State();
    state.plan('p');
    const first = await state.store.updateTicket(REF, (ticket) => ({ ...ticket, title: 'one' }));
    expect(first.rev).toBe(1);
    const { ino } = statSync(state.path('p/tickets/t.json'));
    expect(await state.store.updateTicket(REF, (ticket) => ticket)).toMatchObject({ rev: 1 });
    expect(statSync(state.path('p/tickets/t.json')).ino).toBe(ino);
    expect((await state.store.updatePlan('p', (plan) => ({ ...plan, name: 'N' }))).rev).toBe(1);
  });

  it('is given the latest state, whatever was read before', async () => {
    const state = new State();
    state.plan('p');
    state.store.view();
    state.ticket('p', 't', { title: 'by an editor', rev: 7 });
    const seen = await state.store.updateTicket(REF, (ticket) => ({ ...ticket, description: ticket.title }));
    expect(seen).toMatchObject({ description: 'by an editor', rev: 8 });
  });

  it('keeps fields it does not know, in every place', async () => {
    const state = new State();
    const attempt = { phase: 'a', status: 'failure', startedAt: 's', mood: 'bad', usage: { reasoning: 5 } };
    state.plan('p', ['t'], { colour: 'red' });
    state.ticket('p', 't', {
      labels: ['x'],
      base: { ref: 'r', commit: 'c', by: 'me' },
      phaseHistory: [attempt],
    });
    await state.store.updateTicket(REF, (ticket) => ({ ...ticket, title: 'new' }));
    await state.store.updatePlan('p', (plan) => ({ ...plan, name: 'new' }));
    const ticket = JSON.parse(readFileSync(state.path('p/tickets/t.json'), 'utf8')) as unknown;
    expect(ticket).toMatchObject({
      title: 'new',
      labels: ['x'],
      base: { by: 'me' },
      phaseHistory: [{ mood: 'bad', usage: { reasoning: 5 } }],
    });
    expect(JSON.parse(readFileSync(state.path('p/plan.json'), 'utf8'))).toMatchObject({
      colour: 'red',
      name: 'new',
    });
  });

  it('changes nothing when the change throws, and the lock is free again', async () => {
    const state = new State();
    state.plan('p');
    const before = readFileSync(state.path('p/tickets/t.json'), 'utf8');
    const refuse = () => {
      throw new Error('no');
    };
    await expect(state.store.updateTicket(REF, refuse)).rejects.toThrow('no');
    expect(readFileSync(state.path('p/tickets/t.json'), 'utf8')).toBe(before);
    expect(readdirSync(join(state.dir, 'locks'))).toEqual([]);
  });

  it('from several processes at once loses nothing, and no reader ever sees half a file', {
    tags: 'full',
  }, async () => {
    const state = new State();
    state.plan('p', ['t', 'other']);
    state.ticket('p', 't', { labels: ['kept'] });
    const others = [1, 2, 3].map(() => worker.start(['bump', state.dir, '60']));
    const theirs = () => {
      const { tickets, problems } = openStore(state.dir).view();
      expect(problems).toEqual([]);
      return Number(tickets.get('p/t')?.context.n ?? 0);
    };
    for (let own = 1; own <= 10; own++) {
      await waitFor('their updates', () => theirs() >= own * 15, {
        state: () => others.map((each) => each.err).join(),
      });
      await state.store.updateTicket(REF, (each) => ({ ...each, context: { ...each.context, own } }));
    }
    for (const each of others) expect(await each.ended, each.err).toMatchObject({ code: 0 });
    const ticket = state.store.ticket(REF);
    expect(ticket).toMatchObject({ rev: 190, context: { n: 180, own: 10 } });
    expect(extraFields(ticket)).toEqual({ labels: ['kept'] });
  });

  it('survives a process that is killed in the middle of it, again and again', { tags: 'full' }, async () => {
    const state = new State();
    state.plan('p');
    for (let round = 0; round < 5; round++) {
      const other = worker.start(['bump', state.dir, '100000']);
      const rev = state.store.ticket(REF).rev;
      while (state.store.ticket(REF).rev < rev + 5 + round)
        await new Promise((resolve) => setImmediate(resolve));
      other.kill('SIGKILL');
      await other.ended;
      const after = await state.store.updateTicket(REF, (ticket) => ({
        ...ticket,
        description: `round ${round}`,
      }));
      expect(after.context.n).toBe(after.rev - round - 1);
    }
    expect(state.store.view().problems).toEqual([]);
  });
});

describe('restoreTicket', () => {
  it('sets a broken file aside and puts the last good state in its place', async () => {
    const state = new State();
    state.plan('p');
    const good = state.store.ticket(REF);
    const file = state.write('p/tickets/t.json', '{"half":');
    await state.store.restoreTicket(good);
    expect(state.store.ticket(REF)).toMatchObject({ title: 'T', rev: 1 });
    expect(readFileSync(`${file}.broken`, 'utf8')).toBe('{"half":');
    expect(state.store.view().problems).toEqual([]);
  });

  it('leaves a file alone that has become readable meanwhile', async () => {
    const state = new State();
    state.plan('p');
    const good = state.store.ticket(REF);
    state.ticket('p', 't', { title: 'mended' });
    await state.store.restoreTicket(good);
    expect(state.store.ticket(REF)).toMatchObject({ title: 'mended', rev: 0 });
  });
});
