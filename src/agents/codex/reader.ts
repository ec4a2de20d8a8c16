import type { AgentError, AgentEvent, AgentReader, ReadContext } from '../../model/agent.ts';
import { subtractUsage } from '../../model/limits/usage.ts';
import { asArray, asNumber, asObject, asString, type JsonObject } from '../../model/text/json.ts';
import type { Usage } from '../../model/ticket.ts';
import { classify, type Exit, wasSignalled } from '../reading/errors.ts';
import { oneLine, StreamReader, usageOf, warning } from '../reading/stream-reader.ts';

const RECONNECTING = /^Reconnecting\.\.\.\s*\d+\/\d+\s*\((.*)\)$/s;
const STATUS = /\bstatus:?\s+(\d{3})\b/i;

export function codexReader(context: ReadContext, zone?: string): AgentReader {
  return new CodexReader('codex', context, zone);
}

class CodexReader extends StreamReader {
  #end: 'completed' | 'failed' | null = null;
  #failure = '';
  /** The last trouble the CLI was trying to get over. */
  #trouble: string | null = null;
  /** Ids of items under way. */
  readonly #open = new Set<string>();

  protected read(event: JsonObject): AgentEvent[] {
    switch (event.type) {
      case 'thread.started':
        return this.session(event.thread_id);
      case 'turn.started':
        this.#end = null;
        return [];
      case 'item.started':
        return this.#item(asObject(event.item), false);
      case 'item.completed':
        return this.#item(asObject(event.item), true);
      case 'error':
        return this.#error(asString(event.message) ?? 'unknown error');
      case 'turn.completed':
        this.#end = 'completed';
        return this.used(this.#usageOf(asObject(event.usage)));
      case 'turn.failed':
        this.#end = 'failed';
        this.#failure =
          asString(asObject(event.error)?.message) ??
          this.#trouble ??
          'codex reported an error without a message.';
        return [];
      default:
        return [];
    }
  }

  protected failure(exit: Exit): AgentError | null {
    if (this.#end === 'completed') return null;
    const message = this.#end === 'failed' ? this.#failure : this.#trouble;
    if (message === null) return this.unfinished(exit);
    const kind = classify(message, statusIn(message)) ?? 'crash';
    // The CLI waits for a long limit in silence until it is stopped: the limit is the reason, not the stop.
    const stopped = this.#end === null && wasSignalled(exit) && kind !== 'limit';
    return stopped ? this.unfinished(exit) : this.error(kind, message);
  }

  #error(message: string): AgentEvent[] {
    this.#trouble = RECONNECTING.exec(message)?.[1] ?? message;
    const warned = warning(oneLine(message, 300));
    if (classify(this.#trouble, statusIn(this.#trouble)) !== 'limit') return [warned];
    const { message: text, resetAt = null } = this.error('limit', this.#trouble);
    return [warned, { type: 'limit', resetAt, sure: false, message: text }];
  }

  #item(item: JsonObject | undefined, done: boolean): AgentEvent[] {
    if (!item) return [];
    if (item.type === 'error')
      return done ? [warning(oneLine(asString(item.message) ?? 'unknown error', 300))] : [];
    this.#trouble = null;
    const text = asString(item.text);
    if (item.type === 'agent_message' && done && text !== undefined) return this.message(text);
    const tool = toolOf(item);
    if (!tool) return [];
    const id = asString(item.id) ?? '';
    const begun: AgentEvent = { type: 'tool', ...tool, done: false };
    if (!done) {
      this.#open.add(id);
      return [begun];
    }
    // Some items only appear when they are over: every end still has its beginning.
    return [...(this.#open.delete(id) ? [] : [begun]), { type: 'tool', ...tool, done }];
  }

  /** Totals of the whole thread, cached input counted among the rest: made into what this run used, each token once. */
  #usageOf(usage: JsonObject | undefined): Usage | null {
    if (!usage) return null;
    const { cached_input_tokens: cacheRead, cache_write_input_tokens: cacheWrite } = usage;
    const all = asNumber(usage.input_tokens);
    const input =
      all === undefined ? null : Math.max(0, all - (asNumber(cacheRead) ?? 0) - (asNumber(cacheWrite) ?? 0));
    const total = usageOf({ input, output: usage.output_tokens, cacheRead, cacheWrite, cost: null });
    const { usageBefore } = this.context;
    return subtractUsage(total, usageBefore && { ...usageBefore, costUsd: null });
  }
}

function toolOf(item: JsonObject): { name: string; summary: string } | undefined {
  switch (item.type) {
    case 'command_execution':
      return { name: 'shell', summary: oneLine(asString(item.command) ?? '') };
    case 'file_change': {
      const paths = asArray(item.changes).map((change) => asString(asObject(change)?.path) ?? '');
      return { name: 'edit', summary: oneLine(paths.join(' ')) };
    }
    case 'mcp_tool_call': {
      const name = [asString(item.server), asString(item.tool)].filter(Boolean).join('.');
      return { name: name || 'mcp', summary: '' };
    }
    case 'web_search':
      return { name: 'web_search', summary: oneLine(asString(item.query) ?? '') };
    default:
      return undefined;
  }
}

function statusIn(message: string): number | null {
  const status = STATUS.exec(message)?.[1];
  return status ? Number(status) : null;
}
