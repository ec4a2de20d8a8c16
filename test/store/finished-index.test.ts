import { existsSync, readFileSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { refKey } from '../../src/model/ids-and-branch-names.ts';
import type { Plan } from '../../src/model/plan.ts';
import { openStore } from '../../src/store/open-file-store-with-schemas.ts';
import { StateReader } from '../../src/store/parse-and-cache-state-files.ts';
import { layoutOf } from '../../src/store/state-paths-and-read-plans.ts';
import { ViewInMemory } from '../../src/store/unfinished-plans-in-memory.ts';
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
function started(state: State, { trustsRecentCheck = false } = {}) {
  const reader = new StateReader();
  const plan = vi.spyOn(reader, 'plan');
  const none = () => undefined;
  const layout = layoutOf(state.dir);
  const kept = new ViewInMemory({ layout, reader, onChange: none, onOpen: none, trustsRecentCheck });
  const { plans, finished } = kept.view;
  const read = new Set(plan.mock.calls.map(([path]) => path)).size;
  return { open: plans.map(({ id }) => id), closed: [...(finished?.ids() ?? [])].sort(), read, kept };
}

const ticketsNamed = (kept: ViewInMemory, ...ids: string[]) =>
  (kept.view.finished?.named(ids) ?? []).map(refKey).sort();

function expectFresh(state: State): void {
  const { open, closed, kept } = started(state);
  const { plans } = openStore(state.dir).view();
  const isClosed = ({ status }: { status: string }) => status === 'complete' || status === 'archived';
  const refs = plans
    .filter(isClosed)
    .flatMap(({ id, tickets }) => tickets.map(({ ticketId }) => refKey({ planId: id, ticketId })));
  expect(open).toEqual(plans.filter((plan) => !isClosed(plan)).map(({ id }) => id));
  expect(ticketsNamed(kept, 'a')).toEqual(refs.sort());
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

  it('knows the tickets of plans that nothing has read', () => {
    const state = manyFinished();
    for (const [index, id] of ['7', 'repo-7', 'o-repo-7', '17', 'x7'].entries())
      state.plan(`old-${index}`, ['a', id], { status: 'complete' });
    const named = ['old-0/7', 'old-1/repo-7', 'old-2/o-repo-7'];
    expect(ticketsNamed(started(state).kept, '7')).toEqual(named);
    const { kept, read } = started(state);
    expect({ read, found: ticketsNamed(kept, '7') }).toEqual({ read: 1, found: named });
    expect(ticketsNamed(kept, 'x7', '17')).toEqual(['old-3/17', 'old-4/x7']);
    expect(ticketsNamed(kept, 'none')).toEqual([]);
    state.plan('old-1', ['a'], { status: 'complete' });
    expect(ticketsNamed(started(state).kept, '7')).toEqual(['old-0/7', 'old-2/o-repo-7']);
  });

  it('has nothing to say about plans that were written a moment ago', () => {
    vi.setSystemTime(Date.now() - 60_000);
    const state = manyFinished();
    started(state);
    expect(existsSync(indexOf(state))).toBe(false);
  });

  it('does not show a finished plan that was opened again in place, with as many bytes and the same time', () => {
    const state = manyFinished();
    const file = state.path('old-7/plan.json');
    const made = new Date('2026-01-01T00:00:00.000Z');
    utimesSync(file, made, made);
    started(state);
    const text = readFileSync(file, 'utf8');
    expect(text).toContain('"archived"');
    writeFileSync(file, text.replace('"archived"', '"active"  '));
    utimesSync(file, made, made);
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

  describe('for a command that only shows plans', () => {
    const shown = (state: State) => started(state, { trustsRecentCheck: true }).open;
    const reopenByHand = (state: State) => state.plan('old-7', ['a'], { status: 'active' });

    it('is trusted for a minute after a check of all plans, and not longer', () => {
      const state = manyFinished();
      started(state);
      reopenByHand(state);
      expect(shown(state)).toEqual(['open']);
      vi.setSystemTime(Date.now() + 59_000);
      expect(shown(state)).toEqual(['open']);
      vi.setSystemTime(Date.now() + 1_000);
      expect(shown(state)).toEqual(['old-7', 'open']);
    });

    it('is not trusted where the clock was set back', () => {
      const state = manyFinished();
      started(state);
      reopenByHand(state);
      vi.setSystemTime(Date.now() - 1_000);
      expect(shown(state)).toEqual(['old-7', 'open']);
    });

    it('is renewed by a process that checks all plans', () => {
      const state = manyFinished();
      const { kept } = started(state);
      vi.setSystemTime(Date.now() + 50_000);
      kept.check('all');
      vi.setSystemTime(Date.now() + 50_000);
      reopenByHand(state);
      expect(shown(state)).toEqual(['open']);
    });

    it('does not name a plan any more that a check found open, whichever process notes the check', () => {
      const state = manyFinished();
      const { kept } = started(state);
      rmSync(indexOf(state));
      started(state);
      reopenByHand(state);
      started(state);
      expect(shown(state)).toEqual(['old-7', 'open']);
      kept.check('all');
      expect(shown(state)).toEqual(['old-7', 'open']);
    });

    it('is not renewed by a process that found a plan open, where another one noted it as finished', () => {
      const state = manyFinished();
      reopenByHand(state);
      const { kept } = started(state);
      rmSync(indexOf(state));
      state.plan('old-7', ['a'], { status: 'archived' });
      started(state);
      reopenByHand(state);
      kept.check('all');
      expect(shown(state)).toEqual(['old-7', 'open']);
    });

    it.each<[string, (state: State, kept: ViewInMemory) => unknown]>([
      ['Signalbox opened one again', ({ store }) => store.updatePlan('old-7', activated)],
      [
        'an engine noticed that one was opened again',
        (state, kept) => {
          reopenByHand(state);
          kept.readPlan('old-7');
        },
      ],
      [
        'one was deleted and made anew',
        async (state) => {
          const plan = state.store.plan('old-7');
          await state.store.deletePlan('old-7');
          await state.store.create(activated(plan), []);
        },
      ],
    ])('is not trusted after %s', async (_what, change) => {
      const state = manyFinished();
      const { kept } = started(state);
      await change(state, kept);
      expect(shown(state)).toEqual(['old-7', 'open']);
    });
  });
});

const activated = (plan: Plan): Plan => ({ ...plan, status: 'active', tickets: [] });
