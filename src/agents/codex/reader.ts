import type { AgentError, AgentEvent, AgentReader, AgentResult, ReadContext } from '../../model/agent.ts';
import { subtractUsage } from '../../model/limits/usage.ts';
import type { Usage } from '../../model/ticket.ts';
import { classify, errorOf } from '../reading/classify.ts';
import {
  asList,
  asNumber,
  asObject,
  asText,
  type JsonObject,
  oneLine,
  parseObject,
} from '../reading/json.ts';
import { sessionIdOf } from '../reading/session-id.ts';
import { resultInText } from '../reading/tagged.ts';
import { type Exit, unfinished, wasSignalled } from '../reading/unfinished.ts';

const RECONNECTING = /^Reconnecting\.\.\.\s*\d+\/\d+\s*\((.*)\)$/s;
const STATUS = /\bstatus:?\s+(\d{3})\b/i;

interface State {
  sessionId: string | null;
  text: string;
  end: 'completed' | 'failed' | null;
  failure: string;
  /** The last trouble the CLI was trying to get over. */
  trouble: string | null;
  usage: Usage | null;
  /** Ids of items under way. */
  open: Set<string>;
}

export function codexReader(context: ReadContext, zone?: string): AgentReader {
  const state: State = {
    sessionId: null,
    text: '',
    end: null,
    failure: '',
    trouble: null,
    usage: null,
    open: new Set(),
  };
  return {
    line(line) {
      const event = parseObject(line);
      return event ? read(event, state, context) : [];
    },
    end(exit): AgentResult {
      const base = { text: state.text, sessionId: state.sessionId, usage: state.usage };
      if (state.end !== 'completed')
        return { ...base, ok: false, data: undefined, error: failureOf(state, exit, context, zone) };
      const data = context.wantsData ? resultInText(state.text) : undefined;
      return { ...base, ok: true, data, error: null };
    },
  };
}

function read(event: JsonObject, state: State, context: ReadContext): AgentEvent[] {
  switch (event.type) {
    case 'thread.started': {
      const id = sessionIdOf(event.thread_id);
      if (!id || id === state.sessionId) return [];
      state.sessionId = id;
      return [{ type: 'session', id }];
    }
    case 'turn.started':
      state.end = null;
      return [];
    case 'item.started':
      return readItem(asObject(event.item), false, state);
    case 'item.completed':
      return readItem(asObject(event.item), true, state);
    case 'error': {
      const message = asText(event.message) ?? 'unknown error';
      state.trouble = RECONNECTING.exec(message)?.[1] ?? message;
      const warning: AgentEvent = { type: 'warning', message: oneLine(message, 300) };
      if (classify(state.trouble, statusIn(state.trouble)) !== 'limit') return [warning];
      const limit = errorOf('limit', state.trouble, context.now);
      return [
        warning,
        { type: 'limit', resetAt: limit.resetAt ?? null, sure: false, message: limit.message },
      ];
    }
    case 'turn.completed': {
      state.end = 'completed';
      state.usage = usageOf(asObject(event.usage), context) ?? state.usage;
      return state.usage ? [{ type: 'usage', usage: state.usage }] : [];
    }
    case 'turn.failed':
      state.end = 'failed';
      state.failure =
        asText(asObject(event.error)?.message) ??
        state.trouble ??
        'codex reported an error without a message.';
      return [];
    default:
      return [];
  }
}

function readItem(item: JsonObject | undefined, done: boolean, state: State): AgentEvent[] {
  if (!item) return [];
  if (item.type === 'error')
    return done ? [{ type: 'warning', message: oneLine(asText(item.message) ?? 'unknown error', 300) }] : [];
  state.trouble = null;
  const text = asText(item.text);
  if (item.type === 'agent_message' && done && text !== undefined) {
    state.text = text;
    return [{ type: 'text', text }];
  }
  const tool = toolOf(item);
  if (!tool) return [];
  const id = asText(item.id) ?? '';
  if (!done) {
    state.open.add(id);
    return [{ type: 'tool', ...tool, done }];
  }
  // Some items are only told of when they are over: every end still has its beginning.
  const begun: AgentEvent[] = state.open.delete(id) ? [] : [{ type: 'tool', ...tool, done: false }];
  return [...begun, { type: 'tool', ...tool, done }];
}

function toolOf(item: JsonObject): { name: string; summary: string } | undefined {
  switch (item.type) {
    case 'command_execution':
      return { name: 'shell', summary: oneLine(asText(item.command) ?? '') };
    case 'file_change': {
      const paths = asList(item.changes).map((change) => asText(asObject(change)?.path) ?? '');
      return { name: 'edit', summary: oneLine(paths.join(' ')) };
    }
    case 'mcp_tool_call': {
      const name = [asText(item.server), asText(item.tool)].filter(Boolean).join('.');
      return { name: name || 'mcp', summary: '' };
    }
    case 'web_search':
      return { name: 'web_search', summary: oneLine(asText(item.query) ?? '') };
    default:
      return undefined;
  }
}

/** Totals of the whole thread, cached input counted among the rest: made into what this run used, each token once. */
function usageOf(usage: JsonObject | undefined, context: ReadContext): Usage | null {
  if (!usage) return null;
  const input = asNumber(usage.input_tokens) ?? null;
  const cached = asNumber(usage.cached_input_tokens) ?? null;
  const written = asNumber(usage.cache_write_input_tokens) ?? null;
  const total: Usage = {
    inputTokens: input === null ? null : Math.max(0, input - (cached ?? 0) - (written ?? 0)),
    outputTokens: asNumber(usage.output_tokens) ?? null,
    cacheReadTokens: cached,
    cacheWriteTokens: written,
    costUsd: null,
  };
  return subtractUsage(total, context.usageBefore && { ...context.usageBefore, costUsd: null });
}

function failureOf(state: State, exit: Exit, context: ReadContext, zone?: string): AgentError {
  const message = state.end === 'failed' ? state.failure : state.trouble;
  if (message === null) return unfinished('codex', exit, context.now);
  const kind = classify(message, statusIn(message)) ?? 'crash';
  // The CLI waits for a long limit in silence until somebody stops it: the limit is the reason, not the stop.
  const stopped = state.end === null && wasSignalled(exit) && kind !== 'limit';
  return stopped ? unfinished('codex', exit, context.now) : errorOf(kind, message, context.now, zone);
}

function statusIn(message: string): number | null {
  const status = STATUS.exec(message)?.[1];
  return status ? Number(status) : null;
}
