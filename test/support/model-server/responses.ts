import {
  asArray,
  asObject,
  asString,
  type JsonObject,
} from '../../../src/model/text/values-of-unknown-type.ts';
import { refuseAsOpenAi } from './openai-refusal.ts';
import {
  type Block,
  type Message,
  type OfferedTool,
  type Protocol,
  pieces,
  type Said,
  sse,
} from './protocol.ts';

/** OpenAI's Responses API. */
export const responses: Protocol = {
  name: 'responses',
  matches: (path) => /\/responses(\?|$)/.test(path),
  read: (body) => ({
    model: asString(body.model) ?? '',
    effort: asString(asObject(body.reasoning)?.effort) ?? null,
    messages: [
      { role: 'system', text: asString(body.instructions) ?? '' },
      ...asArray(body.input).flatMap((item) => messagesOf(asObject(item) ?? {})),
    ],
    tools: asArray(body.tools).flatMap((item) => toolsOf(asObject(item) ?? {})),
    wantsJson: asObject(asObject(body.text)?.format)?.type === 'json_schema',
    stream: body.stream === true,
  }),
  frames: (said) => {
    const event = (type: string, more: JsonObject) => sse({ type, ...more }, type);
    return [
      event('response.created', { response: { ...headOf(said), status: 'in_progress', output: [] } }),
      ...said.blocks.flatMap((block, output_index) => {
        const item = itemOf(said, block, output_index);
        const deltas = block.type === 'text' ? pieces(block.text) : [];
        return [
          event('response.output_item.added', { output_index, item: { ...item, status: 'in_progress' } }),
          ...deltas.map((delta) =>
            event('response.output_text.delta', { item_id: item.id, output_index, content_index: 0, delta }),
          ),
          event('response.output_item.done', { output_index, item }),
        ];
      }),
      event('response.completed', { response: wholeOf(said) }),
    ];
  },
  whole: wholeOf,
  refuse: refuseAsOpenAi,
};

function headOf({ id, model }: Said) {
  return { id: `resp_${id}`, object: 'response', created_at: 1_700_000_000, model };
}

function wholeOf(said: Said) {
  const { usage } = said;
  const input = usage.input + usage.cacheRead;
  return {
    ...headOf(said),
    status: 'completed',
    output: said.blocks.map((block, index) => itemOf(said, block, index)),
    usage: {
      input_tokens: input,
      input_tokens_details: { cached_tokens: usage.cacheRead },
      output_tokens: usage.output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: input + usage.output,
    },
  };
}

function itemOf(said: Said, block: Block, index: number) {
  const id = `item_${said.id}_${index}`;
  if (block.type === 'text') {
    const content = [{ type: 'output_text', text: block.text, annotations: [] }];
    return { id, type: 'message', role: 'assistant', status: 'completed', content };
  }
  const call = { id, call_id: block.id, name: block.name, status: 'completed' };
  return typeof block.args === 'string'
    ? { ...call, type: 'custom_tool_call', input: block.args }
    : { ...call, type: 'function_call', arguments: JSON.stringify(block.args) };
}

function toolsOf(tool: JsonObject): OfferedTool[] {
  const name = asString(tool.name);
  if (!name || (tool.type !== 'function' && tool.type !== 'custom')) return [];
  return [{ name, parameters: asObject(tool.parameters) ?? {}, freeform: tool.type === 'custom' }];
}

function messagesOf(item: JsonObject): Message[] {
  if (typeof item.output === 'string') return [{ role: 'tool', text: item.output }];
  if (item.type !== undefined && item.type !== 'message') {
    return item.output === undefined ? [] : [{ role: 'tool', text: JSON.stringify(item.output) }];
  }
  const text =
    typeof item.content === 'string'
      ? item.content
      : asArray(item.content)
          .map((part) => asString(asObject(part)?.text) ?? '')
          .join('\n');
  const role = item.role === 'assistant' || item.role === 'user' ? item.role : 'system';
  return [{ role, text }];
}
