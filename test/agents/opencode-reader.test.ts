import { describe, expect, it } from 'vitest';
import { ENDED, FAILED, line, readerFor, replay } from './support.ts';

describe('the opencode reader', () => {
  const failing = (error: unknown) =>
    replay(readerFor('opencode'), [line({ type: 'error', error })], FAILED).result.error;

  it.each([
    [{ name: 'APIError', data: { message: 'no', statusCode: 403 } }, 'auth'],
    [{ name: 'APIError', data: { message: 'You exceeded your current quota.', statusCode: 429 } }, 'billing'],
    [{ name: 'ContextOverflowError', data: { message: 'too much' } }, 'context'],
    [{ name: 'ProviderAuthError', data: { message: 'no' } }, 'auth'],
    [{ name: 'MessageAbortedError', data: { message: 'Aborted' } }, 'interrupted'],
    [{ name: 'UnknownError', data: {} }, 'crash'],
    [undefined, 'crash'],
  ])('%j is %s', (error, kind) => {
    expect(failing(error)?.class).toBe(kind);
  });

  it('takes the end of a limit from the headers of the answer', () => {
    const data = { message: 'Slow down.', statusCode: 429, responseHeaders: { 'retry-after': '90' } };
    expect(failing({ name: 'APIError', data })).toMatchObject({
      class: 'limit',
      resetAt: '2026-11-15T18:38:33.000Z',
      sure: true,
    });
    const other = (statusCode: number) => failing({ name: 'APIError', data: { ...data, statusCode } });
    expect(other(503)).toMatchObject({ class: 'overloaded', resetAt: '2026-11-15T18:38:33.000Z' });
    expect(other(403)).toEqual({ class: 'auth', message: 'Slow down.' });
    const dated = { ...data, responseHeaders: { 'retry-after': 'Sun, 15 Nov 2026 18:40:00 GMT' } };
    expect(failing({ name: 'APIError', data: dated })?.resetAt).toBe('2026-11-15T18:40:00.000Z');
    expect(failing({ name: 'APIError', data: { ...data, responseHeaders: {} } })?.resetAt).toBeNull();
  });

  it.each([
    [{ name: 'UnknownError', data: { message: 'Why' } }, 'Why'],
    [{ name: 'UnknownError', data: {} }, 'UnknownError'],
    [{}, 'opencode reported an error without a message.'],
  ])('the message of %j is %s', (error, message) => {
    expect(failing(error)?.message).toBe(message);
  });

  const logged = (text: string) => `level=ERROR message="stream error"${text}`;

  it.each([
    [logged(' error.error="Rate limit"'), 'Rate limit'],
    [logged(' small=false error.error="AI_Error: Rate limit" a="b"'), 'Rate limit'],
    [logged(' small=false error.error="Rate limit \\"a\\"" a="b"'), 'Rate limit \\"a\\"'],
    [logged(' small=true error.error="Rate limit"'), undefined],
    [logged(' small=false error.error=""'), undefined],
    [logged(' small=false error.error="Overloaded"'), undefined],
  ])('reads in its log: %s', (text, message) => {
    const events = readerFor('opencode').errorLine?.(text);
    expect(events).toEqual(
      message === undefined ? [] : [{ type: 'limit', resetAt: null, sure: false, message }],
    );
  });

  it('names the trouble in its log, unless it was stopped', () => {
    const stderrTail = logged(' error.error="Overloaded"');
    const end = (exit: object) => readerFor('opencode').end({ ...FAILED, stderrTail, ...exit }).error;
    expect(end({})).toEqual({ class: 'overloaded', message: 'Overloaded' });
    expect(end({ code: null, signal: 'SIGTERM' })?.class).toBe('interrupted');
    const reader = readerFor('opencode');
    reader.errorLine?.(logged(' error.error="Rate limit"'));
    expect(reader.end(FAILED).error?.class).toBe('limit');
    reader.line(line({ type: 'step_start' }));
    expect(reader.end(FAILED).error?.class).toBe('crash');
  });

  it('has ended well after an error only with a further step and its own exit code', () => {
    const [begin, stop] = [
      line({ type: 'step_start' }),
      line({ type: 'step_finish', part: { reason: 'stop' } }),
    ];
    const error = line({ type: 'error', error: { name: 'ContextOverflowError' } });
    const ok = (lines: string[], code: number) =>
      replay(readerFor('opencode'), lines, { ...ENDED, code }).result.ok;
    expect([ok([error, begin, stop], 1), ok([error, begin, stop], 2), ok([begin, stop], 1)]).toEqual([
      true,
      false,
      false,
    ]);
    expect(ok([begin, stop, begin], 0)).toBe(false);
  });

  it('stays in the session of its first line', () => {
    const reader = readerFor('opencode');
    expect(reader.line(line({ type: 'step_start', sessionID: 's1' }))).toEqual([
      { type: 'session', id: 's1' },
    ]);
    expect(reader.line(line({ type: 'step_start', sessionID: 's2' }))).toEqual([]);
    expect(reader.end(ENDED).sessionId).toBe('s1');
  });

  it('takes calls with another error for different ones', () => {
    const reader = readerFor('opencode');
    const ends = ['a', 'b'].map(
      (error) => reader.line(line({ type: 'tool_use', part: { tool: 'bash', state: { error } } }))[1],
    );
    expect(new Set(ends.map((end) => end?.type === 'tool' && end.fingerprint)).size).toBe(2);
  });

  it('counts reasoning as output', () => {
    const used = (tokens: object) =>
      readerFor('opencode').line(line({ type: 'step_finish', part: { reason: 'stop', tokens } }));
    expect(used({ output: 5, reasoning: 3 })).toMatchObject([{ usage: { outputTokens: 8 } }]);
    expect(used({ output: 5 })).toMatchObject([{ usage: { outputTokens: 5 } }]);
  });

  it('does not believe a step that was cut off, or an exit code that says otherwise', () => {
    const step = (reason: string) => [line({ type: 'step_finish', part: { reason } })];
    expect(replay(readerFor('opencode'), step('stop'), ENDED).result.ok).toBe(true);
    expect(replay(readerFor('opencode'), step('stop'), FAILED).result.ok).toBe(false);
    expect(replay(readerFor('opencode'), step('length'), ENDED).result.error?.class).toBe('context');
    expect(replay(readerFor('opencode'), step('tool-calls'), ENDED).result.error?.class).toBe('protocol');
  });
});
