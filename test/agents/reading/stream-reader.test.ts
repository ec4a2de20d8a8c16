import { describe, expect, it } from 'vitest';
import { checkedSessionId, shortLine, toolEnd } from '../../../src/agents/reading/stream-reader.ts';
import { ENDED, line, readerFor, replay } from '../support.ts';

describe('one line of a text', () => {
  it.each([
    [' a \n\t b\r\nc ', 'a b c'],
    ['x'.repeat(160), 'x'.repeat(160)],
    ['x'.repeat(161), `${'x'.repeat(159)}…`],
    // Only the beginning of a long text is looked at.
    [`a${' '.repeat(638)}b`, 'a b'],
    [`a${' '.repeat(639)}b`, 'a'],
  ])('%j', (text, flat) => {
    expect(shortLine(text)).toBe(flat);
  });
});

describe('a session id', () => {
  it('has letters, digits and few signs', () => {
    expect(checkedSessionId('A.b:c-1_2')).toBe('A.b:c-1_2');
  });

  it.each(['--last', 'a b', '../a', '', `${'x'.repeat(70)}/`])('is not %j', (id) => {
    expect(() => checkedSessionId(id)).toThrow(
      expect.objectContaining({
        code: 'agent/session-id',
        message: `${JSON.stringify(id.slice(0, 60))} is not a session id.`,
        hint: expect.stringContaining('signalbox sessions'),
      }),
    );
    expect(readerFor('codex').line(line({ type: 'thread.started', thread_id: id }))).toEqual([]);
  });

  it('is told once', () => {
    const reader = readerFor('codex');
    const begun = line({ type: 'thread.started', thread_id: 's' });
    expect([reader.line(begun), reader.line(begun)]).toEqual([[{ type: 'session', id: 's' }], []]);
  });
});

describe('a result', () => {
  const done = line({ type: 'turn.completed' });
  const answer = line({ type: 'item.completed', item: { type: 'agent_message', text: '{"a":1}' } });

  it('is read only where one is wanted', () => {
    const data = (wantsData: boolean) =>
      replay(readerFor('codex', { wantsData }), [answer, done], ENDED).result.data;
    expect([data(true), data(false)]).toEqual([{ a: 1 }, undefined]);
  });

  it('keeps the usage that was known', () => {
    const used = line({ type: 'turn.completed', usage: { input_tokens: 5 } });
    expect(replay(readerFor('codex'), [used, done], ENDED).result.usage?.inputTokens).toBe(5);
  });
});

it.each(['claude', 'codex', 'gemini', 'opencode', 'pi', 'rehearsal'])(
  'a line of %s that is nested too deep is reported, and not read',
  (name) => {
    const deep = (levels: number) => `{"type":"x","a":${'['.repeat(levels)}${']'.repeat(levels)}}`;
    expect(readerFor(name).line(deep(999))).toEqual([]);
    const said = `${name}.* printed a line that is nested more than 1000 levels deep. It was not read.$`;
    const message = expect.stringMatching(said);
    expect(readerFor(name).line(deep(1000))).toEqual([{ type: 'warning', message }]);
  },
);

describe('tools', () => {
  const start = (toolCallId: string, args = {}) =>
    line({ type: 'tool_execution_start', toolCallId, toolName: 'bash', args });
  const end = (toolCallId: string) => line({ type: 'tool_execution_end', toolCallId });

  it('have a name and their most telling input', () => {
    const about = { type: 'tool', name: 'bash', summary: 'https://x' };
    const reader = readerFor('pi');
    expect(reader.line(start('a', { query: 'why', url: 'https://x' }))).toEqual([{ ...about, done: false }]);
    expect(reader.line(end('a'))).toEqual([{ ...about, done: true, fingerprint: expect.any(String) }]);
    expect(reader.line(end('a'))).toEqual([]);
  });

  it.each<[string, object[]]>([
    [
      'claude',
      [
        { type: 'assistant', message: { content: [{ type: 'tool_use', id: 'a', name: 'Bash', input: {} }] } },
        {
          type: 'user',
          message: {
            content: [
              {
                type: 'tool_result',
                tool_use_id: 'a',
                is_error: true,
                content: [{ type: 'text', text: 'one\ntwo' }],
              },
            ],
          },
        },
      ],
    ],
    [
      'codex',
      [
        {
          type: 'item.completed',
          item: {
            id: 'a',
            type: 'command_execution',
            command: 'x',
            exit_code: 1,
            aggregated_output: 'one\ntwo',
          },
        },
      ],
    ],
    [
      'gemini',
      [
        { type: 'tool_use', tool_id: 'a', tool_name: 'shell', parameters: {} },
        { type: 'tool_result', tool_id: 'a', status: 'error', error: { message: 'one\ntwo' } },
      ],
    ],
    [
      'opencode',
      [
        {
          type: 'tool_use',
          part: { type: 'tool', tool: 'bash', state: { status: 'error', error: 'one\ntwo' } },
        },
      ],
    ],
    [
      'pi',
      [
        { type: 'tool_execution_start', toolCallId: 'a', toolName: 'bash', args: {} },
        {
          type: 'tool_execution_end',
          toolCallId: 'a',
          isError: true,
          result: { content: [{ type: 'text', text: 'one\ntwo' }] },
        },
      ],
    ],
  ])('of %s end with what they printed, and whether they failed', (name, events) => {
    const reader = readerFor(name);
    expect(events.flatMap((event) => reader.line(line(event))).at(-1)).toMatchObject({
      ...{ type: 'tool', done: true, failed: true, output: 'one\ntwo' },
    });
  });

  it.each<[string, object[]]>([
    [
      'claude',
      [
        { type: 'assistant', message: { content: [{ type: 'tool_use', id: 'a', name: 'Bash', input: {} }] } },
        { type: 'user', message: { content: [{ tool_use_id: 'a', content: 'printed' }] } },
      ],
    ],
    ...[{ exit_code: 0 }, { exit_code: null }, {}].map((more): [string, object[]] => [
      'codex',
      [
        {
          type: 'item.completed',
          item: { id: 'a', type: 'command_execution', command: 'x', aggregated_output: 'printed', ...more },
        },
      ],
    ]),
    [
      'gemini',
      [
        { type: 'tool_use', tool_id: 'a', tool_name: 'shell', parameters: {} },
        { type: 'tool_result', tool_id: 'a', status: 'success', output: 'printed' },
      ],
    ],
    [
      'opencode',
      [
        {
          type: 'tool_use',
          part: { type: 'tool', tool: 'bash', state: { status: 'completed', output: 'printed' } },
        },
      ],
    ],
  ])('of %s that did not fail do not say so', (name, events) => {
    const reader = readerFor(name);
    const ended = events.flatMap((event) => reader.line(line(event))).at(-1);
    expect(ended).toMatchObject({ type: 'tool', done: true, output: 'printed' });
    expect(ended).not.toHaveProperty('failed');
  });

  it('of codex failed by their status, too', () => {
    const item = { id: 'a', type: 'mcp_tool_call', server: 's', tool: 't', status: 'failed' };
    expect(
      readerFor('codex')
        .line(line({ type: 'item.completed', item }))
        .at(-1),
    ).toMatchObject({
      failed: true,
    });
  });

  const inside = (value: unknown, depth: number): unknown =>
    depth === 0 ? value : { content: inside(value, depth - 1) };
  const inLists = (value: unknown, depth: number): unknown =>
    depth === 0 ? value : [inLists(value, depth - 1)];
  it.each<[string, unknown, string | undefined]>([
    ['a text', 'x', 'x'],
    ['only white space', ' \n\t', undefined],
    ['nothing', null, undefined],
    ['parts, some of them empty', ['a', '', null, { type: 'text', text: 'b' }], 'a\nb'],
    ['output', { output: 'x' }, 'x'],
    ['a message', { message: 'x' }, 'x'],
    ['its text first', { text: 'a', output: 'b', content: 'c', message: 'd' }, 'a'],
    ['four levels', inside('x', 4), 'x'],
    ['five levels', inside('x', 5), undefined],
    ['four levels of lists', inLists('x', 4), 'x'],
    ['five levels of lists', inLists('x', 5), undefined],
  ])('end with what they printed as %s', (_, output, text) => {
    expect(toolEnd({ failed: false, output })).toEqual(text === undefined ? {} : { output: text });
  });

  it.each([
    [1000, 1],
    [1001, 0],
  ])('of %d that never end, the first has %d end', (count, ends) => {
    const reader = readerFor('pi');
    for (let id = 0; id < count; id += 1) reader.line(start(String(id)));
    expect(reader.line(end('0'))).toHaveLength(ends);
    expect(reader.line(end(String(count - 1)))).toHaveLength(1);
  });
});
