import type { AgentError, AgentEvent, AgentReader, AgentResult, ReadContext } from '../../model/agent.ts';
import { addUsage } from '../../model/limits/usage.ts';
import type { Usage } from '../../model/ticket.ts';
import { classify, errorOf, troubleEvent } from '../reading/classify.ts';
import { asNumber, asObject, asText, type JsonObject, parseObject } from '../reading/json.ts';
import { isoAfter } from '../reading/reset-time.ts';
import { sessionIdOf } from '../reading/session-id.ts';
import { resultInText } from '../reading/tagged.ts';
import { summaryOf } from '../reading/tool-summary.ts';
import { type Exit, unfinished, wasSignalled } from '../reading/unfinished.ts';

/** A line of its log about a call of the model that failed; calls of the small model are only for titles. */
const STREAM_ERROR =
  /message="stream error"(?!.*\bsmall=true).*\berror\.error="(?:\w+: )?((?:[^"\\]|\\.)*)"/g;

interface State {
  sessionId: string | null;
  text: string;
  /** Why the last step ended; null while one is under way. */
  stop: string | null;
  error: JsonObject | null;
  /** It went on after an error, as after a full context: its exit code tells of the error all the same. */
  recovered: boolean;
  /** The limit it waits for, or the empty account it asks again and again, as its log told. */
  trouble: AgentError | null;
  usage: Usage | null;
}

/** There is no end event: a last step that ended by itself, and exit code 0 after it, are the end. */
export function opencodeReader(context: ReadContext, zone?: string): AgentReader {
  const state: State = {
    sessionId: null,
    text: '',
    stop: null,
    error: null,
    recovered: false,
    trouble: null,
    usage: null,
  };
  return {
    line(line) {
      const event = parseObject(line);
      return event ? [...sessionIn(event, state), ...read(event, state)] : [];
    },
    errorLine(line) {
      const said = troubleIn(line);
      const kind = said === undefined ? null : classify(said, null);
      if (said === undefined || (kind !== 'limit' && kind !== 'billing')) return [];
      state.trouble = errorOf(kind, said, context.now, zone);
      return [troubleEvent(state.trouble)];
    },
    end(exit): AgentResult {
      const base = { text: state.text, sessionId: state.sessionId, usage: state.usage };
      if (state.stop === 'stop' && !state.error && endedWell(state, exit)) {
        const data = context.wantsData ? resultInText(state.text) : undefined;
        return { ...base, ok: true, data, error: null };
      }
      return { ...base, ok: false, data: undefined, error: failureOf(state, exit, context, zone) };
    },
  };
}

function endedWell({ recovered }: State, exit: Exit): boolean {
  return !wasSignalled(exit) && (exit.code === 0 || (recovered && exit.code === 1));
}

/** Every line names the session; the first one tells of it. */
function sessionIn(event: JsonObject, state: State): AgentEvent[] {
  const id = sessionIdOf(event.sessionID);
  if (!id || state.sessionId !== null) return [];
  state.sessionId = id;
  return [{ type: 'session', id }];
}

function read(event: JsonObject, state: State): AgentEvent[] {
  const part = asObject(event.part) ?? {};
  switch (event.type) {
    case 'step_start':
      state.stop = null;
      state.recovered ||= state.error !== null;
      state.error = null;
      state.trouble = null;
      return [];
    case 'text': {
      const text = asText(part.text);
      if (text === undefined) return [];
      state.text = text;
      return [{ type: 'text', text }];
    }
    case 'tool_use': {
      // Told of only when it is over.
      const name = asText(part.tool) ?? 'tool';
      const summary = summaryOf(asObject(part.state)?.input);
      return [
        { type: 'tool', name, summary, done: false },
        { type: 'tool', name, summary, done: true },
      ];
    }
    case 'step_finish': {
      state.stop = asText(part.reason) ?? 'unknown';
      const usage = usageOf(part);
      if (!usage) return [];
      state.usage = addUsage(state.usage, usage);
      return [{ type: 'usage', usage: state.usage }];
    }
    case 'error':
      state.error = asObject(event.error) ?? {};
      return [];
    default:
      return [];
  }
}

function usageOf(part: JsonObject): Usage | null {
  const tokens = asObject(part.tokens);
  if (!tokens) return null;
  const cache = asObject(tokens.cache);
  const output = asNumber(tokens.output);
  return {
    inputTokens: asNumber(tokens.input) ?? null,
    outputTokens: output === undefined ? null : output + (asNumber(tokens.reasoning) ?? 0),
    cacheReadTokens: asNumber(cache?.read) ?? null,
    cacheWriteTokens: asNumber(cache?.write) ?? null,
    costUsd: asNumber(part.cost) ?? null,
  };
}

function failureOf(state: State, exit: Exit, context: ReadContext, zone?: string): AgentError {
  if (state.error) return reported(state.error, context, zone);
  // It goes on in silence until somebody stops it: the trouble is the reason, not the stop.
  if (state.trouble) return state.trouble;
  const trouble = troubleIn(exit.stderrTail);
  const kind = trouble === undefined ? null : classify(trouble, null);
  if (trouble !== undefined && kind && (kind === 'limit' || !wasSignalled(exit)))
    return errorOf(kind, trouble, context.now, zone);
  if (state.stop === 'length')
    return { class: 'context', message: 'The answer was cut off at the length that the model allows.' };
  return unfinished('opencode', exit, context.now);
}

function troubleIn(log: string): string | undefined {
  return [...log.matchAll(STREAM_ERROR)].at(-1)?.[1];
}

function reported(error: JsonObject, context: ReadContext, zone?: string): AgentError {
  const data = asObject(error.data) ?? {};
  const name = asText(error.name) ?? '';
  const message = asText(data.message) || name || 'opencode reported an error without a message.';
  if (name === 'MessageAbortedError') return { class: 'interrupted', message };
  const kind =
    name === 'ContextOverflowError' ? 'context' : classify(message, asNumber(data.statusCode) ?? null);
  const said = errorOf(kind ?? (name === 'ProviderAuthError' ? 'auth' : 'crash'), message, context.now, zone);
  const after = Number(asText(asObject(data.responseHeaders)?.['retry-after']) ?? Number.NaN);
  const resetAt = said.class === 'limit' ? isoAfter(context.now, after) : null;
  return resetAt ? { ...said, resetAt, sure: true } : said;
}
