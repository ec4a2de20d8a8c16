import { mkdirSync, renameSync, rmSync, symlinkSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openStore } from '../../src/store/open-file-store-with-schemas.ts';
import { Fixture } from '../support/fixture.ts';
import { waitFor } from '../support/wait-for.ts';
import { State } from './scratch.ts';

let worker: Fixture;
beforeAll(async () => {
  worker = await Fixture.build(new URL('worker.ts', import.meta.url));
});
afterAll(() => worker.remove());

const REF = { planId: 'p', ticketId: 't' };

/** A state directory whose store is being watched. */
class Watched extends State {
  reports = 0;

  constructor() {
    super();
    this.plan('p');
    this.store.view();
    onTestFinished(this.store.watch(() => this.reports++));
  }

  /** What this makes happen is reported, and soon. */
  async reportsSoon(what: () => unknown): Promise<void> {
    const before = this.reports;
    await what();
    await waitFor('a report', () => this.reports > before);
    await this.#settled();
  }

  /** How many reports this leads to, once everything is told. */
  async reportsOf(what: () => unknown): Promise<number> {
    await this.#settled();
    const before = this.reports;
    await what();
    await this.#settled();
    return this.reports - before;
  }

  /** Changes are told in the order they were made: when that of a marker has come, all before it have. */
  async #settled(): Promise<void> {
    let seen = false;
    const probe = watch(this.dir, { persistent: false }, (_event, name) => {
      seen ||= name === 'marker';
    });
    writeFileSync(`${this.dir}/marker`, '');
    await waitFor('the marker', () => seen);
    probe.close();
    rmSync(`${this.dir}/marker`);
    // Reports are held back for 5 ms to gather bursts; a timer that is set later and for longer ends after them.
    await delay(25);
  }
}

describe('watch', () => {
  it.each<[string, (state: Watched) => unknown]>([
    ['a ticket that an editor replaced', (state) => state.ticket('p', 't', { title: 'new' })],
    [
      'a ticket that was written in place',
      (state) => writeFileSync(state.path('p/tickets/t.json'), '{"half":'),
    ],
    ['a new ticket', (state) => state.ticket('p', 'u')],
    ['a ticket that was deleted', (state) => rmSync(state.path('p/tickets/t.json'))],
    ['a plan that was changed', (state) => state.plan('p', ['t'], { status: 'paused' })],
    ['a new plan', (state) => state.plan('q')],
    ['a plan that was deleted', (state) => rmSync(state.path('p'), { recursive: true })],
    ['a plan that was moved in', (state) => moveIn(state, 'q')],
    ['another process', (state) => worker.start(['bump', state.dir]).ended],
  ])('reports %s', async (_name, change) => {
    const state = new Watched();
    await state.reportsSoon(() => change(state));
  });

  it('reports a plan that was just finished and is opened again', async () => {
    const state = new Watched();
    await state.store.updatePlan('p', (plan) => ({ ...plan, status: 'complete' }));
    expect(await state.reportsOf(() => state.plan('p'))).toBeGreaterThan(0);
  });

  it('does not report what this store wrote itself', async () => {
    const state = new Watched();
    await state.reportsSoon(() =>
      state.store.updateTicket(REF, (ticket) => ({ ...ticket, title: 'taken over' })),
    );
    const made = await state.reportsOf(async () => {
      for (let n = 0; n < 5; n++) {
        await state.store.updateTicket(REF, (ticket) => ({ ...ticket, title: `own ${n}` }));
        await state.store.append('p', { type: 'plan:status', planId: 'p', status: 's', v: 1, at: 'now' });
      }
    });
    expect(made).toBe(0);
  });

  it('reports a burst once or a few times, not for each file', async () => {
    const state = new Watched();
    const made = await state.reportsOf(() => {
      for (let n = 0; n < 200; n++) state.ticket('p', `t${n}`);
    });
    expect(made).toBeGreaterThan(0);
    expect(made).toBeLessThan(20);
  });

  it('reports what somebody else wrote, even when it was read or written over before the news came', async () => {
    const state = new Watched();
    await state.reportsSoon(() => state.store.updateTicket(REF, (ticket) => ({ ...ticket, title: 'own' })));
    await state.reportsSoon(() => {
      state.ticket('p', 't', { status: 'paused' });
      expect(state.store.ticket(REF).status).toBe('paused');
    });
    await state.reportsSoon(async () => {
      state.ticket('p', 't', { status: 'paused', title: 'again' });
      await state.store.updateTicket(REF, (ticket) => ({ ...ticket, description: 'own' }));
    });
    expect(state.store.ticket(REF)).toMatchObject({ status: 'paused', description: 'own' });
  });

  it('goes on watching a plan directory that was replaced', async () => {
    const state = new Watched();
    await state.reportsSoon(() => {
      moveIn(state, 'fresh');
      renameSync(state.path('p'), state.path('old'));
      renameSync(state.path('fresh'), state.path('p'));
    });
    await state.reportsSoon(() => state.ticket('p', 't', { title: 'in the new one' }));
    await state.reportsSoon(() => state.plan('p', ['t'], { name: 'in the new one' }));
    await state.reportsSoon(() => {
      rmSync(state.path('p/tickets'), { recursive: true });
      mkdirSync(state.path('p/tickets'));
    });
    await state.reportsSoon(() => state.ticket('p', 't', { title: 'in new tickets' }));
  });

  it('survives a change in a directory that cannot be read for a while', async () => {
    const state = new Watched();
    const [plans, away] = [state.path(), join(state.dir, 'away')];
    renameSync(plans, away);
    // A loop is refused to every user, as a directory without permission is to most.
    symlinkSync(plans, plans);
    await state.reportsSoon(() => mkdirSync(join(away, 'q')));
    rmSync(plans);
    renameSync(away, plans);
    await waitFor('the plan', () => state.store.glance().plans.some(({ id }) => id === 'p'));
    await state.reportsSoon(() => state.ticket('p', 't', { title: 'new' }));
  });

  it('sees the files of a plan that was made step by step', async () => {
    const state = new Watched();
    await state.reportsSoon(() => mkdirSync(state.path('q')));
    await state.reportsSoon(() => state.write('q/plan.json', { id: 'q', tickets: [{ ticketId: 't' }] }));
    await state.reportsSoon(() => mkdirSync(state.path('q/tickets')));
    await state.reportsSoon(() => state.ticket('q', 't'));
    expect(state.store.view().problems).toEqual([]);
  });

  it('may be asked for twice, before there is anything, and ends when told', async () => {
    const dir = new State().dir;
    const store = openStore(`${dir}/not/there/yet`);
    const seen = { first: 0, second: 0 };
    const endFirst = store.watch(() => seen.first++);
    onTestFinished(store.watch(() => seen.second++));
    mkdirSync(join(store.location(), 'a'));
    await waitFor('both reports', () => seen.first > 0 && seen.second > 0);
    endFirst();
    const { first, second } = seen;
    mkdirSync(join(store.location(), 'b'));
    await waitFor('one report', () => seen.second > second);
    expect(seen.first).toBe(first);
  });
});

/** Makes a plan directory elsewhere and moves it in, whole. */
function moveIn(state: State, id: string): void {
  const elsewhere = `${state.dir}/elsewhere`;
  mkdirSync(`${elsewhere}/tickets`, { recursive: true });
  writeFileSync(`${elsewhere}/plan.json`, JSON.stringify({ id, tickets: [{ ticketId: 't' }] }));
  writeFileSync(`${elsewhere}/tickets/t.json`, JSON.stringify({ planId: id, ticketId: 't', title: 'T' }));
  renameSync(elsewhere, state.path(id));
}
