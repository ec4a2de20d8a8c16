import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { StoredEvent } from '../../src/model/events.ts';
import { openStore } from '../../src/store/open-file-store-with-schemas.ts';
import { waitFor } from '../support/wait-for.ts';
import { State } from './scratch.ts';
import { codeOf, planOf, REF, ticketOf } from './store-support.ts';

/** Waits for a plan's directory, and prints whether its plan.json is in it from the beginning. */
const WATCHER = `const { existsSync } = require('node:fs');
  console.log('watching');
  for (;;) if (existsSync(process.argv[1])) {
    console.log(existsSync(process.argv[1] + '/plan.json') ? 'whole' : 'half');
    process.exit();
  }`;

describe('a new plan', () => {
  it('is there with all that it has, never half', async () => {
    const state = new State();
    mkdirSync(state.path(), { recursive: true });
    const watcher = spawn(process.execPath, ['-e', WATCHER, state.path('p')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let said = '';
    watcher.stdout.on('data', (text) => {
      said += text;
    });
    await waitFor('the watcher', () => said.includes('watching'));
    const ids = Array.from({ length: 50 }, (_, index) => `t${index}`);
    await state.store.create(
      planOf('p', ...ids),
      ids.map((id) => ticketOf('p', id)),
    );
    await waitFor('what it saw', () => /whole|half/.test(said));
    expect(said).toContain('whole');
    expect(state.store.view().problems).toEqual([]);
    expect(readdirSync(state.path())).toEqual(['p']);
  });
});

describe('reading', () => {
  it('sees nothing where nothing is', () => {
    expect(new State().store.view()).toEqual({ plans: [], tickets: new Map(), problems: [] });
  });

  it('reads what a planner wrote, with everything that may be left out', () => {
    const state = new State();
    state.plan('p', ['a', 'b']);
    const { plans, tickets, problems } = state.store.view();
    expect(plans).toMatchObject([{ id: 'p', status: 'active' }]);
    expect([...tickets.keys()]).toEqual(['p/a', 'p/b']);
    expect(tickets.get('p/a')).toMatchObject({ status: 'queued', phaseHistory: [] });
    expect(problems).toEqual([]);
  });

  it('shows own changes in a glance at once, and those of others soon', async () => {
    const state = new State();
    state.plan('p', ['t', 'u']);
    const { store } = state;
    const title = () => store.glance().tickets.get('p/t')?.title;
    expect(title()).toBe('T');
    await store.updateTicket(REF, (ticket) => ({ ...ticket, title: 'mine' }));
    expect(title()).toBe('mine');
    await store.updatePlan('p', (plan) => ({ ...plan, tickets: plan.tickets.slice(0, 1) }));
    await store.removeTicket({ planId: 'p', ticketId: 'u' });
    expect([...store.glance().tickets.keys()]).toEqual(['p/t']);
    await openStore(state.dir).updateTicket(REF, (ticket) => ({ ...ticket, title: 'theirs' }));
    expect(store.view().tickets.get('p/t')?.title).toBe('theirs');
    await waitFor('the change of another', () => title() === 'theirs');
  });

  it('sees a change at once, and reads a file that is the same only once', () => {
    const state = new State();
    state.plan('p');
    const first = state.store.ticket(REF);
    expect(state.store.ticket(REF)).toBe(first);
    state.ticket('p', 't', { title: 'changed' });
    expect(state.store.ticket(REF).title).toBe('changed');
    expect(state.store.view().tickets.get('p/t')?.title).toBe('changed');
  });

  it('says which plans and tickets there are when one is asked for that is not', () => {
    const state = new State();
    expect(() => state.store.plan('x')).toThrow(
      expect.objectContaining({ code: 'plan/unknown', hint: 'There are no plans yet.' }),
    );
    state.plan('p', ['a', 'b']);
    expect(() => state.store.plan('x')).toThrow(expect.objectContaining({ hint: 'Plans: p.' }));
    expect(() => state.store.ticket({ planId: 'p', ticketId: 'x' })).toThrow(
      expect.objectContaining({ code: 'ticket/unknown', hint: 'Its tickets: a, b.' }),
    );
    state.plan('q', []);
    expect(() => state.store.ticket({ planId: 'q', ticketId: 'x' })).toThrow(
      expect.objectContaining({ hint: 'It has none.' }),
    );
  });
});

describe('ids that would become paths', () => {
  const illegal = [
    'a/b',
    '..',
    '../x',
    '../../x',
    'a/../b',
    'a\nb',
    'a\0b',
    '',
    '.',
    '.hidden',
    '-x',
    'x'.repeat(300),
  ];

  it.each(illegal)('%j is refused everywhere, and nothing is made of it', async (id) => {
    const state = new State();
    state.plan('p');
    const before = tree(dirname(state.dir), state.dir);
    const { store } = state;
    const ref = { planId: 'p', ticketId: id };
    const operations: (() => unknown)[] = [
      () => store.plan(id),
      () => store.ticket(ref),
      () => store.ticket({ planId: id, ticketId: 't' }),
      () => store.updatePlan(id, (each) => ({ ...each })),
      () => store.updateTicket(ref, (each) => ({ ...each })),
      () => store.create({ ...planOf('x', 't'), id }, []),
      () => store.create(planOf('x', 't'), [{ ...ticketOf('x', 't'), ticketId: id }]),
      () => store.deletePlan(id),
      () => store.events(id),
      () => store.append(id, { type: 'plan:status', planId: id, status: 's', v: 1, at: 'now' }),
    ];
    for (const operation of operations) expect(await codeOf(operation), String(operation)).toBe('id/illegal');
    expect(tree(dirname(state.dir), state.dir)).toEqual(before);
    expect(store.view().plans.map((plan) => plan.id)).toEqual(['p']);
  });

  it('a hash that is no hash finds nothing', () => {
    const { store } = new State();
    for (const hash of ['../plans/p/plan', '', 'xyz', '0'.repeat(65)])
      expect(store.pinned(hash)).toBeUndefined();
  });
});

describe('creating and deleting', () => {
  it('makes files that only their owner can read', async () => {
    const { store, dir } = new State();
    await store.create(planOf('p', 't'), [ticketOf('p', 't')]);
    expect(store.view()).toMatchObject({ plans: [{ id: 'p' }], problems: [] });
    for (const name of readdirSync(dir, { recursive: true }) as string[]) {
      const stat = statSync(join(dir, name));
      expect([name, stat.mode & 0o777]).toEqual([name, stat.isDirectory() ? 0o700 : 0o600]);
    }
  });

  it('refuses an id that is taken, and leaves what is there', async () => {
    const { store } = new State();
    await store.create(planOf('p', 't'), [ticketOf('p', 't')]);
    expect(await codeOf(() => store.create(planOf('p', 'u'), [ticketOf('p', 'u')]))).toBe('plan/exists');
    expect(store.view().plans[0]?.tickets).toMatchObject([{ ticketId: 't' }]);
  });

  it('leaves nothing behind when it fails half-way', async () => {
    const state = new State();
    const tickets = [ticketOf('p', 'a'), { ...ticketOf('p', 'b'), ticketId: '../b' }];
    expect(await codeOf(() => state.store.create(planOf('p', 'a', 'b'), tickets))).toBe('id/illegal');
    expect(existsSync(state.path('p'))).toBe(false);
    await state.store.create(planOf('p', 'a'), [ticketOf('p', 'a')]);
    expect(state.store.view().problems).toEqual([]);
  });

  it('deletes a plan, and can make it again', async () => {
    const state = new State();
    await state.store.create(planOf('p', 't'), [ticketOf('p', 't')]);
    await state.store.create(planOf('p2', 't'), [ticketOf('p2', 't')]);
    await state.store.deletePlan('p');
    expect(state.store.view().plans.map((plan) => plan.id)).toEqual(['p2']);
    await state.store.create(planOf('p', 't'), [ticketOf('p', 't')]);
    expect(state.store.view().plans.map((plan) => plan.id)).toEqual(['p', 'p2']);
  });

  it('takes no plan for a deleted one because of its name', () => {
    const state = new State();
    state.plan('old.deleted.1');
    expect(state.store.view().plans.map((plan) => plan.id)).toEqual(['old.deleted.1']);
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
  const statuses = (state: State) =>
    state.store.events('p').map((each) => (each.type === 'plan:status' ? each.status : ''));

  it('are kept in order', async () => {
    const state = new State();
    state.plan('p');
    expect(state.store.events('p')).toEqual([]);
    for (const each of ['a', 'b\n{"v":1}', 'ü😀']) await state.store.append('p', event(each));
    expect(statuses(state)).toEqual(['a', 'b\n{"v":1}', 'ü😀']);
    expect(statSync(state.path('p/events.jsonl')).mode & 0o777).toBe(0o600);
  });

  it.each([
    ['a half', '{"type":"plan:sta'],
    ['one that happens to end in a brace', '{"type":"ticket:status","hold":{"kind":"poll"}'],
    ['a half that is not even JSON', '\0\0\0'],
  ])('are read past %s last line, and it swallows nothing that comes after', async (_name, half) => {
    const state = new State();
    state.plan('p');
    await state.store.append('p', event('before'));
    writeFileSync(state.path('p/events.jsonl'), half, { flag: 'a' });
    expect(statuses(state)).toEqual(['before']);
    await state.store.append('p', event('after'));
    await state.store.append('p', event('last'));
    expect(statuses(state)).toEqual(['before', 'after', 'last']);
  });
});

describe('pinned texts', () => {
  it('are kept by their hash, for ever', async () => {
    const { store, dir } = new State();
    const hash = '0123456789abcdef';
    expect(store.pinned(hash)).toBeUndefined();
    await store.pin(hash, 'text');
    await store.pin(hash, 'another');
    expect(openStore(dir).pinned(hash)).toBe('text');
  });
});

/** Names beside the state directory, and all that is in it except for the directories of locks. */
function tree(...dirs: string[]): string[] {
  const [beside = '', inside = ''] = dirs;
  const below = (readdirSync(inside, { recursive: true }) as string[]).filter(
    (name) => !name.startsWith('locks'),
  );
  return [...readdirSync(beside).filter((name) => name.startsWith('x')), ...below.sort()];
}
