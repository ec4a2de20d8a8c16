import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { adapterFor } from '../../src/agents/adapters-and-agent-problems.ts';
import type {
  AgentEvent,
  AgentReader,
  AgentRequest,
  AgentResult,
  ReadContext,
} from '../../src/model/agent-and-adapter-types.ts';

const DIRECTORY = fileURLToPath(new URL('../fixtures/transcripts/', import.meta.url));

export interface Transcript {
  name: string;
  lines: string[];
  exit: { code: number | null; signal: string | null; stderrTail: string };
}

export function transcriptNames(): string[] {
  return readdirSync(DIRECTORY)
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => name.slice(0, -'.jsonl'.length))
    .sort();
}

/** A recorded run. Those of the two-way mode have no exit record: they ended well. */
export function transcript(name: string): Transcript {
  const read = (end: string) =>
    existsSync(DIRECTORY + name + end) ? readFileSync(DIRECTORY + name + end, 'utf8') : '';
  const meta = read('.meta');
  const killed = /sig=terminated by signal 15/.test(meta);
  const code = Number(/\brc=(\d+)/.exec(meta)?.[1] ?? 0);
  return {
    name,
    lines: read('.jsonl').split('\n').filter(Boolean),
    exit: { code: killed ? null : code, signal: killed ? 'SIGTERM' : null, stderrTail: read('.stderr') },
  };
}

export const CONTEXT: ReadContext = { now: '2026-11-15T18:37:03.000Z', usageBefore: null, wantsData: false };

/** The reader of a CLI, or of the one a recorded run is named after. */
export function readerFor(name: string, context: Partial<ReadContext> = {}): AgentReader {
  return adapterFor(name.split('-')[0] ?? '').reader({ ...CONTEXT, zone: 'UTC', ...context });
}

export function replay(
  reader: AgentReader,
  lines: string[],
  exit: Transcript['exit'],
): { events: AgentEvent[]; result: AgentResult } {
  const events = lines.flatMap((line) => reader.line(line));
  const errors = exit.stderrTail.split('\n').flatMap((line) => reader.errorLine?.(line) ?? []);
  return { events: [...events, ...errors], result: reader.end(exit) };
}

export function request(overrides: Partial<AgentRequest> = {}): AgentRequest {
  return {
    agent: { name: 'a', adapter: 'claude', command: 'claude', defaultArgs: [], env: {}, model: null },
    prompt: 'Do it.',
    promptFile: '/jobs/1/prompt.md',
    access: 'write',
    model: null,
    effort: null,
    maxTurns: null,
    allowedTools: null,
    schema: null,
    resume: null,
    newSessionId: '11111111-2222-4333-8444-555555555555',
    root: false,
    ...overrides,
  };
}

export const FAILED = { code: 1, signal: null, stderrTail: '' };
export const ENDED = { code: 0, signal: null, stderrTail: '' };
export const line = (value: unknown) => JSON.stringify(value);
