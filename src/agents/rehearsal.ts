import type {
  AgentAdapter,
  AgentError,
  AgentEvent,
  AgentReader,
  AgentRequest,
  Invocation,
  ReadContext,
} from '../model/agent.ts';
import { ERROR_CLASSES, type ErrorClass, type Json, type Usage } from '../model/ticket.ts';
import { asNumber, asText, type JsonObject, oneLine, parseObject } from './reading/json.ts';
import { checkedSessionId, sessionIdOf } from './reading/session-id.ts';
import { unfinished } from './reading/unfinished.ts';
import { requestEnv } from './request-env.ts';

const SCHEMA_FILE = 'schema.json';

/** The built-in agent that plays a scripted scenario. It speaks one JSON object per line. */
export const rehearsal: AgentAdapter = {
  name: 'rehearsal',
  program: null,
  capabilities: {
    resume: true,
    schema: 'native',
    model: true,
    effort: true,
    maxTurns: true,
    allowedTools: true,
  },
  access: ['read', 'write', 'full'],
  invocation,
  reader,
  interactive: () => null,
};

function invocation(request: AgentRequest): Invocation {
  const { agent } = request;
  const model = request.model ?? agent.model;
  const argv = [agent.command, ...agent.defaultArgs];
  if (request.resume) argv.push('--resume', checkedSessionId(request.resume));
  else argv.push('--session', request.newSessionId);
  argv.push('--access', request.access);
  if (model) argv.push('--model', model);
  const files: Record<string, string> = {};
  if (request.schema) {
    argv.push('--schema', `{job}/${SCHEMA_FILE}`);
    files[SCHEMA_FILE] = `${JSON.stringify(request.schema, null, 2)}\n`;
  }
  return {
    argv,
    env: { ...requestEnv(request), ...agent.env },
    stdin: request.prompt,
    files,
    stopSignal: 'SIGTERM',
  };
}

interface State {
  sessionId: string | null;
  text: string;
  usage: Usage | null;
  done: JsonObject | null;
  error: AgentError | null;
}

function reader(context: ReadContext): AgentReader {
  const state: State = { sessionId: null, text: '', usage: null, done: null, error: null };
  return {
    line(line) {
      const event = parseObject(line);
      return event ? read(event, state) : [];
    },
    end(exit) {
      const base = { sessionId: state.sessionId, usage: state.usage };
      if (state.done && !state.error) {
        const text = asText(state.done.text) ?? state.text;
        return { ...base, ok: true, text, data: state.done.data as Json | undefined, error: null };
      }
      const error = state.error ?? unfinished('the rehearsal agent', exit, context.now);
      return { ...base, ok: false, text: state.text, data: undefined, error };
    },
  };
}

function read(event: JsonObject, state: State): AgentEvent[] {
  switch (event.type) {
    case 'session': {
      const id = sessionIdOf(event.id);
      if (!id) return [];
      state.sessionId = id;
      return [{ type: 'session', id }];
    }
    case 'text': {
      const text = asText(event.text);
      if (text === undefined) return [];
      state.text = text;
      return [{ type: 'text', text }];
    }
    case 'tool': {
      const summary = oneLine(asText(event.summary) ?? '');
      return [{ type: 'tool', name: asText(event.name) ?? 'tool', summary, done: event.done === true }];
    }
    case 'usage':
      state.usage = usageOf(event);
      return [{ type: 'usage', usage: state.usage }];
    case 'limit': {
      const message = asText(event.message) ?? 'The usage limit is reached.';
      const resetAt = isoOf(event.resetAt);
      state.error = { class: 'limit', message, resetAt, sure: resetAt !== null };
      return [{ type: 'limit', resetAt, sure: resetAt !== null, message }];
    }
    case 'result':
      state.done = event;
      return [];
    case 'error':
      state.error = {
        class: classOf(event.class),
        message: asText(event.message) ?? 'The rehearsal agent failed.',
      };
      return [];
    default:
      return [];
  }
}

function usageOf(event: JsonObject): Usage {
  return {
    inputTokens: asNumber(event.inputTokens) ?? null,
    outputTokens: asNumber(event.outputTokens) ?? null,
    cacheReadTokens: asNumber(event.cacheReadTokens) ?? null,
    cacheWriteTokens: asNumber(event.cacheWriteTokens) ?? null,
    costUsd: asNumber(event.costUsd) ?? null,
  };
}

function classOf(value: unknown): ErrorClass {
  return ERROR_CLASSES.find((name) => name === value) ?? 'crash';
}

function isoOf(value: unknown): string | null {
  const time = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}
