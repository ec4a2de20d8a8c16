import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Usage } from '../../src/model/ticket.ts';
import { CLAUDE } from './recorded/claude.ts';
import { CODEX } from './recorded/codex.ts';
import type { Expected } from './recorded/expected.ts';
import { GEMINI } from './recorded/gemini.ts';
import { OPENCODE } from './recorded/opencode.ts';
import { PI } from './recorded/pi.ts';
import { readerFor, replay, transcript, transcriptNames } from './support.ts';

const EXPECTED: Record<string, Expected> = { ...CLAUDE, ...CODEX, ...GEMINI, ...OPENCODE, ...PI };

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
