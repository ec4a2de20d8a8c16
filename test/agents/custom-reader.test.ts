import { describe, expect, it } from 'vitest';
import { ADAPTERS } from '../../src/agents/adapters-and-agent-problems.ts';
import { CONTEXT, replay } from './support.ts';

describe('the custom reader', () => {
  const run = (lines: string[], code: number, wantsData = false, stderrTail = '') => {
    const reader = ADAPTERS.custom?.reader({ ...CONTEXT, wantsData });
    if (!reader) throw new Error('no adapter');
    return replay(reader, lines, { code, signal: null, stderrTail }).result;
  };

  it('goes by the exit code', () => {
    expect(run(['hello'], 0)).toMatchObject({ ok: true, text: 'hello', data: undefined });
    expect(run(['hello'], 3, false, 'broken\n')).toMatchObject({
      ok: false,
      error: { class: 'exit', message: 'the agent ended with exit code 3. It said: broken' },
    });
    const lines = Array.from({ length: 12 }, (_, index) => `line ${index + 1}`);
    const { error } = run(lines, 7);
    expect(error?.message).toMatch(
      /^the agent ended with exit code 7\. It said: line 3\n(line \d+\n)+line 12$/,
    );
  });

  it('shows every line, and says how it ended', () => {
    const reader = ADAPTERS.custom?.reader(CONTEXT);
    expect(reader?.line('hello')).toEqual([{ type: 'text', text: 'hello' }]);
    const end = (code: number | null) =>
      ADAPTERS.custom?.reader(CONTEXT).end({ code, signal: null, stderrTail: '' }).error;
    expect(end(3)).toEqual({ class: 'exit', message: 'the agent ended with exit code 3.' });
    expect(end(null)).toEqual({ class: 'exit', message: 'the agent ended with exit code unknown.' });
    expect(end(126)?.class).toBe('config');
  });

  it.each([
    ['Error: 429 Too Many Requests\nretry-after: 20', 'limit', 20],
    ['\u001b[33mHTTP 429\nretry-after: \u001b[0m20', 'limit', 20],
    ['rate limited, try again in 2 minutes', 'limit', 120],
    ['usage limit reached', 'limit', null],
    ['{"error":{"type":"rate_limit_error"}}', 'limit', null],
    ['API error: status 503, retry after 7', 'overloaded', 7],
    ['HTTP/1.1 502 Bad Gateway', 'overloaded', undefined],
    ['We are experiencing high demand.', 'overloaded', undefined],
    ['Payment required: credit balance is too low', 'exit', undefined],
    ['connection refused by the test server', 'exit', undefined],
    ['3 of 529 tests failed', 'exit', undefined],
    ['FAIL src/rate-limit.test.ts', 'exit', undefined],
    ['at src/rate-limit-store.ts:3', 'exit', undefined],
    ['Cannot find module "./rate_limiter/index"', 'exit', undefined],
    ['You hit the rate limit. Wait.', 'limit', null],
    ['429', 'limit', null],
    ['expected 200, received 429', 'exit', undefined],
  ])('reads the provider’s trouble in %j', (said, kind, seconds) => {
    const at = seconds ? new Date(Date.parse(CONTEXT.now) + seconds * 1000).toISOString() : seconds;
    expect(run(['working'], 1, false, said).error).toMatchObject({ class: kind });
    expect(run(['working'], 1, false, said).error?.resetAt).toBe(at);
    expect(run([said], 1).error?.class).toBe(kind);
    expect(run([said], 0).error).toBeNull();
  });

  it('reads the tagged block when a result is wanted', () => {
    expect(run(['a', '<signalbox>{"n":', '1}</signalbox>'], 0, true).data).toEqual({ n: 1 });
    expect(run(['a'], 0, true)).toMatchObject({ ok: true, data: undefined });
    expect(run(['<signalbox>1</signalbox>'], 0).data).toBeUndefined();
  });

  it('fails when a line was too long to be read, and names the file', () => {
    const reader = ADAPTERS.custom?.reader(CONTEXT);
    const exit = { code: 0, signal: null, stderrTail: '', skippedIn: '/jobs/1/stdout' };
    const message = 'the agent printed a line of more than 64 MB, which was not read: /jobs/1/stdout';
    expect(reader?.end(exit)).toMatchObject({ ok: false, error: { class: 'protocol', message } });
    expect(reader?.end({ ...exit, signal: 'SIGKILL' }).error?.class).toBe('interrupted');
  });

  it('keeps the end of a long output only', () => {
    const result = run([...Array.from({ length: 5000 }, () => 'x'.repeat(100)), 'the end'], 0);
    expect(result.text.length).toBeLessThanOrEqual(64 * 1024);
    expect(result.text.endsWith('the end')).toBe(true);
  });
});
