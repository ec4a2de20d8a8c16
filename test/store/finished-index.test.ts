import { existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Layout } from '../../src/store/layout-and-view.ts';
import { openStore } from '../../src/store/open-store.ts';
import { StateReader } from '../../src/store/state-reader.ts';
import { KeptView } from '../../src/store/view-in-memory-and-finished-index.ts';
import { State } from './scratch.ts';

const COUNT = 60;

/** A state with many finished plans, and one that is not. */
function manyFinished(): State {
  const state = new State();
  for (let number = 0; number < COUNT; number += 1)
    state.plan(`old-${number}`, ['a'], { status: number % 2 > 0 ? 'archived' : 'complete' });
  state.plan('open', ['a', 'b']);
  return state;
}

const indexOf = (state: State) => join(state.dir, 'finished.index');

/** The view of a process that starts now, and how many plans it has read for it. */
function started(state: State) {
  const reader = new StateReader();
  const plan = vi.spyOn(reader, 'plan');
  const nothing = () => undefined;
  const kept = new KeptView({ layout: new Layout(state.dir), reader, onChange: nothing, onOpen: nothing });
  const { plans, finished } = kept.view;
  const read = new Set(plan.mock.calls.map(([path]) => path)).size;
  return { open: plans.map(({ id }) => id), closed: [...(finished?.ids() ?? [])].sort(), read, kept };
}

function expectFresh(state: State): void {
  const { open, closed } = started(state);
  const { plans } = openStore(state.dir).view();
  const isClosed = ({ status }: { status: string }) => status === 'complete' || status === 'archived';
  expect(open).toEqual(plans.filter((plan) => !isClosed(plan)).map(({ id }) => id));
  expect(closed).toEqual(
    plans
      .filter(isClosed)
      .map(({ id }) => id)
      .sort(),
  );
}

// Files that were just written are not noted: they might be written again at the same time.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('the index of finished plans', () => {
  it('lets the next process read only the others, and those that have changed', () => {
    const state = manyFinished();
    expect(started(state)).toMatchObject({ read: COUNT + 1, open: ['open'] });
    expect(started(state)).toMatchObject({ read: 1, open: ['open'] });
    state.plan('old-7', ['a'], { status: 'active' });
    expect(started(state)).toMatchObject({ read: 2, open: ['old-7', 'open'] });
    rmSync(indexOf(state));
    expect(started(state)).toMatchObject({ read: COUNT + 1, open: ['old-7', 'open'] });
  });

  it('has nothing to say about plans that were written a moment ago', () => {
    vi.setSystemTime(Date.now() - 60_000);
    const state = manyFinished();
    started(state);
    expect(existsSync(indexOf(state))).toBe(false);
  });

  it('does not show a finished plan that was opened again in place, with as many bytes', () => {
    const state = manyFinished();
    started(state);
    const file = state.path('old-7/plan.json');
    const text = readFileSync(file, 'utf8');
    expect(text).toContain('"archived"');
    writeFileSync(file, text.replace('"archived"', '"active"  '));
    expect(started(state).open).toEqual(['old-7', 'open']);
  });

  it('is never trusted over a file, whatever it contains and whatever has changed', () => {
    const state = manyFinished();
    started(state);
    const good = readFileSync(indexOf(state));
    const id = fc.integer({ min: 0, max: COUNT + 3 }).map((number) => `old-${number}`);
    const edit = fc.oneof(
      fc.tuple(id, fc.constantFrom('active', 'complete', 'paused')).map(([plan, status]) => () => {
        state.plan(plan, ['a'], { status });
      }),
      id.map((plan) => () => rmSync(state.path(plan), { recursive: true, force: true })),
      fc.nat(good.length).map((length) => () => {
        if (existsSync(indexOf(state))) truncateSync(indexOf(state), length);
      }),
      fc.tuple(fc.nat(good.length - 1), fc.nat(255)).map(([at, byte]) => () => {
        const bytes = Buffer.from(good);
        bytes[at] = byte;
        writeFileSync(indexOf(state), bytes);
      }),
      fc.string().map((text) => () => writeFileSync(indexOf(state), text)),
      fc.constant(() => rmSync(indexOf(state), { force: true })),
      fc.constant(() => void started(state)),
    );
    fc.assert(
      fc.property(fc.array(edit, { minLength: 1, maxLength: 5 }), (edits) => {
        for (const each of edits) each();
        expectFresh(state);
      }),
      { numRuns: 40 },
    );
  });
});
