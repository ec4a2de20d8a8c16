import { describe, expect, it } from 'vitest';
import { command } from '../../../src/model/state/commands.ts';
import { eligible, type Limits } from '../../../src/model/state/eligible.ts';
import { explain } from '../../../src/model/state/explain-ticket.ts';
import { reduce } from '../../../src/model/state/reduce.ts';
import type { Hold, Ticket } from '../../../src/model/ticket.ts';
import { at, attempt, NOW, plan, running, ticket, workflow } from '../build.ts';

const flow = workflow({ id: 'build', type: 'agent', prompt: 'x' });
const hold = (kind: Hold['kind'], until: string | null = null, reason = 'r'): Hold => ({
  kind,
  reason,
  until,
});
const held = (ticketId: string, its: Hold) =>
  ticket({
    ticketId,
    status: 'ready',
    hold: its,
    currentPhase: 'build',
    phaseHistory: [attempt('build', 'limit')],
  });

function decide(tickets: Ticket[], admits: Limits['admits'], more: Partial<Limits> = {}) {
  const entries = tickets.map(({ ticketId }) => ({ ticketId }));
  const picture = {
    plans: [plan({ tickets: entries })],
    tickets: new Map(tickets.map((each) => [`p/${each.ticketId}`, each])),
    broken: new Map(),
  };
  const limits = { maxConcurrency: 9, busy: new Set<string>(), driven: new Set<string>(), mine: () => true };
  return eligible(picture, { ...limits, ...(admits ? { admits } : {}), ...more }, NOW);
}

const names = (tickets: Ticket[]) => tickets.map((each) => `${each.ticketId} ${each.hold?.kind ?? 'free'}`);

describe('a ticket that is held back before its agent starts', () => {
  it.each(['limit', 'budget', 'memory'] as const)(
    'by %s goes on as soon as nothing holds it any more',
    (kind) => {
      const until = kind === 'limit' ? at(60) : null;
      const { changes, dispatch } = decide([held('a', hold(kind, until))], () => null);
      expect([names(changes), dispatch]).toEqual([['a free'], []]);
    },
  );

  it('stays as it is while the answer is the same, and wakes the engine in time', () => {
    const limit = hold('limit', at(60));
    expect(decide([held('a', limit)], () => limit)).toMatchObject({
      changes: [],
      dispatch: [],
      wakeAt: at(60),
    });
    const memory = decide([held('a', hold('memory'))], () => hold('memory', null, 'other numbers'));
    expect(memory).toMatchObject({ changes: [], dispatch: [], wakeAt: at(5) });
    const budget = hold('budget');
    expect(decide([held('a', budget)], () => budget)).toMatchObject({
      changes: [],
      dispatch: [],
      wakeAt: null,
    });
  });

  it('is told when something else holds it now', () => {
    const { changes } = decide([held('a', hold('memory'))], () => hold('limit', at(60)));
    expect(changes).toMatchObject([{ status: 'ready', hold: { kind: 'limit', until: at(60) } }]);
  });

  it('is let go one at a time where memory was short, and never beyond the free slots', () => {
    const memory = ['a', 'b', 'c'].map((id) => held(id, hold('memory')));
    expect(names(decide(memory, () => null).changes)).toEqual(['a free']);
    const limits = ['a', 'b', 'c'].map((id) => held(id, hold('limit', at(9))));
    expect(names(decide(limits, () => null, { maxConcurrency: 2 }).changes)).toEqual(['a free', 'b free']);
  });

  it('whose time has come starts without being asked about', () => {
    const asked: string[] = [];
    const { dispatch } = decide([held('a', hold('limit', at(-1)))], (_, { ticketId }) => {
      asked.push(ticketId);
      return null;
    });
    expect([dispatch.length, asked]).toEqual([1, []]);
  });

  it('waits for its time where nobody can tell more', () => {
    const { dispatch, wakeAt } = decide([held('a', hold('limit', at(60)))], () => undefined);
    expect([dispatch, wakeAt]).toEqual([[], at(60)]);
  });
});

describe('an engine', () => {
  it('holds a ticket back instead of starting, and only one that it drives', () => {
    const event = { type: 'hold', hold: hold('memory') } as const;
    const after = reduce(flow, running('build'), event, NOW);
    expect(after).toMatchObject({ status: 'ready', hold: { kind: 'memory' }, phaseHistory: [] });
    const paused = ticket({ status: 'paused' });
    expect(reduce(flow, paused, event, NOW)).toBe(paused);
    const busy = running('build', { phaseHistory: [attempt('build', 'running')] });
    expect(reduce(flow, busy, event, NOW)).toBe(busy);
  });

  it('parks what has used up its budget so that its session can go on', () => {
    const open = running('build', { phaseHistory: [attempt('build', 'running', { sessionId: 's' })] });
    const end = { type: 'parked', kind: 'budget', until: null, reason: 'spent' } as const;
    expect(reduce(flow, open, { type: 'end', end }, NOW)).toMatchObject({
      status: 'ready',
      hold: { kind: 'budget', reason: 'spent', until: null },
      retries: {},
      phaseHistory: [{ status: 'interrupted', sessionId: 's', error: { class: 'budget' } }],
    });
  });

  it('notes when a limit is over', () => {
    const open = running('build', { phaseHistory: [attempt('build', 'running')] });
    const end = { type: 'parked', kind: 'limit', until: at(60), reason: 'later' } as const;
    expect(reduce(flow, open, { type: 'end', end }, NOW).phaseHistory).toMatchObject([
      { status: 'limit', resetAt: at(60) },
    ]);
  });
});

it('whoever retries a ticket that waits for a limit lets it try', () => {
  const after = command(flow, held('a', hold('limit', at(60))), { type: 'retry', ready: true }, NOW);
  expect(after).toMatchObject({ status: 'ready', hold: null, goAhead: NOW });
  const other = command(flow, held('a', hold('budget')), { type: 'retry', ready: true }, NOW);
  expect(other.goAhead).toBeUndefined();
  expect(other.lookedAt).toBeUndefined();
});

it('whoever retries a ticket that waits for a look at an unknown cost has looked', () => {
  const reason = 'the cost of phase a of p/a is unknown, and … is limited (budgets.unknown: block)';
  const waits = held('a', { kind: 'budget', reason, until: null, unpriced: true });
  expect(explain(waits, plan(), { driven: false, engine: false, blocked: null })).toEqual({
    why: reason,
    next: `once you have checked: signalbox retry ${waits.planId} ${waits.ticketId}`,
  });
  const after = command(flow, waits, { type: 'retry', ready: true }, NOW);
  expect(after).toMatchObject({ status: 'ready', hold: null, lookedAt: NOW });
});

it.each<[Hold, string]>([
  [hold('limit', at(60)), 'continues at the reset; to try now: signalbox retry p a'],
  [hold('memory'), 'checks again'],
  [hold('budget', at(60)), 'continues then'],
  [hold('budget'), 'continues when the budget is raised'],
])('%j is explained: %s', (its, next) => {
  const answer = explain(held('a', its), plan(), { driven: false, engine: true, blocked: null });
  expect(answer.next).toBe(next);
});
