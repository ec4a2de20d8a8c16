import { addUsage, subtractUsage } from '../../model/limits/usage.ts';
import { asArray, asNumber, asObject, asString, type JsonObject } from '../../model/text/json.ts';
import type { Usage } from '../../model/ticket.ts';
import { usageOf } from '../reading/stream-reader.ts';

/** Messages whose lines may still come; only sub-agents at work at the same time mix theirs. */
const MAX_MESSAGES = 200;
/** A line tells the output tokens of a message's beginning: its length is the better guess, and rather low. */
const CHARACTERS_PER_TOKEN = 4;

interface Counted {
  usage: Usage;
  characters: number;
}

/** What the model calls of a turn have used so far. A message comes in several lines with the same id: it counts once. */
export class LiveUsage {
  readonly #messages = new Map<string, Counted>();
  #total: Usage | null = null;

  get total(): Usage | null {
    return this.#total;
  }

  /** True when a line told of more than was known. */
  add(message: JsonObject): boolean {
    const id = asString(message.id);
    const said = tokensIn(asObject(message.usage));
    if (id === undefined || !said) return false;
    const known = this.#messages.get(id);
    const characters = (known?.characters ?? 0) + lengthOf(message.content);
    const output = Math.max(said.outputTokens ?? 0, Math.ceil(characters / CHARACTERS_PER_TOKEN));
    const tokens = { ...said, outputTokens: Math.max(output, known?.usage.outputTokens ?? 0) };
    const usage = { ...tokens, costUsd: listed(tokens, asString(message.model) ?? '') };
    if (!known) this.#makeRoom();
    this.#messages.set(id, { usage, characters });
    const before = this.#total;
    this.#total = addUsage(before && known ? subtractUsage(before, known.usage) : before, usage);
    return (
      this.#total.inputTokens !== before?.inputTokens || this.#total.outputTokens !== before?.outputTokens
    );
  }

  /** The turn's own sum has come. */
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
export function tokensIn(usage: JsonObject | undefined): Usage | null {
  if (!usage) return null;
  return usageOf({
    input: usage.input_tokens,
    output: usage.output_tokens,
    cacheRead: usage.cache_read_input_tokens,
    cacheWrite: usage.cache_creation_input_tokens,
    cost: null,
  });
}

/** Dollars by what earlier tokens of the same session cost; null when that was never told. */
export function priced(usage: Usage, seen: Usage | null): number | null {
  const price = seen?.costUsd ? seen.costUsd / weightOf(seen) : Number.NaN;
  return Number.isFinite(price) ? price * weightOf(usage) : null;
}

/** Dollars for a million tokens of input, as the tested release counts them: for a run that ends before it tells. */
const LIST: readonly [family: RegExp, dollars: number][] = [
  [/\bopus\b/, 4],
  [/\bsonnet\b/, 2],
  [/\bhaiku\b/, 0.5],
];

function listed(usage: Usage, model: string): number | null {
  const price = LIST.find(([family]) => family.test(model))?.[1];
  return price === undefined ? null : (price * weightOf(usage)) / 1e6;
}

/** Kinds of tokens cost this much in relation to each other, whatever the model. */
function weightOf({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }: Usage): number {
  return (
    (inputTokens ?? 0) +
    (outputTokens ?? 0) * 5 +
    (cacheReadTokens ?? 0) * 0.05 +
    (cacheWriteTokens ?? 0) * 1.25
  );
}

/** Whether a session's running total holds what was used before this run: after a kill it begins anew. */
export function countsEarlier(result: JsonObject, run: Usage | null, before: Usage | null): boolean {
  const models = Object.values(asObject(result.modelUsage) ?? {}).map(asObject);
  if (models.length === 0) return true;
  const all = models.reduce(
    (sum, each) => sum + (asNumber(each?.inputTokens) ?? 0) + (asNumber(each?.outputTokens) ?? 0),
    0,
  );
  // What is known of the time before may be a guess.
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
