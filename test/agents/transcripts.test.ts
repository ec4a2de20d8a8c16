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
  usage: [number, number, number, number | null, number | null] | null;
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
    // Of a message whose end was never told: the output is a guess by its length, the dollars one by the list.
    usage: [100, 25, 50, 0, 0.00091],
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
  'gemini-auth401': {
    session: '267d1570-842e-45bf-8416-a14d7095d17a',
    error: 'auth',
    usage: [0, 0, 0, null, null],
    text: '',
  },
  'gemini-cut1': {
    session: '7cacb1ca-e4f5-4958-b86e-84551ebdbe01',
    error: 'overloaded',
    usage: [0, 0, 0, null, null],
    text: 'This stream will be cut.',
  },
  'gemini-hangterm': {
    session: '9c1f1aa9-9f2d-4f05-a789-d489517a837a',
    error: 'interrupted',
    usage: null,
    text: '',
  },
  'gemini-late429': {
    session: 'ea4cb56e-7fe1-479f-a3bf-51b296423d50',
    error: 'limit',
    usage: [100, 20, 50, null, null],
    text: 'Running a command.',
    resetAt: '2026-11-15T19:37:03.000Z',
    sure: false,
  },
  'gemini-maxturns': {
    session: '808013ac-7dae-4b36-884e-df2b47e319db',
    error: 'turns',
    usage: [300, 60, 150, null, null],
    text: 'Running a command.',
  },
  'gemini-mcp': {
    session: 'd370974a-5a7e-40ff-a781-f0d8f1b5c753',
    error: null,
    usage: [100, 20, 50, null, null],
    text: 'Hello from stub.',
  },
  'gemini-overloaded529': {
    session: 'fd840c5a-0663-421f-af06-2334ae8d5d55',
    error: 'overloaded',
    usage: [0, 0, 0, null, null],
    text: '',
  },
  'gemini-ratelimit429': {
    session: '220cf23b-d263-47f3-a33d-094508587f58',
    error: 'limit',
    usage: null,
    text: '',
    resetAt: '2026-11-15T18:37:05.000Z',
    sure: false,
  },
  'gemini-ratelimit429long': {
    session: 'd888ff1a-30ff-48e4-904a-a24d2ddf8738',
    error: 'limit',
    usage: [0, 0, 0, null, null],
    text: '',
    resetAt: '2026-11-15T19:37:03.000Z',
    sure: false,
  },
  'gemini-resume': {
    session: '22222222-2222-4333-8444-555555555555',
    error: null,
    usage: [200, 40, 100, null, null],
    text: DONE,
  },
  'gemini-sig-GINT': {
    session: '34a715d2-2b84-40fb-b40e-a4a4553e2267',
    error: 'protocol',
    usage: null,
    text: 'Running a command.',
  },
  'gemini-sig-GTERM': {
    session: '2c110f68-300e-4fd5-91dc-a655d0150ae8',
    error: 'interrupted',
    usage: null,
    text: 'Running a command.',
  },
  'gemini-success': {
    session: 'acbab9d4-441e-42d2-ab9e-80586f9845af',
    error: null,
    usage: [200, 40, 100, null, null],
    text: DONE,
  },
  'opencode-auth401': {
    session: 'ses_e1f880e97ffeIFsiIZXiuHu0vw',
    error: 'auth',
    usage: null,
    text: '',
  },
  // It was refused for a full context, made room and went on; the exit code still tells of the refusal.
  'opencode-compacted': {
    session: 'ses_e1e758f13ffehqVzGZFxjc435Y',
    error: null,
    usage: [200, 40, 100, 0, 0.00028],
    text: 'Done.',
  },
  // Only the log on stderr tells why it is silent.
  'opencode-limitwait': {
    session: 'ses_e1e7572d8ffeCq3uE5NECOQnnw',
    error: 'limit',
    usage: [100, 20, 50, 0, 0.00014],
    text: 'W',
    resetAt: '2026-11-15T19:37:03.000Z',
    sure: false,
  },
  'opencode-cut1': {
    session: 'ses_e1f86a794ffeZmZbyFSILERfWf',
    error: null,
    usage: [200, 40, 100, 0, 0.00028],
    text: DONE,
  },
  'opencode-late429': {
    session: 'ses_e1f866642ffehRO4nPJI1ukipP',
    error: 'interrupted',
    usage: [100, 20, 50, 0, 0.00014],
    text: RUNNING,
  },
  'opencode-mcp': {
    session: 'ses_e1f662a34ffeoIxLwyhWtay0Ay',
    error: null,
    usage: [100, 20, 50, 0, 0.00014],
    text: 'Hello from stub.',
  },
  'opencode-overloaded529': {
    session: 'ses_e1f806376ffeqahVjOEu9J0pRK',
    error: 'overloaded',
    usage: null,
    text: '',
  },
  'opencode-ratelimit429': {
    session: 'ses_e1f82b20fffetz5FJFty24t1mW',
    error: 'limit',
    usage: null,
    text: '',
    resetAt: '2026-11-15T18:37:05.000Z',
    sure: true,
  },
  'opencode-resume': {
    session: 'ses_e1f84d2fbffezjReeMaHBM3NB5',
    error: null,
    usage: [200, 40, 100, 0, 0.00028],
    text: DONE,
  },
  'opencode-sig-GINT': {
    session: 'ses_e1f7efccfffenjEOPELL0sB507',
    error: 'interrupted',
    usage: null,
    text: RUNNING,
  },
  'opencode-sig-GTERM': {
    session: 'ses_e1f7f5c67ffeFOAquwg2KqqG0S',
    error: 'interrupted',
    usage: null,
    text: RUNNING,
  },
  'opencode-success': {
    session: 'ses_e1f898ac8ffeYlmkQHPQWrGTwq',
    error: null,
    usage: [200, 40, 100, 0, 0.00028],
    text: DONE,
  },
  'pi-auth401': {
    session: '01a1e077-dd17-7039-a1e8-e2db033f2200',
    error: 'auth',
    usage: [0, 0, 0, 0, 0],
    text: '',
  },
  'pi-cut1': {
    session: '01a1e078-3614-751d-8fd5-49be33d264c6',
    error: null,
    usage: [200, 40, 100, 0, 0.00028],
    text: DONE,
    warnings: 1,
  },
  'pi-hangterm': {
    session: '01a1e081-3b83-75fd-9968-cea54b357c6b',
    error: 'interrupted',
    usage: null,
    text: '',
  },
  'pi-late429': {
    session: '01a1e078-6fca-747c-acb6-ac3a122bb743',
    error: 'interrupted',
    usage: [100, 20, 50, 0, 0.00014],
    text: RUNNING,
  },
  'pi-overloaded529': {
    session: '01a1e07e-713a-70bd-ad7b-d2a36f183e65',
    error: 'overloaded',
    usage: [0, 0, 0, 0, 0],
    text: '',
  },
  'pi-ratelimit429': {
    session: '01a1e07c-1731-77bc-a72a-b3157522d084',
    error: 'limit',
    usage: [0, 0, 0, 0, 0],
    text: '',
    resetAt: '2026-11-15T18:37:05.000Z',
    sure: false,
    warnings: 3,
  },
  'pi-ratelimit429long': {
    session: '01a1e07c-95d0-76a1-ace8-7169f88ab930',
    error: 'interrupted',
    usage: null,
    text: '',
  },
  'pi-resume': {
    session: '01a1e07c-57f3-7205-8c2b-8410ec662fc9',
    error: null,
    usage: [200, 40, 100, 0, 0.00028],
    text: DONE,
  },
  'pi-sig-GINT': {
    session: '01a1e07e-18ed-72b6-b6b9-1e3942ba1609',
    error: 'interrupted',
    usage: [100, 20, 50, 0, 0.00014],
    text: RUNNING,
  },
  'pi-sig-GTERM': {
    session: '01a1e07e-07a6-73d7-8b2a-a96441a7b11f',
    error: 'interrupted',
    usage: [100, 20, 50, 0, 0.00014],
    text: RUNNING,
  },
  'pi-success': {
    session: '01a1e076-8657-71ac-81f7-9610e13d3c33',
    error: null,
    usage: [200, 40, 100, 0, 0.00028],
    text: DONE,
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

  it('tell of a limit on stderr as an event as soon as it is there', () => {
    const reader = readerFor('opencode');
    const [line = ''] = transcript('opencode-limitwait').exit.stderrTail.split('\n');
    expect(reader.errorLine?.(line)).toEqual([
      {
        type: 'limit',
        resetAt: '2026-11-15T19:37:03.000Z',
        sure: false,
        message: 'Rate limit reached. Please try again in 3600s.',
      },
    ]);
    expect(reader.errorLine?.(line.replace('small=false', 'small=true'))).toEqual([]);
    expect(reader.errorLine?.('something else')).toEqual([]);
  });

  it('tell that codex waits for a limit', () => {
    const { lines, exit } = transcript('codex-ratelimit429long');
    const { events } = replay(readerFor('codex'), lines, exit);
    expect(events.at(-1)).toMatchObject({ type: 'limit', resetAt: null });
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
    (/"type":"result"/.test(line) && /"terminal_reason":"completed"|"status":"success"/.test(line)) ||
    /"type":"step_finish".*"reason":"stop"/.test(line) ||
    /"type":"message_end".*"stopReason":"stop"/.test(line);

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
