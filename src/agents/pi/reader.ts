import type { AgentError, AgentEvent, AgentReader, ReadContext } from '../../model/agent.ts';
import { addUsage } from '../../model/limits/usage.ts';
import { asArray, asNumber, asObject, asString, type JsonObject } from '../../model/text/json.ts';
import { CUT_OFF, classify, type Exit, wasSignalled } from '../reading/errors.ts';
import { isoOf, StreamReader, usageOf, warning } from '../reading/stream-reader.ts';

/** These repeat whole messages, over and over: they are left out before they are parsed. */
const REPEATS = /^\{"type":"(?:message_update|turn_end|agent_end)"/;
const STATUS = /^(\d{3})\b/;

/** The exit code is 0 whatever the provider said: only the last answer says how the run went. */
export function piReader(context: ReadContext, zone?: string): AgentReader {
  return new PiReader('pi', context, zone);
}

class PiReader extends StreamReader {
  /** How the last answer ended; null while one is under way. */
  #stop: string | null = null;
  #failure = '';
  #limit: { resetAt: string | null } | null = null;
  #turns: number | null = null;

  override line(line: string): AgentEvent[] {
    return REPEATS.test(line) ? [] : super.line(line);
  }

  protected read(event: JsonObject): AgentEvent[] {
    switch (event.type) {
      case 'session':
        return this.session(event.id);
      case 'agent_start':
      case 'turn_start':
        this.#stop = null;
        return [];
      case 'message_end':
        return this.#message(asObject(event.message) ?? {});
      case 'tool_execution_start':
        return this.startTool(asString(event.toolCallId) ?? '', event.toolName, event.args);
      case 'tool_execution_end':
        return this.endTool(asString(event.toolCallId) ?? '');
      case 'auto_retry_start': {
        const answer = asString(event.errorMessage) ?? 'an error';
        return [warning(`The provider answered: ${answer}; pi tries again.`)];
      }
      case 'signalbox':
        return this.#own(event);
      default:
        return [];
    }
  }

  protected failure(exit: Exit): AgentError | null {
    if (this.#turns !== null) return { class: 'turns', message: `Reached the cap of ${this.#turns} turns.` };
    if (this.#stop === 'stop' && exit.code === 0 && !wasSignalled(exit)) return null;
    if (this.#stop === 'length') return CUT_OFF;
    if (this.#stop === 'aborted' && this.#limit) return limitOf(this.#limit);
    if (this.#stop !== 'error') return this.unfinished(exit);
    const message = this.#failure || 'pi reported an error without a message.';
    const status = STATUS.exec(message)?.[1];
    const error = this.error(classify(message, status ? Number(status) : null) ?? 'crash', message);
    return error.class === 'limit' && this.#limit?.resetAt
      ? { ...error, resetAt: this.#limit.resetAt, sure: true }
      : error;
  }

  #message(message: JsonObject): AgentEvent[] {
    if (message.role !== 'assistant') return [];
    this.#stop = asString(message.stopReason) ?? null;
    this.#failure = asString(message.errorMessage) ?? '';
    const events: AgentEvent[] = [];
    const text = asArray(message.content)
      .map(asObject)
      .flatMap((block) => (block?.type === 'text' ? [asString(block.text) ?? ''] : []))
      .join('\n');
    if (this.#stop !== 'error' && this.#stop !== 'aborted') {
      this.#limit = null;
      if (text !== '') events.push(...this.message(text));
    }
    const usage = asObject(message.usage);
    if (!usage) return events;
    const { input, output, cacheRead, cacheWrite } = usage;
    const own = usageOf({ input, output, cacheRead, cacheWrite, cost: asObject(usage.cost)?.total });
    return [...events, ...this.used(addUsage(this.usage, own))];
  }

  /** What the extension of this adapter reports. */
  #own(event: JsonObject): AgentEvent[] {
    this.#turns = asNumber(event.turns) ?? this.#turns;
    const limit = asObject(event.limit);
    if (!limit) return [];
    this.#limit = { resetAt: isoOf(limit.resetAt) };
    const { message, resetAt = null, sure = false } = limitOf(this.#limit);
    return [{ type: 'limit', resetAt, sure, message }];
  }
}

function limitOf({ resetAt }: { resetAt: string | null }): AgentError {
  const message = `The usage limit is reached${resetAt ? ` until ${resetAt}` : ''}.`;
  return { class: 'limit', message, resetAt, sure: resetAt !== null };
}
