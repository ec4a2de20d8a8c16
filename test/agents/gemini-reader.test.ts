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
