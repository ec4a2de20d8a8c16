import {
  asArray,
  asObject,
  asString,
  type JsonObject,
} from '../../../src/model/text/values-of-unknown-type.ts';
import {
  epochOf,
  type Message,
  type Protocol,
  pieces,
  type Refusal,
  retryAfter,
  type Said,
  STATUS,
  sse,
} from './protocol.ts';
import type { Failure } from './scenario.ts';

/** The Messages API. */
export const anthropic: Protocol = {
  name: 'anthropic',
  matches: (path) => /\/v1\/messages(\?|$)/.test(path),
  read: (body) => ({
    model: asString(body.model) ?? '',
    effort: asString(asObject(body.output_config)?.effort) ?? null,
    messages: [
      { role: 'system', text: textOf(body.system) },
      ...asArray(body.messages).flatMap((item) => messagesOf(asObject(item) ?? {})),
    ],
    tools: asArray(body.tools).flatMap((item) => {
      const tool = asObject(item) ?? {};
      const name = asString(tool.name);
      return name ? [{ name, parameters: asObject(tool.input_schema) ?? {}, freeform: false }] : [];
    }),
    wantsJson: asObject(body.output_format) !== undefined,
    stream: body.stream === true,
  }),
  frames: (said) => [
    sse({ type: 'message_start', message: { ...messageOf(said), content: [] } }, 'message_start'),
    ...said.blocks.flatMap((_, index) => blockFrames(said, index)),
    sse(
      {
        type: 'message_delta',
        delta: { stop_reason: stopReason(said), stop_sequence: null },
        usage: { output_tokens: said.usage.output },
      },
      'message_delta',
    ),
    sse({ type: 'message_stop' }, 'message_stop'),
  ],
  whole: (said) => ({
    ...messageOf(said),
    content: said.blocks.map((block) =>
      block.type === 'text'
        ? { type: 'text', text: block.text }
        : { type: 'tool_use', id: block.id, name: block.name, input: block.args },
    ),
    stop_reason: stopReason(said),
  }),
  refuse,
};

function messageOf({ id, model, usage }: Said) {
  return {
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model,
    stop_reason: null,
    stop_sequence: null,
    usage: {
      input_tokens: usage.input,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: usage.cacheRead,
      output_tokens: usage.output,
    },
  };
}

function stopReason({ blocks }: Said): string {
  return blocks.some((block) => block.type === 'tool') ? 'tool_use' : 'end_turn';
}

function blockFrames({ blocks }: Said, index: number): string[] {
  const block = blocks[index];
  if (!block) return [];
  const start =
    block.type === 'text'
      ? { type: 'text', text: '' }
      : { type: 'tool_use', id: block.id, name: block.name, input: {} };
  const deltas =
    block.type === 'text'
      ? pieces(block.text).map((text) => ({ type: 'text_delta', text }))
      : [{ type: 'input_json_delta', partial_json: JSON.stringify(block.args) }];
  return [
    sse({ type: 'content_block_start', index, content_block: start }, 'content_block_start'),
    ...deltas.map((delta) => sse({ type: 'content_block_delta', index, delta }, 'content_block_delta')),
    sse({ type: 'content_block_stop', index }, 'content_block_stop'),
  ];
}

function messagesOf(message: JsonObject): Message[] {
  const role = message.role === 'assistant' ? 'assistant' : 'user';
  if (typeof message.content === 'string') return [{ role, text: message.content }];
  return asArray(message.content).flatMap((item): Message[] => {
    const block = asObject(item) ?? {};
    if (block.type === 'tool_result') return [{ role: 'tool', text: textOf(block.content) }];
    return block.type === 'text' ? [{ role, text: asString(block.text) ?? '' }] : [];
  });
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return asArray(value)
    .map((item) => asString(asObject(item)?.text) ?? '')
    .join('\n');
}

const TYPES: Record<Failure['kind'], [type: string, message: string]> = {
  auth: ['authentication_error', 'invalid x-api-key'],
  limit: ['rate_limit_error', "This request would exceed your account's rate limit. Please try again later."],
  overloaded: ['overloaded_error', 'Overloaded'],
  context: ['invalid_request_error', 'prompt is too long: 250000 tokens > 200000 maximum'],
  billing: ['invalid_request_error', 'Your credit balance is too low to access the API.'],
  server: ['api_error', 'Internal server error'],
};

/** A subscription is told when its window opens again; an account with a key only how long to wait. */
function refuse(failure: Failure, now: Date): Refusal {
  const [type, message] = TYPES[failure.kind];
  const reset = epochOf(failure, now);
  const unified: Record<string, string> =
    failure.kind === 'limit' && reset !== undefined
      ? {
          'anthropic-ratelimit-unified-status': 'rejected',
          'anthropic-ratelimit-unified-reset': String(reset),
          'anthropic-ratelimit-unified-representative-claim': 'five_hour',
        }
      : {};
  return {
    status: failure.kind === 'billing' ? 400 : STATUS[failure.kind],
    headers: { ...retryAfter(failure), ...unified },
    body: { type: 'error', error: { type, message } },
  };
}
