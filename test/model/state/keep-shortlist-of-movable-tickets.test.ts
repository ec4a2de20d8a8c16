import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { refKey, type StateRef } from '../../../src/model/ids-and-branch-names.ts';
import type { Plan } from '../../../src/model/plan.ts';
import { PLAN_STATUSES } from '../../../src/model/plan-schema.ts';
import { eligible, type Limits, type Readiness, type WorkView } from '../../../src/model/state/eligible.ts';
import { Shortlist } from '../../../src/model/state/keep-shortlist-of-movable-tickets.ts';
import type { Hold, Ticket } from '../../../src/model/ticket.ts';
import { at, attempt, NOW, plan, ticket } from '../build.ts';

const PLANS = ['p0', 'p1', 'p2'];
const TICKETS = ['t0', 't1', 't2', 't3', 't4'];
const begun = [attempt('a', 'failure')];
const open = [attempt('a', 'running')];
const until = fc.constantFrom(null, at(-5), at(5), at(500));
const held = (kind: string, more: Record<string, unknown>) =>
  until.map((time) => ({ ...more, hold: { kind, reason: 'r', until: time } }));

const state: fc.Arbitrary<Record<string, unknown>> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom({ status: 'queued' }, { status: 'ready' }) },
  {
    weight: 4,
    arbitrary: fc.constantFrom({ status: 'complete' }, { status: 'complete', phaseHistory: begun }),
  },
  fc.constantFrom(
    { status: 'ready', phaseHistory: begun },
    { status: 'running', phaseHistory: open },
    { status: 'failed', phaseHistory: begun, since: at(-5) },
    { status: 'needs_attention' },
    { status: 'needs_attention', hold: { kind: 'blocked', reason: 'marked', until: null } },
    { status: 'paused', phaseHistory: open },
    { status: 'paused', hold: { kind: 'stopped', reason: 'r', until: null, goesOnBy: at(5) } },
  ),
  held('blocked', { status: 'queued' }),
  held('poll', { status: 'ready', phaseHistory: open }),
  held('limit', { status: 'ready' }),
  held('memory', { status: 'ready', phaseHistory: begun }),
  held('budget', { status: 'ready', phaseHistory: begun }),
  held('shortage', { status: 'ready', phaseHistory: open }),
  held('broken', { status: 'ready' }),
  held('starts', { status: 'ready' }),
  held('delay', { status: 'ready' }),
  held('gate', { status: 'needs_attention', phaseHistory: open }),
);

const entries = fc.subarray(TICKETS).chain((ids) =>
  fc.tuple(
    ...ids.map((ticketId) =>
      fc.record({
        ticketId: fc.constant(ticketId),
        order: fc.integer({ min: 0, max: 2 }),
        group: fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(1) }),
        blockedBy: fc.array(
          fc.oneof(
            fc.constantFrom(...TICKETS),
            fc.tuple(fc.constantFrom(...PLANS), fc.constantFrom(...TICKETS)).map((both) => both.join('/')),
          ),
          { maxLength: 2 },
        ),
      }),
    ),
  ),
);

const planFields = fc.record({
  status: fc.oneof(
    { weight: 5, arbitrary: fc.constant('active') },
    { weight: 1, arbitrary: fc.constantFrom(...PLAN_STATUSES) },
  ),
  concurrency: fc.option(fc.integer({ min: 1, max: 3 })),
  repo: fc.constantFrom(null, '/one', '/two'),
  stopOnFailure: fc.boolean(),
  workspace: fc.oneof(
    { weight: 4, arbitrary: fc.constant('own') },
    { weight: 1, arbitrary: fc.constant('shared') },
  ),
  delaySeconds: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(30) }),
  starts: fc.oneof(
    { weight: 4, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constant({ max: 1, since: at(-60) }) },
  ),
  tickets: entries,
});

type Edit = (view: Picture) => StateRef[];

interface Picture {
  plans: Map<string, Plan>;
  tickets: Map<string, Ticket>;
}

const planId = fc.constantFrom(...PLANS);
const edit: fc.Arbitrary<Edit> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(planId, fc.constantFrom(...TICKETS), state).map(
      ([p, t, fields]): Edit =>
        (view) => {
          view.tickets.set(`${p}/${t}`, ticket({ planId: p, ticketId: t, ...fields }));
          return [{ planId: p, ticketId: t }];
        },
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(planId, fc.constantFrom(...TICKETS)).map(
      ([p, t]): Edit =>
        (view) => {
          view.tickets.delete(`${p}/${t}`);
          return [{ planId: p, ticketId: t }];
        },
    ),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(planId, planFields).map(
      ([id, fields]): Edit =>
        (view) => {
          view.plans.set(id, plan({ id, ...fields }));
          return [{ planId: id, ticketId: null }];
        },
    ),
  },
  // Deleting a plan is one change, whatever tickets it had.
  planId.map(
    (id): Edit =>
      (view) => {
        view.plans.delete(id);
        for (const t of TICKETS) view.tickets.delete(`${id}/${t}`);
        return [{ planId: id, ticketId: null }];
      },
  ),
  // What a decision wants is written, as an engine does it.
  fc.constant((view: Picture): StateRef[] => {
    const { changes } = eligible(workOf(view, []), { ...NO_LIMITS }, NOW);
    for (const changed of changes) view.tickets.set(refKey(changed), changed);
    return changes.map(({ planId: p, ticketId }) => ({ planId: p, ticketId }));
  }),
);

const NO_LIMITS: Limits = { maxConcurrency: 2, busy: new Set(), driven: new Set(), mine: () => true };

function workOf({ plans, tickets }: Picture, broken: readonly string[]): WorkView {
  const sorted = [...plans.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  return { plans: sorted, tickets, broken: new Map(broken.map((id) => [id, 'why'])) };
}

const keys = PLANS.flatMap((p) => TICKETS.map((t) => `${p}/${t}`));
const hold: Hold = { kind: 'broken', reason: 'not ready', until: null };
const limits = fc
  .record({
    maxConcurrency: fc.integer({ min: 0, max: 4 }),
    maxPerRepository: fc.constantFrom(null, null, 1, 2),
    driven: fc.subarray(keys, { maxLength: 3 }),
    theirs: fc.subarray(keys, { maxLength: 3 }),
    unready: fc.array(fc.tuple(planId, fc.boolean()), { maxLength: 2 }),
    ignoresCrowded: fc.boolean(),
    admits: fc.constantFrom(null, undefined, { kind: 'limit', reason: 'r', until: at(50) } as Hold),
    broken: fc.subarray(PLANS, { maxLength: 1 }),
  })
  .map(({ driven, theirs, unready, broken, admits, ...rest }) => {
    const made: Limits = {
      ...rest,
      driven: new Set(driven),
      busy: new Set(driven.slice(1)),
      admits: () => admits,
      mine: ({ id }, { ticketId }) => !theirs.includes(`${id}/${ticketId}`),
      readiness: ({ id }): Readiness => {
        const found = unready.find(([of]) => of === id);
        return !found ? 'ready' : found[1] ? 'unknown' : { hold, again: at(9) };
      },
    };
    return { limits: made, broken };
  });

describe('a shortlist', () => {
  it('leads to the same decision as a look at every ticket, after any changes', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.array(edit, { minLength: 1, maxLength: 8 }), limits, fc.constantFrom(0, 6)), {
          minLength: 1,
          maxLength: 12,
        }),
        (rounds) => {
          const view: Picture = { plans: new Map(), tickets: new Map() };
          const shortlist = new Shortlist();
          shortlist.update(workOf(view, []), 'unknown');
          for (const [edits, now, later] of rounds) {
            const changed = edits.flatMap((each) => each(view));
            const work = workOf(view, now.broken);
            shortlist.update(work, changed);
            const decide = (list?: Shortlist) => eligible(work, now.limits, at(later), list);
            expect(decide(shortlist)).toEqual(decide());
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  it('has nothing to do with complete and waiting tickets, nor with ready ones beyond the limit', () => {
    const ids = Array.from({ length: 1000 }, (_, index) => `t${index}`);
    const tickets = new Map(
      ids.map((ticketId, index) => [
        `p/${ticketId}`,
        ticket({
          ticketId,
          status: index < 500 ? 'complete' : 'queued',
          hold:
            index < 900
              ? null
              : { kind: 'blocked', reason: 'waits for t899 (not complete yet)', until: null },
        }),
      ]),
    );
    const entryOf = (ticketId: string, index: number) => ({
      ticketId,
      blockedBy: index < 900 ? [] : ['t899'],
    });
    const work = { plans: [plan({ tickets: ids.map(entryOf) })], tickets, broken: new Map() };
    const shortlist = new Shortlist();
    shortlist.update(work, 'unknown');
    let asked = 0;
    const counting = new Proxy(tickets, {
      get(target, key) {
        if (key === 'get') asked += 1;
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const { dispatch } = eligible(
      { ...work, tickets: counting },
      { ...NO_LIMITS, maxConcurrency: 8 },
      NOW,
      shortlist,
    );
    expect(dispatch.map(({ ticketId }) => ticketId)).toEqual(ids.slice(500, 508));
    expect(asked).toBeLessThan(30);
  });
});
