import type { AgentError, AgentEvent, AgentReader, ReadContext } from '../../model/agent.ts';
import { addUsage } from '../../model/limits/usage.ts';
import { asNumber, asObject, asString, type JsonObject } from '../../model/text/json.ts';
import type { Usage } from '../../model/ticket.ts';
import { CUT_OFF, classify, type Exit, troubleEvent, wasSignalled } from '../reading/errors.ts';
import { isoAfter } from '../reading/reset-time.ts';
import { StreamReader, usageOf } from '../reading/stream-reader.ts';

/** A line of its log about a call of the model that failed; calls of the small model are only for titles. */
const STREAM_ERROR =
  /message="stream error"(?!.*\bsmall=true).*\berror\.error="(?:\w+: )?((?:[^"\\]|\\.)*)"/g;

/** There is no end event: a last step that ended by itself, and exit code 0 after it, are the end. */
export function opencodeReader(context: ReadContext, zone?: string): AgentReader {
  return new OpencodeReader('opencode', context, zone);
}

class OpencodeReader extends StreamReader {
  /** Why the last step ended; null while one is under way. */
  #stop: string | null = null;
  #reported: JsonObject | null = null;
  /** It went on after an error, as after a full context: its exit code is that of the error all the same. */
  #recovered = false;
  /** The limit it waits for, or the empty account it asks again and again, according to its log. */
  #trouble: AgentError | null = null;

  protected read(event: JsonObject): AgentEvent[] {
    // Every line names the session; the first one begins it.
    const begun = this.sessionId === null ? this.session(event.sessionID) : [];
    return [...begun, ...this.#part(event.type, asObject(event.part) ?? {}, event)];
  }

  errorLine(line: string): AgentEvent[] {
    const said = troubleIn(line);
    const kind = said === undefined ? null : classify(said, null);
    if (said === undefined || (kind !== 'limit' && kind !== 'billing')) return [];
    this.#trouble = this.error(kind, said);
    return [troubleEvent(this.#trouble)];
  }

  protected failure(exit: Exit): AgentError | null {
    if (this.#reported) return this.#reportedError(this.#reported);
    const good = exit.code === 0 || (this.#recovered && exit.code === 1);
    if (this.#stop === 'stop' && good && !wasSignalled(exit)) return null;
    // It continues in silence until it is stopped: the trouble is the reason, not the stop.
    if (this.#trouble) return this.#trouble;
    const trouble = troubleIn(exit.stderrTail);
    const kind = trouble === undefined ? null : classify(trouble, null);
    if (trouble !== undefined && kind && (kind === 'limit' || !wasSignalled(exit)))
      return this.error(kind, trouble);
    return this.#stop === 'length' ? CUT_OFF : this.unfinished(exit);
  }

  #part(type: unknown, part: JsonObject, event: JsonObject): AgentEvent[] {
    switch (type) {
      case 'step_start':
        this.#stop = null;
        this.#recovered ||= this.#reported !== null;
        this.#reported = null;
        this.#trouble = null;
        return [];
      case 'text': {
        const text = asString(part.text);
        return text === undefined ? [] : this.message(text);
      }
      case 'tool_use':
        // It only appears when it is over.
        return [...this.startTool('', part.tool, asObject(part.state)?.input), ...this.endTool('')];
      case 'step_finish': {
        this.#stop = asString(part.reason) ?? 'unknown';
        const usage = usageIn(part);
        return usage ? this.used(addUsage(this.usage, usage)) : [];
      }
      case 'error':
        this.#reported = asObject(event.error) ?? {};
        return [];
      default:
        return [];
    }
  }

  #reportedError(error: JsonObject): AgentError {
    const data = asObject(error.data) ?? {};
    const name = asString(error.name) ?? '';
    const message = asString(data.message) || name || 'opencode reported an error without a message.';
    if (name === 'MessageAbortedError') return { class: 'interrupted', message };
    const kind =
      name === 'ContextOverflowError' ? 'context' : classify(message, asNumber(data.statusCode) ?? null);
    const said = this.error(kind ?? (name === 'ProviderAuthError' ? 'auth' : 'crash'), message);
    const after = Number(asString(asObject(data.responseHeaders)?.['retry-after']) ?? Number.NaN);
    const resetAt = said.class === 'limit' ? isoAfter(this.context.now, after) : null;
    return resetAt ? { ...said, resetAt, sure: true } : said;
  }
}

function usageIn(part: JsonObject): Usage | null {
  const tokens = asObject(part.tokens);
  if (!tokens) return null;
  const cache = asObject(tokens.cache);
  const output = asNumber(tokens.output);
  return usageOf({
    input: tokens.input,
    output: output === undefined ? null : output + (asNumber(tokens.reasoning) ?? 0),
    cacheRead: cache?.read,
    cacheWrite: cache?.write,
    cost: part.cost,
  });
}

function troubleIn(log: string): string | undefined {
  return [...log.matchAll(STREAM_ERROR)].at(-1)?.[1];
}
