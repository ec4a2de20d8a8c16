import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Plan } from '../../../src/model/plan-schema.ts';
import { eligible, type WorkView } from '../../../src/model/state/eligible.ts';
import { waitsForTicketInTree } from '../../../src/model/state/turns-in-shared-workspace-start-limit-and-pauses.ts';
import type { Ticket } from '../../../src/model/ticket.ts';
import { Ticket as TicketSchema } from '../../../src/model/ticket-schema.ts';

const NOW = '2026-01-31T09:30:00.000Z';
const ago = (seconds: number) => new Date(Date.parse(NOW) - seconds * 1000).toISOString();
const BASE = { ref: 'spec/x', commit: 'a'.repeat(40) };
const ATTEMPT = { phase: 'implement', status: 'success', startedAt: ago(60), completedAt: ago(50) };

type Fields = Record<string, unknown>;

function picture(plan: Fields, tickets: Record<string, Fields>): WorkView {
  const entries = Object.keys(tickets).map((ticketId, order) => ({ ticketId, order }));
  const whole = Plan.parse({ id: 'p', status: 'active', workspace: 'shared', ...plan, tickets: entries });
  const all = Object.entries(tickets).map(([ticketId, fields]): [string, Ticket] => [
    `p/${ticketId}`,
    TicketSchema.parse({ planId: 'p', ticketId, title: ticketId, ...fields }),
  ]);
  return { plans: [whole], tickets: new Map(all), broken: new Map() };
}

function decide(of: WorkView, now = NOW, driven: string[] = []) {
  const set = new Set(driven);
  const decision = eligible(of, { maxConcurrency: 8, busy: set, driven: set, mine: () => true }, now);
  return {
    dispatch: decision.dispatch.map(({ ticketId }) => ticketId),
    holds: decision.changes.map(({ ticketId, status, hold }) => [ticketId, status, hold?.kind ?? null]),
    wakeAt: decision.wakeAt,
  };
}

const begun = { phaseHistory: [ATTEMPT], base: BASE };

describe('tickets that share a tree', () => {
  it.each<[string, Record<string, Fields>, string[], unknown[]]>([
    ['begin one at a time, in order', { a: {}, b: {} }, ['a'], []],
    ['go on with the one that has begun', { a: {}, b: { ...begun, status: 'ready' } }, ['b'], []],
    ['wait while one polls', { a: { ...begun, status: 'ready', hold: poll() }, b: {} }, [], []],
    [
      'wait for one that halted, and say so once',
      { a: { ...begun, status: 'needs_attention', hold: { kind: 'gate', reason: '?' } }, b: {}, c: {} },
      [],
      [['b', 'queued', 'blocked']],
    ],
    [
      'wait for one that a person paused',
      { a: { ...begun, status: 'paused' }, b: {} },
      [],
      [['b', 'queued', 'blocked']],
    ],
    ['go on after one that failed', { a: { ...begun, status: 'failed' }, b: {} }, ['b'], []],
    [
      'begin anew what was taken out of the tree',
      { a: { phaseHistory: [ATTEMPT], status: 'ready' }, b: {} },
      ['a'],
      [],
    ],
  ])('%s', (_name, tickets, dispatch, holds) => {
    expect(decide(picture({}, tickets))).toMatchObject({ dispatch, holds });
  });

  it('never run beside each other, whatever the plan says of concurrency', () => {
    const of = picture({ concurrency: 5 }, { a: { status: 'running', ...begun }, b: {} });
    expect(decide(of, NOW, ['p/a']).dispatch).toEqual([]);
  });
});

describe('a wait between tickets', () => {
  const done = (seconds: number) => ({ status: 'complete', phaseHistory: [ATTEMPT], since: ago(seconds) });

  it('is a hold of the next one alone, and ends at the same time for whoever looks', () => {
    const of = picture({ delaySeconds: 15 }, { a: done(1), b: {}, c: {} });
    const first = decide(of);
    expect(first).toMatchObject({ dispatch: [], holds: [['b', 'ready', 'delay']] });
    const held = { status: 'ready', hold: { kind: 'delay', reason: '', until: first.wakeAt } };
    const later = picture({ delaySeconds: 15 }, { a: done(1), b: held, c: {} });
    expect(decide(later, ago(-3)).wakeAt).toBe(first.wakeAt);
    expect(decide(later, first.wakeAt ?? '').dispatch).toEqual(['b']);
  });

  it('is no longer or shorter than a fifth of what was asked for', () => {
    fc.assert(
      fc.property(
        fc.stringMatching(/^[a-z0-9]{1,12}$/),
        fc.integer({ min: 1, max: 3600 }),
        (id, delaySeconds) => {
          const { wakeAt } = decide(picture({ delaySeconds }, { A: done(0), [id]: {} }));
          const seconds = (Date.parse(wakeAt ?? '') - Date.parse(NOW)) / 1000;
          expect(seconds / delaySeconds).toBeGreaterThanOrEqual(0.79);
          expect(seconds / delaySeconds).toBeLessThanOrEqual(1.21);
        },
      ),
    );
  });

  it('varies over the range from one ticket to the next', () => {
    const waits = Array.from({ length: 9 }, (_, at) => {
      const { wakeAt } = decide(picture({ delaySeconds: 15 }, { [`${at + 1}`]: done(0), [`${at + 2}`]: {} }));
      return (Date.parse(wakeAt ?? '') - Date.parse(NOW)) / 15_000;
    });
    expect(Math.max(...waits) - Math.min(...waits)).toBeGreaterThan(0.25);
    expect(new Set(waits.map((wait) => wait.toFixed(2))).size).toBeGreaterThan(5);
  });

  it('ends for all that wait at once, so that only the next one is said to wait', () => {
    const next = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`u${at}`, {}]));
    const of = picture({ delaySeconds: 15 }, { a: done(1), ...next });
    const { wakeAt } = decide(of);
    expect(decide(of, wakeAt ?? '')).toMatchObject({ dispatch: ['u0'], holds: [] });
  });

  it('does not hold up a first ticket, one after those done before, or anybody after the clock jumped back', () => {
    expect(decide(picture({ delaySeconds: 15 }, { a: {} })).dispatch).toEqual(['a']);
    const before = { status: 'complete', since: ago(1) };
    expect(decide(picture({ delaySeconds: 15 }, { a: before, b: {} })).dispatch).toEqual(['b']);
    expect(decide(picture({ delaySeconds: 15 }, { a: done(-3600), b: {} })).dispatch).toEqual(['b']);
  });
});

describe('a limit of tickets that begin', () => {
  const done = { status: 'complete', phaseHistory: [ATTEMPT], since: ago(50) };

  it('counts those that began after its time', () => {
    const since = (seconds: number) => ({ starts: { max: 1, since: ago(seconds) } });
    expect(decide(picture(since(100), { a: done, b: {}, c: {} })).holds).toEqual([['b', 'ready', 'starts']]);
    expect(decide(picture(since(30), { a: done, b: {} })).dispatch).toEqual(['b']);
  });

  it('is lifted with the next run', () => {
    const held = { status: 'ready', hold: { kind: 'starts', reason: '', until: null } };
    const of = picture({ starts: { max: 1, since: ago(30) } }, { a: done, b: held });
    expect(decide(of).holds).toEqual([['b', 'ready', null]]);
  });
});

function poll() {
  return { kind: 'poll', reason: '', until: ago(-100) };
}

describe('a limit of starts', () => {
  it('counts one that had begun before and went on since', () => {
    const went = {
      ...begun,
      status: 'complete',
      phaseHistory: [{ ...ATTEMPT, startedAt: ago(900) }, ATTEMPT],
    };
    const plan = { starts: { max: 1, since: ago(100) } };
    expect(decide(picture(plan, { a: went, b: {} }))).toMatchObject({
      dispatch: [],
      holds: [['b', 'ready', 'starts']],
    });
  });
});

describe('behind', () => {
  it.each([
    ['needs_attention', 'waits for a: it needs attention, and its work is in the worktree'],
    ['paused', 'waits for a: it is paused, and its work is in the worktree'],
    ['running', undefined],
  ])('tells what one waits for whose tree is with one that is %s', (status, reason) => {
    const all = picture({}, { a: { ...begun, status }, b: {} });
    const [plan] = all.plans;
    const b = all.tickets.get('p/b');
    expect(plan && b && waitsForTicketInTree(all, plan, b)?.reason).toBe(reason);
  });
});

describe('a plan of many tickets', () => {
  class Counted extends Map<string, Ticket> {
    asked = 0;
    override get(key: string): Ticket | undefined {
      this.asked += 1;
      return super.get(key);
    }
  }

  it.each<[string, Fields]>([
    ['one tree', { stopOnFailure: true, delaySeconds: 5, starts: { max: 50, since: ago(99) } }],
    ['trees of their own', { workspace: undefined, stopOnFailure: true }],
  ])('is looked through a few times, not once for each of them: %s', (_name, plan) => {
    const number = 500;
    const all = Object.fromEntries(Array.from({ length: number }, (_, index) => [`t${index}`, {}]));
    const given = picture(plan, all);
    const tickets = new Counted(given.tickets);
    expect(decide({ ...given, tickets }).dispatch[0]).toBe('t0');
    expect(tickets.asked).toBeLessThan(10 * number);
  });
});
