import { createHash } from 'node:crypto';
import type {
  AgentError,
  AgentEvent,
  AgentReader,
  AgentResult,
  ReadContext,
} from '../../model/agent-and-adapter-types.ts';
import { InputError } from '../../model/errors.ts';
import { isTooDeep, parseObject, TOO_DEEP } from '../../model/text/parse-json-and-find-places.ts';
import { asNumber, asObject, asString, type JsonObject } from '../../model/text/values-of-unknown-type.ts';
import type { ErrorClass, Json, Usage } from '../../model/ticket.ts';
import { type Exit, errorOf, unfinished } from './classify-errors.ts';
import { toIso } from './reset-time.ts';
import { resultInText } from './result-block-and-signal.ts';

const MAX_OPEN_TOOLS = 1000;

/** The common part of the readers of all CLIs that print one JSON object per line. */
export abstract class StreamReader implements AgentReader {
  protected readonly context: ReadContext;
  protected sessionId: string | null = null;
  /** The last message. */
  protected text = '';
  protected usage: Usage | null = null;
  readonly #cli: string;
  readonly #tools = new Map<string, { name: string; summary: string; call: string }>();

  constructor(cli: string, context: ReadContext) {
    this.#cli = cli;
    this.context = context;
  }

  line(line: string): AgentEvent[] {
    if (isTooDeep(line))
      return [warning(`${this.#cli} printed a line that is ${TOO_DEEP}. It was not read.`)];
    const event = parseObject(line);
    return event ? this.read(event) : [];
  }

  end(exit: Exit): AgentResult {
    const error = this.failure(exit);
    const base = {
      sessionId: this.sessionId,
      usage: this.totalUsage(),
      text: this.finalText(error === null),
    };
    if (error) return { ...base, ok: false, data: undefined, error };
    return { ...base, ok: true, data: this.data(base.text), error: null };
  }

  protected abstract read(event: JsonObject): AgentEvent[];

  /** Why the run failed; null when it ended well. */
  protected abstract failure(exit: Exit): AgentError | null;

  protected finalText(_ok: boolean): string {
    return this.text;
  }

  protected data(text: string): Json | undefined {
    return this.context.wantsData ? resultInText(text) : undefined;
  }

  protected totalUsage(): Usage | null {
    return this.usage;
  }

  /** No event for a session that is already known, or for a value that is no session id. */
  protected session(value: unknown, about: { model?: string | null } = {}): AgentEvent[] {
    const id = typeof value === 'string' && SESSION_ID.test(value) ? value : null;
    if (!id || id === this.sessionId) return [];
    this.sessionId = id;
    return [{ type: 'session', id, ...about }];
  }

  protected message(text: string): AgentEvent[] {
    this.text = text;
    return [{ type: 'text', text }];
  }

  /** Null: nothing new is known. */
  protected used(usage: Usage | null): AgentEvent[] {
    this.usage = usage ?? this.usage;
    return this.usage ? [{ type: 'usage', usage: this.usage }] : [];
  }

  /** A tool call without an id gets no end event. */
  protected startTool(id: string | undefined, name: unknown, input: unknown): AgentEvent[] {
    const tool = { name: asString(name) ?? 'tool', summary: summaryOf(input) };
    const oldest = this.#tools.keys().next().value;
    if (this.#tools.size >= MAX_OPEN_TOOLS && oldest !== undefined) this.#tools.delete(oldest);
    if (id !== undefined) this.#tools.set(id, { ...tool, call: fingerprintOf(tool.name, input) });
    return [{ type: 'tool', ...tool, done: false }];
  }

  /** `output`: the part of the result that the tool printed. */
  protected endTool(
    id: string | undefined,
    result: unknown,
    end: { failed: boolean; output?: unknown },
  ): AgentEvent[] {
    const tool = id === undefined ? undefined : this.#tools.get(id);
    if (id === undefined || !tool) return [];
    this.#tools.delete(id);
    const { call, ...about } = tool;
    return [
      { type: 'tool', ...about, done: true, fingerprint: fingerprintOf(call, result), ...toolEnd(end) },
    ];
  }

  protected error(kind: ErrorClass, message: string): AgentError {
    return errorOf(kind, message, this.context.now, this.context.zone);
  }

  /** The error of a run without an end event. */
  protected unfinished(exit: Exit): AgentError {
    return unfinished(this.#cli, exit, this.context.now);
  }
}

/** How a tool call ended. */
export function toolEnd({ failed, output }: { failed: boolean; output?: unknown }): {
  failed?: true;
  output?: string;
} {
  const text = textIn(output);
  return { ...(failed ? { failed } : {}), ...(text.trim() === '' ? {} : { output: text }) };
}

/** The text of a tool's result, which may be in parts. */
function textIn(value: unknown, depth = 0): string {
  if (typeof value === 'string') return value;
  if (depth > 3 || value === null || typeof value !== 'object') return '';
  if (Array.isArray(value))
    return value
      .map((each) => textIn(each, depth + 1))
      .filter(Boolean)
      .join('\n');
  const { text, output, content, message } = value as Record<string, unknown>;
  return textIn(text ?? output ?? content ?? message, depth + 1);
}

const SESSION_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$/;

/** A session id for a command line: anything that could be read as an option or a path is refused. */
export function checkedSessionId(id: string): string {
  if (SESSION_ID.test(id)) return id;
  throw new InputError('agent/session-id', `${JSON.stringify(id.slice(0, 60))} is not a session id.`, {
    hint: 'Session ids hold letters, digits, ".", "_", ":" and "-"; see `signalbox sessions`.',
  });
}

type Counts = Partial<Record<'input' | 'output' | 'cacheRead' | 'cacheWrite' | 'cost', unknown>>;

/** Token counts and cost from a stream; null where the value is not a number. */
export function usageOf(counts: Counts): Usage {
  const count = (value: unknown) => asNumber(value) ?? null;
  return {
    inputTokens: count(counts.input),
    outputTokens: count(counts.output),
    cacheReadTokens: count(counts.cacheRead),
    cacheWriteTokens: count(counts.cacheWrite),
    costUsd: count(counts.cost),
  };
}

const SUMMARY_KEYS =
  'command file_path filePath notebook_path path pattern url query description prompt'.split(' ');

/** A short text about a tool call: its most telling input. */
function summaryOf(input: unknown): string {
  const object = asObject(input) ?? {};
  for (const key of SUMMARY_KEYS) {
    const text = asString(object[key]);
    if (text) return shortLine(text);
  }
  return '';
}

/** A short text that is equal for equal values. */
export function fingerprintOf(...values: unknown[]): string {
  return createHash('sha1').update(JSON.stringify(values)).digest('base64');
}

/** One line of at most `max` characters, for views. */
export function shortLine(text: string, max = 160): string {
  const flat = text
    .slice(0, max * 4)
    .replace(/\s+/g, ' ')
    .trim();
  return flat.length > max ? `${flat.slice(0, max - 1)}…` : flat;
}

export function warning(message: string): AgentEvent {
  return { type: 'warning', message };
}

/** An ISO time from a stream; null for any other value. */
export function isoOf(value: unknown): string | null {
  return typeof value === 'string' ? toIso(Date.parse(value)) : null;
}
