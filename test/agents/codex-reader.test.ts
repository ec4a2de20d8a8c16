import { describe, expect, it } from 'vitest';
import { ENDED, FAILED, line, readerFor, replay } from './support.ts';

describe('the codex reader', () => {
  const failing = (message: string) =>
    replay(readerFor('codex'), [line({ type: 'turn.failed', error: { message } })], FAILED).result.error;

  it.each([
    ['unexpected status 401 Unauthorized: no, url: http://x/429', 'auth'],
    ['unexpected status 403 Forbidden', 'auth'],
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

  it('counts cached input once, and never below nothing', () => {
    const used = (usage: object) =>
      replay(readerFor('codex'), [line({ type: 'turn.completed', usage })], ENDED).result.usage;
    const counts = { input_tokens: 100, cached_input_tokens: 30, cache_write_input_tokens: 20 };
    expect(used(counts)).toMatchObject({ inputTokens: 50, cacheReadTokens: 30, cacheWriteTokens: 20 });
    expect(used({ ...counts, cached_input_tokens: 90 })?.inputTokens).toBe(0);
  });

  it.each([
    [{ type: 'command_execution', command: 'ls -l' }, 'shell', 'ls -l'],
    [{ type: 'file_change', changes: [{}, { path: 'b' }] }, 'edit', 'b'],
    [{ type: 'mcp_tool_call', server: 'docs', tool: 'find' }, 'docs.find', ''],
    [{ type: 'mcp_tool_call', tool: 'find' }, 'find', ''],
    [{ type: 'mcp_tool_call' }, 'mcp', ''],
    [{ type: 'web_search', query: 'why' }, 'web_search', 'why'],
  ])('names the tool of %j', (item, name, summary) => {
    expect(readerFor('codex').line(line({ type: 'item.started', item }))).toEqual([
      { type: 'tool', name, summary, done: false },
    ]);
  });

  it('keeps tools apart that run at the same time', () => {
    const reader = readerFor('codex');
    const tool = (type: string, id: string) =>
      reader.line(line({ type, item: { id, type: 'command_execution', command: id } })).length;
    expect([tool('item.started', 'a'), tool('item.started', 'b')]).toEqual([1, 1]);
    expect([tool('item.completed', 'a'), tool('item.completed', 'b')]).toEqual([1, 1]);
  });

  it('takes only a complete message for one', () => {
    const reader = readerFor('codex');
    const item = { type: 'agent_message', text: 'hi' };
    expect(reader.line(line({ type: 'item.started', item }))).toEqual([]);
    expect(reader.line(line({ type: 'item.completed', item: { type: 'reasoning', text: 'hm' } }))).toEqual(
      [],
    );
    expect(reader.line(line({ type: 'item.completed', item }))).toEqual([{ type: 'text', text: 'hi' }]);
  });

  it('warns of errors, and tells of a limit', () => {
    const reader = readerFor('codex');
    const long = 'x'.repeat(400);
    const cut = { type: 'warning', message: `${'x'.repeat(299)}…` };
    expect(reader.line(line({ type: 'item.completed', item: { type: 'error', message: long } }))).toEqual([
      cut,
    ]);
    expect(reader.line(line({ type: 'error', message: long }))).toEqual([cut]);
    const message = 'last status: 429 Too Many Requests, try again in 20s';
    expect(reader.line(line({ type: 'error', message }))).toEqual([
      { type: 'warning', message },
      { type: 'limit', resetAt: '2026-11-15T18:37:23.000Z', sure: false, message },
    ]);
  });

  it('was stopped, unless it had waited for a limit or said how it failed', () => {
    const killed = { code: null, signal: 'SIGKILL', stderrTail: '' };
    const trouble = line({ type: 'error', message: 'stream disconnected' });
    const failed = line({ type: 'turn.failed' });
    const ends = [[trouble], [trouble, failed]].map(
      (lines) => replay(readerFor('codex'), lines, killed).result.error,
    );
    expect(ends).toEqual([
      { class: 'interrupted', message: 'codex was stopped (SIGKILL) before it had finished.' },
      { class: 'overloaded', message: 'stream disconnected' },
    ]);
  });

  it('has not ended while another turn is under way', () => {
    const lines = [line({ type: 'turn.completed' }), line({ type: 'turn.started' })];
    expect(replay(readerFor('codex'), lines.slice(0, 1), ENDED).result.ok).toBe(true);
    expect(replay(readerFor('codex'), lines, ENDED).result.ok).toBe(false);
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
