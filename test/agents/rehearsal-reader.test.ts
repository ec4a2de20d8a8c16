import { describe, expect, it } from 'vitest';
import { ADAPTERS } from '../../src/agents/adapters-and-agent-problems.ts';
import { CONTEXT, line, replay } from './support.ts';

describe('the rehearsal reader', () => {
  const run = (events: unknown[], code = 0) => {
    const reader = ADAPTERS.rehearsal?.reader(CONTEXT);
    if (!reader) throw new Error('no adapter');
    return replay(reader, events.map(line), { code, signal: null, stderrTail: '' });
  };

  it('needs the result line for success', () => {
    const begun = [
      { type: 'session', id: 's1' },
      { type: 'text', text: 'working' },
      { type: 'tool', name: 'edit', summary: 'a.txt', done: true },
      {
        type: 'usage',
        inputTokens: 1,
        outputTokens: 2,
        cacheReadTokens: 3,
        cacheWriteTokens: 4,
        costUsd: 0.5,
      },
    ];
    expect(run(begun).result).toMatchObject({ ok: false, sessionId: 's1', error: { class: 'protocol' } });
    const { events, result } = run([
      ...begun,
      { type: 'result', text: 'done', data: { outcome: 'success' } },
    ]);
    expect(events.map((item) => item.type)).toEqual(['session', 'text', 'tool', 'usage']);
    expect(result).toEqual({
      ok: true,
      text: 'done',
      data: { outcome: 'success' },
      sessionId: 's1',
      usage: { inputTokens: 1, outputTokens: 2, cacheReadTokens: 3, cacheWriteTokens: 4, costUsd: 0.5 },
      error: null,
    });
  });

  it('tells of tools and limits', () => {
    const tool = { type: 'tool', name: 'edit', summary: 'a.txt' };
    const limit = { type: 'limit', message: 'enough' };
    const failed = { ...tool, done: true, failed: true };
    const ends = [{ ...tool, done: true }, { ...tool, summary: 'b', done: true }, failed];
    const { events } = run([tool, ...ends, limit]);
    expect(events).toEqual([
      { ...tool, done: false },
      { ...tool, done: true, fingerprint: expect.any(String) },
      { ...tool, summary: 'b', done: true, fingerprint: expect.any(String) },
      { ...failed, fingerprint: expect.any(String) },
      { ...limit, resetAt: null, sure: false },
    ]);
  });

  it('has the text of a result only when that counts', () => {
    const failed = [{ type: 'text', text: 'working' }, { type: 'result', text: 'done' }, { type: 'error' }];
    expect(run(failed, 1).result.text).toBe('working');
  });

  it('passes limits and errors on', () => {
    expect(
      run([{ type: 'limit', resetAt: '2026-11-15T20:00:00Z', message: 'enough' }], 1).result.error,
    ).toEqual({
      class: 'limit',
      message: 'enough',
      resetAt: '2026-11-15T20:00:00.000Z',
      sure: true,
    });
    expect(run([{ type: 'error', class: 'auth', message: 'no key' }], 1).result.error).toEqual({
      class: 'auth',
      message: 'no key',
    });
    expect(run([{ type: 'error', class: 'nonsense' }], 1).result.error?.class).toBe('crash');
  });
});
