import { describe, expect, it } from 'vitest';
import { Plan } from '../../../src/model/plan-schema.ts';
import { Attempt, type Ticket } from '../../../src/model/ticket-schema.ts';
import { liveRow } from '../../../src/report/live/draw-frame.ts';
import { liveState, observe, pressKeys, refresh, ticketsIn } from '../../../src/report/live/live-state.ts';
import { attemptOf, START, status, ticket, usage } from '../samples.ts';

const at = (seconds: number) => START + seconds * 1000;

function known(...ids: string[]) {
  const state = liveState(START);
  refresh(
    state,
    ids.map((id) => ticket(id)),
    START,
  );
  const of = (id: string) => state.tickets.get(`tea/${id}`);
  return { state, of };
}

describe('observe', () => {
  it('follows an attempt: what it does last, and what it has used', () => {
    const { state, of } = known('parser');
    const implement = attemptOf('parser', 'implement', 2, 3);
    observe(state, implement.start('claude'), at(5));
    expect(of('parser')).toMatchObject({
      status: 'running',
      phase: 'implement',
      visit: 2,
      attempt: 3,
      since: at(5),
    });
    observe(state, implement.session('s-1'), at(6));
    expect(of('parser')?.activity).toBe('the agent has started');
    observe(state, implement.text('Reading…'), at(6));
    observe(state, implement.text('  \n'), at(6));
    expect(of('parser')?.activity).toBe('Reading…');
    observe(state, implement.tool('read', 'src/parse.js'), at(7));
    observe(state, implement.tool('read', 'src/parse.js', true), at(7));
    observe(state, implement.session('s-1'), at(7));
    expect(of('parser')).toMatchObject({ activity: 'read src/parse.js', since: at(5) });
  });

  it('counts the time in a phase, with all attempts but without waits', () => {
    const { state, of } = known('parser');
    const since = (attempt: number, seconds: number) => {
      observe(state, attemptOf('parser', 'implement', 1, attempt).start(), at(seconds));
      return of('parser')?.since;
    };
    expect([since(1, 5), since(2, 9)]).toEqual([at(5), at(5)]);
    const hold = { kind: 'limit', reason: 'limit reached', until: null } as const;
    observe(state, status('parser', 'ready', { hold, phase: 'implement' }), at(12));
    expect(since(3, 20)).toBe(at(20));
    observe(state, attemptOf('parser', 'review').start(), at(30));
    expect(of('parser')?.since).toBe(at(30));
  });

  it('takes usage of an attempt as a total so far, and adds up attempts', () => {
    const { state, of } = known('parser');
    const first = attemptOf('parser', 'implement');
    observe(state, first.start(), at(0));
    observe(state, first.usage(usage(100)), at(1));
    observe(state, first.usage(usage(250)), at(2));
    expect(of('parser')).toMatchObject({ used: null, using: { inputTokens: 250 } });
    observe(state, first.end({ usage: usage(300, 0.5) }), at(3));
    expect(of('parser')).toMatchObject({ used: { inputTokens: 300, costUsd: 0.5 }, using: null });
    const second = attemptOf('parser', 'self_review');
    observe(state, second.usage(usage(40)), at(4));
    observe(state, second.end(), at(5));
    expect(of('parser')?.used).toMatchObject({ inputTokens: 340, costUsd: 0.5 });
  });

  it('keeps why a ticket waits, and since when', () => {
    const { state, of } = known('cache');
    const hold = { kind: 'limit', reason: 'limit reached', until: null } as const;
    observe(state, attemptOf('cache', 'implement').start(), at(0));
    observe(state, status('cache', 'ready', { hold, phase: 'implement' }), at(9));
    expect(of('cache')).toMatchObject({
      status: 'ready',
      hold,
      phase: 'implement',
      since: at(9),
      activity: '',
    });
  });

  it('tells no new wait when the same one is told again', () => {
    const { state, of } = known('cache');
    const hold = { kind: 'gate', reason: 'merge it?', until: null } as const;
    observe(state, status('cache', 'needs_attention', { hold, phase: 'ask' }), at(1));
    observe(state, status('cache', 'needs_attention', { hold, phase: 'ask' }), at(9));
    expect(of('cache')?.since).toBe(at(1));
    observe(state, status('cache', 'needs_attention', { hold, phase: 'other' }), at(12));
    expect(of('cache')?.since).toBe(at(12));
  });

  it('leaves the start of an attempt that was taken over as it was', () => {
    const state = liveState(START);
    const open = { ...ticket('docs'), currentPhase: 'implement', status: 'running' as const };
    open.phaseHistory = [
      {
        phase: 'implement',
        visit: 1,
        attempt: 2,
        status: 'running',
        startedAt: new Date(at(-60)).toISOString(),
        completedAt: null,
        outcome: null,
        output: null,
        agent: 'claude',
        sessionId: null,
        usage: usage(70),
        error: null,
      },
    ];
    refresh(state, [open], START);
    observe(state, attemptOf('docs', 'implement', 1, 2).adopt(), at(1));
    expect(state.tickets.get('tea/docs')).toMatchObject({
      since: at(-60),
      attempt: 2,
      using: { inputTokens: 70 },
    });
  });

  it('is not moved by what is not about the course of a ticket', () => {
    const { state } = known('docs');
    const before = structuredClone(state);
    observe(state, { type: 'problem', planId: 'tea', ticketId: 'x', message: 'broken', path: null }, at(1));
    observe(state, { type: 'plan:status', planId: 'tea', status: 'complete' }, at(1));
    observe(state, { type: 'workspace:release', planId: 'tea', ticketId: 'docs', path: '/w' }, at(1));
    expect(state).toEqual(before);
  });

  it('shows a ticket that it has not heard of', () => {
    const { state, of } = known();
    observe(state, attemptOf('new', 'implement').start(), at(1));
    expect(of('new')).toMatchObject({ status: 'running', phase: 'implement' });
  });
});

describe('refresh', () => {
  it('takes over what somebody else changed, in the order of the store, but not of what runs here', () => {
    const { state, of } = known('a', 'b', 'c');
    observe(state, attemptOf('b', 'implement').start(), at(1));
    refresh(
      state,
      [ticket('d'), ticket('b', { status: 'paused' }), ticket('a', { status: 'paused' })],
      at(2),
    );
    expect([...state.tickets.keys()]).toEqual(['tea/d', 'tea/b', 'tea/a']);
    expect([of('d')?.since, of('a')?.since]).toEqual([at(2), START]);
    expect([of('d')?.status, of('b')?.status, of('a')?.status]).toEqual(['queued', 'running', 'paused']);
  });

  it('keeps a running ticket whose file cannot be read for a moment', () => {
    const { state, of } = known('a', 'b');
    observe(state, attemptOf('b', 'implement').start(), at(1));
    refresh(state, [ticket('a')], at(2));
    expect(of('b')?.status).toBe('running');
  });
});

describe('ticketsIn', () => {
  const plan = (id: string, planStatus: 'active' | 'complete', ...ids: [string, number][]) =>
    Plan.parse({ id, status: planStatus, tickets: ids.map(([ticketId, order]) => ({ ticketId, order })) });
  const view = {
    plans: [plan('tea', 'active', ['b', 2], ['a', 1], ['gone', 3]), plan('old', 'complete', ['z', 1])],
    tickets: new Map(
      [ticket('a'), ticket('b'), { ...ticket('z'), planId: 'old' }].map((each) => [
        `${each.planId}/${each.ticketId}`,
        each,
      ]),
    ),
  };
  it.each([
    ['all active plans', null, ['a', 'b']],
    ['one plan', { planId: 'old' }, ['z']],
    ['some tickets', { planId: 'tea', ticketIds: ['b', 'gone'] }, ['b']],
    ['an unknown plan', { planId: 'none' }, []],
  ])('gives those of %s', (_what, scope, ids) => {
    expect(ticketsIn(view, scope).map((each) => each.ticketId)).toEqual(ids);
  });
});

describe('a ticket that somebody else has', () => {
  const claim = {
    token: 't',
    pid: 7,
    host: 'h',
    by: 'daemon',
    started: 's',
    boot: 'b',
    renewedAt: '',
  } as never;
  const hold = { kind: 'blocked', reason: 'is driven by daemon (pid 7 on h)', until: null } as const;

  it.each(['running', 'ready'] as const)('is shown so while %s, with the phase that it is in', (now) => {
    const { state, of } = known('parser');
    observe(state, status('parser', now, { hold }), at(1));
    const held = ticket('parser', { status: now, claim, currentPhase: 'review' });
    refresh(state, [held], at(2));
    expect(of('parser')).toMatchObject({ status: now, hold, phase: 'review' });
    const row = of('parser');
    expect(row && liveRow(row, { withPlan: false }, at(3))?.text).toBe(hold.reason);
    observe(state, attemptOf('parser', 'review').adopt(), at(4));
    expect(of('parser')?.hold).toBeNull();
  });

  it('is as the store has it once it is free', () => {
    const { state, of } = known('parser');
    observe(state, status('parser', 'ready', { hold }), at(1));
    refresh(state, [ticket('parser', { status: 'ready' })], at(2));
    expect(of('parser')?.hold).toBeNull();
  });
});

describe('an answer to a gate', () => {
  const asks = (id: string, ...decisions: string[]) => {
    const attempt = { phase: 'ask', status: 'running', startedAt: new Date(START).toISOString(), decisions };
    const hold = { kind: 'gate', reason: 'ok?', until: null } as const;
    const phaseHistory = [Attempt.parse(attempt)];
    return ticket(id, { status: 'needs_attention', currentPhase: 'ask', hold, phaseHistory });
  };
  const open = (...tickets: Ticket[]) => {
    const state = liveState(START);
    refresh(state, tickets, START);
    const type = (...keys: string[]) => keys.map((each) => pressKeys(state, each)).at(-1);
    return { state, type };
  };
  const [RIGHT, LEFT, DOWN, ESC, ENTER] = ['\u001b[C', '\u001b[D', '\u001b[B', '\u001b', '\r'];

  it('needs the key, a decision and Enter; no single key decides', () => {
    const { state, type } = open(asks('a', 'approve', 'reject'));
    for (const key of [ENTER, 'y', 'r', ' ', RIGHT]) expect(type(key)).toBeUndefined();
    expect(state.box).toBeNull();
    expect(type('a', ENTER)).toBeUndefined();
    expect(state.box?.problem).toBe('Choose a decision first, with ← and →.');
    expect(type(RIGHT, RIGHT, ENTER)).toEqual({
      planId: 'tea',
      ticketId: 'a',
      decision: 'reject',
      message: '',
      attempt: 'ask#1#1',
    });
    // It is sent once.
    expect(type(ENTER)).toBeUndefined();
  });

  it('has a message, which may be pasted or corrected, and is left with Esc', () => {
    const { state, type } = open(asks('a', 'approve', 'reject'));
    type('a', LEFT, 'a line\r\nand another', '\u007f', '\u001b[5~', '!');
    expect(state.box).toMatchObject({ decision: 'reject', message: 'a line and anothe!' });
    type('\u0015', 'no');
    expect(state.box?.message).toBe('no');
    expect(type(ESC)).toBeUndefined();
    expect(state.box).toBeNull();
  });

  it('goes to the next question, needs no choice where there is none, and is sent once', () => {
    const { state, type } = open(asks('a', 'approve', 'reject'), asks('b', 'answer'));
    expect(type('a', RIGHT, 'x', DOWN, 'Use tabs.', ENTER)).toMatchObject({
      ticketId: 'b',
      decision: 'answer',
      message: 'Use tabs.',
    });
    refresh(state, [asks('a', 'approve'), ticket('b', { status: 'complete' })], START);
    expect(type('z')).toBeUndefined();
    expect(state.box).toMatchObject({ isSending: true, message: 'Use tabs.' });
  });

  it('is for the question that was read: when another has answered that, the text stays and no key is a command', () => {
    const { state, type } = open(asks('a', 'answer'), asks('b', 'answer'));
    type('a', 'Use ');
    const [again] = asks('a', 'answer').phaseHistory;
    const second = { ...asks('a', 'answer'), phaseHistory: [{ ...again, visit: 2 }] } as Ticket;
    refresh(state, [second, asks('b', 'answer')], START);
    expect(type('t', 'a', 'bs', 'q')).toBeUndefined();
    expect(state.box).toMatchObject({ key: 'tea/a', message: 'Use ', closed: 'tea/a no longer asks.' });
    expect(type(ENTER)).toBeUndefined();
    expect(state.box).toBeNull();
    expect(type('a', ENTER)).toMatchObject({ ticketId: 'a', attempt: 'ask#2#1' });
  });
});
