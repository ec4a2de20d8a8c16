import type { AgentError, AgentEvent, AgentReader, AgentResult, ReadContext } from '../../model/agent.ts';
import { addUsage } from '../../model/limits/usage.ts';
import type { Usage } from '../../model/ticket.ts';
import { classify, errorOf } from '../reading/classify.ts';
import { asList, asNumber, asObject, asText, type JsonObject, parseObject } from '../reading/json.ts';
import { sessionIdOf } from '../reading/session-id.ts';
import { resultInText } from '../reading/tagged.ts';
import { summaryOf } from '../reading/tool-summary.ts';
import { type Exit, unfinished, wasSignalled } from '../reading/unfinished.ts';

/** These repeat whole messages, over and over: they are left out before they are parsed. */
const REPEATS = /^\{"type":"(?:message_update|turn_end|agent_end)"/;
const STATUS = /^(\d{3})\b/;

interface State {
  sessionId: string | null;
  text: string;
  /** How the last answer ended; null while one is under way. */
  stop: string | null;
  failure: string;
  usage: Usage | null;
  tools: Map<string, { name: string; summary: string }>;
  limit: { resetAt: string | null } | null;
  turns: number | null;
}

/** The exit code is 0 whatever the provider said: only the last answer tells how it went. */
export function piReader(context: ReadContext, zone?: string): AgentReader {
  const state: State = {
    sessionId: null,
    text: '',
    stop: null,
    failure: '',
    usage: null,
    tools: new Map(),
    limit: null,
    turns: null,
  };
  return {
    line(line) {
      if (REPEATS.test(line)) return [];
      const event = parseObject(line);
      return event ? read(event, state) : [];
    },
    end(exit): AgentResult {
      const base = { text: state.text, sessionId: state.sessionId, usage: state.usage };
      if (state.stop === 'stop' && state.turns === null && exit.code === 0 && !wasSignalled(exit)) {
        const data = context.wantsData ? resultInText(state.text) : undefined;
        return { ...base, ok: true, data, error: null };
      }
      return { ...base, ok: false, data: undefined, error: failureOf(state, exit, context, zone) };
    },
  };
}

function read(event: JsonObject, state: State): AgentEvent[] {
  switch (event.type) {
    case 'session': {
      const id = sessionIdOf(event.id);
      if (!id || id === state.sessionId) return [];
      state.sessionId = id;
      return [{ type: 'session', id }];
    }
    case 'agent_start':
    case 'turn_start':
      state.stop = null;
      return [];
    case 'message_end':
      return readMessage(asObject(event.message) ?? {}, state);
    case 'tool_execution_start': {
      const tool = { name: asText(event.toolName) ?? 'tool', summary: summaryOf(event.args) };
      state.tools.set(asText(event.toolCallId) ?? '', tool);
      return [{ type: 'tool', ...tool, done: false }];
    }
    case 'tool_execution_end': {
      const id = asText(event.toolCallId) ?? '';
      const tool = state.tools.get(id);
      if (!tool) return [];
      state.tools.delete(id);
      return [{ type: 'tool', ...tool, done: true }];
    }
    case 'auto_retry_start':
      return [
        {
          type: 'warning',
          message: `The provider answered: ${asText(event.errorMessage) ?? 'an error'}; pi tries again.`,
        },
      ];
    case 'signalbox':
      return readOwn(event, state);
    default:
      return [];
  }
}

function readMessage(message: JsonObject, state: State): AgentEvent[] {
  if (message.role !== 'assistant') return [];
  state.stop = asText(message.stopReason) ?? null;
  state.failure = asText(message.errorMessage) ?? '';
  const events: AgentEvent[] = [];
  const text = asList(message.content)
    .map((item) => asObject(item))
    .flatMap((block) => (block?.type === 'text' ? [asText(block.text) ?? ''] : []))
    .join('\n');
  if (state.stop !== 'error' && state.stop !== 'aborted') {
    state.limit = null;
    if (text !== '') {
      state.text = text;
      events.push({ type: 'text', text });
    }
  }
  const usage = usageOf(asObject(message.usage));
  if (!usage) return events;
  state.usage = addUsage(state.usage, usage);
  return [...events, { type: 'usage', usage: state.usage }];
}

/** What the extension of this adapter tells. */
function readOwn(event: JsonObject, state: State): AgentEvent[] {
  state.turns = asNumber(event.turns) ?? state.turns;
  const limit = asObject(event.limit);
  if (!limit) return [];
  state.limit = { resetAt: isoOf(limit.resetAt) };
  const { message, resetAt = null, sure = false } = limitOf(state.limit);
  return [{ type: 'limit', resetAt, sure, message }];
}

function limitOf({ resetAt }: { resetAt: string | null }): AgentError {
  const message = `The usage limit is reached${resetAt ? ` until ${resetAt}` : ''}.`;
  return { class: 'limit', message, resetAt, sure: resetAt !== null };
}

function usageOf(usage: JsonObject | undefined): Usage | null {
  if (!usage) return null;
  return {
    inputTokens: asNumber(usage.input) ?? null,
    outputTokens: asNumber(usage.output) ?? null,
    cacheReadTokens: asNumber(usage.cacheRead) ?? null,
    cacheWriteTokens: asNumber(usage.cacheWrite) ?? null,
    costUsd: asNumber(asObject(usage.cost)?.total) ?? null,
  };
}

function failureOf(state: State, exit: Exit, context: ReadContext, zone?: string): AgentError {
  if (state.turns !== null) return { class: 'turns', message: `Reached the cap of ${state.turns} turns.` };
  if (state.stop === 'length')
    return { class: 'context', message: 'The answer was cut off at the length that the model allows.' };
  if (state.stop === 'aborted' && state.limit) return limitOf(state.limit);
  if (state.stop !== 'error') return unfinished('pi', exit, context.now);
  const message = state.failure || 'pi reported an error without a message.';
  const status = STATUS.exec(message)?.[1];
  const error = errorOf(
    classify(message, status ? Number(status) : null) ?? 'crash',
    message,
    context.now,
    zone,
  );
  return error.class === 'limit' && state.limit?.resetAt
    ? { ...error, resetAt: state.limit.resetAt, sure: true }
    : error;
}

function isoOf(value: unknown): string | null {
  const time = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}
