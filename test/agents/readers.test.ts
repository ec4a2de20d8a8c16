import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ADAPTERS } from '../../src/agents/adapters-and-agent-problems.ts';
import { ERROR_CLASSES } from '../../src/model/ticket.ts';
import { CONTEXT, replay } from './support.ts';

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

function safeJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? '';
  } catch {
    return '{}';
  }
}
