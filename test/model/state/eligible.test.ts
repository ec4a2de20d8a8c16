import { describe, expect, it } from 'vitest';
import type { Plan } from '../../../src/model/plan.ts';
import { PLAN_STATUSES } from '../../../src/model/plan-schema.ts';
import { blockedBy } from '../../../src/model/state/blockers-and-stop-on-failure.ts';
import { eligible, type Limits, type WorkView } from '../../../src/model/state/eligible.ts';
import { within } from '../../support/within.ts';
import { at, attempt, NOW, plan, ticket } from '../build.ts';

type Fields = Record<string, unknown> & {
  order?: number;
  blockedBy?: string[];
  group?: number;
  missing?: boolean;
};

/** A picture of one plan: its tickets by name, in the order they are listed. */
function picture(
  tickets: Record<string, Fields>,
  planFields: Record<string, unknown> = {},
  id = 'p',
): WorkView {
  const entries = Object.entries(tickets);
  return {
    plans: [
      plan({
        id,
        tickets: entries.map(([ticketId, { order, blockedBy, group }]) => ({
          ticketId,
          order,
          blockedBy,
          group,
        })),
        ...planFields,
      }),
    ],
    tickets: new Map(
      entries.flatMap(([ticketId, { order: _, blockedBy: __, group: ___, missing, ...fields }]) =>
        missing ? [] : [[`${id}/${ticketId}`, ticket({ planId: id, ticketId, ...fields })]],
      ),
    ),
    broken: new Map(),
  };
}

function together(...pictures: WorkView[]): WorkView {
  return {
    plans: pictures.flatMap((each) => each.plans),
    tickets: new Map(pictures.flatMap((each) => [...each.tickets])),
    broken: new Map(pictures.flatMap((each) => [...each.broken])),
  };
}

const limits = (more: Partial<Limits> = {}): Limits => ({
  maxConcurrency: 10,
  busy: new Set(),
  driven: new Set(),
  mine: () => true,
  ...more,
});
const decide = (given: WorkView, more: Partial<Limits> = {}, now = NOW) => eligible(given, limits(more), now);
const dispatched = (given: WorkView, more: Partial<Limits> = {}, now = NOW) =>
  decide(given, more, now).dispatch.map((each) => `${each.planId}/${each.ticketId}`);

const begun = { status: 'ready', phaseHistory: [attempt('a', 'failure')] };
const poll = (until: string) => ({
  ...begun,
  phaseHistory: [attempt('a', 'running')],
  hold: { kind: 'poll', reason: 'r', until },
});

describe('which plans', () => {
  it.each(PLAN_STATUSES)('a %s plan', (status) => {
    expect(dispatched(picture({ a: {} }, { status }))).toEqual(status === 'active' ? ['p/a'] : []);
  });

  it('a broken plan is not run; another is', () => {
    const given = together(picture({ a: {} }), picture({ b: {} }, {}, 'q'));
    expect(dispatched({ ...given, broken: new Map([['p', 'cycle']]) })).toEqual(['q/b']);
  });

  it('a plan is complete when all its tickets are', () => {
    expect(decide(picture({ a: { status: 'complete' }, b: { status: 'complete' } }))).toMatchObject({
      completed: ['p'],
      dispatch: [],
    });
    expect(decide(picture({ a: { status: 'complete' }, b: { status: 'failed' } })).completed).toEqual([]);
    expect(decide(picture({ a: { status: 'complete' }, b: { missing: true } })).completed).toEqual([]);
    expect(decide(picture({})).completed).toEqual([]);
  });

  it('only what is mine', () => {
    const given = picture({ a: {}, b: {} });
    expect(dispatched(given, { mine: (_plan, entry) => entry.ticketId === 'b' })).toEqual(['p/b']);
  });
});

describe('which tickets', () => {
  it.each<[string, Fields, boolean]>([
    ['queued', { status: 'queued' }, true],
    ['ready', { status: 'ready' }, true],
    ['left running by a dead engine', { status: 'running' }, true],
    ['paused', { status: 'paused' }, false],
    ['complete', { status: 'complete' }, false],
    ['failed', { status: 'failed' }, false],
    ['in need of a person', { status: 'needs_attention' }, false],
    ['not readable', { missing: true }, false],
    ['held by a limit', { ...begun, hold: { kind: 'limit', reason: 'r', until: at(1) } }, false],
    ['whose limit has ended', { ...begun, hold: { kind: 'limit', reason: 'r', until: at(0) } }, true],
    ['held without an end', { ...begun, hold: { kind: 'budget', reason: 'r', until: null } }, false],
    ['a poll that may look again', poll(at(-1)), true],
    ['a poll that waits', poll(at(1)), false],
    [
      'at a gate',
      {
        status: 'needs_attention',
        hold: { kind: 'gate', reason: 'r' },
        phaseHistory: [attempt('g', 'running')],
      },
      false,
    ],
    [
      'at a gate before its deadline',
      {
        status: 'needs_attention',
        hold: { kind: 'gate', reason: 'r', until: at(1) },
        phaseHistory: [attempt('g', 'running')],
      },
      false,
    ],
    [
      'at a gate past its deadline',
      {
        status: 'needs_attention',
        hold: { kind: 'gate', reason: 'r', until: at(-1) },
        phaseHistory: [attempt('g', 'running')],
      },
      true,
    ],
    ['broken', { status: 'needs_attention', hold: { kind: 'broken', reason: 'r', until: at(-1) } }, false],
  ])('%s', (_name, fields, goes) => {
    expect(dispatched(picture({ a: fields, z: { status: 'failed' } }))).toEqual(goes ? ['p/a'] : []);
  });

  it('not one that somebody drives', () => {
    expect(dispatched(picture({ a: {}, b: {} }), { driven: new Set(['p/a']) })).toEqual(['p/b']);
  });
});

describe('blockers', () => {
  it('hold a ticket back until they are complete', () => {
    const given = (status: string) => picture({ a: { status }, b: { blockedBy: ['a'] } });
    expect(dispatched(given('complete'))).toEqual(['p/b']);
    for (const status of ['queued', 'ready', 'running']) expect(dispatched(given(status))).toEqual(['p/a']);
    for (const status of ['paused', 'failed', 'needs_attention'])
      expect(dispatched(given(status))).toEqual([]);
  });

  it.each([
    ['failed', {}, 'waits for a (failed)'],
    ['paused', {}, 'waits for a (paused)'],
    ['needs_attention', {}, 'waits for a (needs attention)'],
    ['running', {}, 'waits for a (not complete yet)'],
    ['queued', { hold: { kind: 'blocked', reason: 'r' } }, 'waits for a (itself blocked)'],
  ])('are named with what is wrong: %s', (status, more, reason) => {
    const given = picture({ a: { status, ...more }, b: { blockedBy: ['a'] } });
    const [change] = decide(given, { driven: new Set(['p/a']) }).changes;
    expect(change).toMatchObject({
      ticketId: 'b',
      status: 'queued',
      hold: { kind: 'blocked', reason },
      since: NOW,
    });
  });

  it('of another plan count too', () => {
    const other = picture({ x: { status: 'failed' } }, {}, 'q');
    const given = together(picture({ b: { blockedBy: ['q/x'] } }), other);
    expect(decide(given).changes[0]?.hold?.reason).toBe('waits for q/x (failed)');
    const fine = together(
      picture({ b: { blockedBy: ['q/x'] } }),
      picture({ x: { status: 'complete' } }, { status: 'archived' }, 'q'),
    );
    expect(dispatched(fine)).toEqual(['p/b']);
  });

  it('that cannot be read are named', () => {
    const given = picture({ a: { missing: true }, b: { blockedBy: ['a'] } });
    expect(decide(given).changes[0]?.hold?.reason).toBe('waits for a (its file cannot be read)');
  });

  it('hold back a ticket that was written as ready, too', () => {
    const given = picture({ a: {}, b: { status: 'ready', blockedBy: ['a'] } });
    expect(dispatched(given)).toEqual(['p/a']);
    expect(decide(given).changes).toMatchObject([
      { ticketId: 'b', status: 'queued', hold: { kind: 'blocked' } },
    ]);
  });

  it('do not hold back what has begun', () => {
    expect(dispatched(picture({ a: { status: 'failed' }, b: { ...begun, blockedBy: ['a'] } }))).toEqual([
      'p/b',
    ]);
  });

  it('are told once, and again only when something changed', () => {
    const hold = { kind: 'blocked', reason: 'waits for a (failed)', until: null };
    const given = picture({ a: { status: 'failed' }, b: { blockedBy: ['a'], hold } });
    expect(decide(given).changes).toEqual([]);
  });

  it('leave no false reason behind when there is no slot yet', () => {
    const hold = { kind: 'blocked', reason: 'waits for a (not complete yet)', until: null };
    const given = picture({ a: { status: 'complete' }, b: { blockedBy: ['a'], hold } });
    const decision = decide(given, { maxConcurrency: 0 });
    expect(decision.dispatch).toEqual([]);
    expect(decision.changes).toMatchObject([{ ticketId: 'b', status: 'ready', hold: null }]);
    expect(decide(given).changes).toEqual([]);
  });

  it('blockedBy says null when all are complete', () => {
    const given = picture({ a: { status: 'complete' }, b: { blockedBy: ['a', 'p/a'] } });
    const [of] = given.plans as [Plan];
    expect(blockedBy(given, of, of.tickets[1] as Plan['tickets'][number])).toBeNull();
  });
});

describe('stopOnFailure', () => {
  const failing = [
    ['failed', { status: 'failed' }],
    ['in need of a person', { status: 'needs_attention', hold: { kind: 'broken', reason: 'r' } }],
  ] as const;
  it.each(failing)('starts nothing more after a ticket %s', (_name, fields) => {
    for (const status of ['queued', 'ready']) {
      const decision = decide(picture({ a: fields, b: { status } }, { stopOnFailure: true }));
      expect(decision.dispatch).toEqual([]);
      expect(decision.changes).toMatchObject([
        {
          ticketId: 'b',
          status: 'queued',
          hold: { reason: 'the plan stops at the first failure, and a failed' },
        },
      ]);
    }
  });

  it('finishes what has begun', () => {
    expect(dispatched(picture({ a: { status: 'failed' }, b: begun }, { stopOnFailure: true }))).toEqual([
      'p/b',
    ]);
  });

  it('does not take a gate for a failure', () => {
    const gate = { status: 'needs_attention', hold: { kind: 'gate', reason: 'r' } };
    expect(dispatched(picture({ a: gate, b: {} }, { stopOnFailure: true }))).toEqual(['p/b']);
  });

  it('is off by default', () => {
    expect(dispatched(picture({ a: { status: 'failed' }, b: {} }))).toEqual(['p/b']);
  });
});

describe('order', () => {
  it('what has begun first, then by order, then by plan, then as listed', () => {
    const given = together(
      picture({ late: { order: 2 }, b: {}, a: {}, going: { ...begun, order: 9 } }, {}, 'q'),
      picture({ x: {} }),
    );
    expect(dispatched(given)).toEqual(['q/going', 'p/x', 'q/b', 'q/a', 'q/late']);
  });

  it('may be negative and broken', () => {
    expect(dispatched(picture({ a: {}, b: { order: -1 }, c: { order: -0.5 } }))).toEqual([
      'p/b',
      'p/c',
      'p/a',
    ]);
  });
});

describe('a pause that is a step of another command', () => {
  const passing = (seconds: number) => ({
    status: 'paused',
    hold: { kind: 'stopped', reason: 'paused by a person', goesOnBy: at(seconds) },
  });

  it('is waited for, but not for ever', () => {
    expect(decide(picture({ a: passing(40) }))).toMatchObject({ dispatch: [], wakeAt: at(40) });
    expect(decide(picture({ a: passing(0) })).wakeAt).toBeNull();
    expect(decide(picture({ a: { ...passing(4000), since: at(3960) } })).wakeAt).toBeNull();
  });

  it('lets no later group begin', () => {
    expect(dispatched(picture({ a: passing(40), b: { group: 1 } }))).toEqual([]);
    expect(dispatched(picture({ a: passing(0), b: { group: 1 } }))).toEqual(['p/b']);
  });
});

describe('groups', () => {
  it.each<[string, Fields, boolean]>([
    ['is queued', {}, false],
    ['runs', { status: 'running', phaseHistory: [attempt('a', 'running')] }, false],
    ['waits for a limit', { ...begun, hold: { kind: 'limit', reason: 'r', until: at(9) } }, false],
    ['waits at a gate', { status: 'needs_attention', hold: { kind: 'gate', reason: 'r' } }, false],
    ['is complete', { status: 'complete' }, true],
    ['has failed', { status: 'failed' }, true],
    ['is paused', { status: 'paused' }, true],
    ['needs a person', { status: 'needs_attention' }, true],
    ['cannot be read', { missing: true }, true],
  ])('a later one starts when the earlier will not move: it %s', (_name, fields, starts) => {
    const given = picture({ first: fields, second: { group: 1 } });
    const driven = new Set(['p/first']);
    expect(dispatched(given, { driven })).toEqual(starts ? ['p/second'] : []);
  });

  it('what is blocked for good does not hold up the next group', () => {
    const given = picture({
      a: { status: 'failed' },
      b: { blockedBy: ['a'] },
      c: { blockedBy: ['b'] },
      d: { group: 1 },
    });
    expect(dispatched(given)).toEqual(['p/d']);
  });

  it('what waits for something under way does, by whatever ways it waits for it', () => {
    const other = picture({ a: {}, b: { blockedBy: ['a'] }, c: { blockedBy: ['a'] } }, {}, 'q');
    const given = together(picture({ d: { blockedBy: ['q/b', 'q/c'] }, late: { group: 1 } }), other);
    expect(dispatched(given)).toEqual(['q/a']);
  });

  it('tickets that wait for themselves hold up nobody', () => {
    const given = picture({ a: { blockedBy: ['b'] }, b: { blockedBy: ['a'] }, c: { group: 1 } });
    expect(dispatched(given)).toEqual(['p/c']);
  });

  it('of a thousand tickets in a row are told apart in no time', () => {
    const chain = Array.from({ length: 1000 }, (_, n) => [
      `t${n}`,
      n === 0 ? {} : { blockedBy: [`t${n - 1}`] },
    ]);
    const given = picture({ ...(Object.fromEntries(chain) as Record<string, Fields>), last: { group: 1 } });
    const began = performance.now();
    expect(dispatched(given)).toEqual(['p/t0']);
    expect(performance.now() - began).toBeLessThan(within(3_000));
  });
});

describe('limits', () => {
  it('fills the slots that are free', () => {
    const given = picture({ a: {}, b: {}, c: {} });
    expect(dispatched(given, { maxConcurrency: 2 })).toEqual(['p/a', 'p/b']);
    const busy = new Set(['p/a', 'x/y']);
    expect(dispatched(given, { maxConcurrency: 3, busy, driven: busy })).toEqual(['p/b']);
    expect(dispatched(given, { maxConcurrency: 1, busy, driven: busy })).toEqual([]);
  });

  it('keeps to the plan’s own number, others included', () => {
    const given = together(
      picture({ a: {}, b: {}, c: {} }, { concurrency: 2 }),
      picture({ x: {}, y: {} }, {}, 'q'),
    );
    expect(dispatched(given)).toEqual(['p/a', 'p/b', 'q/x', 'q/y']);
    const busy = new Set(['p/a']);
    expect(dispatched(given, { busy, driven: busy })).toEqual(['p/b', 'q/x', 'q/y']);
  });

  it('names the first of a plan that waits for others alone, and none that waits for its own', () => {
    const busy = new Set(['x/y']);
    const crowded = (concurrency: number | null, maxConcurrency: number) =>
      decide(picture({ a: {}, b: {}, c: {} }, { concurrency }), {
        maxConcurrency,
        busy,
        driven: busy,
      }).crowded.map(({ ticketId, alone }) => [ticketId, alone]);
    expect(crowded(2, 1)).toEqual([['a', true]]);
    expect(crowded(2, 2)).toEqual([['b', false]]);
    expect(crowded(2, 3)).toEqual([]);
    expect(crowded(null, 1)).toEqual([['a', true]]);
    expect(crowded(null, 2)).toEqual([]);
  });

  it('count a repository once, whatever its plans call it', () => {
    const given = together(
      picture({ a: {} }, { repo: 'git@github.com:acme/api.git' }),
      picture({ x: {} }, { repo: 'acme/api' }, 'q'),
    );
    const repositoryKey = (named: string) => named.replace(/^.*:|\.git$/g, '');
    expect(dispatched(given, { maxPerRepository: 1 })).toEqual(['p/a', 'q/x']);
    expect(dispatched(given, { maxPerRepository: 1, repositoryKey })).toEqual(['p/a']);
    const busy = new Set(['q/x']);
    expect(dispatched(given, { maxPerRepository: 1, repositoryKey, busy, driven: busy })).toEqual([]);
  });

  it('a poll that looks again takes no slot', () => {
    const given = picture({ a: poll(at(-1)), b: {} });
    expect(decide(given, { maxConcurrency: 1 }).dispatch).toEqual([
      { planId: 'p', ticketId: 'a', slot: false },
      { planId: 'p', ticketId: 'b', slot: true },
    ]);
    expect(dispatched(given, { maxConcurrency: 0 })).toEqual(['p/a']);
  });

  it('looks at no more than eight polls at once', () => {
    const many = Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`t${n}`, poll(at(-1))]));
    expect(dispatched(picture(many))).toHaveLength(8);
    const driven = new Set(['p/t0', 'p/t1', 'p/t2']);
    expect(dispatched(picture(many), { driven })).toHaveLength(5);
    expect(dispatched(picture(many), { driven, busy: driven })).toHaveLength(8);
  });
});

describe('wakeAt', () => {
  it('is the earliest end of a hold, in whatever zone it is written', () => {
    const given = picture({ a: poll(at(30)), b: poll('2026-01-01T14:00:10+02:00'), c: poll(at(20)) });
    expect(decide(given).wakeAt).toBe('2026-01-01T14:00:10+02:00');
  });

  it('is the deadline of a gate as well', () => {
    const hold = { kind: 'gate', reason: 'r', until: at(30) };
    const phaseHistory = [attempt('g', 'running')];
    expect(decide(picture({ a: { status: 'needs_attention', hold, phaseHistory } })).wakeAt).toBe(at(30));
  });

  it('is null when nothing ends by itself', () => {
    const gate = { status: 'needs_attention', hold: { kind: 'gate', reason: 'r' } };
    expect(decide(picture({ a: gate, b: { status: 'paused' }, c: { status: 'failed' } })).wakeAt).toBeNull();
  });

  it('does not count what is not ours, or not run', () => {
    expect(decide(picture({ a: poll(at(30)) }), { mine: () => false }).wakeAt).toBeNull();
    expect(decide(picture({ a: poll(at(30)) }, { status: 'paused' })).wakeAt).toBeNull();
    expect(decide(picture({ a: poll(at(30)) }), { driven: new Set(['p/a']) }).wakeAt).toBeNull();
  });
});

describe('plans that are not ready to start', () => {
  const NOT_READY = { hold: { kind: 'broken', reason: 'no agent', until: null }, again: at(60) } as const;
  const two = together(picture({ a: {}, b: {} }, {}, 'bad'), picture({ a: {} }, {}, 'good'));
  const readiness = ({ id }: Plan) => (id === 'bad' ? NOT_READY : 'ready');

  it('are held alone, with the reason, until the next check', () => {
    const { dispatch, changes, wakeAt } = decide(two, { readiness });
    expect(dispatch).toEqual([{ planId: 'good', ticketId: 'a', slot: true }]);
    expect(changes).toMatchObject([
      { planId: 'bad', ticketId: 'a', status: 'ready', hold: NOT_READY.hold },
      { planId: 'bad', ticketId: 'b', status: 'ready', hold: NOT_READY.hold },
    ]);
    expect(wakeAt).toBe(at(60));
  });

  it('are not written again while the reason is the same, and start when it is gone', () => {
    const held = picture({ a: { status: 'ready', hold: NOT_READY.hold } }, {}, 'bad');
    expect(decide(held, { readiness })).toMatchObject({ dispatch: [], changes: [], wakeAt: at(60) });
    for (const gone of [{ readiness: () => 'ready' as const }, {}])
      expect(decide(held, gone).changes).toMatchObject([{ ticketId: 'a', status: 'ready', hold: null }]);
  });

  it('wait without a word while that is being found out, and take the place of what could start', () => {
    const unknown = ({ id }: Plan) => (id === 'bad' ? ('unknown' as const) : ('ready' as const));
    expect(decide(two, { readiness: unknown })).toMatchObject({
      changes: [],
      dispatch: [{ planId: 'good', ticketId: 'a' }],
    });
    expect(decide(two, { readiness: unknown, maxConcurrency: 1 }).dispatch).toEqual([]);
  });

  it('finish what has begun', () => {
    const begun = picture({ a: { status: 'ready', phaseHistory: [attempt('build', 'success')] } }, {}, 'bad');
    expect(decide(begun, { readiness }).dispatch).toHaveLength(1);
  });
});
