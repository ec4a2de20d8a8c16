import { describe, expect, it } from 'vitest';
import { explain, sayOutcome } from '../../../src/model/state/explain-ticket.ts';
import type { Ticket } from '../../../src/model/ticket.ts';
import { NO_CHECKS } from '../../../src/model/verdict-criteria-and-missing-checks.ts';
import { attempt, CLAIM, plan, running, ticket } from '../build.ts';

const say = (of: Ticket, around: { driven?: boolean; engine?: boolean } = {}, status = 'active') =>
  explain(of, plan({ status }), { driven: false, engine: true, ...around });
const hold = (kind: string, reason: string) => ({ kind, reason, until: null });

describe('explain', () => {
  it('names the command that goes on with a run of issues whose engine is gone, or that has none', () => {
    const run = plan({ id: 'run-1', kind: 'run' });
    const next = 'signalbox resume run-1';
    const alone = { driven: false, engine: false };
    expect(explain(running('a'), run, alone)).toEqual({ why: 'its engine is gone', next });
    expect(explain(ticket({ status: 'ready' }), run, alone)).toEqual({ why: 'no engine is running', next });
  });

  it.each<[string, Ticket, { why: string; next: string }]>([
    ['complete', ticket({ status: 'complete' }), { why: '', next: '' }],
    [
      'complete, and its checks found nothing to run',
      ticket({ status: 'complete', phaseHistory: [attempt('verify', 'success', { output: NO_CHECKS })] }),
      { why: NO_CHECKS, next: '' },
    ],
    [
      'failed',
      ticket({ status: 'failed', error: 'a: broke' }),
      { why: 'a: broke', next: 'signalbox retry p t' },
    ],
    [
      'a unit of a spec that is marked as blocked, in a plan of its own',
      ticket({ status: 'needs_attention', hold: hold('blocked', 'no key') }),
      { why: 'blocked: no key', next: 'once that is settled: signalbox retry p t' },
    ],
    ['failed without a word', ticket({ status: 'failed' }), { why: 'failed', next: 'signalbox retry p t' }],
    [
      'paused',
      ticket({ status: 'paused', hold: hold('stopped', 'paused by me') }),
      { why: 'paused by me', next: 'signalbox resume p t' },
    ],
    ['paused by a planner', ticket({ status: 'paused' }), { why: 'paused', next: 'signalbox resume p t' }],
    [
      'at a gate',
      ticket({ status: 'needs_attention', hold: hold('gate', 'ok? (yes | no)') }),
      { why: 'ok? (yes | no)', next: 'signalbox respond p t <decision>' },
    ],
    [
      'at a terminal that notifies',
      ticket({ status: 'needs_attention', error: 'a: broke' }),
      { why: 'a: broke', next: 'signalbox retry p t' },
    ],
    [
      'at an end with a way on',
      ticket({
        status: 'needs_attention',
        currentPhase: 'gone',
        error: 'gone: `signalbox skip p t a` helps.',
      }),
      { why: 'gone: `signalbox skip p t a` helps.', next: 'signalbox skip p t a' },
    ],
    [
      'at an end after what an agent said',
      ticket({ status: 'needs_attention', currentPhase: 'gone', error: 'a: try `signalbox plan delete p`' }),
      { why: 'a: try `signalbox plan delete p`', next: 'signalbox retry p t' },
    ],
    [
      'broken',
      ticket({ status: 'needs_attention', hold: hold('broken', 'no such phase') }),
      { why: 'no such phase', next: 'signalbox retry p t' },
    ],
    [
      'blocked',
      ticket({ hold: hold('blocked', 'waits for a (failed)') }),
      { why: 'waits for a (failed)', next: '' },
    ],
    [
      'at an overload',
      ticket({ status: 'ready', hold: hold('overload', 'Error 529.') }),
      { why: 'provider overloaded: Error 529.', next: 'is tried again' },
    ],
    [
      'at a limit',
      ticket({ status: 'ready', hold: hold('limit', 'five hours') }),
      {
        why: 'usage limit: five hours',
        next: 'continues at the reset; to try now: signalbox retry p t',
      },
    ],
    [
      'at a limit that names itself',
      ticket({ status: 'ready', hold: hold('limit', 'Usage limit of claude') }),
      {
        why: 'Usage limit of claude',
        next: 'continues at the reset; to try now: signalbox retry p t',
      },
    ],
    [
      'after a failure',
      ticket({ status: 'ready', hold: hold('backoff', 'attempt 1 failed: x') }),
      { why: 'attempt 1 failed: x', next: 'is tried again' },
    ],
    [
      'polling',
      ticket({ status: 'ready', hold: hold('poll', 'ci: pending') }),
      { why: 'ci: pending', next: 'checks again' },
    ],
    [
      'before its beginning, with nothing left for it',
      ticket({ hold: hold('budget', 'the plan’s budget is used up') }),
      { why: 'the plan’s budget is used up', next: 'starts when the budget is raised' },
    ],
    [
      'before its beginning, on a day with nothing left',
      ticket({ hold: { ...hold('budget', 'today’s budget is used up'), until: '2026-01-02T00:00:00.000Z' } }),
      { why: 'today’s budget is used up', next: 'starts then' },
    ],
    [
      'in the middle, with nothing left for it',
      ticket({
        status: 'ready',
        phaseHistory: [attempt('a', 'interrupted')],
        hold: hold('budget', 'used up'),
      }),
      { why: 'used up', next: 'continues when the budget is raised' },
    ],
    ['waiting', ticket({ status: 'ready' }), { why: 'waits for a free slot', next: '' }],
    [
      'left alone',
      running('a'),
      { why: 'its engine is gone', next: 'the next run or daemon takes it over where it is' },
    ],
  ])('%s', (_name, of, expected) => {
    expect(say(of)).toEqual(expected);
  });

  it.each([
    ['unshared', 'in a new worktree', 'signalbox run p', {}],
    ['shared', 'and asks you', 'signalbox run p', { workspace: 'shared' }],
    ['checkout', 'and asks you', 'signalbox run p', { workspace: 'checkout' }],
  ])('left alone where it cannot be seen: %s', (_name, how, next, fields) => {
    const left = running('a', { phaseHistory: [attempt('a', 'running')] });
    expect(explain(left, plan(fields), { driven: false, engine: true, leaseMs: 0 })).toEqual({
      why: 'its engine is gone, and its process cannot be seen from here',
      next: `the next run or daemon takes it over, ${how} unless its process has ended: ${next}`,
    });
  });

  it('left alone on a fleet: neither a run nor a daemon takes it over', () => {
    const around = { driven: false, engine: true, leaseMs: 0, onFleet: true };
    expect(explain(running('a'), plan(), around)).toEqual({
      why: 'its worker is gone',
      next: 'another worker takes it over',
    });
  });

  it('running on another machine of a fleet: which one that is, and nothing to do', () => {
    const around = { driven: true, engine: true, leaseMs: 20_000, onFleet: true };
    const ticket = running('a', { phaseHistory: [attempt('a', 'running')] });
    const why = 'a; held by another process (pid 1 on here)';
    expect(explain(ticket, plan(), around)).toEqual({ why, next: '' });
    expect(explain(ticket, plan(), { ...around, onFleet: false }).next).toContain('If it is gone');
  });

  it('paused, while its engine cannot be seen: how long its lease is, and the command after that', () => {
    const paused = running('a', { status: 'paused', hold: hold('stopped', 'paused by me') });
    const said = (leaseMs: number) =>
      explain(paused, plan(), { driven: leaseMs > 0, engine: false, leaseMs });
    expect(said(20_000)).toEqual({
      why: 'paused by me; held by another process (pid 1 on here)',
      next: 'It cannot be seen from here. If it is gone, its lease ends in 20 s; then: signalbox resume p t',
    });
    expect(said(0)).toEqual({ why: 'paused by me', next: 'signalbox resume p t' });
  });

  it('paused, with a process that may still work in its tree', () => {
    const paused = ticket({
      status: 'paused',
      hold: hold('stopped', 'paused by me'),
      unseen: 'It may work.',
    });
    expect(say(paused)).toEqual({
      why: 'paused by me. It may work.',
      next: 'Once that process has ended: signalbox retry p t',
    });
  });

  it('promises nothing that needs an engine when there is none', () => {
    const limit = ticket({ status: 'ready', hold: hold('limit', 'five hours') });
    const poll = ticket({ status: 'ready', hold: hold('poll', 'ci: pending') });
    expect(say(limit, { engine: false }).next).toBe('continues at the reset, with: signalbox run p');
    expect(say(poll, { engine: false }).next).toBe('checks again, with: signalbox run p');
  });

  it.each(['limit', 'overload', 'backoff', 'delay', 'budget'])('drops a wait that is over: %s', (kind) => {
    const until = '2026-01-01T10:00:00.000Z';
    const waits = ticket({ status: 'ready', hold: { kind, reason: 'five hours', until } });
    const at = (now: string) =>
      explain(waits, plan(), { driven: false, engine: false, now: Date.parse(now) });
    expect(at('2026-01-01T09:59:59.000Z').why).toContain('five hours');
    expect(at(until)).toEqual({ why: 'no engine is running', next: 'signalbox run p' });
  });

  it('keeps the reason of a wait whose time is only that of the next check', () => {
    const until = '2026-01-01T10:00:00.000Z';
    const waits = ticket({ status: 'ready', hold: { kind: 'poll', reason: 'ci: pending', until } });
    const around = { driven: false, engine: false, now: Date.parse(until) + 1 };
    expect(explain(waits, plan(), around).why).toBe('ci: pending');
  });

  it('says what became of an attempt that only winds up', () => {
    const open = attempt('a', 'running', { note: 'the budget is used up' });
    const winds = running('a', { phaseHistory: [open] });
    expect(say(winds, { driven: true }).why).toBe('a: the budget is used up');
  });

  it('says that a person is in the session of a ticket', () => {
    const held = ticket({ status: 'ready', claim: { ...CLAIM, by: 'session', pid: 7 } });
    expect(say(held, { driven: true })).toEqual({
      why: 'a person is in its session (pid 7)',
      next: 'continues when that has ended',
    });
  });

  it('says that nobody is there to run it', () => {
    expect(say(ticket(), { engine: false })).toEqual({
      why: 'no engine is running',
      next: 'signalbox run p',
    });
  });

  it.each([
    ['draft', 'signalbox plan approve p'],
    ['paused', 'signalbox resume p'],
    ['archived', ''],
  ])('says that the plan is %s', (status, next) => {
    expect(say(ticket(), {}, status)).toEqual({
      why: `the plan is ${status === 'draft' ? 'a draft' : status}`,
      next,
    });
  });

  it('says which phase runs, and the how-manyth attempt it is', () => {
    const open = (n: number) => running('a', { phaseHistory: [attempt('a', 'running', { attempt: n })] });
    expect(say(open(1), { driven: true }).why).toBe('a');
    expect(say(open(3), { driven: true }).why).toBe('a, attempt 3');
    expect(say(running('a'), { driven: true }).why).toBe('its workspace is being prepared');
  });
});

const SPEC = {
  name: 's',
  dir: '/s',
  inTree: 's',
  tracked: true,
  files: { tasks: 'tasks.md', others: [] },
  text: '',
  base: null,
  startedAt: '2026-01-01T00:00:00.000Z',
};

describe('explain of a spec', () => {
  it.each([
    ['one that waits', ticket({ status: 'queued' }), 'no engine is running'],
    ['one that a killed run left', running('a'), 'its engine is gone'],
  ])('names the command that goes on with it: %s', (_name, of, why) => {
    const spec = plan({ status: 'active', kind: 'spec', spec: SPEC });
    const said = explain(of, spec, { driven: false, engine: false });
    expect(said).toEqual({ why, next: expect.stringContaining('signalbox resume p') });
  });
});

it('counts a gate that checks for an answer elsewhere among what needs a person', () => {
  const looks = attempt('ask', 'running', { asks: 'Ship it?' });
  expect(sayOutcome([ticket({ status: 'running', phaseHistory: [looks] })])).toBe('0 of 1 done, 1 needs you');
});
