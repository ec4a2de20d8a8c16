import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ADAPTERS } from '../../src/agents/index.ts';
import { ERROR_CLASSES } from '../../src/model/ticket.ts';
import { CONTEXT, readerFor, replay } from './support.ts';

const FAILED = { code: 1, signal: null, stderrTail: '' };
const ENDED = { code: 0, signal: null, stderrTail: '' };
const line = (value: unknown) => JSON.stringify(value);

/** Events in the shapes the CLIs send, with anything at all in their members. */
const TYPES = [
  'system',
  'assistant',
  'user',
  'result',
  'rate_limit_event',
  'thread.started',
  'turn.started',
  'turn.completed',
  'turn.failed',
  'item.started',
  'item.completed',
  'error',
  'session',
  'text',
  'tool',
  'usage',
  'limit',
  'step_start',
  'step_finish',
  'tool_use',
  'tool_result',
  'message_end',
  'tool_execution_start',
  'tool_execution_end',
  'auto_retry_start',
  'init',
  'message',
  'signalbox',
];
const KEYS = [
  'subtype',
  'session_id',
  'thread_id',
  'id',
  'message',
  'content',
  'item',
  'error',
  'usage',
  'rate_limit_info',
  'resetsAt',
  'resetAt',
  'status',
  'is_error',
  'terminal_reason',
  'result',
  'errors',
  'text',
  'data',
  'class',
  'total_cost_usd',
  'structured_output',
  'permission_denials',
  'sessionID',
  'part',
  'tokens',
  'reason',
  'role',
  'stopReason',
  'stats',
  'limit',
  'turns',
  'delta',
];
const anything = fc.anything({ maxDepth: 2, withBigInt: false });
const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof(
    { maxDepth: 3 },
    anything,
    fc.constantFrom('rejected', 'init', 'agent_message', 'assistant', 'stop', 'error', 'success'),
    tie('object'),
  ),
  object: fc.dictionary(fc.constantFrom(...KEYS, 'type'), tie('tree'), { maxKeys: 5 }),
}));
const event = fc
  .tuple(fc.constantFrom(...TYPES), fc.dictionary(fc.constantFrom(...KEYS), tree, { maxKeys: 6 }))
  .map(([type, rest]) => safeJson({ type, ...rest }));

describe.each(Object.keys(ADAPTERS))('the %s reader', (name) => {
  const reader = () => {
    const adapter = ADAPTERS[name];
    if (!adapter) throw new Error(name);
    return adapter.reader({ ...CONTEXT, wantsData: true });
  };
  const exits = fc.record({
    code: fc.option(fc.integer({ min: 0, max: 255 })),
    signal: fc.option(fc.constantFrom('SIGTERM', 'SIGKILL')),
    stderrTail: fc.string(),
  });

  it('never throws and always comes to a result, whatever it reads', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string(), fc.json(), event)), exits, (lines, exit) => {
        const { events, result } = replay(reader(), lines, exit);
        expect(events.every((item) => typeof item.type === 'string')).toBe(true);
        expect(result.ok).toBe(result.error === null);
        if (result.error) expect(ERROR_CLASSES).toContain(result.error.class);
        expect(result.sessionId === null || /^[A-Za-z0-9]/.test(result.sessionId)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it('says that it was interrupted when it was stopped without a word', () => {
    for (const exit of [
      { code: null, signal: 'SIGKILL', stderrTail: '' },
      { code: 143, signal: null, stderrTail: 'x' },
    ])
      expect(replay(reader(), [], exit).result.error?.class).toBe('interrupted');
  });

  it('blames the settings when the command could not be run', () => {
    const exit = { code: 127, signal: null, stderrTail: 'sh: no such command' };
    expect(replay(reader(), [], exit).result.error).toMatchObject({
      class: 'config',
      message: expect.stringContaining('no such command'),
    });
  });
});

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

describe('the codex reader', () => {
  const failing = (message: string) =>
    replay(readerFor('codex'), [line({ type: 'turn.failed', error: { message } })], FAILED).result.error;

  it.each([
    ['unexpected status 401 Unauthorized: no, url: http://x/429', 'auth'],
    ['unexpected status 503 Service Unavailable: no', 'overloaded'],
    ['exceeded retry limit, last status: 429 Too Many Requests', 'limit'],
    ['exceeded retry limit, last status: 500 Internal Server Error', 'overloaded'],
    ['stream disconnected before completion: error sending request', 'overloaded'],
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
    expect(reader.line(line({ type: 'item.completed', item }))).toEqual([begin, { ...begin, done: true }]);
    expect(reader.line(line({ type: 'item.started', item }))).toEqual([begin]);
    expect(reader.line(line({ type: 'item.completed', item }))).toEqual([{ ...begin, done: true }]);
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

describe('the pi reader', () => {
  const answer = (stopReason: string, more: Record<string, unknown> = {}) =>
    line({ type: 'message_end', message: { role: 'assistant', stopReason, ...more } });

  it.each([
    ['stop', {}, null],
    ['length', {}, 'context'],
    ['aborted', {}, 'protocol'],
    ['toolUse', {}, 'protocol'],
    ['error', { errorMessage: '400 Your credit balance is too low' }, 'billing'],
    ['error', { errorMessage: '503 no' }, 'overloaded'],
    ['error', { errorMessage: 'terminated' }, 'overloaded'],
    ['error', {}, 'crash'],
  ])('an answer that ends by %s, %j, is %s', (stop, more, kind) => {
    expect(replay(readerFor('pi'), [answer(stop, more)], ENDED).result.error?.class ?? null).toBe(kind);
  });

  it('goes on after an answer only with another one', () => {
    const lines = [answer('stop'), line({ type: 'turn_start' })];
    expect(replay(readerFor('pi'), lines, ENDED).result.ok).toBe(false);
    expect(replay(readerFor('pi'), [...lines, answer('stop')], ENDED).result.ok).toBe(true);
  });

  it('believes what its own extension tells of limits and turns', () => {
    const resetAt = '2026-11-15T20:00:00.000Z';
    const limit = line({ type: 'signalbox', limit: { resetAt } });
    const told = replay(readerFor('pi'), [limit, answer('aborted')], ENDED);
    expect(told.events[0]).toMatchObject({ type: 'limit', resetAt, sure: true });
    expect(told.result.error).toMatchObject({ class: 'limit', resetAt, sure: true });
    const refused = replay(readerFor('pi'), [limit, answer('error', { errorMessage: '429 no' })], ENDED);
    expect(refused.result.error).toMatchObject({ class: 'limit', message: '429 no', resetAt, sure: true });
    expect(replay(readerFor('pi'), [limit, answer('stop')], ENDED).result.ok).toBe(true);
    const capped = [line({ type: 'signalbox', turns: 3 }), answer('stop')];
    expect(replay(readerFor('pi'), capped, ENDED).result.error?.class).toBe('turns');
  });
});

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

  it('reads the tagged block when a result is wanted', () => {
    expect(run(['a', '<signalbox>{"n":', '1}</signalbox>'], 0, true).data).toEqual({ n: 1 });
    expect(run(['a'], 0, true)).toMatchObject({ ok: true, data: undefined });
  });

  it('keeps the end of a long output only', () => {
    const result = run([...Array.from({ length: 5000 }, () => 'x'.repeat(100)), 'the end'], 0);
    expect(result.text.length).toBeLessThanOrEqual(64 * 1024);
    expect(result.text.endsWith('the end')).toBe(true);
  });
});

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
      { type: 'usage', inputTokens: 1, outputTokens: 2, costUsd: 0.5 },
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
      usage: { inputTokens: 1, outputTokens: 2, cacheReadTokens: null, cacheWriteTokens: null, costUsd: 0.5 },
      error: null,
    });
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

function safeJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? '';
  } catch {
    return '{}';
  }
}
