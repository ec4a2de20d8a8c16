import { describe, expect, it } from 'vitest';
import { ENDED, FAILED, line, readerFor, replay } from './support.ts';

describe('the codex reader', () => {
  const failing = (message: string) =>
    replay(readerFor('codex'), [line({ type: 'turn.failed', error: { message } })], FAILED).result.error;

  it.each([
    ['unexpected status 401 Unauthorized: no, url: http://x/429', 'auth'],
    ['unexpected status 503 Service Unavailable: no', 'overloaded'],
    ['exceeded retry limit, last status: 429 Too Many Requests', 'limit'],
    ['exceeded retry limit, last status: 500 Internal Server Error', 'overloaded'],
    ['stream disconnected before completion: error sending request', 'overloaded'],
    ["We're currently experiencing high demand, which may cause temporary errors.", 'overloaded'],
    ['Selected model is at capacity. Please try a different model.', 'overloaded'],
    ["Codex ran out of room in the model's context window. Start a new thread.", 'context'],
    ['Quota exceeded. Check your plan and billing details.', 'billing'],
    ['Your access token could not be refreshed. Please log out and sign in again.', 'auth'],
    ["The 'nope' model is not supported when using Codex", 'config'],
    ['something new', 'crash'],
  ])('%j is %s', (message, kind) => {
    expect(failing(message)?.class).toBe(kind);
  });

  it('reads dates and spans out of a limit message', () => {
    expect(failing("You've hit your usage limit. Try again at Nov 20th, 2026 3:39 AM.")?.resetAt).toBe(
      '2026-11-20T03:40:00.000Z',
    );
    expect(failing("You've hit your usage limit. Try again in 2 hours 13 minutes.")?.resetAt).toBe(
      '2026-11-15T20:50:03.000Z',
    );
  });

  it('forgets a trouble that it got over', () => {
    const trouble = line({
      type: 'error',
      message: 'Reconnecting... 1/5 (exceeded retry limit, last status: 429 x)',
    });
    const message = line({ type: 'item.completed', item: { type: 'agent_message', text: 'hi' } });
    const killed = { code: null, signal: 'SIGKILL', stderrTail: '' };
    expect(replay(readerFor('codex'), [trouble], killed).result.error?.class).toBe('limit');
    expect(replay(readerFor('codex'), [trouble, message], killed).result.error?.class).toBe('interrupted');
  });

  it('takes totals as they are when they are below the earlier ones', () => {
    const usageBefore = {
      inputTokens: 900,
      outputTokens: 1,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      costUsd: null,
    };
    const done = line({ type: 'turn.completed', usage: { input_tokens: 10, output_tokens: 5 } });
    expect(replay(readerFor('codex', { usageBefore }), [done], ENDED).result.usage).toEqual({
      inputTokens: 10,
      outputTokens: 5,
      cacheReadTokens: null,
      cacheWriteTokens: null,
      costUsd: null,
    });
  });

  it('gives every tool a beginning and an end', () => {
    const item = { id: 'i1', type: 'file_change', changes: [{ path: 'a.txt' }, { path: 'b.txt' }] };
    const begin = { type: 'tool', name: 'edit', summary: 'a.txt b.txt', done: false };
    const reader = readerFor('codex');
    const over = { ...begin, done: true, fingerprint: expect.any(String) };
    expect(reader.line(line({ type: 'item.completed', item }))).toEqual([begin, over]);
    expect(reader.line(line({ type: 'item.started', item }))).toEqual([begin]);
    expect(reader.line(line({ type: 'item.completed', item }))).toEqual([over]);
  });

  it('names the last trouble when the end event is missing', () => {
    const trouble = line({ type: 'error', message: 'something new' });
    expect(replay(readerFor('codex'), [trouble], FAILED).result.error).toEqual({
      class: 'crash',
      message: 'something new',
    });
  });

  it('refuses a session id that could be an option', () => {
    expect(readerFor('codex').line(line({ type: 'thread.started', thread_id: '--last' }))).toEqual([]);
  });
});
