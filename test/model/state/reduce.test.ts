import { describe, expect, it } from 'vitest';
import { noUsage } from '../../../src/model/limits/usage-cost-and-estimate.ts';
import {
  type AttemptEnd,
  MAX_INTERRUPTIONS,
  NOT_RETRYABLE,
} from '../../../src/model/state/attempt-end-types-and-waits.ts';
import { reduce, type TicketEvent } from '../../../src/model/state/reduce.ts';
import { ERROR_CLASSES, type Ticket } from '../../../src/model/ticket.ts';
import { at, attempt, CLAIM, history, NOW, running, script, ticket, workflow } from '../build.ts';

const flow = workflow(
  script('a', { maxRetries: 2, onSuccess: 'b', onFailure: 'help' }),
  { id: 'b', type: 'agent', prompt: 'x', on: { revise: 'a' }, retry: { max: 2, delaySeconds: 10 } },
  { id: 'wait', type: 'poll', command: 'x.sh', onSuccess: 'end' },
  { id: 'ask', type: 'gate', on: { yes: 'end' }, onFailure: 'help' },
  { id: 'end', type: 'terminal' },
  { id: 'help', type: 'terminal', notify: true },
);

const claim: TicketEvent = { type: 'claim', claim: CLAIM, workflowHash: 'hash' };
const end = (of: AttemptEnd): TicketEvent => ({ type: 'end', end: of });
const done = (outcome = 'success') => ({ type: 'done', outcome, captured: {} }) satisfies AttemptEnd;
const failed = (cls: (typeof ERROR_CLASSES)[number] = 'exit'): AttemptEnd => ({
  type: 'failed',
  error: { class: cls, message: 'it broke' },
});
const cut: AttemptEnd = { type: 'interrupted', reason: 'gone', deliberate: false };
const stopped: AttemptEnd = { type: 'interrupted', reason: 'stopped', deliberate: true };
const parked: AttemptEnd = { type: 'parked', kind: 'limit', until: at(60), reason: 'limit reached' };
const waiting = (gate: boolean, until: string | null): AttemptEnd => ({
  type: 'waiting',
  until,
  reason: 'not yet',
  gate,
});

/** A ticket with an open attempt in this phase. */
const open = (phase: string, fields: Record<string, unknown> = {}) =>
  running(phase, { phaseHistory: [attempt(phase, 'running')], ...fields });
const apply = (from: Ticket, ...events: TicketEvent[]) =>
  events.reduce((now, event) => reduce(flow, now, event, NOW), from);

describe('claim', () => {
  it.each(['queued', 'ready', 'running'])('sets a %s ticket running in its first phase', (status) => {
    expect(apply(ticket({ status, hold: { kind: 'blocked', reason: 'r' } }), claim)).toMatchObject({
      status: 'running',
      hold: null,
      claim: CLAIM,
      workflowHash: 'hash',
      currentPhase: 'a',
    });
  });

  it('takes a ticket that no worker could begin before', () => {
    const hold = { kind: 'broken', reason: 'r', until: NOW };
    expect(apply(ticket({ status: 'ready', hold }), claim)).toMatchObject({ status: 'running', hold: null });
  });

  it('takes a gate whose deadline has come', () => {
    const hold = { kind: 'gate', reason: 'r', until: NOW };
    expect(apply(open('ask', { status: 'needs_attention', hold, claim: null }), claim)).toMatchObject({
      status: 'running',
      hold: null,
    });
  });

  it.each([
    ['paused', { hold: { kind: 'stopped', reason: 'r' } }],
    ['complete', {}],
    ['failed', {}],
    ['needs_attention', {}],
    ['needs_attention', { hold: { kind: 'broken', reason: 'r' } }],
  ])('leaves a ticket that is %s alone', (status, more) => {
    const before = ticket({ status, currentPhase: 'a', ...more });
    expect(apply(before, claim)).toBe(before);
  });

  it('lets go of one that cannot begin', () => {
    expect(apply(ticket({ currentPhase: 'x' }), claim)).toMatchObject({
      status: 'needs_attention',
      hold: { kind: 'broken' },
      claim: null,
    });
  });

  it.each([
    ['end', 'complete'],
    ['help', 'needs_attention'],
  ])('ends one that stands at %s instead of driving it for ever', (currentPhase, status) => {
    expect(apply(ticket({ status: 'ready', currentPhase }), claim)).toMatchObject({ status, claim: null });
  });
});

describe('start', () => {
  const start: TicketEvent = { type: 'start', attempt: 1, agent: 'x' };

  it('records the attempt before anything runs', () => {
    expect(apply(running('b', { visits: { b: 3 } }), start).phaseHistory).toEqual([
      attempt('b', 'running', { visit: 3, agent: 'x' }),
    ]);
  });

  it('does nothing beside an open attempt, nor when a person was faster', () => {
    const busy = open('a');
    expect(apply(busy, start)).toBe(busy);
    const paused = running('a', { status: 'paused', hold: { kind: 'stopped', reason: 'r' } });
    expect(apply(paused, start)).toBe(paused);
  });
});

describe('what an attempt reports while it runs', () => {
  it('is kept on the open attempt', () => {
    const usage = { ...noUsage(), inputTokens: 5 };
    const after = apply(open('b'), { type: 'session', sessionId: 's' }, { type: 'usage', usage });
    expect(after.phaseHistory[0]).toMatchObject({ sessionId: 's', usage });
  });

  it('changes nothing once it is closed', () => {
    const before = running('b', { phaseHistory: [attempt('b', 'failure')] });
    expect(apply(before, { type: 'session', sessionId: 's' })).toBe(before);
    expect(apply(before, { type: 'usage', usage: noUsage() })).toBe(before);
    expect(apply(before, end(done()))).toBe(before);
  });
});

describe('base', () => {
  it('records where the work happens', () => {
    const base = { ref: 'main', commit: 'abc' };
    const event: TicketEvent = { type: 'base', base, branch: 'x', worktree: '/w' };
    expect(apply(running('a'), event)).toMatchObject({ base, branch: 'x', worktree: '/w' });
  });
});

describe('done', () => {
  it('closes the attempt and takes the edge', () => {
    const after = apply(open('a', { error: 'old' }), end({ ...done(), output: 'out', sessionId: 's' }));
    expect(after).toMatchObject({ currentPhase: 'b', status: 'running', error: null });
    expect(after.phaseHistory[0]).toMatchObject({
      status: 'success',
      outcome: 'success',
      completedAt: NOW,
      output: 'out',
      sessionId: 's',
    });
  });

  it('adds what was captured to the context', () => {
    const captured = { url: 'u', n: [1, { deep: null }] };
    const after = apply(open('a', { context: { url: 'old', kept: 1 } }), end({ ...done(), captured }));
    expect(after.context).toEqual({ url: 'u', n: [1, { deep: null }], kept: 1 });
  });

  it('keeps session and usage that were known before', () => {
    const usage = { ...noUsage(), costUsd: 1 };
    const phaseHistory = [attempt('a', 'running', { sessionId: 's', usage, output: 'o' })];
    const after = apply(running('a', { phaseHistory }), end(done()));
    expect(after.phaseHistory[0]).toMatchObject({ sessionId: 's', usage, output: 'o' });
  });

  it('completes the ticket where success leads nowhere', () => {
    expect(apply(open('b'), end(done()))).toMatchObject({ status: 'complete', claim: CLAIM });
  });

  it.each([
    ['revise', 'success', 'running'],
    ['failure', 'failure', 'failed'],
  ])('with outcome %s the attempt is a %s', (outcome, attemptStatus, status) => {
    const after = apply(open('b'), end(done(outcome)));
    expect(after.status).toBe(status);
    expect(after.phaseHistory[0]).toMatchObject({ status: attemptStatus, outcome });
  });
});

describe('failed', () => {
  it('is tried again first, then takes the failure edge with the error', () => {
    let now = open('a');
    for (const failures of [1, 2]) {
      now = apply(now, end(failed()));
      expect(now).toMatchObject({
        status: 'running',
        currentPhase: 'a',
        retries: { a: failures },
        error: 'a: it broke',
      });
      expect(now.phaseHistory.at(-1)).toMatchObject({ status: 'failure', outcome: null });
      now = apply(now, { type: 'start', attempt: failures + 1, agent: null });
    }
    now = apply(now, end(failed()));
    expect(now).toMatchObject({ status: 'needs_attention', currentPhase: 'help', error: 'a: it broke' });
    expect(now.phaseHistory.at(-1)).toMatchObject({ outcome: 'failure', error: { class: 'exit' } });
    expect(history(now)).toEqual(['a#1#1 failure', 'a#1#2 failure', 'a#1#3 failure']);
  });

  it.each([
    [0, 10],
    [1, 20],
  ])('waits longer each time: after %i failures %i s', (before, seconds) => {
    expect(apply(open('b', { retries: { b: before } }), end(failed()))).toMatchObject({
      status: 'ready',
      hold: { kind: 'backoff', reason: 'attempt 1 failed: it broke', until: at(seconds) },
    });
  });

  it('names the attempt that failed by its own number, whatever became of those before', () => {
    const ticket = open('b');
    const second = ticket.phaseHistory.map((attempt) => ({ ...attempt, attempt: 2 }));
    const { hold } = apply({ ...ticket, phaseHistory: second }, end(failed()));
    expect(hold?.reason).toBe('attempt 2 failed: it broke');
  });

  it.each(ERROR_CLASSES.map((name) => [name, NOT_RETRYABLE.has(name) ? 'help' : 'a']))(
    '%s leads to %s',
    (name, phase) => {
      expect(apply(open('a'), end(failed(name))).currentPhase).toBe(phase);
    },
  );

  it('takes the edge of its own outcome where there is one', () => {
    const timed = workflow(
      script('a', { on: { timeout: 'late' }, onFailure: 'help' }),
      script('late'),
      script('help'),
    );
    const after = reduce(
      timed,
      open('a'),
      end({ ...failed('timeout'), outcome: 'timeout' } as AttemptEnd),
      NOW,
    );
    expect(after).toMatchObject({ currentPhase: 'late', phaseHistory: [{ outcome: 'timeout' }] });
  });

  it.each([
    ['refused', 'told'],
    ['exit', 'help'],
  ] as const)('of the class %s leads to %s', (kind, target) => {
    const refusing = workflow(
      script('a', { on: { refused: 'told' }, onFailure: 'help' }),
      script('told'),
      script('help'),
    );
    expect(reduce(refusing, open('a'), end(failed(kind)), NOW).currentPhase).toBe(target);
  });

  it('fails the ticket where there is no failure edge', () => {
    expect(apply(open('b', { retries: { b: 2 } }), end(failed()))).toMatchObject({
      status: 'failed',
      hold: null,
      error: 'b: it broke',
    });
  });
});

describe('a usage limit', () => {
  it('parks the ticket until the reset and consumes nothing', () => {
    const after = apply(open('a', { retries: { a: 1 } }), end(parked));
    expect(after).toMatchObject({
      status: 'ready',
      currentPhase: 'a',
      retries: { a: 1 },
      visits: { a: 1 },
      hold: { kind: 'limit', reason: 'limit reached', until: at(60) },
      error: null,
    });
    expect(after.phaseHistory[0]).toMatchObject({
      status: 'limit',
      outcome: null,
      error: { class: 'limit' },
    });
  });
});

describe('a shortage of this computer', () => {
  it('is waited for, consumes nothing, and never becomes a failure', () => {
    let [now, of] = [NOW, running('b', { retries: { b: 1 } })];
    const waits: number[] = [];
    for (let number = 1; number <= 70; number += 1) {
      of = reduce(flow, of, { type: 'start', attempt: number, agent: 'x' }, now);
      of = reduce(flow, of, end(failed('shortage')), now);
      expect(of).toMatchObject({ status: 'ready', retries: { b: 1 }, error: null });
      expect(of.hold).toMatchObject({ kind: 'shortage', reason: 'it broke', since: NOW });
      waits.push((Date.parse(of.hold?.until ?? '') - Date.parse(now)) / 1000);
      now = of.hold?.until ?? now;
      of = reduce(flow, { ...of, claim: CLAIM }, claim, now);
    }
    expect(waits.slice(0, 8)).toEqual([5, 5, 10, 20, 40, 60, 60, 60]);
    expect(of.phaseHistory.every(({ status }) => status === 'interrupted')).toBe(true);
  });
});

describe('an overloaded provider', () => {
  /** Meets overloads one after the other, each as soon as its wait is over; returns the waits in seconds. */
  const meet = (ends: Partial<Extract<AttemptEnd, { type: 'failed' }>>[], from = running('b')) => {
    let [now, of] = [NOW, from];
    const waits: number[] = [];
    for (const more of ends) {
      const number = of.phaseHistory.length + 1;
      of = reduce(flow, of, { type: 'start', attempt: number, agent: 'x' }, now);
      of = reduce(flow, of, end({ ...failed('overloaded'), usage: NOTHING, ...more } as AttemptEnd), now);
      if (of.hold?.kind !== 'overload') break;
      waits.push((Date.parse(of.hold.until ?? '') - Date.parse(now)) / 1000);
      now = of.hold.until ?? now;
      of = reduce(flow, { ...of, claim: CLAIM }, claim, now);
    }
    return { waits, of };
  };
  const NOTHING = { ...noUsage(), inputTokens: 0, outputTokens: 0 };
  const ANSWERED = { ...noUsage(), inputTokens: 9, outputTokens: 9 };
  const often = (n: number, more = {}) => Array.from({ length: n }, () => more);

  it('is waited for and consumes nothing', () => {
    const after = apply(open('b', { retries: { b: 1 } }), end({ ...failed('overloaded'), sessionId: 's' }));
    expect(after).toMatchObject({
      status: 'ready',
      retries: { b: 1 },
      visits: { b: 1 },
      hold: { kind: 'overload', reason: 'it broke', until: at(5) },
      error: null,
    });
    expect(after.phaseHistory[0]).toMatchObject({
      status: 'interrupted',
      outcome: null,
      sessionId: 's',
      error: { class: 'overloaded', message: 'it broke' },
      resetAt: at(5),
    });
  });

  it('is waited for longer each time, for about ten minutes in a row; then the attempt has failed', () => {
    const { waits, of } = meet(often(20));
    expect(waits).toEqual([5, 10, 20, 40, 80, 120, 120, 120, 120]);
    expect(of.phaseHistory.at(-1)).toMatchObject({ status: 'failure', error: { class: 'overloaded' } });
    expect(of).toMatchObject({
      status: 'ready',
      retries: { b: 1 },
      hold: { kind: 'backoff', until: expect.any(String) },
    });
  });

  it('is waited for up to a quarter longer, by the jitter that the caller gives', () => {
    expect(meet(often(3, { jitter: 1 })).waits).toEqual([6.25, 12.5, 25]);
    expect(meet([{ jitter: 0.4 }]).waits).toEqual([5.5]);
  });

  it('begins a new row when the model has answered in between', () => {
    const nine = often(9);
    const { waits } = meet([...nine, { usage: ANSWERED }, ...nine]);
    expect(waits).toEqual([5, 10, 20, 40, 80, 120, 120, 120, 120, 5, 10, 20, 40, 80, 120, 120, 120, 120]);
    expect(meet(often(100, { usage: ANSWERED })).waits).toEqual(often(50).map(() => 5));
  });

  it('begins a new row after an attempt that ended in another way', () => {
    const other = [
      attempt('b', 'interrupted', { error: { class: 'overloaded', message: '' } }),
      attempt('b', 'failure'),
    ];
    expect(meet(often(2), running('b', { phaseHistory: other })).waits).toEqual([5, 10]);
  });

  it('is waited for as long as the provider says, where it says so', () => {
    expect(meet([{ until: at(20) }]).waits).toEqual([20]);
    expect(meet([{ until: at(700) }, {}]).waits).toEqual([700]);
    expect(meet([{ until: at(-1) }]).waits).toEqual([5]);
  });

  it('leaves a ticket paused that a person paused', () => {
    const after = apply({ ...open('b'), status: 'paused' }, end(failed('overloaded')));
    expect(after).toMatchObject({ status: 'paused', hold: null, retries: {} });
  });
});

describe('an interruption', () => {
  const interrupt = (from: Ticket, with_: AttemptEnd, times: number) => {
    let now = from;
    for (let n = 0; n < times; n++) {
      const attemptNumber = now.phaseHistory.length + 1;
      now = apply(now, { type: 'start', attempt: attemptNumber, agent: null }, end(with_));
    }
    return now;
  };

  it('consumes nothing and leaves the ticket to be driven on', () => {
    const after = apply(open('a', { retries: { a: 1 } }), end(cut));
    expect(after).toMatchObject({ status: 'running', retries: { a: 1 }, visits: { a: 1 }, error: null });
    expect(after.phaseHistory[0]).toMatchObject({ status: 'interrupted', outcome: null });
  });

  it('is a failure when it keeps happening', () => {
    const before = interrupt(running('b'), cut, MAX_INTERRUPTIONS);
    expect(before.retries).toEqual({});
    const after = interrupt(before, cut, 1);
    expect(after).toMatchObject({ status: 'ready', retries: { b: 1 }, hold: { kind: 'backoff' } });
    expect(after.error).toBe('b: Phase "b" was interrupted 6 times in a row (gone).');
  });

  it('is waited after like a failure where an agent has died again', () => {
    const died: AttemptEnd = { ...cut, died: true } as AttemptEnd;
    const once = interrupt(running('b'), died, 1);
    expect(once).toMatchObject({ status: 'running', hold: null });
    const twice = interrupt(once, died, 1);
    expect(twice).toMatchObject({ status: 'ready', retries: {}, hold: { kind: 'backoff' } });
    expect(twice.hold?.reason).toBe('attempt 2 failed: gone');
  });

  it('may happen as often as a person or a shutdown likes', () => {
    expect(interrupt(running('a'), stopped, 20)).toMatchObject({ status: 'running', retries: {} });
    const mixed = interrupt(interrupt(running('a'), cut, MAX_INTERRUPTIONS), stopped, 3);
    expect(mixed).toMatchObject({ status: 'running', retries: {} });
  });

  it('by a shutdown counts as none, even right after the one too many', () => {
    const after = interrupt(interrupt(running('a'), cut, MAX_INTERRUPTIONS + 1), stopped, 1);
    expect(after.retries).toEqual({ a: 1 });
  });

  it('starts counting anew after a person sent the ticket back', () => {
    const once = workflow(script('a'));
    let now = interrupt(running('a'), cut, MAX_INTERRUPTIONS);
    now = reduce(once, apply(now, { type: 'start', attempt: 6, agent: null }), end(cut), NOW);
    expect(now.status).toBe('failed');
    now = { ...now, status: 'running', retries: {} };
    expect(interrupt(now, cut, 1)).toMatchObject({ status: 'running', retries: {} });
  });
});

describe('waiting', () => {
  it('a poll looks again later, in the same attempt', () => {
    const once = apply(open('wait'), end(waiting(false, at(5))));
    expect(once).toMatchObject({ status: 'ready', hold: { kind: 'poll', reason: 'not yet', until: at(5) } });
    const twice = apply(once, claim, end(waiting(false, at(9))));
    expect(twice.phaseHistory).toMatchObject([{ status: 'running', checks: 2 }]);
  });

  it.each(['wait', 'ask'])('%s: a start that lies ahead of the clock is now, and stays there', (phase) => {
    const ahead = open(phase, { phaseHistory: [{ ...attempt(phase, 'running'), startedAt: at(7200) }] });
    const once = apply(ahead, end(waiting(phase === 'ask', at(5))));
    expect(once.phaseHistory).toMatchObject([{ startedAt: NOW }]);
    const later = reduce(flow, { ...once, status: 'running' }, end(waiting(phase === 'ask', at(9))), at(5));
    expect(later.phaseHistory).toMatchObject([{ startedAt: NOW }]);
  });

  it.each([null, at(60)])('a gate waits for a person, until %s', (until) => {
    expect(apply(open('ask'), end(waiting(true, until)))).toMatchObject({
      status: 'needs_attention',
      hold: { kind: 'gate', until },
      phaseHistory: [{ status: 'running', checks: 1 }],
    });
  });
});

describe('release', () => {
  it.each([
    ['running', 'ready'],
    ['paused', 'paused'],
    ['complete', 'complete'],
    ['failed', 'failed'],
    ['needs_attention', 'needs_attention'],
    ['ready', 'ready'],
  ])('lets go of a %s ticket, which is then %s', (status, after) => {
    expect(apply(ticket({ status, claim: CLAIM, currentPhase: 'a' }), { type: 'release' })).toMatchObject({
      status: after,
      claim: null,
    });
  });
});

describe('a ticket that a person paused while its attempt was ending', () => {
  const hold = { kind: 'stopped', reason: 'paused by me', until: null };
  const paused = (phase: string) => open(phase, { status: 'paused', hold });

  it.each<[string, AttemptEnd]>([
    ['fails', failed()],
    ['hits a limit', parked],
    ['is interrupted', cut],
    ['is stopped', stopped],
    ['was a look of a poll', waiting(false, at(5))],
    ['asks a person', waiting(true, null)],
  ])('stays paused when it %s, and nothing is consumed', (_name, how) => {
    for (const phase of ['a', 'b']) {
      const after = apply(paused(phase), end(how), { type: 'release' });
      expect(after).toMatchObject({ status: 'paused', hold, currentPhase: phase, retries: {}, claim: null });
    }
  });

  it('stays paused at the next phase when it succeeded', () => {
    expect(apply(paused('a'), end(done()))).toMatchObject({ status: 'paused', hold, currentPhase: 'b' });
  });

  it('is complete when that was all', () => {
    expect(apply(paused('b'), end(done()))).toMatchObject({ status: 'complete', hold: null });
  });
});

describe('broken', () => {
  const event: TicketEvent = { type: 'broken', reason: 'no repository' };

  it('closes the attempt, waits for a person and lets go', () => {
    const after = apply(open('a'), event);
    expect(after).toMatchObject({
      status: 'needs_attention',
      hold: { kind: 'broken', reason: 'no repository', until: null },
      error: 'no repository',
      claim: null,
    });
    expect(history(after)).toEqual(['a#1#1 interrupted']);
  });

  it('is no longer on its way to a worker, so no run waits for it and no slot is kept', () => {
    const dispatch = { number: 3, at: NOW, to: 'build-1', slot: true };
    expect(apply(ticket({ dispatch }), event).dispatch).toEqual({ ...dispatch, at: null });
  });

  it('leaves what a person paused paused, and what is over as it is', () => {
    const hold = { kind: 'stopped', reason: 'paused by me', until: null };
    expect(apply(open('a', { status: 'paused', hold }), event)).toMatchObject({
      status: 'paused',
      hold,
      error: 'no repository',
      claim: null,
    });
    const over = running('end', { status: 'complete' });
    expect(apply(over, event)).toEqual({ ...over, claim: null });
  });
});

describe('a late report', () => {
  const over = [
    ticket({ status: 'complete', currentPhase: 'end' }),
    ticket({ status: 'failed', currentPhase: 'a' }),
  ];
  const late: TicketEvent[] = [
    claim,
    { type: 'base', base: { ref: 'r', commit: 'c' }, branch: 'b', worktree: '/w' },
    { type: 'start', attempt: 9, agent: null },
    { type: 'session', sessionId: 's' },
    { type: 'usage', usage: noUsage() },
    ...[done(), failed(), parked, cut, stopped, waiting(false, at(1)), waiting(true, null)].map(end),
  ];
  it.each(late.map((event) => [event.type === 'end' ? event.end.type : event.type, event] as const))(
    '%s changes nothing about a ticket that is over',
    (_name, event) => {
      for (const before of over) expect(apply(before, event)).toBe(before);
    },
  );

  it.each([
    ['ready', { kind: 'poll', reason: 'r', until: at(5) }],
    ['needs_attention', { kind: 'gate', reason: 'r', until: null }],
  ])('does not move a %s ticket that nobody drives', (status, hold) => {
    const before = open('ask', { status, hold, claim: null });
    for (const how of [done(), failed(), parked, waiting(false, at(1))])
      expect(apply(before, end(how))).toBe(before);
  });
});

describe('an attempt whose process cannot be seen', () => {
  const unseen = (worktree: string | null): TicketEvent => ({
    type: 'unseen',
    reason: 'It is away.',
    worktree,
  });
  const paused = open('b', { status: 'paused', base: { ref: 'main', commit: 'c' }, worktree: '/w' });
  const by = (from: Ticket, event: TicketEvent) => reduce(flow, from, event, NOW);

  it('is closed, and its ticket continues in another worktree without the session of the first', () => {
    const after = by(paused, unseen('/w-2'));
    expect(after).toMatchObject({ status: 'paused', worktree: '/w-2', rewound: { at: NOW } });
    expect(after.phaseHistory).toMatchObject([{ status: 'interrupted', error: { message: 'It is away.' } }]);
    expect(after.unseen).toBeUndefined();
  });

  it('stays known in a shared tree until the next attempt starts', () => {
    const left = by(by(paused, unseen(null)), { type: 'release' });
    expect(left).toMatchObject({ status: 'paused', claim: null, worktree: '/w', unseen: 'It is away.' });
    const claimed = by({ ...left, status: 'ready' }, claim);
    expect(claimed.unseen).toBe('It is away.');
    expect(by(claimed, { type: 'broken', reason: 'asks' }).unseen).toBe('It is away.');
    expect(by(claimed, { type: 'start', attempt: 2, agent: null }).unseen).toBeUndefined();
  });

  it('changes nothing where another engine has closed the attempt', () => {
    const closed = by(paused, end(stopped));
    expect(by(closed, unseen('/w-2'))).toBe(closed);
  });
});
