import type { AgentEvent, AgentReader, AgentResult, ReadContext } from '../../model/agent.ts';
import { addUsage, noUsage, totalUsage } from '../../model/limits/usage.ts';
import type { Usage } from '../../model/ticket.ts';
import {
  asList,
  asNumber,
  asObject,
  asText,
  type JsonObject,
  oneLine,
  parseObject,
} from '../reading/json.ts';
import { isoFromEpoch } from '../reading/reset-time.ts';
import { sessionIdOf } from '../reading/session-id.ts';
import { summaryOf } from '../reading/tool-summary.ts';
import { unfinished } from '../reading/unfinished.ts';
import { claudeError, isPositive, type Rejection, resultData } from './result.ts';
import { countsEarlier, LiveUsage, priced, tokensIn } from './usage.ts';

const MAX_OPEN_TOOLS = 1000;

interface State {
  sessionId: string | null;
  text: string;
  /** The last result, until the agent goes on after it. */
  result: JsonObject | null;
  rejection: Rejection | null;
  /** Of all results of this run; each one counts its own turn. */
  tokens: Usage | null;
  /** As the last result told it, without what the session had cost before. */
  cost: number | null;
  /** Of the turn under way. */
  live: LiveUsage;
  tools: Map<string, { name: string; summary: string }>;
}

export function claudeReader(context: ReadContext, zone?: string): AgentReader {
  const state: State = {
    sessionId: null,
    text: '',
    result: null,
    rejection: null,
    tokens: null,
    cost: null,
    live: new LiveUsage(),
    tools: new Map(),
  };
  return {
    line(line) {
      const event = parseObject(line);
      return event ? read(event, state, context) : [];
    },
    end(exit): AgentResult {
      const base = { sessionId: state.sessionId, usage: usageOf(state, context) };
      if (state.result && isPositive(state.result)) {
        const text = asText(state.result.result) ?? state.text;
        return { ...base, ok: true, text, data: resultData(state.result, context.wantsData), error: null };
      }
      const error =
        state.result || state.rejection
          ? claudeError(state.result, state.rejection, context.now, zone)
          : unfinished('claude', exit, context.now);
      return { ...base, ok: false, text: state.text, data: undefined, error };
    },
  };
}

function read(event: JsonObject, state: State, context: ReadContext): AgentEvent[] {
  switch (event.type) {
    case 'system':
      return readSystem(event, state);
    case 'assistant':
      return readAssistant(event, state, context);
    case 'user':
      return readToolResults(event, state);
    case 'rate_limit_event':
      return readLimit(event, state);
    case 'result':
      return readResult(event, state, context);
    default:
      return [];
  }
}

function readSystem(event: JsonObject, state: State): AgentEvent[] {
  switch (event.subtype) {
    case 'init': {
      state.result = null;
      const id = sessionIdOf(event.session_id);
      if (!id || id === state.sessionId) return [];
      state.sessionId = id;
      return [{ type: 'session', id, model: asText(event.model) ?? null }];
    }
    case 'api_retry': {
      const status = asNumber(event.error_status);
      const what = `${asText(event.error) ?? 'error'}${status === undefined ? '' : ` (${status})`}`;
      return [{ type: 'warning', message: `The provider answered ${what}; claude tries again.` }];
    }
    case 'permission_denied':
      return [
        {
          type: 'warning',
          message: oneLine(`Denied: ${asText(event.tool_name) ?? 'a tool'}. ${asText(event.message) ?? ''}`),
        },
      ];
    default:
      return [];
  }
}

function readAssistant(event: JsonObject, state: State, context: ReadContext): AgentEvent[] {
  const message = asObject(event.message) ?? {};
  const blocks = asList(message.content).map(asObject);
  if (event.is_api_error_message === true || message.model === '<synthetic>') {
    const text = blocks.map((block) => asText(block?.text) ?? '').join(' ');
    return text.trim() === '' ? [] : [{ type: 'warning', message: oneLine(text) }];
  }
  // An answer after a result or a refusal means that the run went on.
  state.result = null;
  state.rejection = null;
  // Sub-agents' words are not the agent's final message.
  const own = event.parent_tool_use_id === null || event.parent_tool_use_id === undefined;
  const events = blocks.flatMap((block): AgentEvent[] => {
    const text = asText(block?.text);
    if (block?.type === 'text' && text !== undefined && own) {
      state.text = text;
      return [{ type: 'text', text }];
    }
    return block?.type === 'tool_use' ? [startTool(block, state)] : [];
  });
  const usage = state.live.add(message) ? usageOf(state, context) : null;
  return usage ? [...events, { type: 'usage', usage }] : events;
}

function startTool(block: JsonObject, state: State): AgentEvent {
  const tool = { name: asText(block.name) ?? 'tool', summary: summaryOf(block.input) };
  const id = asText(block.id);
  const oldest = state.tools.keys().next().value;
  if (state.tools.size >= MAX_OPEN_TOOLS && oldest !== undefined) state.tools.delete(oldest);
  if (id !== undefined) state.tools.set(id, tool);
  return { type: 'tool', ...tool, done: false };
}

function readToolResults(event: JsonObject, state: State): AgentEvent[] {
  return asList(asObject(event.message)?.content).flatMap((item): AgentEvent[] => {
    const id = asText(asObject(item)?.tool_use_id);
    const tool = id === undefined ? undefined : state.tools.get(id);
    if (id === undefined || !tool) return [];
    state.tools.delete(id);
    return [{ type: 'tool', ...tool, done: true }];
  });
}

function readLimit(event: JsonObject, state: State): AgentEvent[] {
  const info = asObject(event.rate_limit_info) ?? {};
  const kind = (asText(info.rateLimitType) ?? 'usage').replaceAll('_', ' ');
  const epoch = asNumber(info.resetsAt);
  const resetAt = epoch === undefined ? null : isoFromEpoch(epoch);
  if (info.status === 'rejected') {
    const message = `The ${kind} limit is reached${resetAt ? ` until ${resetAt}` : ''}.`;
    state.rejection = { resetAt, message };
    return [{ type: 'limit', resetAt, sure: resetAt !== null, message }];
  }
  if (info.status !== 'allowed_warning') return [];
  const used = asNumber(info.utilization);
  return [
    {
      type: 'warning',
      message: `The ${kind} limit is near${used === undefined ? '' : `: ${Math.round(used * 100)}% used`}.`,
    },
  ];
}

function readResult(event: JsonObject, state: State, context: ReadContext): AgentEvent[] {
  state.result = event;
  state.sessionId = sessionIdOf(event.session_id) ?? state.sessionId;
  const turn = tokensIn(asObject(event.usage));
  if (turn) state.tokens = addUsage(state.tokens, turn);
  state.cost = costOf(event, state, context) ?? state.cost;
  state.live.clear();
  const events: AgentEvent[] = [];
  const total = usageOf(state, context);
  if (total) events.push({ type: 'usage', usage: total });
  const denied = asList(event.permission_denials).map(
    (item) => asText(asObject(item)?.tool_name) ?? 'a tool',
  );
  if (denied.length > 0)
    events.push({
      type: 'warning',
      message: oneLine(`Tools were denied: ${[...new Set(denied)].join(', ')}.`),
    });
  return events;
}

/** The cost that a result tells is that of the whole session so far, unless the session lost count. */
function costOf(result: JsonObject, state: State, { usageBefore }: ReadContext): number | null {
  const total = asNumber(result.total_cost_usd);
  if (total === undefined) return null;
  const before = usageBefore?.costUsd ?? 0;
  return before <= total && countsEarlier(result, state.tokens, usageBefore) ? total - before : total;
}

/** Tokens are counted per run, and what a turn has used before its result by its messages. */
function usageOf(state: State, { usageBefore }: ReadContext): Usage | null {
  const { tokens, cost, live } = state;
  const told = tokens || cost !== null ? addUsage(tokens, { ...noUsage(), costUsd: cost }) : null;
  const price = (usage: Usage) => priced(usage, told ?? usageBefore) ?? usage.costUsd;
  const running = live.total && { ...live.total, costUsd: price(live.total) };
  return totalUsage([told, running]);
}
