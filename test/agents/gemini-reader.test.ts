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
    expect(replay(readerFor('gemini'), lines, ENDED).result.error?.class).toBe('turns');
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
