import { describe, expect, it } from 'vitest';
import { begin, editOpen, enter, settle, takeEdge } from '../../../src/model/state/enter-and-leave-phases.ts';
import { Attempt } from '../../../src/model/ticket-schema.ts';
import { at, attempt, history, NOW, phaseIn, running, script, ticket, workflow } from '../build.ts';

describe('settle', () => {
  it('notes when status or hold changed, and only then', () => {
    const first = settle(ticket(), NOW, { status: 'ready' });
    expect(first.since).toBe(NOW);
    expect(settle(first, at(1), { status: 'ready' }).since).toBe(NOW);
    const hold = { kind: 'poll', reason: 'not yet', until: at(5) } as const;
    const held = settle(first, at(2), { status: 'ready', hold });
    expect(held.since).toBe(at(2));
    expect(settle(held, at(3), { status: 'ready', hold: { ...hold, until: at(9) } }).since).toBe(at(2));
    expect(settle(held, at(4), { status: 'ready', hold: { ...hold, reason: 'still not' } }).since).toBe(
      at(4),
    );
  });

  it('drops the hold and keeps the error unless told otherwise', () => {
    const before = ticket({ hold: { kind: 'blocked', reason: 'r' }, error: 'e' });
    expect(settle(before, NOW, { status: 'ready' })).toMatchObject({ hold: null, error: 'e' });
    expect(settle(before, NOW, { status: 'ready', error: null }).error).toBeNull();
  });
});

describe('begin', () => {
  const flow = workflow(
    script('a'),
    script('b'),
    { id: 'end', type: 'terminal' },
    { id: 'help', type: 'terminal', notify: true },
  );

  it('puts a new ticket into the first phase', () => {
    expect(begin(flow, ticket(), NOW)).toMatchObject({ currentPhase: 'a', visits: { a: 1 } });
  });

  it('leaves one that is under way as it is', () => {
    const there = running('b');
    expect(begin(flow, there, NOW)).toBe(there);
  });

  it('counts the visit to a phase that a planner chose', () => {
    expect(begin(flow, ticket({ currentPhase: 'b' }), NOW).visits).toEqual({ b: 1 });
  });

  it('breaks at a phase that does not exist, with the reason', () => {
    const broken = begin(flow, ticket({ currentPhase: 'x' }), NOW);
    expect(broken).toMatchObject({ status: 'needs_attention', hold: { kind: 'broken' } });
    expect(broken.error).toBe('Workflow "flow" has no phase "x".');
  });

  it.each([
    ['end', 'complete'],
    ['help', 'needs_attention'],
  ])('ends a ticket that begins at the terminal %s', (currentPhase, status) => {
    expect(begin(flow, ticket({ currentPhase }), NOW)).toMatchObject({ status, hold: null });
  });

  it('ends one whose workflow is nothing but a terminal', () => {
    const only = workflow({ id: 'end', type: 'terminal' });
    expect(begin(only, ticket(), NOW)).toMatchObject({ status: 'complete', currentPhase: 'end' });
  });
});

describe('enter', () => {
  const flow = workflow(
    script('a', { maxVisits: 2, onFailure: 'b' }),
    script('b', { maxVisits: 1, onFailure: 'a' }),
    script('c', { maxVisits: 1 }),
    script('free'),
    { id: 'end', type: 'terminal' },
    { id: 'help', type: 'terminal', notify: true },
  );

  it('counts the visit and sets the failures of the phase to zero', () => {
    const there = enter(flow, running('b', { visits: { a: 1, b: 1 }, retries: { a: 2, b: 1 } }), 'a', NOW);
    expect(there).toMatchObject({ currentPhase: 'a', visits: { a: 2, b: 1 }, retries: { a: 0, b: 1 } });
  });

  it('takes the failure edge of a phase that was entered too often, and notes why', () => {
    const there = enter(flow, running('free', { visits: { a: 2 } }), 'a', NOW);
    expect(there).toMatchObject({ currentPhase: 'b', status: 'running', visits: { a: 3, b: 1 } });
    expect(there.phaseHistory).toMatchObject([
      { phase: 'a', visit: 3, attempt: 1, status: 'failure', outcome: 'failure', error: { class: 'visits' } },
    ]);
    expect(there.error).toBe('Phase "a" was entered 3 times; at most 2 are allowed.');
  });

  it('names what failed first where a loop ends, once, also where two loops end', () => {
    const error = 'free: no branch to merge into';
    const one = enter(flow, running('free', { visits: { a: 2 }, error }), 'a', NOW);
    expect(one.error).toBe(`${error}. Phase "a" was entered 3 times; at most 2 are allowed.`);
    const both = enter(flow, running('free', { visits: { a: 2, b: 1 }, error }), 'a', NOW);
    expect(both.error).toBe(`${error}. Phase "a" was entered 4 times; at most 2 are allowed.`);
  });

  it('names a failure alone where one visit is allowed', () => {
    const error = 'free: npm test exited with code 1';
    expect(enter(flow, running('free', { visits: { c: 1 }, error }), 'c', NOW).error).toBe(error);
  });

  it('names the outcome that sent a ticket back where nothing has failed', () => {
    const entry = { phase: 'free', status: 'success', startedAt: NOW, completedAt: NOW, outcome: 'again' };
    const phaseHistory = [Attempt.parse({ ...entry, output: 'Add a test!\nIt is short.' })];
    const there = enter(flow, running('free', { visits: { c: 1 }, phaseHistory }), 'c', NOW);
    expect(there.error).toBe(
      'free ended with "again": Add a test! Phase "c" was entered 2 times; at most 1 is allowed.',
    );
  });

  it('fails where there is no failure edge', () => {
    expect(enter(flow, running('free', { visits: { c: 1 } }), 'c', NOW)).toMatchObject({
      status: 'failed',
      error: 'Phase "c" was entered 2 times; at most 1 is allowed.',
    });
  });

  it('fails when failure edges lead in a circle', () => {
    const there = enter(flow, running('free', { visits: { a: 2, b: 1 } }), 'a', NOW);
    expect(there.status).toBe('failed');
    expect(history(there)).toEqual(['a#3#1 failure', 'b#2#1 failure', 'a#4#1 failure']);
  });

  it('gives the note a key of its own when a person had set the counters back', () => {
    const earlier = enter(flow, running('free', { visits: { c: 1 } }), 'c', NOW);
    const again = enter(flow, { ...earlier, status: 'running', visits: { c: 1 } }, 'c', NOW);
    expect(history(again)).toEqual(['c#2#1 failure', 'c#2#2 failure']);
  });

  it('bounds a phase that names no number', () => {
    expect(enter(flow, running('free', { visits: { free: 99 } }), 'free', NOW).status).toBe('running');
    expect(enter(flow, running('free', { visits: { free: 100 } }), 'free', NOW).status).toBe('failed');
  });

  it('completes at a terminal', () => {
    const before = running('a', { error: 'old', hold: { kind: 'poll', reason: 'r' } });
    expect(enter(flow, before, 'end', NOW)).toMatchObject({
      status: 'complete',
      hold: null,
      error: null,
      currentPhase: 'end',
    });
  });

  it.each([
    [null, 'help: a person must check it'],
    ['a: broke', 'a: broke'],
  ])('asks for a person at a terminal that notifies; error %j', (error, expected) => {
    expect(enter(flow, running('a', { error }), 'help', NOW)).toMatchObject({
      status: 'needs_attention',
      hold: null,
      error: expected,
      currentPhase: 'help',
    });
  });

  it('says what its workflow says about the end, with the ticket’s own commands', () => {
    const description = 'It is gone. `signalbox skip <plan> <ticket> a` brings it back.';
    const told = workflow(script('a'), { id: 'gone', type: 'terminal', notify: true, description });
    const there = enter(told, running('a'), 'gone', NOW);
    expect(there.error).toBe('gone: It is gone. `signalbox skip p t a` brings it back.');
  });

  it('fails where the target does not exist, and stays where it is', () => {
    expect(enter(flow, running('a'), 'x', NOW)).toMatchObject({ status: 'failed', currentPhase: 'a' });
  });
});

describe('phases that were not asked for', () => {
  const flow = workflow(
    script('a', { onSuccess: 'b', onFailure: 'help' }),
    { id: 'b', type: 'agent', prompt: 'x', on: { pass: 'c', fail: 'a' } },
    script('c'),
    script('loop', { onSuccess: 'loop', maxVisits: 3 }),
    { id: 'help', type: 'terminal', notify: true },
  );

  it.each<[string, string[], string, string[]]>([
    ['none', [], 'a', []],
    ['the first', ['a'], 'b', ['a#1#1 skipped']],
    ['two', ['a', 'b'], 'c', ['a#1#1 skipped', 'b#1#1 skipped']],
    ['one that does not exist', ['x'], 'a', []],
  ])(
    'are recorded as skipped and follow their success edge: %s',
    (_name, skipPhases, currentPhase, expected) => {
      const there = begin(flow, ticket({ skipPhases }), NOW);
      expect(there).toMatchObject({ currentPhase, status: 'queued' });
      expect(history(there)).toEqual(expected);
    },
  );

  it('complete the ticket when there is nothing else', () => {
    const there = begin(flow, ticket({ skipPhases: ['a', 'b', 'c'] }), NOW);
    expect(there).toMatchObject({ status: 'complete', error: null });
  });

  it('do not go round for ever', () => {
    const there = enter(flow, running('a', { skipPhases: ['loop'] }), 'loop', NOW);
    expect(there.status).toBe('failed');
    expect(history(there)).toEqual([
      'loop#1#1 skipped',
      'loop#2#1 skipped',
      'loop#3#1 skipped',
      'loop#4#1 failure',
    ]);
  });
});

describe('follow', () => {
  const flow = workflow(
    script('a', { on: { pass: 'b', fail: 'c' }, onFailure: 'd' }),
    script('b'),
    script('c', { onSuccess: 'b' }),
    script('d'),
  );
  const go = (from: string, outcome: string, error: string | null = null) =>
    takeEdge(flow, running(from, { error }), phaseIn(flow, from), outcome, NOW);

  it.each([
    ['a', 'pass', 'b'],
    ['a', 'fail', 'c'],
    ['a', 'failure', 'd'],
    ['a', 'timeout', 'd'],
    ['a', 'constructor', 'd'],
    ['a', '__proto__', 'd'],
    ['c', 'success', 'b'],
  ])('from %s with %s to %s', (from, outcome, to) => {
    expect(go(from, outcome)).toMatchObject({ currentPhase: to, status: 'running' });
  });

  it('completes after a success without an edge', () => {
    expect(go('b', 'success', 'old')).toMatchObject({ status: 'complete', error: null });
    expect(go('a', 'success')).toMatchObject({ status: 'complete' });
  });

  it('fails after anything else without an edge', () => {
    expect(go('b', 'timeout')).toMatchObject({
      status: 'failed',
      error: 'Phase "b" ended with "timeout" and has no edge for it.',
    });
    expect(go('b', 'failure', 'b: broke')).toMatchObject({ status: 'failed', error: 'b: broke' });
    expect(go('b', 'toString')).toMatchObject({ status: 'failed' });
  });
});

describe('editOpen', () => {
  it('changes the open attempt and no other', () => {
    const closed = attempt('a', 'failure');
    const before = running('a', { phaseHistory: [closed, attempt('a', 'running', { attempt: 2 })] });
    const after = editOpen(before, (open) => ({ ...open, sessionId: 's' }));
    expect(after.phaseHistory[0]).toEqual(closed);
    expect(after.phaseHistory[1]).toMatchObject({ attempt: 2, sessionId: 's' });
  });

  it('does nothing when none is open', () => {
    const before = running('a', { phaseHistory: [attempt('a', 'failure')] });
    expect(editOpen(before, () => attempt('x', 'success'))).toBe(before);
  });
});
