import type { AgentError, AgentEvent, AgentReader, AgentResult, ReadContext } from '../../model/agent.ts';
import type { ErrorClass, Usage } from '../../model/ticket.ts';
import { classify, errorOf, isEmptied, troubleEvent } from '../reading/classify.ts';
import { asNumber, asObject, asText, type JsonObject, oneLine, parseObject } from '../reading/json.ts';
import { sessionIdOf } from '../reading/session-id.ts';
import { resultInText } from '../reading/tagged.ts';
import { summaryOf } from '../reading/tool-summary.ts';
import { type Exit, unfinished } from '../reading/unfinished.ts';

const REASONS: Readonly<Record<string, ErrorClass>> = {
  FatalTurnLimitedError: 'turns',
  FatalAuthenticationError: 'auth',
  FatalConfigError: 'config',
  FatalInputError: 'protocol',
  FatalCancellationError: 'interrupted',
};
/** Statuses of providers; the exit code is the low byte of one. */
const STATUSES = [400, 401, 402, 403, 404, 408, 413, 429, 500, 502, 503, 504, 529];
const CODE = /"code":\s*(\d{3})\b/;
const MESSAGE = /\{"error":\{.*?"message":\s*"((?:[^"\\]|\\.)*)"/;
/** The CLI gives up a run that goes in circles, and calls that a success. */
const LOOP = /\bloop detected\b/i;
/** On stderr, while it waits for a limit to end, or asks an empty account again. */
const WAITING =
  /^(?:Attempt \d+ failed with (?:status )?429\b.*|Attempt \d+ failed: (.*)|(Suggested retry after .*))$/;

interface State {
  sessionId: string | null;
  text: string;
  /** The next piece of text begins a new message. */
  fresh: boolean;
  result: JsonObject | null;
  loop: string | null;
  trouble: AgentError | null;
  usage: Usage | null;
  tools: Map<string, { name: string; summary: string }>;
}

export function geminiReader(context: ReadContext, zone?: string): AgentReader {
  const state: State = {
    sessionId: null,
    text: '',
    fresh: true,
    result: null,
    loop: null,
    trouble: null,
    usage: null,
    tools: new Map(),
  };
  return {
    line(line) {
      const event = parseObject(line);
      return event ? read(event, state) : [];
    },
    errorLine: (line) => readErrorLine(line, state, context, zone),
    end(exit): AgentResult {
      const text = state.text.trim();
      const base = { text, sessionId: state.sessionId, usage: state.usage };
      if (state.result?.status === 'success' && state.loop === null) {
        const data = context.wantsData ? resultInText(text) : undefined;
        return { ...base, ok: true, data, error: null };
      }
      return { ...base, ok: false, data: undefined, error: failureOf(state, exit, context, zone) };
    },
  };
}

function read(event: JsonObject, state: State): AgentEvent[] {
  switch (event.type) {
    case 'init': {
      const id = sessionIdOf(event.session_id);
      if (!id || id === state.sessionId) return [];
      state.sessionId = id;
      return [{ type: 'session', id, model: asText(event.model) ?? null }];
    }
    case 'message':
      return readMessage(event, state);
    case 'tool_use': {
      const tool = { name: asText(event.tool_name) ?? 'tool', summary: summaryOf(event.parameters) };
      state.tools.set(asText(event.tool_id) ?? '', tool);
      state.fresh = true;
      return [{ type: 'tool', ...tool, done: false }];
    }
    case 'tool_result': {
      const id = asText(event.tool_id) ?? '';
      const tool = state.tools.get(id);
      state.fresh = true;
      if (!tool) return [];
      state.tools.delete(id);
      return [{ type: 'tool', ...tool, done: true }];
    }
    case 'error': {
      const message = asText(event.message) ?? 'unknown error';
      if (LOOP.test(message)) state.loop = message;
      return [{ type: 'warning', message: oneLine(message, 300) }];
    }
    case 'result': {
      state.result = event;
      state.usage = usageOf(asObject(event.stats)) ?? state.usage;
      return state.usage ? [{ type: 'usage', usage: state.usage }] : [];
    }
    default:
      return [];
  }
}

function readErrorLine(line: string, state: State, context: ReadContext, zone?: string): AgentEvent[] {
  const match = WAITING.exec(line);
  if (!match) return [];
  const [, said, when] = match;
  const answer = MESSAGE.exec(line)?.[1];
  const message =
    when && state.trouble
      ? `${state.trouble.message} ${when}`
      : (answer ?? said ?? when ?? 'Too many requests.');
  // A message of several lines may yet say when to come back; one within the answer is whole.
  const refused = isEmptied(message) || (answer !== undefined && classify(answer, 429) === 'billing');
  state.trouble = errorOf(refused ? 'billing' : 'limit', message, context.now, zone);
  return [troubleEvent(state.trouble)];
}

/** Text comes in pieces; each piece is shown, and all since the last tool are the message. */
function readMessage(event: JsonObject, state: State): AgentEvent[] {
  const text = asText(event.content);
  if (event.role !== 'assistant' || text === undefined) return [];
  state.result = null;
  state.trouble = null;
  state.text = state.fresh || event.delta !== true ? text : state.text + text;
  state.fresh = false;
  return [{ type: 'text', text }];
}

/** Input tokens hold those from the cache; `input` is what is left without them. */
function usageOf(stats: JsonObject | undefined): Usage | null {
  if (!stats) return null;
  const total = asNumber(stats.input_tokens);
  const cached = asNumber(stats.cached);
  const input = asNumber(stats.input) ?? (total === undefined ? undefined : total - (cached ?? 0));
  return {
    inputTokens: input === undefined ? null : Math.max(0, input),
    outputTokens: asNumber(stats.output_tokens) ?? null,
    cacheReadTokens: cached ?? null,
    cacheWriteTokens: null,
    costUsd: null,
  };
}

function failureOf(state: State, exit: Exit, context: ReadContext, zone?: string): AgentError {
  if (state.loop !== null) return { class: 'turns', message: state.loop };
  const error = asObject(state.result?.error);
  if (!error) return state.trouble ?? unfinished('gemini', exit, context.now);
  const message = asText(error.message) || 'gemini reported an error without a message.';
  const type = asText(error.type) ?? '';
  const kind = Object.hasOwn(REASONS, type) ? REASONS[type] : classify(message, statusOf(message, exit));
  return errorOf(kind ?? 'crash', message, context.now, zone);
}

function statusOf(message: string, exit: Exit): number | null {
  const said = CODE.exec(message)?.[1];
  if (said) return Number(said);
  return STATUSES.find((status) => (status & 0xff) === exit.code) ?? null;
}
