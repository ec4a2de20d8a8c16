import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../wait-for.ts';
import { within } from '../within.ts';
import { ModelServer, type ProtocolName, type Scenario } from './index.ts';

let server: ModelServer;
beforeAll(async () => {
  server = await ModelServer.start();
});
afterAll(() => server.close());

const SHELL = { type: 'object', properties: { command: { type: 'string' } }, required: ['command', 'why'] };
const PROMPT = 'Say "hi" 🙂\nin two lines.';

interface Client {
  path: string;
  body: (tools: boolean) => unknown;
  /** Text, tool calls and token counts out of the frames of a stream. */
  read: (frames: Frame[]) => { text: string; calls: [name: unknown, args: unknown][]; usage: unknown };
}
type Frame = unknown;

/** The four APIs as their clients speak them. */
const CLIENTS: Record<ProtocolName, Client> = {
  anthropic: {
    path: '/v1/messages?beta=true',
    body: (tools) => ({
      model: 'm',
      stream: true,
      system: [{ type: 'text', text: 'Be kind.' }],
      output_config: { effort: 'high' },
      messages: [
        { role: 'user', content: PROMPT },
        { role: 'assistant', content: [{ type: 'text', text: 'Well.' }] },
        { role: 'user', content: [{ type: 'tool_result', content: [{ type: 'text', text: 'seen' }] }] },
      ],
      tools: tools ? [{ name: 'Bash', input_schema: SHELL }] : [],
    }),
    read: (frames) => ({
      text: frames.map((frame) => at(frame, 'delta', 'text') ?? '').join(''),
      calls: frames
        .filter((frame) => at(frame, 'content_block', 'type') === 'tool_use')
        .map((frame) => {
          const own = frames.filter((each) => at(each, 'index') === at(frame, 'index'));
          const args = own.map((each) => at(each, 'delta', 'partial_json') ?? '').join('');
          return [at(frame, 'content_block', 'name'), JSON.parse(args)];
        }),
      usage: at(frames[0], 'message', 'usage'),
    }),
  },
  responses: {
    path: '/v1/responses',
    body: (tools) => ({
      model: 'm',
      stream: true,
      instructions: 'Be kind.',
      reasoning: { effort: 'high' },
      input: [
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: PROMPT }] },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Well.' }] },
        { type: 'function_call_output', call_id: 'c', output: 'seen' },
      ],
      tools: tools ? [{ type: 'function', name: 'exec_command', parameters: SHELL }] : [],
    }),
    read: (frames) => ({
      text: frames
        .filter((frame) => at(frame, 'type') === 'response.output_text.delta')
        .map((frame) => at(frame, 'delta'))
        .join(''),
      calls: frames
        .filter((frame) => at(frame, 'type') === 'response.output_item.done')
        .map((frame) => at(frame, 'item'))
        .filter((item) => at(item, 'type') === 'function_call')
        .map((item) => [at(item, 'name'), JSON.parse(String(at(item, 'arguments')))]),
      usage: at(frames.at(-1), 'response', 'usage'),
    }),
  },
  chat: {
    path: '/v1/chat/completions',
    body: (tools) => ({
      model: 'm',
      stream: true,
      reasoning_effort: 'high',
      messages: [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: PROMPT },
        { role: 'assistant', content: 'Well.' },
        { role: 'tool', content: 'seen', tool_call_id: 'c' },
      ],
      tools: tools ? [{ type: 'function', function: { name: 'bash', parameters: SHELL } }] : [],
    }),
    read: (frames) => ({
      text: frames.map((frame) => at(frame, 'choices', 0, 'delta', 'content') ?? '').join(''),
      calls: frames
        .map((frame) => at(frame, 'choices', 0, 'delta', 'tool_calls', 0, 'function'))
        .filter((call) => call !== undefined)
        .map((call) => [at(call, 'name'), JSON.parse(String(at(call, 'arguments')))]),
      usage: at(frames.at(-1), 'usage'),
    }),
  },
  gemini: {
    path: '/v1beta/models/m:streamGenerateContent?alt=sse',
    body: (tools) => ({
      systemInstruction: { parts: [{ text: 'Be kind.' }] },
      contents: [
        { role: 'user', parts: [{ text: PROMPT }] },
        { role: 'model', parts: [{ text: 'Well.' }] },
        { role: 'user', parts: [{ functionResponse: { response: { output: 'seen' } } }] },
      ],
      tools: tools
        ? [{ functionDeclarations: [{ name: 'run_shell_command', parametersJsonSchema: SHELL }] }]
        : [],
    }),
    read: (frames) => {
      const parts = frames.map((frame) => at(frame, 'candidates', 0, 'content', 'parts', 0));
      const calls = parts.map((part) => at(part, 'functionCall')).filter((call) => call !== undefined);
      return {
        text: parts.map((part) => at(part, 'text') ?? '').join(''),
        calls: calls.map((call) => [at(call, 'name'), at(call, 'args')]),
        usage: at(frames.at(-1), 'usageMetadata'),
      };
    },
  },
};

describe.each(Object.entries(CLIENTS))('%s', { tags: 'full' }, (name, client) => {
  const post = (scenario: Scenario, tools = true, key = `${name}-${crypto.randomUUID()}`) => {
    const base = server.play(key, scenario);
    const send = () =>
      fetch(`${base}${client.path}`, { method: 'POST', body: JSON.stringify(client.body(tools)) });
    return { key, send };
  };

  it('streams text and tool calls with the token counts of the provider', async () => {
    const { send } = post([
      { say: 'I will say hi.', do: [{ shell: 'echo hi' }] },
      { say: 'Done.', usage: { input: 7, output: 3, cacheRead: 2 } },
    ]);
    const first = client.read(await framesOf(await send()));
    expect(first.text).toBe('I will say hi.');
    expect(first.calls).toEqual([[expect.any(String), { command: 'echo hi', why: 'as asked' }]]);
    const second = client.read(await framesOf(await send()));
    expect(second.text).toBe('Done.');
    expect(second.calls).toEqual([]);
    const numbers = Object.values(second.usage as object);
    // Two of the four count what came from the cache into the input, and all name it.
    expect(numbers).toEqual(expect.arrayContaining([3]));
    expect(numbers.includes(7) || numbers.includes(9)).toBe(true);
  });

  it('remembers what the model would have seen', async () => {
    const { key, send } = post([{ say: 'Hi.' }]);
    await framesOf(await send());
    const [request] = server.work(key);
    expect(request).toMatchObject({ protocol: name, model: 'm', effort: name === 'gemini' ? null : 'high' });
    expect(request?.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool']);
    expect(request?.messages[0]?.text).toBe('Be kind.');
    expect(request?.messages[1]?.text).toBe(PROMPT);
    expect(request?.messages[3]?.text).toContain('seen');
    expect(request?.tools).toHaveLength(1);
  });

  it('answers what is asked beside the work without moving on', async () => {
    const { key, send } = post([{ say: 'For the work.' }], false);
    expect(client.read(await framesOf(await send())).text).toContain('title');
    expect(server.work(key)).toEqual([]);
  });

  it('gives a result as a tagged block where the client asked for nothing else', async () => {
    const { send } = post([{ result: { outcome: 'good' } }]);
    expect(client.read(await framesOf(await send())).text).toContain(
      '<signalbox>{"outcome":"good"}</signalbox>',
    );
  });

  it.each([
    ['auth', 401],
    ['limit', 429],
    ['overloaded', name === 'gemini' ? 503 : 529],
    ['context', 400],
    ['billing', name === 'anthropic' ? 400 : 429],
    ['server', 500],
  ] as const)('refuses as the provider does: %s', async (kind, status) => {
    const response = await post([{ fail: { kind } }]).send();
    expect(response.status).toBe(status);
    expect(response.headers.get('retry-after')).toBeNull();
    expect(await response.json()).toMatchObject({ error: { message: expect.any(String) } });
  });

  it('keeps a limit with a reset until then, and tells of it', async () => {
    const { send } = post([{ fail: { kind: 'limit', resetInSeconds: 1 } }, { say: 'Again.' }]);
    for (let i = 0; i < 2; i += 1) {
      const response = await send();
      expect(response.status).toBe(429);
      const told = JSON.stringify([...response.headers, await response.json()]);
      expect(told).toMatch(/"retry-after","1"|"retryDelay":"1s"/);
    }
    let response = await send();
    const deadline = performance.now() + within(5000);
    while (response.status === 429 && performance.now() < deadline) {
      await delay(50);
      response = await send();
    }
    expect(client.read(await framesOf(response)).text).toBe('Again.');
  });

  it('breaks a stream off in its middle', async () => {
    const response = await post([{ say: 'This text never ends well.', end: 'cut' }]).send();
    expect(response.status).toBe(200);
    await expect(framesOf(response)).rejects.toThrow();
  });

  it('lets a stream stall', async () => {
    const response = await post([{ say: 'This text never ends.', end: 'stall' }]).send();
    const reader = response.body?.getReader();
    expect((await reader?.read())?.value?.length).toBeGreaterThan(0);
    const rest = watched(drain(reader));
    // Whoever asks later is served first.
    await framesOf(await post([{ say: 'Served.' }]).send());
    expect(rest.settled).toBe(false);
    await reader?.cancel();
    await rest.end;
  });

  it('takes a request and never answers it', async () => {
    const { key, send } = post([{ hang: true }]);
    const answer = watched(send());
    await waitFor('the request', () => server.work(key).length === 1);
    await framesOf(await post([{ say: 'Served.' }]).send());
    expect(answer.settled).toBe(false);
  });

  it('sends a slow stream piece by piece', async () => {
    const start = performance.now();
    const frames = await framesOf(await post([{ say: 'Slow.', everyMs: 30 }]).send());
    expect(client.read(frames).text).toBe('Slow.');
    expect(performance.now() - start).toBeGreaterThan(60);
  });
});

it('knows nothing of scenarios nobody plays', async () => {
  const base = server.play('known', [{ say: 'Hi.' }]).replace('known', 'unknown');
  const { path, body } = CLIENTS.chat;
  const response = await fetch(`${base}${path}`, { method: 'POST', body: JSON.stringify(body(true)) });
  expect(response.status).toBe(500);
});

/** What lies at a path of names and places; undefined where it ends early. */
function at(value: unknown, ...path: (string | number)[]): unknown {
  return path.reduce<unknown>(
    (inner, key) =>
      typeof inner === 'object' && inner !== null ? (inner as Record<string, unknown>)[key] : undefined,
    value,
  );
}

async function framesOf(response: Response): Promise<Frame[]> {
  const text = await response.text();
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice('data: '.length)));
}

/** Reads on until nothing comes any more. */
async function drain(reader: ReadableStreamDefaultReader<Uint8Array> | undefined): Promise<void> {
  while (!(await reader?.read())?.done);
}

/** A promise that can be asked whether it has come to an end, good or bad. */
function watched(promise: Promise<unknown>): { settled: boolean; end: Promise<void> } {
  const over = () => {
    state.settled = true;
  };
  const state = { settled: false, end: promise.then(over, over) };
  return state;
}
