import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StateRef } from '../../../src/model/ids-and-branch-names.ts';
import type { Plan } from '../../../src/model/plan.ts';
import { planProblems } from '../../../src/model/plans/dependency-and-branch-problems.ts';
import { KeptProblems } from '../../../src/model/plans/keep-first-problem-of-active-plans.ts';
import type { PlansView } from '../../../src/model/plans/plans-view.ts';
import type { Ticket } from '../../../src/model/ticket.ts';
import { plan, ticket } from '../build.ts';

const PLANS = ['p0', 'p1', 'p2', 'p3'];
const TICKETS = ['t0', 't1', 't2'];
const planId = fc.constantFrom(...PLANS);
const ticketId = fc.constantFrom(...TICKETS);
const blocker = fc.oneof(
  ticketId,
  fc.tuple(planId, ticketId).map((both) => both.join('/')),
);
const entries = fc.array(fc.record({ ticketId, blockedBy: fc.array(blocker, { maxLength: 2 }) }), {
  maxLength: 4,
});
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { freq: 2 });
const place = fc.record({
  branch: maybe(fc.constantFrom('a', 'a/b', 'a/b/c', 'ticket/p0', 'ticket/p0/t0', 'ticket/p1/t1')),
  worktree: maybe(fc.constantFrom('/w', '/v')),
  repo: maybe(fc.constantFrom('/r', '/s')),
});

interface Picture {
  plans: Map<string, Plan>;
  tickets: Map<string, Ticket>;
}

type Edit = (picture: Picture) => StateRef;

const edit: fc.Arbitrary<Edit> = fc.oneof(
  fc
    .record({
      id: planId,
      tickets: entries,
      status: fc.constantFrom('active', 'active', 'paused'),
      workspace: fc.constantFrom('own', 'own', 'shared'),
      repo: fc.constantFrom('/r', null),
    })
    .map(
      (fields): Edit =>
        ({ plans }) => {
          plans.set(fields.id, plan(fields));
          return { planId: fields.id, ticketId: null };
        },
    ),
  // Only its claim or its status changes.
  fc.tuple(planId, fc.constantFrom('active', 'paused') as fc.Arbitrary<Plan['status']>).map(
    ([id, status]): Edit =>
      ({ plans }) => {
        const before = plans.get(id);
        if (before) plans.set(id, { ...before, status });
        return { planId: id, ticketId: null };
      },
  ),
  planId.map(
    (id): Edit =>
      ({ plans }) => {
        plans.delete(id);
        return { planId: id, ticketId: null };
      },
  ),
  fc.tuple(planId, ticketId, maybe(place)).map(
    ([p, t, fields]): Edit =>
      ({ tickets }) => {
        if (fields) tickets.set(`${p}/${t}`, ticket({ planId: p, ticketId: t, ...fields }));
        else tickets.delete(`${p}/${t}`);
        return { planId: p, ticketId: t };
      },
  ),
);

function viewOf({ plans, tickets }: Picture): PlansView {
  return { plans: [...plans.values()].sort((a, b) => (a.id < b.id ? -1 : 1)), tickets };
}

/** Every active plan, looked at anew. */
function plainly(view: PlansView): [string, string][] {
  return view.plans.flatMap((each): [string, string][] => {
    const [first] = each.status === 'active' ? planProblems(each, view) : [];
    return first ? [[each.id, first.message]] : [];
  });
}

describe('the problems that are kept', () => {
  it('are those of a look at every plan, after any changes', () => {
    fc.assert(
      fc.property(fc.array(fc.array(edit, { minLength: 1, maxLength: 6 }), { maxLength: 20 }), (rounds) => {
        const picture: Picture = { plans: new Map(), tickets: new Map() };
        const kept = new KeptProblems({ isWanted: () => true, first: () => undefined });
        kept.update(viewOf(picture), 'unknown');
        for (const edits of rounds) {
          const changed = edits.map((each) => each(picture));
          const view = viewOf(picture);
          kept.update(view, changed);
          const found = [...kept.problems].map(([id, { message }]): [string, string] => [id, message]);
          expect(found.sort()).toEqual(plainly(view));
        }
      }),
      { numRuns: 300 },
    );
  });

  it('of one plan are not looked for again while others change', () => {
    let asked = 0;
    const blockedBy = Array.from({ length: 20_000 }, () => 't0');
    const doubled = plan({ id: 'p0', tickets: [{ ticketId: 't0' }, { ticketId: 't1', blockedBy }] });
    const counted = doubled.tickets.map((entry) => ({
      ...entry,
      get blockedBy() {
        asked += 1;
        return entry.blockedBy;
      },
    }));
    const other = plan({ id: 'p1', tickets: [{ ticketId: 't0' }] });
    const picture: Picture = {
      plans: new Map([
        ['p0', { ...doubled, tickets: counted }],
        ['p1', other],
      ]),
      tickets: new Map(),
    };
    const kept = new KeptProblems({ isWanted: () => true, first: () => undefined });
    kept.update(viewOf(picture), 'unknown');
    expect([...kept.problems.keys()]).toEqual(['p0']);
    asked = 0;
    for (let round = 0; round < 10; round += 1) {
      picture.plans.set('p1', { ...other, name: `round ${round}` });
      picture.tickets.set('p1/t0', ticket({ planId: 'p1', ticketId: 't0', worktree: `/w${round}` }));
      const changed = ['p0', 'p1'].map((planId) => ({ planId, ticketId: planId === 'p1' ? null : 't0' }));
      kept.update(viewOf(picture), changed);
    }
    expect([...kept.problems.keys()]).toEqual(['p0']);
    expect(asked).toBe(0);
  });
});
