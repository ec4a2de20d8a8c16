import { describe, expect, it } from 'vitest';
import { isDue, next } from '../../../src/model/state/next-step-or-rest.ts';
import { TICKET_STATUSES } from '../../../src/model/ticket-schema.ts';
import { at, attempt, NOW, running, script, ticket, workflow } from '../build.ts';

const flow = workflow(script('a', { onSuccess: 'b' }), script('b'), { id: 'end', type: 'terminal' });

describe('next', () => {
  it.each(TICKET_STATUSES.filter((status) => status !== 'running'))(
    'has nothing to do for a %s ticket',
    (status) => {
      expect(next(flow, ticket({ status, currentPhase: 'a' }))).toBeNull();
    },
  );

  it('starts the first attempt of a visit', () => {
    expect(next(flow, running('a'))).toMatchObject({ do: 'start', phase: { id: 'a' }, visit: 1, attempt: 1 });
  });

  it('counts attempts per visit, limits and interruptions included, so that no key repeats', () => {
    const phaseHistory = [
      attempt('a', 'failure'),
      attempt('a', 'limit', { attempt: 2 }),
      attempt('a', 'interrupted', { attempt: 3 }),
      attempt('a', 'success', { visit: 2 }),
    ];
    expect(next(flow, running('a', { phaseHistory }))).toMatchObject({ visit: 1, attempt: 4 });
    expect(next(flow, running('a', { phaseHistory, visits: { a: 2 } }))).toMatchObject({
      visit: 2,
      attempt: 2,
    });
  });

  it('continues an open attempt, even one of another phase', () => {
    const open = attempt('a', 'running');
    expect(next(flow, running('b', { phaseHistory: [open] }))).toEqual({
      do: 'continue',
      phase: flow.phases[0],
      attempt: open,
    });
  });

  it.each([
    ['at a terminal', running('end')],
    ['in a phase that does not exist', running('x')],
    ['nowhere', ticket({ status: 'running' })],
  ])('has nothing to do for a ticket %s', (_name, given) => {
    expect(next(flow, given)).toBeNull();
  });
});

describe('isDue', () => {
  const held = (until: string | null, since: string | null = NOW) =>
    ticket({ status: 'ready', since, hold: { kind: 'poll', reason: 'r', until } });

  it.each([
    ['no hold', ticket(), true],
    ['no time', held(null), false],
    ['a time to come', held(at(1)), false],
    ['this very moment', held(at(0)), true],
    ['a time that has passed', held(at(-1)), true],
    ['a hold that begins a little ahead', held(at(90), at(59)), false],
    ['a clock that jumped back', held(at(9000), at(3600)), true],
    ['a clock that jumped back, without a beginning', held(at(9000), null), false],
    ['a time in another zone', held('2026-01-01T13:59:59+02:00'), true],
    ['something that is no time', held('tomorrow'), true],
  ])('%s', (_name, given, due) => {
    expect(isDue(given, NOW)).toBe(due);
  });
});
