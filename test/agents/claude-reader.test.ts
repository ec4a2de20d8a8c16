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
    [{ result: 'API Error: 503 no healthy upstream' }, 'overloaded'],
    [{ api_error_status: null, result: 'Something else' }, 'crash'],
    [{ terminal_reason: 'constructor', result: 'Something else' }, 'crash'],
    [{ terminal_reason: 'max_turns' }, 'turns'],
    [{ terminal_reason: 'budget_exhausted' }, 'budget'],
    [{ terminal_reason: 'aborted_streaming' }, 'interrupted'],
    [{ terminal_reason: 'prompt_too_long' }, 'context'],
    [{ terminal_reason: undefined, subtype: 'error_max_structured_output_retries' }, 'protocol'],
    [{ terminal_reason: undefined, subtype: 'error_max_turns' }, 'turns'],
    [{ terminal_reason: undefined, subtype: 'error_max_budget_usd' }, 'budget'],
  ])('%j is %s', (more, kind) => {
    expect(failing(more)?.class).toBe(kind);
  });

  it.each([
    [{ result: 'a', errors: ['b'] }, 'a'],
    [{ errors: ['a', 1, 'b'] }, 'a; b'],
    [{ terminal_reason: 'tired' }, 'claude ended with tired.'],
    [{ terminal_reason: undefined }, 'claude ended with an error.'],
  ])('the message of %j is %s', (more, message) => {
    expect(failing(more)?.message).toBe(message);
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

  it('tells of an announced limit with all that is known', () => {
    const announced = (info: object) =>
      readerFor('claude').line(line({ type: 'rate_limit_event', rate_limit_info: info }));
    const resetAt = '2026-11-15T20:07:02.000Z';
    expect(announced({ status: 'rejected', rateLimitType: 'seven_day', resetsAt: 1794773222 })).toEqual([
      { type: 'limit', resetAt, sure: true, message: 'The seven day limit is reached.' },
    ]);
    expect(announced({ status: 'rejected' })).toEqual([
      { type: 'limit', resetAt: null, sure: false, message: 'The usage limit is reached.' },
    ]);
    expect(announced({ status: 'allowed' })).toEqual([]);
  });

  it('keeps another reason than the announced limit', () => {
    const rejected = line({
      type: 'rate_limit_event',
      rate_limit_info: { status: 'rejected', resetsAt: 1794773222 },
    });
    const ended = (more: Record<string, unknown>) =>
      replay(readerFor('claude'), [rejected, result(more)], FAILED).result.error;
    expect(ended({ terminal_reason: 'max_turns', result: 'a' })).toEqual({ class: 'turns', message: 'a' });
    expect(ended({ result: 'a' })).toMatchObject({ class: 'limit', message: 'a', sure: true });
  });

  it('keeps the announced limit when the stream breaks off after it', () => {
    const rejected = line({
      type: 'rate_limit_event',
      rate_limit_info: { status: 'rejected', resetsAt: 1794773222 },
    });
    expect(replay(readerFor('claude'), [rejected], FAILED).result.error).toMatchObject({
      class: 'limit',
      message: 'The usage limit is reached.',
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
      rate_limit_info: { status: 'allowed_warning', rateLimitType: 'five_hour', utilization: 0.57 },
    });
    expect(readerFor('claude').line(near)).toEqual([
      { type: 'warning', message: 'The five hour limit is near: 57% used.' },
    ]);
    const unknown = line({ type: 'rate_limit_event', rate_limit_info: { status: 'allowed_warning' } });
    expect(readerFor('claude').line(unknown)).toEqual([
      { type: 'warning', message: 'The usage limit is near.' },
    ]);
  });

  it('warns of what the provider and the permissions refused', () => {
    const reader = readerFor('claude');
    const warns = (event: object) =>
      reader.line(line(event)).map((item) => 'message' in item && item.message);
    const system = (subtype: string, more = {}) => warns({ type: 'system', subtype, ...more });
    expect(system('api_retry', { error: 'overloaded', error_status: 529 })).toEqual([
      'The provider answered overloaded (529); claude tries again.',
    ]);
    expect(system('api_retry')).toEqual(['The provider answered error; claude tries again.']);
    expect(system('permission_denied', { tool_name: 'Bash', message: 'No.' })).toEqual(['Denied: Bash. No.']);
    expect(system('permission_denied')).toEqual(['Denied: a tool.']);
    const denials = [{ tool_name: 'Bash' }, {}, { tool_name: 'Bash' }];
    expect(warns({ type: 'result', permission_denials: denials })).toEqual([
      'Tools were denied: Bash, a tool.',
    ]);
    const said = (more: object, text: string[]) =>
      warns({
        type: 'assistant',
        message: { content: text.map((part) => ({ type: 'text', text: part })) },
        ...more,
      });
    expect(said({ is_api_error_message: true }, ['API', 'Error'])).toEqual(['API Error']);
    expect(said({ is_api_error_message: true }, [' '])).toEqual([]);
    const synthetic = { model: '<synthetic>', content: [{ text: 'No answer' }, {}] };
    expect(warns({ type: 'assistant', message: synthetic })).toEqual(['No answer']);
  });

  it('reads session, model, text and tools', () => {
    const reader = readerFor('claude');
    expect(reader.line(line({ type: 'system', subtype: 'init', session_id: 's1', model: 'opus' }))).toEqual([
      { type: 'session', id: 's1', model: 'opus' },
    ]);
    expect(readerFor('claude').line(line({ type: 'system', subtype: 'init', session_id: 's1' }))).toEqual([
      { type: 'session', id: 's1', model: null },
    ]);
    const content = [{ type: 'thinking', text: 'hm' }, { type: 'text', text: 'hi' }, { type: 'text' }];
    expect(reader.line(line({ type: 'assistant', message: { content } }))).toEqual([
      { type: 'text', text: 'hi' },
    ]);
    expect(readerFor('claude').end(FAILED).sessionId).toBeNull();
    expect(replay(readerFor('claude'), [result({ session_id: 's2' })], FAILED).result.sessionId).toBe('s2');
  });

  it('has the text of the result when that ended well, else the last message', () => {
    const answer = line({ type: 'assistant', message: { content: [{ type: 'text', text: 'first' }] } });
    const text = (is_error: boolean) =>
      replay(readerFor('claude'), [answer, result({ is_error, result: 'last' })], ENDED).result.text;
    expect([text(false), text(true)]).toEqual(['last', 'first']);
  });

  it('has not ended when an answer follows the result', () => {
    const ended = result({ is_error: false, result: 'Done.' });
    const answer = line({ type: 'assistant', message: { content: [] } });
    expect(replay(readerFor('claude'), [ended], ENDED).result.ok).toBe(true);
    expect(replay(readerFor('claude'), [ended, answer], ENDED).result.ok).toBe(false);
    expect(replay(readerFor('claude'), [result({ is_error: false, subtype: 'x' })], ENDED).result.ok).toBe(
      false,
    );
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
    const native = (structured_output: unknown) =>
      replay(
        readerFor('claude', { wantsData: true }),
        [result({ is_error: false, result: text, structured_output })],
        ENDED,
      ).result.data;
    expect([native({ outcome: 'halt' }), native(null)]).toEqual([
      { outcome: 'halt' },
      { outcome: 'success' },
    ]);
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
