import type { AgentError, AgentEvent } from '../model/agent-and-adapter-types.ts';
import { addUsage, noUsage, subtractUsage, totalUsage } from '../model/limits/usage-cost-and-estimate.ts';
import {
  asArray,
  asNumber,
  asObject,
  asString,
  type JsonObject,
} from '../model/text/values-of-unknown-type.ts';
import type { ErrorClass, Json, Usage } from '../model/ticket.ts';
import { classify, type Exit } from './reading/classify-errors.ts';
import { isoFromEpoch } from './reading/reset-time.ts';
import { resultInText } from './reading/result-block-and-signal.ts';
import { StreamReader, shortLine, usageOf, warning } from './reading/stream-reader.ts';

/** Reasons that decide the class by themselves. */
const REASONS: Readonly<Record<string, ErrorClass>> = {
  max_turns: 'turns',
  error_max_turns: 'turns',
  budget_exhausted: 'budget',
  error_max_budget_usd: 'budget',
  aborted_tools: 'interrupted',
  aborted_streaming: 'interrupted',
  prompt_too_long: 'context',
  error_max_structured_output_retries: 'protocol',
};

export class ClaudeReader extends StreamReader {
  /** The last result, until the agent continues after it. */
  #result: JsonObject | null = null;
  /** A usage limit from the provider's machine-readable event. */
  #rejection: { resetAt: string | null; message: string } | null = null;
  /** Of all results of this run; each counts only its own turn. */
  #tokens: Usage | null = null;
  /** According to the last result, without what the session had cost before. */
  #cost: number | null = null;
  /** Of the turn under way. */
  readonly #live = new LiveUsage();

  protected read(event: JsonObject): AgentEvent[] {
    switch (event.type) {
      case 'system':
        return this.#system(event);
      case 'assistant':
        return this.#assistant(event);
      case 'user':
        return asArray(asObject(event.message)?.content)
          .map(asObject)
          .flatMap((item) =>
            this.endTool(asString(item?.tool_use_id), item?.content, {
              failed: item?.is_error === true,
              output: item?.content,
            }),
          );
      case 'rate_limit_event':
        return this.#limit(asObject(event.rate_limit_info) ?? {});
      case 'result':
        return this.#end(event);
      default:
        return [];
    }
  }

  protected override finalText(ok: boolean): string {
    return (ok ? asString(this.#result?.result) : undefined) ?? this.text;
  }

  protected override data(): Json | undefined {
    const native = this.#result?.structured_output;
    if (native !== undefined && native !== null) return native as Json;
    return this.context.wantsData ? resultInText(asString(this.#result?.result) ?? '') : undefined;
  }

  /** Tokens are counted per run; those of a turn without a result yet, by its messages. */
  protected override totalUsage(): Usage | null {
    const { usageBefore } = this.context;
    const known = this.#tokens || this.#cost !== null;
    const reported = known ? addUsage(this.#tokens, { ...noUsage(), costUsd: this.#cost }) : null;
    const { total } = this.#live;
    const running = total && {
      ...total,
      costUsd: costAtSessionPrice(total, reported ?? usageBefore) ?? total.costUsd,
    };
    return totalUsage([reported, running]);
  }

  /** A limit that the provider announced is the cause, unless the result names another one. */
  protected failure(exit: Exit): AgentError | null {
    const result = this.#result;
    if (result && isPositive(result)) return null;
    if (!result && !this.#rejection) return this.unfinished(exit);
    const message = messageIn(result);
    const status = asNumber(result?.api_error_status) ?? Number(/API Error: (\d{3})/.exec(message)?.[1]);
    const kind = reasonOf(result) ?? (this.#rejection ? 'limit' : classify(message, status));
    if (kind !== 'limit' || !this.#rejection) return this.error(kind ?? 'crash', message);
    const { resetAt, message: announced } = this.#rejection;
    const error = this.error('limit', message || announced);
    return resetAt ? { ...error, resetAt, sure: true } : error;
  }

  #system(event: JsonObject): AgentEvent[] {
    switch (event.subtype) {
      case 'init':
        this.#result = null;
        return this.session(event.session_id, { model: asString(event.model) ?? null });
      case 'api_retry': {
        const status = asNumber(event.error_status);
        const what = `${asString(event.error) ?? 'error'}${status === undefined ? '' : ` (${status})`}`;
        return [warning(`The provider answered ${what}; claude tries again.`)];
      }
      case 'permission_denied': {
        const tool = asString(event.tool_name) ?? 'a tool';
        return [warning(shortLine(`Denied: ${tool}. ${asString(event.message) ?? ''}`))];
      }
      default:
        return [];
    }
  }

  #assistant(event: JsonObject): AgentEvent[] {
    const message = asObject(event.message) ?? {};
    const blocks = asArray(message.content).map(asObject);
    if (event.is_api_error_message === true || message.model === '<synthetic>') {
      const text = blocks.map((block) => asString(block?.text)).join(' ');
      return text.trim() === '' ? [] : [warning(shortLine(text))];
    }
    // An answer after a result or a rejection means that the run continued.
    this.#result = null;
    this.#rejection = null;
    // Sub-agents' words are not the agent's final message.
    const own = event.parent_tool_use_id === null || event.parent_tool_use_id === undefined;
    const events = blocks.flatMap((block): AgentEvent[] => {
      const text = asString(block?.text);
      if (block?.type === 'text' && text !== undefined && own) return this.message(text);
      if (block?.type !== 'tool_use') return [];
      return this.startTool(asString(block.id), block.name, block.input);
    });
    const usage = this.#live.add(message) ? this.totalUsage() : null;
    return usage ? [...events, { type: 'usage', usage }] : events;
  }

  #limit(info: JsonObject): AgentEvent[] {
    const kind = (asString(info.rateLimitType) ?? 'usage').replaceAll('_', ' ');
    const epoch = asNumber(info.resetsAt);
    const resetAt = epoch === undefined ? null : isoFromEpoch(epoch);
    if (info.status === 'rejected') {
      const message = `The ${kind} limit is reached.`;
      this.#rejection = { resetAt, message };
      return [{ type: 'limit', resetAt, sure: resetAt !== null, message }];
    }
    if (info.status !== 'allowed_warning') return [];
    const used = asNumber(info.utilization);
    const share = used === undefined ? '' : `: ${Math.round(used * 100)}% used`;
    return [warning(`The ${kind} limit is near${share}.`)];
  }

  #end(event: JsonObject): AgentEvent[] {
    this.#result = event;
    this.session(event.session_id);
    const turn = tokensIn(asObject(event.usage));
    if (turn) this.#tokens = addUsage(this.#tokens, turn);
    this.#cost = this.#costOf(event) ?? this.#cost;
    this.#live.clear();
    const usage = this.totalUsage();
    const denied = asArray(event.permission_denials).map(
      (item) => asString(asObject(item)?.tool_name) ?? 'a tool',
    );
    return [
      ...(usage ? [{ type: 'usage', usage } as const] : []),
      ...(denied.length > 0
        ? [warning(shortLine(`Tools were denied: ${[...new Set(denied)].join(', ')}.`))]
        : []),
    ];
  }

  /** The cost in a result is that of the whole session so far, unless the session's count was reset. */
  #costOf(result: JsonObject): number | null {
    const { usageBefore } = this.context;
    const total = asNumber(result.total_cost_usd);
    if (total === undefined) return null;
    const before = usageBefore?.costUsd ?? 0;
    return before <= total && countsEarlier(result, this.#tokens, usageBefore) ? total - before : total;
  }
}

/** An API failure has subtype "success" too: only the error flag and the reason count. */
function isPositive(result: JsonObject): boolean {
  if (result.is_error !== false) return false;
  const reason = asString(result.terminal_reason);
  return reason === undefined ? result.subtype === 'success' : reason === 'completed';
}

function reasonOf(result: JsonObject | null): ErrorClass | undefined {
  for (const reason of [asString(result?.terminal_reason), asString(result?.subtype)])
    if (reason !== undefined && Object.hasOwn(REASONS, reason)) return REASONS[reason];
  return undefined;
}

function messageIn(result: JsonObject | null): string {
  if (!result) return '';
  const errors = asArray(result.errors).filter((item) => typeof item === 'string');
  return (
    asString(result.result) ||
    errors.join('; ') ||
    `claude ended with ${asString(result.terminal_reason) ?? 'an error'}.`
  );
}

/** How many messages are remembered because more lines of them may follow: parallel sub-agents interleave theirs. */
const MAX_MESSAGES = 200;
/** A line reports only the output tokens of a message's beginning: the text's length is a better, low estimate. */
const CHARACTERS_PER_TOKEN = 4;

/** Usage of a turn's model calls so far. A message has several lines with the same id and counts once. */
class LiveUsage {
  readonly #messages = new Map<string, { usage: Usage; characters: number }>();
  #total: Usage | null = null;

  get total(): Usage | null {
    return this.#total;
  }

  /** True when a line added usage. */
  add(message: JsonObject): boolean {
    const id = asString(message.id);
    const said = tokensIn(asObject(message.usage));
    if (id === undefined || !said) return false;
    const known = this.#messages.get(id);
    const characters = (known?.characters ?? 0) + lengthOf(message.content);
    const output = Math.max(said.outputTokens ?? 0, Math.ceil(characters / CHARACTERS_PER_TOKEN));
    const tokens = { ...said, outputTokens: Math.max(output, known?.usage.outputTokens ?? 0) };
    const usage = { ...tokens, costUsd: costAtListPrice(tokens, asString(message.model) ?? '') };
    if (!known) this.#makeRoom();
    this.#messages.set(id, { usage, characters });
    const before = this.#total;
    this.#total = addUsage(before && known ? subtractUsage(before, known.usage) : before, usage);
    return (
      this.#total.inputTokens !== before?.inputTokens || this.#total.outputTokens !== before.outputTokens
    );
  }

  /** The turn's own sum has arrived. */
  clear(): void {
    this.#messages.clear();
    this.#total = null;
  }

  #makeRoom(): void {
    const oldest = this.#messages.keys().next().value;
    if (this.#messages.size >= MAX_MESSAGES && oldest !== undefined) this.#messages.delete(oldest);
  }
}

/** The tokens of a message or of a whole turn, without dollars. */
function tokensIn(usage: JsonObject | undefined): Usage | null {
  if (!usage) return null;
  return usageOf({
    input: usage.input_tokens,
    output: usage.output_tokens,
    cacheRead: usage.cache_read_input_tokens,
    cacheWrite: usage.cache_creation_input_tokens,
  });
}

/** Dollars at the price of earlier tokens of the same session; null when none was reported. */
function costAtSessionPrice(usage: Usage, seen: Usage | null): number | null {
  const price = seen?.costUsd ? seen.costUsd / weightOf(seen) : Number.NaN;
  return Number.isFinite(price) ? price * weightOf(usage) : null;
}

/** Dollars per million input tokens in the tested release: for a run that ends before it reports its cost. */
const PRICE_LIST: readonly [family: string, dollars: number][] = [
  ['opus', 4],
  ['sonnet', 2],
  ['haiku', 0.5],
];

function costAtListPrice(usage: Usage, model: string): number | null {
  const price = PRICE_LIST.find(([family]) => model.includes(family))?.[1];
  return price === undefined ? null : (price * weightOf(usage)) / 1e6;
}

/** The relative prices of the kinds of tokens, the same for all models. */
function weightOf({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }: Usage): number {
  return (
    (inputTokens ?? 0) +
    (outputTokens ?? 0) * 5 +
    (cacheReadTokens ?? 0) * 0.05 +
    (cacheWriteTokens ?? 0) * 1.25
  );
}

/** Whether a session's running total includes earlier runs: after a kill it starts again at zero. */
function countsEarlier(result: JsonObject, run: Usage | null, before: Usage | null): boolean {
  const models = Object.values(asObject(result.modelUsage) ?? {}).map(asObject);
  if (models.length === 0) return true;
  const all = models.reduce(
    (sum, each) => sum + (asNumber(each?.inputTokens) ?? 0) + (asNumber(each?.outputTokens) ?? 0),
    0,
  );
  // The usage before may be an estimate.
  return all - inAndOut(run) >= inAndOut(before) / 2;
}

function inAndOut(usage: Usage | null): number {
  return (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0);
}

function lengthOf(content: unknown): number {
  let length = 0;
  for (const item of asArray(content)) {
    const block = asObject(item) ?? {};
    length += (asString(block.text) ?? asString(block.thinking) ?? '').length;
    if (block.input !== undefined) length += JSON.stringify(block.input).length;
  }
  return length;
}
