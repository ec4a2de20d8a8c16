import { describe, expect, it } from 'vitest';
import type { ReadContext } from '../../src/model/agent-and-adapter-types.ts';
import type { Usage } from '../../src/model/ticket.ts';
import { readerFor, replay, transcript } from './support.ts';

const CUT = { code: null, signal: 'SIGKILL', stderrTail: '' };

function answer(id: string, block: Record<string, unknown>, more: Record<string, unknown> = {}): string {
  const usage = {
    input_tokens: 100,
    output_tokens: 1,
    cache_read_input_tokens: 50,
    cache_creation_input_tokens: 7,
  };
  return JSON.stringify({ type: 'assistant', message: { id, content: [block], usage }, ...more });
}
const text = (words: string) => ({ type: 'text', text: words });

function result(turn: number, total: number, more: Record<string, unknown> = {}): string {
  return JSON.stringify({
    type: 'result',
    subtype: 'success',
    is_error: false,
    total_cost_usd: total,
    usage: { input_tokens: turn, output_tokens: 0 },
    ...more,
  });
}

function usagesOf(lines: string[], context: Partial<ReadContext> = {}): (Usage | null)[] {
  const { events, result: end } = replay(readerFor('claude', context), lines, CUT);
  return [...events.flatMap((event) => (event.type === 'usage' ? [event.usage] : [])), end.usage];
}

const BEFORE = { inputTokens: 1000, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0.01 };

describe('what claude has used', () => {
  it('is told after every model call, each message once however many lines it has', () => {
    const lines = [
      answer('a', text('x'.repeat(40))),
      answer('a', { type: 'tool_use', id: 't', name: 'Bash', input: { command: 'x'.repeat(26) } }),
      answer('b', text('ok'), { parent_tool_use_id: 't' }),
      answer('a', text('')),
      JSON.stringify({ type: 'assistant', message: { content: [] } }),
    ];
    const [first, second, third, end, ...more] = usagesOf(lines);
    expect(more).toEqual([]);
    expect(first).toEqual({
      inputTokens: 100,
      outputTokens: 10,
      cacheReadTokens: 50,
      cacheWriteTokens: 7,
      costUsd: null,
    });
    expect(second).toMatchObject({ inputTokens: 100, outputTokens: 20, cacheReadTokens: 50 });
    expect(third).toMatchObject({ inputTokens: 200, outputTokens: 21, cacheReadTokens: 100 });
    expect(end).toEqual(third);
  });

  it('is estimated by the length of all that was said, where that is more than the count', () => {
    const said = (block: object, output_tokens: number) =>
      JSON.stringify({ type: 'assistant', message: { id: 'a', content: [block], usage: { output_tokens } } });
    const outputs = (...lines: string[]) => usagesOf(lines).map((usage) => usage?.outputTokens);
    expect(outputs(said(text('x'.repeat(41)), 1))).toEqual([11, 11]);
    expect(outputs(said({ thinking: 'x'.repeat(41) }, 1))).toEqual([11, 11]);
    expect(outputs(said(text('x'), 50), said(text('x'), 1))).toEqual([50, 50]);
  });

  it('grows by a call that only read', () => {
    const read = (id: string) =>
      JSON.stringify({ type: 'assistant', message: { id, content: [], usage: { input_tokens: 5 } } });
    expect(usagesOf([read('a'), read('b')]).map((usage) => usage?.inputTokens)).toEqual([5, 10, 10]);
  });

  it('remembers the last 200 messages', () => {
    const repeated = (count: number, ...again: string[]) => {
      const ids = Array.from({ length: count }, (_, index) => String(index));
      return usagesOf([...ids, ...again].map((id) => answer(id, text('')))).at(-1)?.inputTokens;
    };
    expect([repeated(200, '5', '0'), repeated(201, '0')]).toEqual([200 * 100, 202 * 100]);
  });

  it('counts a message again after a result', () => {
    const said = answer('a', text('x'.repeat(40)));
    expect(usagesOf([said, result(0, 0), said]).at(-1)).toMatchObject({ inputTokens: 100, outputTokens: 10 });
  });

  it('has what a result tells, be it only tokens or only dollars', () => {
    const told = {
      inputTokens: 5,
      outputTokens: 0,
      cacheReadTokens: null,
      cacheWriteTokens: null,
      costUsd: 2,
    };
    const without = (name: string) => usagesOf([result(5, 2, { [name]: undefined })]).at(-1);
    expect(without('nothing')).toEqual(told);
    expect(without('total_cost_usd')).toEqual({ ...told, costUsd: null });
    expect(without('usage')).toEqual({ ...told, inputTokens: null, outputTokens: null });
    expect(usagesOf([result(5, 2), result(5, 2, { total_cost_usd: undefined })]).at(-1)?.costUsd).toBe(2);
  });

  it('is what the result says, once there is one', () => {
    const [, last, end] = usagesOf([answer('a', text('x'.repeat(4000))), result(100, 0.5)]);
    expect(last).toMatchObject({ inputTokens: 100, outputTokens: 0, costUsd: 0.5 });
    expect(end).toEqual(last);
  });

  it('has dollars by the price that the session or an earlier turn had, else by the list', () => {
    const lines = [answer('a', text('x'))];
    const weight = 100 + 5 + 2.5 + 8.75;
    expect(usagesOf(lines)[0]?.costUsd).toBeNull();
    expect(usagesOf(lines, { usageBefore: BEFORE })[0]?.costUsd).toBeCloseTo((weight * 0.01) / 1000, 9);
    const known = lines.map((line) => line.replace('"id"', '"model":"claude-opus-5-5","id"'));
    expect(usagesOf(known)[0]?.costUsd).toBeCloseTo((weight * 4) / 1e6, 9);
    const family = (model: string, usage: object) =>
      usagesOf([JSON.stringify({ type: 'assistant', message: { id: 'a', model, content: [], usage } })])[0]
        ?.costUsd;
    expect(family('claude-sonnet-5', { input_tokens: 1e6 })).toBe(2);
    expect(family('claude-haiku-5', { output_tokens: 1e6 })).toBe(2.5);
    const unknown = {
      inputTokens: 10,
      outputTokens: null,
      cacheReadTokens: null,
      cacheWriteTokens: null,
      costUsd: 1,
    };
    const onlyOutput = { ...unknown, inputTokens: null, outputTokens: 2 };
    for (const usageBefore of [unknown, onlyOutput])
      expect(usagesOf(lines, { usageBefore })[0]?.costUsd).toBeCloseTo(weight / 10, 9);
    const after = usagesOf([result(200, 0.02), ...lines]).at(-1);
    expect(after).toMatchObject({ inputTokens: 300 });
    expect(after?.costUsd).toBeCloseTo(0.02 + (weight * 0.02) / 200, 9);
  });

  it('is without what the session had cost before, unless the session lost count', () => {
    const models = (inputTokens: number) => ({ modelUsage: { m: { inputTokens, outputTokens: 0 } } });
    const cost = (line: string) => usagesOf([line], { usageBefore: BEFORE }).at(-1)?.costUsd;
    expect(cost(result(500, 0.03))).toBe(0.02);
    expect(cost(result(500, 0.03, models(1500)))).toBe(0.02);
    expect(cost(result(500, 0.03, models(500)))).toBe(0.03);
    expect(cost(result(500, 0.005))).toBe(0.005);
    expect(cost(result(500, 0.01))).toBe(0);
    // An estimate of what was used before may be twice too high, and no more.
    expect(cost(result(500, 0.03, models(1000)))).toBe(0.02);
    expect(cost(result(500, 0.03, models(999)))).toBe(0.03);
    const turn = { usage: { input_tokens: 0, output_tokens: 500 } };
    const both = {
      modelUsage: { a: { outputTokens: 500 }, b: { inputTokens: 100 }, c: { outputTokens: 400 } },
    };
    expect(cost(result(0, 0.03, { ...turn, ...both }))).toBe(0.02);
    expect(cost(result(0, 0.03, { ...turn, modelUsage: { a: { outputTokens: 999 } } }))).toBe(0.03);
    expect(cost(result(500, 0.03, { modelUsage: { m: { inputTokens: 999 } } }))).toBe(0.03);
    expect(cost(result(0, 0.03, { usage: undefined, ...models(500) }))).toBe(0.02);
    const usageBefore = { ...BEFORE, inputTokens: null, outputTokens: 1000 };
    expect(usagesOf([result(500, 0.03, models(999))], { usageBefore }).at(-1)?.costUsd).toBe(0.03);
  });

  it.each(['claude-success', 'claude-resume', 'claude-maxturns'])(
    '%s: never less than the stream told',
    (name) => {
      const { lines, exit } = transcript(name);
      const { events, result: end } = replay(readerFor(name), lines, exit);
      const told = events.flatMap((event) => (event.type === 'usage' ? [event.usage.inputTokens ?? 0] : []));
      expect(told.length).toBeGreaterThan(1);
      expect(told).toEqual([...told].sort((a, b) => a - b));
      expect(end.usage?.inputTokens).toBe(told.at(-1));
    },
  );
});
