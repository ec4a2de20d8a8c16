import { describe, expect, it } from 'vitest';
import { ENDED, FAILED, line, readerFor, replay } from './support.ts';

describe('the gemini reader', () => {
  const ended = (more: Record<string, unknown>, code: number) => {
    const lines = [line({ type: 'result', status: 'error', ...more })];
    return replay(readerFor('gemini'), lines, { code, signal: null, stderrTail: '' }).result.error?.class;
  };

  it.each([
    [{ error: { type: 'unknown', message: 'no' } }, 145, 'auth'],
    [{ error: { type: 'unknown', message: 'no' } }, 173, 'limit'],
    [{ error: { type: 'unknown', message: 'no' } }, 247, 'overloaded'],
    [{ error: { type: 'unknown', message: 'no' } }, 1, 'crash'],
    [{ error: { type: 'unknown', message: 'no' } }, 146, 'billing'],
    [{ error: { type: 'unknown', message: 'no' } }, 147, 'auth'],
    [{ error: { type: 'unknown', message: 'no' } }, 148, 'config'],
    [{ error: { type: 'unknown', message: 'no' } }, 152, 'overloaded'],
    [{ error: { type: 'unknown', message: 'no' } }, 157, 'context'],
    [{ error: { type: 'unknown', message: 'no' } }, 244, 'overloaded'],
    [{ error: { type: 'unknown', message: 'no' } }, 246, 'overloaded'],
    [{ error: { type: 'unknown', message: 'no' } }, 248, 'overloaded'],
    [{ error: { type: 'unknown', message: 'no' } }, 17, 'overloaded'],
    [{ error: { type: 'unknown', message: '{"error":{"code": 403}}' } }, 1, 'auth'],
    [{ error: { type: 'FatalConfigError', message: 'no' } }, 52, 'config'],
    [{ error: { type: 'FatalInputError', message: 'no' } }, 42, 'protocol'],
    [{ error: { type: 'FatalCancellationError', message: 'no' } }, 130, 'interrupted'],
    [{ error: { type: 'unknown', message: '[API Error: {"error":{"code":401}}]' } }, 1, 'auth'],
    [{ error: { type: 'FatalTurnLimitedError', message: 'no' } }, 53, 'turns'],
    [{ error: { type: 'FatalAuthenticationError', message: 'no' } }, 41, 'auth'],
  ])('%j with exit code %d is %s', (more, code, kind) => {
    expect(ended(more, code)).toBe(kind);
  });

  const QUOTA =
    '[API Error: You exceeded your current quota, please check your plan and billing details. For more information on this ' +
    'error, head over to: https://ai.google.dev/gemini-api/docs/rate-limits.\n* Quota exceeded for metric: ' +
    'generate_content_free_tier_requests, limit: 10';

  it.each([
    [`${QUOTA}\nPlease retry in 1h0m0s.]`, '2026-11-15T19:37:03.000Z'],
    [`${QUOTA}\nSuggested retry after 3600s.]`, '2026-11-15T19:37:03.000Z'],
    ['You have exhausted your daily quota on this model.', null],
  ])('takes a quota that comes back for a limit: %s', (message, resetAt) => {
    const lines = [line({ type: 'result', status: 'error', error: { type: 'unknown', message } })];
    const { error } = replay(readerFor('gemini'), lines, { ...FAILED, code: 173 }).result;
    expect(error).toMatchObject({ class: 'limit', resetAt });
  });

  it('takes a quota that does not come back for an empty account', () => {
    expect(ended({ error: { type: 'unknown', message: `${QUOTA}]` } }, 173)).toBe('billing');
  });

  it('does not take a run that went in circles for a success', () => {
    const lines = [
      line({ type: 'error', severity: 'warning', message: 'Loop detected, stopping execution' }),
      line({ type: 'result', status: 'success' }),
    ];
    expect(replay(readerFor('gemini'), lines, ENDED).result.error?.class).toBe('loop');
  });

  it.each([
    ['The model returned an empty response with no text or thoughts.', 'error', 'protocol'],
    ['Model response was truncated because it exceeded the token limit.', 'error', 'context'],
    ['Maximum session turns exceeded', 'success', 'turns'],
    ['429: too many requests', 'error', 'limit'],
  ])('fails with the message of an error event, whatever its result says: %s', (message, status, kind) => {
    const lines = [
      line({ type: 'message', role: 'assistant', content: 'I begin.', delta: true }),
      line({ type: 'error', severity: 'error', message }),
      line({ type: 'result', status, stats: {} }),
    ];
    const { events, result } = replay(readerFor('gemini'), lines, ENDED);
    expect(result).toMatchObject({ ok: false, error: { class: kind, message } });
    expect(events).toContainEqual({ type: 'warning', message });
  });

  it('prefers the error of the result to an error event', () => {
    const event = line({ type: 'error', severity: 'error', message: 'Something.' });
    const end = line({
      type: 'result',
      status: 'error',
      error: { type: 'unknown', message: 'Not logged in' },
    });
    const { error } = replay(readerFor('gemini'), [event, end], FAILED).result;
    expect(error).toEqual({ class: 'auth', message: 'Not logged in' });
  });

  it('shows what was said before an error, and the beginning of a long one', () => {
    const said = line({ type: 'message', role: 'assistant', content: 'I begin.', delta: true });
    const error = line({ type: 'error', severity: 'warning', message: 'x'.repeat(400) });
    expect(replay(readerFor('gemini'), [said, error], ENDED).events).toEqual([
      { type: 'text', text: 'I begin.' },
      { type: 'warning', message: `${'x'.repeat(299)}…` },
    ]);
  });

  it.each([
    ['warning', 'I begin. I am done.'],
    ['error', ' I am done.'],
  ])('after an event of severity %s has the message "%s"', (severity, message) => {
    const delta = (content: string) => line({ type: 'message', role: 'assistant', content, delta: true });
    const event = line({ type: 'error', severity, message: 'Something.' });
    const lines = [
      delta('I '),
      delta('begin.'),
      event,
      delta(' I am done.'),
      line({ type: 'result', status: 'success' }),
    ];
    expect(replay(readerFor('gemini'), lines, ENDED).result).toMatchObject({
      ok: true,
      text: message.trim(),
    });
  });

  it('has not ended when the model answers after the result', () => {
    const success = line({ type: 'result', status: 'success' });
    const answer = line({ type: 'message', role: 'assistant', content: 'More.', delta: true });
    expect(replay(readerFor('gemini'), [answer, success], ENDED).result.ok).toBe(true);
    expect(replay(readerFor('gemini'), [success, answer], ENDED).result.ok).toBe(false);
  });

  it('tells the model with the session', () => {
    const init = (more: object) => readerFor('gemini').line(line({ type: 'init', session_id: 's', ...more }));
    expect(init({ model: 'flash' })).toEqual([{ type: 'session', id: 's', model: 'flash' }]);
    expect(init({})).toEqual([{ type: 'session', id: 's', model: null }]);
  });

  it('takes calls with another status or error for different ones', () => {
    const reader = readerFor('gemini');
    const call = (more: object) => {
      reader.line(line({ type: 'tool_use', tool_id: 't', tool_name: 'ls', parameters: {} }));
      return reader.line(line({ type: 'tool_result', tool_id: 't', ...more }))[0];
    };
    const ends = [{ status: 'success' }, { status: 'error' }, { status: 'error', error: 'a' }].map(call);
    expect(new Set(ends.map((end) => end?.type === 'tool' && end.fingerprint)).size).toBe(3);
  });

  it.each([
    [{ input: 7, input_tokens: 10, cached: 4 }, 7],
    [{ input_tokens: 10, cached: 4 }, 6],
    [{ input_tokens: 10 }, 10],
    [{ input_tokens: 1, cached: 4 }, 0],
    [{}, null],
  ])('counts cached input once: %j', (stats, input) => {
    const { usage } = replay(readerFor('gemini'), [line({ type: 'result', stats })], ENDED).result;
    expect(usage?.inputTokens).toBe(input);
  });

  it('forgets an error event when the model answers after it, and takes warnings for no failure', () => {
    const answer = line({ type: 'message', role: 'assistant', content: 'Done.', delta: true });
    const success = line({ type: 'result', status: 'success' });
    const error = (severity: string) => line({ type: 'error', severity, message: 'Something.' });
    expect(replay(readerFor('gemini'), [error('error'), answer, success], ENDED).result.ok).toBe(true);
    expect(replay(readerFor('gemini'), [answer, error('warning'), success], ENDED).result.ok).toBe(true);
  });

  it('warns of an empty response', () => {
    const empty = { type: 'warning', message: 'The model ended with an empty response.' };
    const tool = line({ type: 'tool_result', tool_id: 't', status: 'success' });
    const success = line({ type: 'result', status: 'success' });
    const answer = line({ type: 'message', role: 'assistant', content: 'Done.', delta: true });
    expect(replay(readerFor('gemini'), [answer, tool, success], ENDED).events).toContainEqual(empty);
    expect(replay(readerFor('gemini'), [success], ENDED).events).toContainEqual(empty);
    expect(replay(readerFor('gemini'), [tool, answer, success], ENDED).events).not.toContainEqual(empty);
  });

  it('joins pieces of text to lines', () => {
    const piece = (content: string, delta = true) =>
      line({ type: 'message', role: 'assistant', content, delta });
    const tool = line({ type: 'tool_use', tool_id: 't', tool_name: 'ls', parameters: {} });
    const lines = [
      piece('One li'),
      piece('ne.\nTwo'),
      piece(' lines.'),
      tool,
      piece('Three.'),
      piece('Four.', false),
    ];
    const end = line({ type: 'result', status: 'success' });
    const { events, result } = replay(readerFor('gemini'), [...lines, end], ENDED);
    const shown = events.flatMap((event) => (event.type === 'text' ? [event.text] : []));
    expect(shown).toEqual(['One line.', 'Two lines.', 'Three.', 'Four.']);
    expect(result.text).toBe('Four.');
    const two = replay(readerFor('gemini'), [...lines.slice(0, 3), end], ENDED).result.text;
    expect(two).toBe('One line.\nTwo lines.');
  });

  it.each([
    ['Attempt 12 failed: Slow down', 'limit', 'Slow down'],
    ['Suggested retry after 60s', 'limit', 'Suggested retry after 60s'],
    ['429 {"error":{"message":"Say \\"a\\" now","status":"x"}}', 'limit', 'Say \\"a\\" now'],
    [
      '429 {"error":{"code":429, "message": "More at https://example.com/billing"}}',
      'limit',
      'More at https://example.com/billing',
    ],
    [
      '429 {"error":{"message":"You exceeded your current quota."}}',
      'refused',
      'You exceeded your current quota.',
    ],
  ])('reads on stderr: %s', (said, type, message) => {
    const text = said.replace(/^429/, 'Attempt 1 failed with status 429. Retrying with backoff... ApiError:');
    expect(readerFor('gemini').errorLine?.(text)).toMatchObject([{ type, message }]);
    expect(readerFor('gemini').errorLine?.(`x ${text}`)).toEqual([]);
  });

  it('keeps the last trouble on stderr, with the wait that is named after it', () => {
    const reader = readerFor('gemini');
    reader.errorLine?.('Attempt 1 failed: one');
    expect(reader.errorLine?.('Attempt 2 failed: two')).toMatchObject([{ message: 'two' }]);
    expect(reader.errorLine?.('Suggested retry after 60s')).toMatchObject([
      { message: 'two Suggested retry after 60s' },
    ]);
  });

  it('tells that it waits for a limit, and forgets it when the model answers', () => {
    const reader = readerFor('gemini');
    expect(reader.errorLine?.('Attempt 1 failed with status 429. Retrying with backoff...')).toEqual([
      { type: 'limit', resetAt: null, sure: false, message: 'Too many requests.' },
    ]);
    expect(reader.errorLine?.('Suggested retry after 60s.. Retrying after 61000ms...')).toMatchObject([
      { type: 'limit', resetAt: '2026-11-15T18:38:03.000Z' },
    ]);
    const killed = { code: null, signal: 'SIGKILL', stderrTail: '' };
    expect(reader.end(killed).error?.class).toBe('limit');
    reader.line(line({ type: 'message', role: 'assistant', content: 'On I go.', delta: true }));
    expect(reader.end(killed).error?.class).toBe('interrupted');
  });
});
