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
  });

  it('does not believe a step that was cut off, or an exit code that says otherwise', () => {
    const step = (reason: string) => [line({ type: 'step_finish', part: { reason } })];
    expect(replay(readerFor('opencode'), step('stop'), ENDED).result.ok).toBe(true);
    expect(replay(readerFor('opencode'), step('stop'), FAILED).result.ok).toBe(false);
    expect(replay(readerFor('opencode'), step('length'), ENDED).result.error?.class).toBe('context');
    expect(replay(readerFor('opencode'), step('tool-calls'), ENDED).result.error?.class).toBe('protocol');
  });
});
