import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Plan } from '../../src/model/plan.ts';
import { openStore } from '../../src/store/open-file-store-with-schemas.ts';
import type { Store, StoreView } from '../../src/store/store-interface.ts';
import { waitFor } from '../support/wait-for.ts';
import { State } from './scratch.ts';
import { planOf, ticketOf } from './store-support.ts';

const isOpen = ({ status }: Plan) => status !== 'complete' && status !== 'archived';

/** What a kept view should be: everything, read anew, without plans that are finished. */
function fresh(dir: string): StoreView {
  const { plans, tickets, problems } = openStore(dir).view();
  const closed = new Set(plans.filter((plan) => !isOpen(plan)).map(({ id }) => id));
  return {
    plans: plans.filter(isOpen),
    tickets: new Map([...tickets].filter(([, { planId }]) => !closed.has(planId))),
    problems: problems.filter(({ planId }) => !closed.has(planId)),
  };
}

/** Without what is remembered of the order of a file's fields. */
const dataOf = <T>(value: T): T => structuredClone(value);

function expectFresh(store: Store, dir: string): void {
  const { plans, tickets, problems, finished } = store.glance();
  expect(dataOf({ plans, tickets, problems })).toEqual(dataOf(fresh(dir)));
  const all = openStore(dir).view();
  const closed = all.plans.filter((plan) => !isOpen(plan));
  expect([...(finished?.ids() ?? [])].sort()).toEqual(closed.map(({ id }) => id));
  for (const plan of closed) expect(dataOf(finished?.plan(plan.id))).toEqual(dataOf(plan));
  for (const ticket of all.tickets.values())
    if (!tickets.has(`${ticket.planId}/${ticket.ticketId}`))
      expect(dataOf(finished?.ticket(ticket))).toEqual(dataOf(ticket));
}

const id = fc.constantFrom('p', 'q', 'r');
const ticketId = fc.constantFrom('a', 'b', 'c');
const OPEN = ['active', 'draft', 'paused'] as const;
const ALL = [...OPEN, 'complete', 'archived'] as const;
const listed = fc.subarray(['a', 'b', 'c']);

interface Scene {
  state: State;
  /** The store that keeps a view. */
  store: Store;
  /** Grows with every edit, so that no two texts of a file are the same. */
  count: number;
}

type Edit = (scene: Scene) => unknown;

const editsOf = (status: fc.Arbitrary<(typeof ALL)[number]>): fc.Arbitrary<Edit> =>
  fc.oneof(
    fc.tuple(id, listed, status).map(
      ([p, t, s]): Edit =>
        ({ state, count }) => {
          state.plan(p, t, { status: s, name: `name ${count}` });
        },
    ),
    fc.tuple(id, ticketId, fc.constantFrom('queued', 'complete')).map(
      ([p, t, s]): Edit =>
        ({ state, count }) => {
          state.ticket(p, t, { status: s, title: `title ${count}` });
        },
    ),
    fc.tuple(id, fc.constantFrom('plan.json', 'tickets/a.json'), fc.constantFrom('{"half', '', '[]')).map(
      ([p, file, text]): Edit =>
        ({ state, count }) => {
          mkdirSync(state.path(`${p}/tickets`), { recursive: true });
          writeFileSync(state.path(`${p}/${file}`), `${text}${' '.repeat(count)}`);
        },
    ),
    fc.tuple(id, fc.constantFrom('', '/tickets', '/plan.json', '/tickets/b.json')).map(
      ([p, what]): Edit =>
        ({ state }) =>
          rmSync(state.path(`${p}${what}`), { recursive: true, force: true }),
    ),
    fc.tuple(id, id).map(
      ([from, to]): Edit =>
        ({ state }) => {
          rmSync(state.path(to), { recursive: true, force: true });
          if (from === to) symlinkSync('nowhere', state.path(to));
          else {
            state.plan(from);
            renameSync(state.path(from), state.path(to));
          }
        },
    ),
    fc.tuple(id, ticketId).map(
      ([planId, t]): Edit =>
        async ({ store, count }) => {
          if (!store.exists({ planId, ticketId: t })) return;
          const title = `own ${count}`;
          await store.updateTicket({ planId, ticketId: t }, (ticket) => ({ ...ticket, title }));
        },
    ),
    fc.tuple(id, status).map(
      ([p, s]): Edit =>
        async ({ store }) => {
          await store.updatePlan(p, (plan) => ({ ...plan, status: s }));
        },
    ),
    id.map(
      (p): Edit =>
        async ({ store }) => {
          if (!store.exists({ planId: p, ticketId: null }))
            await store.create(planOf(p, 'a'), [ticketOf(p, 'a')]);
          else await store.deletePlan(p);
        },
    ),
  );

/** Keeps a copy of a view as an engine does: by what is reported as changed. */
class Copy {
  readonly #store: Store;
  #cursor: string | undefined;
  tickets = new Map<string, string>();

  constructor(store: Store) {
    this.#store = store;
  }

  update(): void {
    const { changed, cursor } = this.#store.changes(this.#cursor);
    this.#cursor = cursor;
    const { tickets } = this.#store.glance();
    if (changed === 'unknown') this.tickets = titles(tickets);
    else
      for (const { planId, ticketId: t } of changed) {
        const ticket = tickets.get(`${planId}/${t}`);
        if (ticket) this.tickets.set(`${planId}/${t}`, ticket.title);
        else this.tickets.delete(`${planId}/${t}`);
      }
  }
}

const titles = (tickets: StoreView['tickets']) =>
  new Map([...tickets].map(([key, { title }]) => [key, title]));

/** One edit that turned out to be impossible, such as a change of a ticket that cannot be read, changes nothing. */
async function apply(edits: readonly Edit[], scene: Scene): Promise<void> {
  for (const edit of edits) {
    scene.count += 1;
    try {
      await edit(scene);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
    }
  }
}

function scene(): Scene {
  const state = new State();
  state.plan('p', ['a', 'b']);
  return { state, store: state.store, count: 1 };
}

const batchesOf = (statuses: readonly (typeof ALL)[number][]) =>
  fc.array(fc.array(editsOf(fc.constantFrom(...statuses)), { minLength: 1, maxLength: 4 }), { maxLength: 8 });

describe('the view that is kept', () => {
  it('equals a fresh read after any changes, by this process or others', async () => {
    await fc.assert(
      fc.asyncProperty(batchesOf(ALL), async (batches) => {
        const it = scene();
        const copy = new Copy(it.store);
        copy.update();
        for (const batch of batches) {
          await apply(batch, it);
          copy.update();
          expectFresh(it.store, it.state.dir);
          expect(copy.tickets).toEqual(titles(it.store.glance().tickets));
        }
      }),
      { numRuns: 60 },
    );
  });

  it('equals a fresh read soon after any changes of open plans, where they are watched', {
    tags: 'full',
  }, async () => {
    await fc.assert(
      fc.asyncProperty(batchesOf(OPEN), async (batches) => {
        const it = scene();
        const unwatch = it.store.watch(() => undefined);
        try {
          for (const batch of batches) {
            await apply(batch, it);
            await waitFor('the same view', () => {
              expectFresh(it.store, it.state.dir);
              return true;
            });
          }
        } finally {
          unwatch();
        }
      }),
      { numRuns: 40 },
    );
  });

  it('costs nothing for plans that cannot be read, while others change', async () => {
    const state = new State();
    state.plan('good', ['a']);
    for (let number = 0; number < 150; number += 1) state.write(`bad-${number}/plan.json`, '{"id": "bad');
    for (let number = 0; number < 50; number += 1) {
      state.plan(`worse-${number}`, ['a']);
      state.write(`worse-${number}/tickets/a.json`, '{"planId": "');
    }
    expect(state.store.glance().problems).toHaveLength(200);
    const unwatch = state.store.watch(() => undefined);
    onTestFinished(unwatch);
    const parse = vi.spyOn(JSON, 'parse');
    onTestFinished(() => parse.mockRestore());
    for (let round = 0; round < 10; round += 1) {
      const title = `round ${round}`;
      await state.store.updateTicket({ planId: 'good', ticketId: 'a' }, (ticket) => ({ ...ticket, title }));
      state.store.changes(undefined, 'all');
      expect(state.store.glance().tickets.get('good/a')?.title).toBe(title);
    }
    expect(parse.mock.calls.length).toBeLessThan(40);
  });
});
