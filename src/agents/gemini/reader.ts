import type { AgentError, AgentEvent, AgentReader, ReadContext } from '../../model/agent.ts';
import { asNumber, asObject, asString, type JsonObject } from '../../model/text/json.ts';
import type { ErrorClass, Usage } from '../../model/ticket.ts';
import { classify, type Exit, isEmptied, troubleEvent } from '../reading/errors.ts';
import { oneLine, StreamReader, usageOf, warning } from '../reading/stream-reader.ts';

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

export function geminiReader(context: ReadContext, zone?: string): AgentReader {
  return new GeminiReader('gemini', context, zone);
}

class GeminiReader extends StreamReader {
  /** The next piece of text begins a new message. */
  #fresh = true;
  #result: JsonObject | null = null;
  #loop: string | null = null;
  #trouble: AgentError | null = null;

  protected read(event: JsonObject): AgentEvent[] {
    switch (event.type) {
      case 'init':
        return this.session(event.session_id, { model: asString(event.model) ?? null });
      case 'message':
        return this.#message(event);
      case 'tool_use':
        this.#fresh = true;
        return this.startTool(asString(event.tool_id) ?? '', event.tool_name, event.parameters);
      case 'tool_result':
        this.#fresh = true;
        return this.endTool(asString(event.tool_id) ?? '');
      case 'error': {
        const message = asString(event.message) ?? 'unknown error';
        if (LOOP.test(message)) this.#loop = message;
        return [warning(oneLine(message, 300))];
      }
      case 'result':
        this.#result = event;
        return this.used(usageIn(asObject(event.stats)));
      default:
        return [];
    }
  }

  errorLine(line: string): AgentEvent[] {
    const match = WAITING.exec(line);
    if (!match) return [];
    const [, said, when] = match;
    const answer = MESSAGE.exec(line)?.[1];
    const message =
      when && this.#trouble
        ? `${this.#trouble.message} ${when}`
        : (answer ?? said ?? when ?? 'Too many requests.');
    // A message of several lines may yet say when to come back; one within the answer is whole.
    const refused = isEmptied(message) || (answer !== undefined && classify(answer, 429) === 'billing');
    this.#trouble = this.error(refused ? 'billing' : 'limit', message);
    return [troubleEvent(this.#trouble)];
  }

  protected override finalText(): string {
    return this.text.trim();
  }

  protected failure(exit: Exit): AgentError | null {
    if (this.#loop !== null) return { class: 'turns', message: this.#loop };
    if (this.#result?.status === 'success') return null;
    const error = asObject(this.#result?.error);
    if (!error) return this.#trouble ?? this.unfinished(exit);
    const message = asString(error.message) || 'gemini reported an error without a message.';
    const type = asString(error.type) ?? '';
    const kind = Object.hasOwn(REASONS, type) ? REASONS[type] : classify(message, statusOf(message, exit));
    return this.error(kind ?? 'crash', message);
  }

  /** Text comes in pieces; each piece is shown, and all since the last tool are the message. */
  #message(event: JsonObject): AgentEvent[] {
    const text = asString(event.content);
    if (event.role !== 'assistant' || text === undefined) return [];
    this.#result = null;
    this.#trouble = null;
    this.text = this.#fresh || event.delta !== true ? text : this.text + text;
    this.#fresh = false;
    return [{ type: 'text', text }];
  }
}

/** Input tokens hold those from the cache; `input` is what is left without them. */
function usageIn(stats: JsonObject | undefined): Usage | null {
  if (!stats) return null;
  const total = asNumber(stats.input_tokens);
  const cached = asNumber(stats.cached);
  const input = asNumber(stats.input) ?? (total === undefined ? undefined : total - (cached ?? 0));
  return usageOf({
    input: input === undefined ? null : Math.max(0, input),
    output: stats.output_tokens,
    cacheRead: cached,
    cacheWrite: null,
    cost: null,
  });
}

function statusOf(message: string, exit: Exit): number | null {
  const said = CODE.exec(message)?.[1];
  if (said) return Number(said);
  return STATUSES.find((status) => (status & 0xff) === exit.code) ?? null;
}
