import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ReadContext } from '../../src/model/agent.ts';
import type { ErrorClass, Json, Usage } from '../../src/model/ticket.ts';
import { readerFor, replay, transcript, transcriptNames } from './support.ts';

interface Expected {
  session: string | null;
  /** null: it went well. */
  error: ErrorClass | null;
  message?: RegExp;
  /** [input, output, cache read, cache write, dollars] */
  usage: [number, number, number, number, number | null] | null;
  text?: string;
  data?: Json;
  resetAt?: string | null;
  sure?: boolean;
  warnings?: number;
  context?: Partial<ReadContext>;
}

const DONE = 'Done: hello.txt written (stub, tool results seen: 1).';
const RUNNING = 'Running a command. ';

const EXPECTED: Record<string, Expected> = {
  'claude-auth401': {
    session: '32b782f4-0a22-44e9-84b5-2b5a0db4083b',
    error: 'auth',
    message: /Invalid API key/,
    usage: [0, 0, 0, 0, 0],
    text: '',
    warnings: 11,
  },
  'claude-cut1': {
    session: '1efd07ee-3dcd-4632-8a31-209300746b48',
    error: null,
    usage: [300, 41, 150, 0, 0.00205],
    text: DONE,
    warnings: 1,
  },
  'claude-hangterm': {
    session: 'e48f08f8-5821-403b-8ef0-d4090d6e7c8a',
    error: 'interrupted',
    message: /143/,
    usage: null,
    text: '',
  },
  'claude-late429': {
    session: '2e4a1548-e203-449f-b4e8-1fb746d83764',
    error: 'limit',
    usage: [100, 20, 50, 0, 0.00081],
    text: RUNNING,
    resetAt: null,
    sure: false,
    warnings: 1,
  },
  'claude-maxbudget': {
    session: '73cb2c31-e2e1-4bd8-8085-3aa0c6035a56',
    error: 'budget',
    message: /maximum budget/,
    usage: [300, 60, 150, 0, 0.00324],
    text: RUNNING,
  },
  'claude-maxturns': {
    session: '9997dd21-6072-4e2f-9871-bbf5f5cbec37',
    error: 'turns',
    message: /turns \(3\)/,
    usage: [300, 60, 150, 0, 0.00243],
    text: RUNNING,
  },
  'claude-mcp': {
    session: 'd29c696c-53d3-4ffe-bdce-6aa647aca58e',
    error: null,
    usage: [100, 20, 50, 0, 0.00081],
    text: 'Hello from stub.',
  },
  'claude-noperm': {
    session: 'ec0cbc2d-9991-4ce9-a8e5-99561ea5a6e8',
    error: null,
    usage: [200, 40, 100, 0, 0.00162],
    text: DONE,
    warnings: 2,
  },
  'claude-overloaded529': {
    session: 'd66bd633-2a8d-4834-a6d4-eed8fa1b01bf',
    error: 'overloaded',
    message: /529/,
    usage: [0, 0, 0, 0, 0],
    warnings: 11,
  },
  'claude-ratelimit429': {
    session: 'dff85976-a925-4f87-8124-5ee6eb72d3c4',
    error: 'limit',
    usage: [0, 0, 0, 0, 0],
    resetAt: null,
    sure: false,
    warnings: 11,
  },
  'claude-ratelimit429long': {
    session: '895fed30-eca3-49e9-b344-c7c1fc6f21c5',
    error: 'limit',
    usage: [0, 0, 0, 0, 0],
    resetAt: null,
    sure: false,
    warnings: 1,
  },
  'claude-resume': {
    session: '11111111-2222-4333-8444-555555555555',
    error: null,
    usage: [200, 40, 100, 0, 0.00162],
    text: DONE,
    context: {
      usageBefore: {
        inputTokens: 200,
        outputTokens: 40,
        cacheReadTokens: 100,
        cacheWriteTokens: 0,
        costUsd: 0.00162,
      },
    },
  },
  'claude-rpc': {
    session: '811e4272-42b5-4cf1-875e-4580a1806475',
    error: null,
    usage: [400, 80, 200, 0, 0.00203],
    text: DONE,
  },
  'claude-schema': {
    session: '3c5da1c3-ef5e-478c-9947-3ab973457f15',
    error: null,
    usage: [200, 40, 100, 0, 0.00162],
    data: { ok: true, note: 'stub' },
    context: { wantsData: true },
  },
  'claude-sig-GINT': {
    session: '77e7c934-753e-4718-9cce-8d006e943d4f',
    error: 'interrupted',
    usage: [100, 20, 50, 0, 0.00081],
    text: RUNNING,
  },
  'claude-sig-GTERM': {
    session: '3f7395bf-4230-48f1-8ea2-57d3689a9e03',
    error: 'interrupted',
    usage: null,
    text: RUNNING,
  },
  'claude-success': {
    session: '972b4861-98ec-4767-85bc-d2845fe03572',
    error: null,
    usage: [200, 40, 100, 0, 0.00162],
    text: DONE,
  },
  'claude-usagelimit-oauth': {
    session: 'e06cfb72-45ec-403b-914a-fa01cb770bd5',
    error: 'limit',
    message: /5-hour limit/,
    usage: [0, 0, 0, 0, 0],
    resetAt: '2026-11-15T20:07:02.000Z',
    sure: true,
    warnings: 1,
  },
  'codex-auth401': {
    session: '01a1e077-d203-7af3-b37a-56ad22f055d6',
    error: 'auth',
    message: /401/,
    usage: null,
    warnings: 7,
  },
  'codex-cut1': {
    session: '01a1e078-3b78-7241-afd6-092a6d51b2ae',
    error: null,
    usage: [200, 40, 100, 0, null],
    text: DONE,
    warnings: 2,
  },
  'codex-hangterm': {
    session: '01a1e081-2bb9-7ef0-939b-eec40467f471',
    error: 'interrupted',
    message: /SIGTERM/,
    usage: null,
    warnings: 1,
  },
  'codex-late429': {
    session: '01a1e078-599f-7193-bf75-3fa391bce6dc',
    error: 'limit',
    usage: null,
    text: RUNNING,
    resetAt: null,
    sure: false,
    warnings: 2,
  },
  'codex-mcp': {
    session: '01a1e099-cc0a-7491-a875-9b4ba1b55afa',
    error: null,
    usage: [100, 20, 50, 0, null],
    text: 'Hello from stub.',
    warnings: 1,
  },
  'codex-overloaded529': {
    session: '01a1e07e-09ff-7af1-840b-4c01323ec19d',
    error: 'overloaded',
    usage: null,
    warnings: 7,
  },
  'codex-ratelimit429': {
    session: '01a1e07c-04d9-7df0-8f8b-3b62b63cd213',
    error: 'limit',
    usage: null,
    resetAt: null,
    sure: false,
    warnings: 7,
  },
  'codex-ratelimit429long': {
    session: '01a1e07c-3083-7c30-94b9-74572e8cbe9c',
    error: 'limit',
    usage: null,
    resetAt: null,
    sure: false,
    warnings: 2,
  },
  'codex-resume': {
    session: '01a1e07a-bd8c-74a1-967a-6d66ee790d26',
    error: null,
    usage: [200, 40, 100, 0, null],
    text: DONE,
    warnings: 1,
    context: {
      usageBefore: {
        inputTokens: 200,
        outputTokens: 40,
        cacheReadTokens: 100,
        cacheWriteTokens: 0,
        costUsd: null,
      },
    },
  },
  // The app-server protocol, which this adapter does not speak: no end event, so never a success.
  'codex-rpc': { session: null, error: 'protocol', usage: null, text: '' },
  'codex-schema': {
    session: '01a1e07a-d704-70e2-9db6-18bd6d80e5c9',
    error: null,
    usage: [200, 40, 100, 0, null],
    data: { ok: true, note: 'stub' },
    context: { wantsData: true },
    warnings: 1,
  },
  'codex-sig-GINT': {
    session: '01a1e07d-fcb7-7152-a6cb-ec139b75d189',
    error: 'crash',
    message: /exit code 1/,
    usage: null,
    warnings: 1,
  },
  'codex-sig-GTERM': {
    session: '01a1e07d-f0e9-75a1-95dc-7ba5e942c558',
    error: 'interrupted',
    usage: null,
    warnings: 1,
  },
  'codex-success': {
    session: '01a1e076-6bb0-79f0-be04-0b6f1e1da751',
    error: null,
    usage: [200, 40, 100, 0, null],
    text: DONE,
    warnings: 1,
  },
  'codex-usagelimit': {
    session: '01a1e07f-bc7f-7f62-9740-7b92d107bb1f',
    error: 'limit',
    message: /usage limit/,
    usage: null,
    resetAt: '2026-11-15T20:08:00.000Z',
    sure: false,
    warnings: 2,
  },
};

describe('recorded streams', () => {
  it('are all in the table', () => {
    expect(transcriptNames()).toEqual(Object.keys(EXPECTED).sort());
  });

  it.each(Object.entries(EXPECTED))('%s', (name, expected) => {
    const { lines, exit } = transcript(name);
    const { events, result } = replay(readerFor(name, expected.context), lines, exit);
    expect(result.ok).toBe(expected.error === null);
    expect(result.error?.class ?? null).toBe(expected.error);
    expect(result.sessionId).toBe(expected.session);
    expect(result.usage).toEqual(usage(expected.usage));
    expect(result.data).toEqual(expected.data);
    expect(result.error?.resetAt).toBe(expected.resetAt);
    expect(result.error?.sure).toBe(expected.sure);
    if (expected.message) expect(result.error?.message).toMatch(expected.message);
    if (expected.text !== undefined) expect(result.text).toBe(expected.text);
    expect(events.filter((event) => event.type === 'warning')).toHaveLength(expected.warnings ?? 0);
    const session = events.find((event) => event.type === 'session');
    expect(session?.id ?? null).toBe(expected.session);
  });

  it('announce the session first, and end every tool that they began when they end well', () => {
    for (const [name, expected] of Object.entries(EXPECTED)) {
      if (expected.error !== null || name.endsWith('rpc')) continue;
      const { lines, exit } = transcript(name);
      const { events } = replay(readerFor(name), lines, exit);
      expect(events[0]?.type, name).toBe('session');
      const tools = events.filter((event) => event.type === 'tool');
      expect(tools.filter((tool) => tool.done).length, name).toBe(tools.filter((tool) => !tool.done).length);
    }
  });

  it('tell of a limit as an event as soon as the provider announces it', () => {
    const { lines, exit } = transcript('claude-usagelimit-oauth');
    const { events } = replay(readerFor('claude'), lines, exit);
    expect(events.find((event) => event.type === 'limit')).toMatchObject({
      resetAt: '2026-11-15T20:07:02.000Z',
      sure: true,
    });
  });
});

describe('a stream that was cut', () => {
  const positive = (line: string) =>
    /"type":"turn\.completed"/.test(line) ||
    (/"type":"result"/.test(line) && /"terminal_reason":"completed"/.test(line));

  it('is a success only when its end event had arrived', () => {
    const names = transcriptNames().filter((name) => name !== 'codex-rpc');
    fc.assert(
      fc.property(
        fc.constantFrom(...names),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.constantFrom(0, 1, 143),
        (name, part, code) => {
          const whole = transcript(name).lines.join('\n');
          const cut = whole.slice(0, Math.floor(whole.length * part)).split('\n');
          const { result } = replay(readerFor(name), cut, { code, signal: null, stderrTail: '' });
          const ends = cut.filter((line) => positive(line) && isJson(line));
          expect(result.ok && ends.length === 0).toBe(false);
          expect(result.ok).toBe(result.error === null);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('is not a success when the agent had gone on after an end event', () => {
    const { lines } = transcript('claude-rpc');
    const first = lines.findIndex((line) => positive(line));
    const exit = { code: 1, signal: null, stderrTail: '' };
    expect(replay(readerFor('claude'), lines.slice(0, first + 1), exit).result.ok).toBe(true);
    expect(replay(readerFor('claude'), lines.slice(0, first + 2), exit).result.ok).toBe(false);
  });
});

function usage(numbers: Expected['usage']): Usage | null {
  if (!numbers) return null;
  const [inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd] = numbers;
  return { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd };
}

function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}
