import { describe, expect, it } from 'vitest';
import { ENDED, FAILED, line, readerFor, replay } from './support.ts';

describe('the claude reader', () => {
  const result = (more: Record<string, unknown>) =>
    line({ type: 'result', is_error: true, subtype: 'success', ...more });
  const failing = (more: Record<string, unknown>) =>
    replay(readerFor('claude'), [result({ terminal_reason: 'api_error', ...more })], FAILED).result.error;

  it.each([
    [{ api_error_status: 403, result: 'Forbidden' }, 'auth'],
    [{ api_error_status: 429, result: 'slow down' }, 'limit'],
    [{ api_error_status: 500, result: 'oops' }, 'overloaded'],
    [{ api_error_status: 503, result: 'oops' }, 'overloaded'],
    [{ api_error_status: 400, result: 'Your credit balance is too low to access the API.' }, 'billing'],
    [{ api_error_status: 400, result: 'Prompt is too long' }, 'context'],
    [{ api_error_status: 404, result: 'model: nonsense' }, 'config'],
    [{ api_error_status: null, result: 'API Error: Request timed out.' }, 'overloaded'],
    [{ api_error_status: null, result: 'Something else' }, 'crash'],
    [{ terminal_reason: 'max_turns' }, 'turns'],
    [{ terminal_reason: undefined, subtype: 'error_max_turns' }, 'turns'],
    [{ terminal_reason: undefined, subtype: 'error_max_budget_usd' }, 'budget'],
  ])('%j is %s', (more, kind) => {
    expect(failing(more)?.class).toBe(kind);
  });

  it('reads a reset time out of the prose when there was no limit event', () => {
    expect(
      failing({ api_error_status: 429, result: "You've hit your 5-hour limit · resets 8:07pm (UTC)" }),
    ).toEqual({
      class: 'limit',
      message: "You've hit your 5-hour limit · resets 8:07pm (UTC)",
      resetAt: '2026-11-15T20:08:00.000Z',
      sure: false,
    });
  });

  it('keeps the announced limit when the stream breaks off after it', () => {
    const rejected = line({
      type: 'rate_limit_event',
      rate_limit_info: { status: 'rejected', resetsAt: 1794773222 },
    });
    expect(replay(readerFor('claude'), [rejected], FAILED).result.error).toMatchObject({
      class: 'limit',
      resetAt: '2026-11-15T20:07:02.000Z',
      sure: true,
    });
    const answer = line({ type: 'assistant', message: { content: [{ type: 'text', text: 'on I go' }] } });
    expect(replay(readerFor('claude'), [rejected, answer], FAILED).result.error?.class).toBe('crash');
  });

  it('survives a reset time that is none', () => {
    const rejected = line({
      type: 'rate_limit_event',
      rate_limit_info: { status: 'rejected', resetsAt: 1e300 },
    });
    expect(replay(readerFor('claude'), [rejected], FAILED).result.error).toMatchObject({
      resetAt: null,
      sure: false,
    });
  });

  it('only warns of a limit that is near', () => {
    const near = line({
      type: 'rate_limit_event',
      rate_limit_info: { status: 'allowed_warning', rateLimitType: 'five_hour', utilization: 0.93 },
    });
    expect(readerFor('claude').line(near)).toEqual([
      { type: 'warning', message: 'The five hour limit is near: 93% used.' },
    ]);
  });

  it('does not take a sub-agent for the agent', () => {
    const reader = readerFor('claude');
    reader.line(
      line({
        type: 'assistant',
        message: { content: [{ type: 'text', text: 'mine' }] },
        parent_tool_use_id: null,
      }),
    );
    reader.line(
      line({
        type: 'assistant',
        message: { content: [{ type: 'text', text: 'its' }] },
        parent_tool_use_id: 't',
      }),
    );
    expect(reader.end(FAILED).text).toBe('mine');
  });

  it('does not believe an end with another reason than completion', () => {
    const lines = [
      line({ type: 'result', is_error: false, subtype: 'success', terminal_reason: 'hook_stopped' }),
    ];
    expect(replay(readerFor('claude'), lines, ENDED).result.ok).toBe(false);
  });

  it.each([true, undefined])('does not believe an end whose error flag is %s', (is_error) => {
    const said = { subtype: 'success', terminal_reason: 'completed', result: 'Done.' };
    const { error } = replay(readerFor('claude'), [result({ ...said, is_error })], ENDED).result;
    expect(error).toEqual({ class: 'crash', message: 'Done.' });
  });

  it('finds the result in the final message where the schema flag gave none', () => {
    const text = 'Here.\n<signalbox>\n```json\n{"outcome":"success"}\n```\n</signalbox>';
    const lines = [line({ type: 'result', is_error: false, terminal_reason: 'completed', result: text })];
    expect(replay(readerFor('claude', { wantsData: true }), lines, ENDED).result.data).toEqual({
      outcome: 'success',
    });
    expect(replay(readerFor('claude'), lines, ENDED).result.data).toBeUndefined();
  });

  it.each([
    ["error: unknown option '--foo'", 'config'],
    [
      '--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons',
      'config',
    ],
    ['No conversation found with session ID: 1', 'protocol'],
    ['Invalid API key · Please run /login', 'auth'],
    ['Segmentation fault', 'crash'],
    ['', 'crash'],
  ])('with only %j on stderr the error is %s', (stderrTail, kind) => {
    const { error } = replay(readerFor('claude'), [], { code: 1, signal: null, stderrTail }).result;
    expect(error?.class).toBe(kind);
    expect(error?.message).toContain(stderrTail);
  });
});
