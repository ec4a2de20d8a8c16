import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { HeldError } from '../../src/model/errors.ts';
import type { StoredEvent } from '../../src/model/events.ts';
import type { Changed } from '../../src/model/ids-and-branch-names.ts';
import type { Claim } from '../../src/model/lease-and-claim-messages.ts';
import type { Ticket } from '../../src/model/ticket.ts';
import { openStore } from '../../src/store/open-file-store-with-schemas.ts';
import { openPostgres } from '../../src/store/postgres/open-postgres.ts';
import type { Store } from '../../src/store/store-interface.ts';
import { Fixture } from '../support/fixture.ts';
import { MemoryStore } from '../support/memory-store.ts';
import { scratchDatabase } from '../support/postgres.ts';
import { waitFor } from '../support/wait-for.ts';
import { ACTS, type Act, NOTICE, WISH } from './acts.ts';
import { scratch } from './scratch.ts';
import { codeOf, planOf, REF, ticketOf } from './store-support.ts';

/** One truth, as two processes see it. */
interface Truth {
  store: Store;
  other: Store;
  /** Has a third process do something until it has said so much, then kills it. Returns what it said. */
  kill(act: Act, lines?: number): Promise<unknown[]>;
}

let worker: Fixture;
beforeAll(async () => {
  worker = await Fixture.build(new URL('worker.ts', import.meta.url));
});
afterAll(() => worker.remove());

/** A process that works on what is at this place. */
const killer =
  (place: string) =>
  async (act: Act, lines = 1) => {
    const process = worker.start(['act', place, act]);
    await process.line(lines - 1);
    process.kill('SIGKILL');
    await process.ended;
    return process.lines.map((line) => JSON.parse(line) as unknown);
  };

async function files(): Promise<Truth> {
  const dir = scratch();
  return { store: openStore(dir), other: openStore(dir), kill: killer(dir) };
}

async function postgres(): Promise<Truth> {
  const { address } = await scratchDatabase();
  const place = join(scratch(), 'store.address');
  writeFileSync(place, address);
  const open = async () => {
    const store = await openPostgres({ address: { text: address, from: 'file' }, env: {}, cwd: '/' });
    onTestFinished(() => store.close());
    return store;
  };
  return { store: await open(), other: await open(), kill: killer(place) };
}

async function memory(): Promise<Truth> {
  const store = new MemoryStore();
  const kill = async (act: Act, lines = 1) => {
    const third = store.another();
    const said: unknown[] = [];
    ACTS[act](third, (value) => said.push(value)).catch((error: unknown) => {
      if (!third.isCrashed) throw error;
    });
    await waitFor(`${lines} lines of ${act}`, () => said.length >= lines);
    third.crash();
    return said;
  };
  return { store, other: store.another(), kill };
}

describe.each([
  ['files', files],
  ['memory', memory],
  ['PostgreSQL', postgres],
])('a store of %s', (_name, open) => {
  async function opened(): Promise<Truth> {
    const truth = await open();
    await truth.store.create(planOf('p', 't', 'u'), [ticketOf('p', 't'), ticketOf('p', 'u')]);
    await truth.other.refresh();
    return truth;
  }
  const bump = (ticket: Ticket): Ticket => ({
    ...ticket,
    context: { ...ticket.context, n: Number(ticket.context.n ?? 0) + 1 },
  });

  describe('plans and tickets', () => {
    it('are seen by the process that wrote them at once, and by every other that refreshes', async () => {
      const { store, other } = await opened();
      expect(other.view().plans.map(({ id }) => id)).toEqual(['p']);
      expect([...other.view().tickets.keys()]).toEqual(['p/t', 'p/u']);
      await other.updateTicket(REF, (ticket) => ({ ...ticket, title: 'theirs' }));
      expect(other.ticket(REF).title).toBe('theirs');
      await store.refresh();
      expect(store.ticket(REF).title).toBe('theirs');
      expect(store.glance().tickets.get('p/t')?.title).toBe('theirs');
      await other.updatePlan('p', (plan) => ({ ...plan, name: 'theirs' }));
      expect(other.plan('p').name).toBe('theirs');
      await store.refresh();
      expect(store.plan('p').name).toBe('theirs');
      await store.updateTicket(REF, (ticket) => ({ ...ticket, title: 'own' }));
      expect(store.glance().tickets.get('p/t')?.title).toBe('own');
    });

    it('are known or not', async () => {
      const { store } = await opened();
      expect(store.hasPlan('p')).toBe(true);
      expect(store.hasPlan('q')).toBe(false);
      expect(store.exists({ planId: 'p', ticketId: null })).toBe(true);
      expect(store.exists(REF)).toBe(true);
      expect(store.exists({ planId: 'p', ticketId: 'none' })).toBe(false);
      expect(await codeOf(() => store.plan('q'))).toBe('plan/unknown');
      expect(await codeOf(() => store.ticket({ planId: 'p', ticketId: 'none' }))).toBe('ticket/unknown');
      expect(await codeOf(() => store.updatePlan('q', (plan) => plan))).toBe('plan/unknown');
      expect(await codeOf(() => store.plan('../p'))).toBe('id/illegal');
    });

    it('are not created twice', async () => {
      const { store, other } = await opened();
      const again = other.create({ ...planOf('p', 't'), name: 'again' }, [ticketOf('p', 't')]);
      expect(await codeOf(() => again)).toBe('plan/exists');
      expect(store.plan('p').name).toBe('');
      const results = await Promise.all(
        [store, other].map((each) => codeOf(() => each.create(planOf('q', 't'), [ticketOf('q', 't')]))),
      );
      expect(results.sort()).toEqual(['fine', 'plan/exists']);
    });

    it('are added and deleted', async () => {
      const { store, other } = await opened();
      const listed = { tickets: planOf('p', 't', 'v').tickets };
      await store.updatePlan('p', (plan) => ({ ...plan, ...listed }), [ticketOf('p', 'v')]);
      await store.removeTicket({ planId: 'p', ticketId: 'u' });
      expect([...store.view().tickets.keys()]).toEqual(['p/t', 'p/v']);
      await other.refresh();
      expect([...other.view().tickets.keys()]).toEqual(['p/t', 'p/v']);
      await store.deletePlan('p');
      expect(store.exists(REF)).toBe(false);
      await other.refresh();
      expect(other.view()).toEqual({ plans: [], tickets: new Map(), problems: [] });
      expect(other.exists(REF)).toBe(false);
    });

    it('are never seen without their entries while they are added', async () => {
      const { other, kill } = await opened();
      const seen = new Set<string>();
      const looks = setInterval(() => {
        for (const { message } of other.view('p').problems) seen.add(message);
      }, 0);
      await kill('add', 100).finally(() => clearInterval(looks));
      await other.refresh();
      expect([...seen]).toEqual([]);
      expect(other.view('p').tickets.size).toBeGreaterThan(99);
    });

    it('can be read as text, and say where they are', async () => {
      const { store } = await opened();
      expect(JSON.parse(store.text(REF))).toMatchObject({ ticketId: 't' });
      expect(JSON.parse(store.text({ planId: 'p', ticketId: null }))).toMatchObject({ id: 'p' });
      const places = [store.location(), store.location({ planId: 'p', ticketId: null }), store.location(REF)];
      expect(new Set(places).size).toBe(3);
      expect(places.map((place) => store.isAt(place))).toEqual([true, false, false]);
      expect(store.isAt(store.location().replace(/[^/]+@/, 'anna@'))).toBe(true);
    });

    it('are left alone by restoreTicket when they can be read', async () => {
      const { store } = await opened();
      await store.restoreTicket({ ...ticketOf('p', 't'), title: 'old' });
      expect(store.ticket(REF)).toMatchObject({ title: 'T', rev: 0 });
    });
  });

  describe('updates', () => {
    it('of several processes at once lose nothing and count revisions', async () => {
      const { store, other } = await opened();
      const each = Array.from({ length: 20 }, (_, n) => (n % 2 ? store : other).updateTicket(REF, bump));
      const revisions = (await Promise.all(each)).map(({ rev }) => rev);
      expect(revisions.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => n + 1));
      await store.refresh();
      expect(store.ticket(REF)).toMatchObject({ rev: 20, context: { n: 20 } });
    });

    it('write nothing when nothing changed, or when the change throws', async () => {
      const { store, other } = await opened();
      await other.refresh();
      const { cursor } = other.changes();
      const before = store.ticket(REF);
      expect(await store.updateTicket(REF, (ticket) => ticket)).toEqual(before);
      const refuse = () => {
        throw new Error('no');
      };
      await expect(store.updateTicket(REF, refuse)).rejects.toThrow('no');
      await expect(store.updatePlan('p', refuse)).rejects.toThrow('no');
      await other.refresh();
      expect(other.changes(cursor).changed).toEqual([]);
      expect((await other.updateTicket(REF, bump)).rev).toBe(1);
    });

    it('that have returned survive a process that is killed, and the next one is not held up', async () => {
      const { store, kill } = await opened();
      const said = await kill('bump', 5);
      const after = await store.updateTicket(REF, (ticket) => ({ ...ticket, title: 'after' }));
      expect(Number(after.context.n)).toBeGreaterThanOrEqual(said.length);
      expect(after.rev).toBe(Number(after.context.n) + 1);
    });

    it('show whole plans only, when a process is killed while it creates them', async () => {
      const { store, kill } = await opened();
      const said = await kill('create', 5);
      await store.refresh();
      const { plans, tickets } = store.view();
      expect(plans.map(({ id }) => id)).toEqual(expect.arrayContaining(said));
      for (const plan of plans.filter(({ id }) => id !== 'p'))
        for (const { ticketId } of plan.tickets) expect(tickets.has(`${plan.id}/${ticketId}`)).toBe(true);
    });
  });

  describe('claims', () => {
    const take = (store: Store, claim: Claim, isLive: (claim: Claim) => boolean) =>
      store.updateTicket(REF, (ticket) => {
        if (ticket.claim && isLive(ticket.claim)) throw new HeldError('ticket/held', 'Held.');
        return { ...ticket, claim };
      });

    it('are given to one process of those that try at once', async () => {
      const { store, other } = await opened();
      const holders = [store, other, store, other].map((each) => ({ each, holder: each.holder('run') }));
      const tries = holders.map(({ each, holder }) =>
        codeOf(() => take(each, holder.claim('2026-01-01'), (claim) => holder.isLive(claim))),
      );
      const results = await Promise.all(tries);
      expect(results.filter((result) => result === 'fine')).toHaveLength(1);
      expect(results.filter((result) => result === 'ticket/held')).toHaveLength(3);
    });

    it('of a killed process are not live, and its writes are fenced once another has taken over', async () => {
      const { store, kill } = await opened();
      const [dead] = (await kill('claim')) as [Claim];
      await store.refresh();
      const holder = store.holder('run');
      expect(holder.isLive(dead)).toBe(false);
      await take(store, holder.claim('2026-01-02'), (claim) => holder.isLive(claim));
      // What the killed process would have written, had it only been slow.
      const late = store.updateTicket(REF, (ticket) => {
        if (ticket.claim?.token !== dead.token) throw new HeldError('claim/lost', 'Another has it.');
        return { ...ticket, title: 'too late' };
      });
      expect(await codeOf(() => late)).toBe('claim/lost');
      expect(store.ticket(REF)).toMatchObject({ title: 'T', claim: { token: holder.token } });
    });

    it('show whether other engines are at work', async () => {
      const { store, other } = await opened();
      const [own, theirs] = [store.holder('run'), other.holder('daemon')];
      await own.start();
      expect(own.hasOthers()).toBe(false);
      await theirs.start();
      await store.refresh();
      expect(own.hasOthers()).toBe(true);
      await theirs.stop();
      await store.refresh();
      expect(own.hasOthers()).toBe(false);
      await own.stop();
    });

    it('let one daemon in, and another when that is released or killed', async () => {
      const { store, other, kill } = await opened();
      const [first, second] = [store.holder('daemon'), other.holder('daemon')];
      expect(first.daemon()).toBeUndefined();
      const claim = await first.claimDaemon('2026-01-01');
      await other.refresh();
      expect(second.daemon()).toEqual(claim);
      expect(await codeOf(() => second.claimDaemon('2026-01-01'))).toBe('daemon/held');
      await second.releaseDaemon();
      expect(second.daemon()).toEqual(claim);
      await first.releaseDaemon();
      await other.refresh();
      expect(second.daemon()).toBeUndefined();
      await kill('claim');
      await other.refresh();
      expect(second.daemon()).toBeUndefined();
      expect(await second.claimDaemon('2026-01-02')).toMatchObject({ token: second.token });
    });
  });

  describe('alone', () => {
    it('lets one in after the other', async () => {
      const { store, other } = await opened();
      let inside = 0;
      const visit = (each: Store) =>
        each.alone('slots', async () => {
          expect(++inside).toBe(1);
          await new Promise((resolve) => setImmediate(resolve));
          inside--;
          return 'done';
        });
      const done = await Promise.all([store, other, store, other].map(visit));
      expect(done).toEqual(['done', 'done', 'done', 'done']);
      await expect(store.alone('slots', () => Promise.reject(new Error('inside')))).rejects.toThrow('inside');
      expect(await other.alone('slots', async () => other.alone('runs', async () => 'both'))).toBe('both');
    });

    it('is free again when the process inside is killed', async () => {
      const { store, kill } = await opened();
      await kill('alone');
      expect(await store.alone('slots', async () => 'in')).toBe('in');
    });
  });

  describe('events', () => {
    const event = (status: string): StoredEvent => ({
      type: 'plan:status',
      planId: 'p',
      status,
      v: 1,
      at: 'now',
    });
    const statuses = (store: Store) =>
      store.events('p').map((each) => (each.type === 'plan:status' ? each.status : ''));

    it('of one process keep their order, although it does not wait for them', async () => {
      const { store, other } = await opened();
      expect(store.events('p')).toEqual([]);
      const names = Array.from({ length: 20 }, (_, n) => `${n}\n`);
      await Promise.all(names.map((name) => store.append('p', event(name))));
      expect(statuses(other)).toEqual(names);
    });

    it('of two processes are all kept, each in its order', async () => {
      const { store, other } = await opened();
      const names = Array.from({ length: 20 }, (_, n) => `${n % 2} ${n}`);
      await Promise.all(names.map((name) => (name.startsWith('0') ? store : other).append('p', event(name))));
      const kept = statuses(store);
      expect([...kept].sort()).toEqual([...names].sort());
      for (const who of ['0', '1']) {
        const own = (all: string[]) => all.filter((name) => name.startsWith(who));
        expect(own(kept)).toEqual(own(names));
      }
    });

    it('are read on from a cursor, each once and in order', async () => {
      const { store, other } = await opened();
      const start = store.eventsAfter('p');
      expect(start.events).toEqual([]);
      const names = Array.from({ length: 3000 }, (_, n) => `${n} ${'x'.repeat(200)}`);
      await Promise.all(names.map((name) => other.append('p', event(name))));
      const read: string[] = [];
      let { cursor } = start;
      for (;;) {
        const piece = store.eventsAfter('p', cursor);
        read.push(...piece.events.map((each) => (each.type === 'plan:status' ? each.status : '')));
        cursor = piece.cursor;
        if (piece.events.length === 0) break;
      }
      expect(read).toEqual(names);
      expect(store.eventsAfter('p').events).toEqual([]);
      await other.append('p', event('last'));
      expect(store.eventsAfter('p', cursor).events).toHaveLength(1);
    });

    it('of a plan that does not exist are refused', async () => {
      const { store } = await opened();
      expect(store.events('q')).toEqual([]);
      expect(await codeOf(() => store.append('q', event('lost')))).not.toBe('fine');
    });
  });

  describe('watch', () => {
    /** Everything reported so far, as `plan` or `plan/ticket`. */
    function watched(store: Store): Set<string> {
      const seen = new Set<string>();
      const add = (changed: Changed) => {
        for (const each of changed === 'unknown' ? [] : changed)
          seen.add(each.ticketId === null ? each.planId : `${each.planId}/${each.ticketId}`);
        if (changed === 'unknown') seen.add('unknown');
      };
      onTestFinished(store.watch(add));
      return seen;
    }
    const told = (seen: Set<string>, what: string) =>
      waitFor(`the report of ${what}`, () => seen.has(what) || seen.has('unknown'), {
        state: () => [...seen].join(),
      });

    it('says what other processes changed', async () => {
      const { store, other } = await opened();
      const seen = watched(store);
      await other.updateTicket(REF, bump);
      await told(seen, 'p/t');
      expect([...seen]).toEqual(['p/t']);
      await other.updatePlan('p', (plan) => ({ ...plan, name: 'N' }));
      await told(seen, 'p');
      expect(seen.has('p/u')).toBe(false);
      await other.create(planOf('q', 't'), [ticketOf('q', 't')]);
      await told(seen, 'q');
      seen.clear();
      await other.deletePlan('q');
      await told(seen, 'q');
    });

    it('does not say what this process changed, and is silent when it is ended', async () => {
      const { store, other } = await opened();
      const [own, ended] = [watched(store), new Set<string>()];
      store.watch(() => ended.add('called'))();
      await store.updateTicket({ planId: 'p', ticketId: 'u' }, bump);
      await other.updateTicket(REF, bump);
      await told(own, 'p/t');
      expect([...own]).toEqual(['p/t']);
      expect([...ended]).toEqual([]);
    });
  });

  describe('changes', () => {
    it('since a cursor are those of every process, until they are asked for again', async () => {
      const { store, other } = await opened();
      const first = store.changes();
      expect(first.changed).toBe('unknown');
      expect(store.changes(first.cursor).changed).toEqual([]);
      await store.updateTicket(REF, bump);
      await other.updatePlan('p', (plan) => ({ ...plan, name: 'N' }));
      await store.refresh();
      const second = store.changes(first.cursor);
      expect(second.changed).toHaveLength(2);
      expect(second.changed).toEqual(expect.arrayContaining([REF, { planId: 'p', ticketId: null }]));
      expect(store.changes(second.cursor).changed).toEqual([]);
      await other.updateTicket(REF, bump);
      await other.updateTicket(REF, bump);
      await store.refresh();
      expect(store.changes(second.cursor).changed).toEqual([REF]);
      // An older cursor still has all of it, each thing once.
      expect(store.changes(first.cursor).changed).toHaveLength(2);
    });

    it('name what was created and deleted', async () => {
      const { store, other } = await opened();
      const { cursor } = store.changes();
      await other.create(planOf('q', 't'), [ticketOf('q', 't')]);
      await store.refresh();
      const created = store.changes(cursor);
      expect(created.changed).toEqual(expect.arrayContaining([{ planId: 'q', ticketId: null }]));
      await other.removeTicket(REF);
      await other.deletePlan('q');
      await store.refresh();
      const { changed } = store.changes(created.cursor);
      expect(changed).toEqual(expect.arrayContaining([REF, { planId: 'q', ticketId: null }]));
    });

    it('are unknown to a cursor of elsewhere', async () => {
      const { store } = await opened();
      const elsewhere = (await open()).store.changes().cursor;
      expect(store.changes(elsewhere).changed).toBe('unknown');
      expect(store.changes('nonsense').changed).toBe('unknown');
    });

    it('keep a copy of the view up to date', async () => {
      const { store, other } = await opened();
      let { cursor } = store.changes();
      const copy = new Map(store.view().tickets);
      for (let round = 0; round < 5; round++) {
        await Promise.all([
          other.updateTicket(REF, bump),
          store.updateTicket({ planId: 'p', ticketId: 'u' }, bump),
        ]);
        await store.refresh();
        const next = store.changes(cursor);
        cursor = next.cursor;
        for (const { planId, ticketId } of next.changed === 'unknown' ? [] : next.changed)
          if (ticketId !== null) copy.set(`${planId}/${ticketId}`, store.ticket({ planId, ticketId }));
        expect(copy).toEqual(store.view().tickets);
      }
    });
  });

  describe('small records', () => {
    it('keep pinned texts by their hash, for ever', async () => {
      const { store, other } = await opened();
      const hash = '0123456789abcdef';
      expect(store.pinned(hash)).toBeUndefined();
      await store.pin(hash, 'text');
      await other.pin(hash, 'another');
      expect(other.pinned(hash)).toBe('text');
    });

    it('let one process send a notification, once', async () => {
      const { store, other } = await opened();
      const claims = await Promise.all([store.claimNotices('p', WISH), other.claimNotices('p', WISH)]);
      expect(claims.flat()).toEqual([NOTICE]);
      await store.endNotice('p', NOTICE, { state: 'sent', now: WISH.now });
      expect(await other.claimNotices('p', WISH)).toEqual([]);
      // At a place that is new, nothing is sent that happened before it was known.
      const old = { ...NOTICE, place: 'desktop', since: '2025-12-31' };
      expect(await other.claimNotices('p', { ...WISH, places: ['desktop'], wanted: [old] })).toEqual([]);
    });

    it('let another process send what a killed one did not', async () => {
      const { store, other, kill } = await opened();
      expect(await kill('notify')).toEqual([[NOTICE]]);
      expect(await store.claimNotices('p', WISH)).toEqual([NOTICE]);
      expect(await other.claimNotices('p', WISH)).toEqual([]);
    });

    it('keep what deleted tickets used', async () => {
      const { store, other } = await opened();
      expect(store.deletedUsage()).toEqual([]);
      const add = (each: Store, id: string) =>
        each.updateDeletedUsage((kept) => [...kept, ticketOf('gone', id)]);
      await Promise.all([add(store, 'a'), add(other, 'b'), add(store, 'c')]);
      const ids = (each: Store) => each.deletedUsage().map(({ ticketId }) => ticketId);
      await Promise.all([store.refresh(), other.refresh()]);
      expect(ids(store).sort()).toEqual(['a', 'b', 'c']);
      expect(ids(other)).toEqual(ids(store));
    });
  });
});
