import { describe, expect, it } from 'vitest';
import type { EngineEvent } from '../../src/model/events.ts';
import { lineOf } from '../../src/report/event-line.ts';
import { style } from '../../src/report/style-and-phrases.ts';
import { attemptOf, status, usage } from './samples.ts';

const noon = new Date(2026, 2, 1, 12, 0, 0);
const options = { style: style(false), withPlan: false, verbose: false, now: noon.getTime() };
const implement = attemptOf('parser', 'implement');
const again = attemptOf('parser', 'implement', 2, 3);
const review = attemptOf('parser', 'self_review');
const about = { planId: 'tea', ticketId: 'parser' };
const until = new Date(2026, 2, 1, 12, 4, 5).toISOString();
const tomorrow = new Date(2026, 2, 2, 1, 0, 0).toISOString();

const LINES: [EngineEvent, string | undefined][] = [
  [implement.start('claude'), '● parser: implement started (claude)'],
  [again.start(), '● parser: implement started [visit 2, attempt 3]'],
  [implement.adopt(), '● parser: implement taken over'],
  [implement.session('s-1'), '  parser: implement session s-1'],
  [implement.end({ usage: usage(1_000_900) }), '· parser: implement ✓ (1.2s · 1.0M tokens · cost unknown)'],
  [implement.end({ usage: usage(1234, 0.5) }), '· parser: implement ✓ (1.2s · 1.2k tokens · $0.50)'],
  [again.end(), '· parser: implement [visit 2, attempt 3] ✓ (1.2s)'],
  [review.end({ outcome: 'fail' }), '· parser: self_review → fail (1.2s)'],
  [
    implement.end({ status: 'failure', outcome: null, error: { class: 'exit', message: 'exit\ncode 1' } }),
    '● parser: implement ✗ (1.2s): exit code 1',
  ],
  [implement.end({ status: 'failure', outcome: 'timeout' }), '● parser: implement ✗ (1.2s) → timeout'],
  [implement.end({ status: 'limit' }), '● parser: implement usage limit (1.2s)'],
  [implement.end({ status: 'interrupted' }), '● parser: implement interrupted (1.2s)'],
  [implement.text('hello'), undefined],
  [{ ...implement.text('little is left'), notice: true } as EngineEvent, '! parser: little is left'],
  [implement.tool('read', 'a'), undefined],
  [implement.usage(usage(1)), undefined],
  [status('parser', 'complete'), '✓ parser complete'],
  [status('parser', 'failed', { error: 'no commit' }), '✗ parser failed: no commit'],
  [status('parser', 'needs_attention', { error: 'look' }), '! parser needs attention: look'],
  [
    status('parser', 'paused', { hold: { kind: 'stopped', reason: 'paused by Ada', until: null } }),
    '‖ parser paused by Ada',
  ],
  [
    status('parser', 'ready', { hold: { kind: 'limit', reason: 'limit reached', until } }),
    '◌ parser waits until 12:04:05, in 4 m 5 s: limit reached',
  ],
  [
    status('parser', 'ready', { hold: { kind: 'limit', reason: 'limit reached', until: tomorrow } }),
    '◌ parser waits until 2026-03-02 01:00:00, in 13 h 0 m: limit reached',
  ],
  [
    status('parser', 'ready', { hold: { kind: 'poll', reason: 'ci: pending', until } }),
    '◌ parser waits: ci: pending',
  ],
  [
    status('parser', 'ready', {
      hold: { kind: 'limit', reason: 'closed until 2026-03-01T12:04:05Z', until },
    }),
    '◌ parser waits: closed until 2026-03-01 12:04:05',
  ],
  [
    status('parser', 'queued', { hold: { kind: 'blocked', reason: 'waits for cli', until: null } }),
    '◌ parser waits for cli',
  ],
  [status('parser', 'running'), undefined],
  [
    { type: 'workspace:keep', path: '/w', reason: 'dirty', ...about },
    '! parser: worktree kept at /w (dirty)',
  ],
  [{ type: 'workspace:release', path: '/w', ...about }, undefined],
  [{ type: 'plan:status', planId: 'tea', status: 'complete' }, 'tea: plan complete'],
  [{ type: 'problem', message: 'broken', path: null, ...about }, '✗ parser: broken'],
  [{ type: 'problem', message: 'broken', path: null, planId: 'tea', ticketId: null }, '✗ tea: broken'],
];

describe('lineOf', () => {
  it.each(LINES)('%j', (event, line) => {
    expect(lineOf(event, options)).toBe(line);
  });

  it('shows what agents say and do when asked to, in one line each', () => {
    const verbose = { ...options, verbose: true };
    expect(lineOf(implement.text('one\ntwo\u001b[2J'), verbose)).toBe('  parser │ one two');
    expect(lineOf(implement.tool('read', 'src/teas.js'), verbose)).toBe('  parser │ read src/teas.js');
    expect(lineOf(implement.tool('read', 'src/teas.js', true), verbose)).toBeUndefined();
  });

  it('puts the plan before the ticket when there are many', () => {
    expect(lineOf(status('parser', 'complete'), { ...options, withPlan: true })).toBe(
      '✓ tea/parser complete',
    );
  });

  it('lets names end in the same column', () => {
    const aligned = { ...options, names: 8 };
    expect([
      lineOf(attemptOf('cli', 'setup').end(), aligned),
      lineOf(implement.end(), aligned),
      lineOf(status('parser', 'complete'), aligned),
    ]).toEqual(['· cli:      setup ✓ (1.2s)', '· parser:   implement ✓ (1.2s)', '✓ parser    complete']);
  });

  it('is dim as a whole where it is dim', () => {
    expect(lineOf(implement.session('s-1'), { ...options, style: style(true) })).toBe(
      style(true).dim('  parser: implement session s-1'),
    );
  });
});
