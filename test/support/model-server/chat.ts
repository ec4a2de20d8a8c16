import {
  asArray,
  asObject,
  asString,
  type JsonObject,
} from '../../../src/model/text/values-of-unknown-type.ts';
import { refuseAsOpenAi } from './openai-refusal.ts';
import { type Message, type Protocol, pieces, type Said, sse } from './protocol.ts';

/** OpenAI's Chat Completions, which most other providers speak as well. */
export const chat: Protocol = {
  name: 'chat',
  matches: (path) => /\/chat\/completions(\?|$)/.test(path),
  read: (body) => ({
    model: asString(body.model) ?? '',
    effort: asString(body.reasoning_effort) ?? null,
    messages: asArray(body.messages).map((item) => messageOf(asObject(item) ?? {})),
    tools: asArray(body.tools).flatMap((item) => {
      const tool = asObject(asObject(item)?.function) ?? {};
      const name = asString(tool.name);
      return name ? [{ name, parameters: asObject(tool.parameters) ?? {}, freeform: false }] : [];
    }),
    wantsJson: asObject(body.response_format)?.type === 'json_schema',
    stream: body.stream === true,
  }),
  frames: (said) => {
    const chunk = (delta: unknown, finish: string | null = null) =>
      sse({
        ...headOf(said, 'chat.completion.chunk'),
        choices: [{ index: 0, delta, finish_reason: finish }],
      });
    return [
      chunk({ role: 'assistant', content: '' }),
      ...said.blocks.flatMap((block) =>
        block.type === 'text' ? pieces(block.text).map((content) => chunk({ content })) : [],
      ),
      ...toolCalls(said).map((call, index) => chunk({ tool_calls: [{ index, ...call }] })),
      chunk({}, finishOf(said)),
      sse({ ...headOf(said, 'chat.completion.chunk'), choices: [], usage: usageOf(said) }),
      'data: [DONE]\n\n',
    ];
  },
  whole: (said) => {
    const calls = toolCalls(said);
    const content = said.blocks.map((block) => (block.type === 'text' ? block.text : '')).join('');
    const message = { role: 'assistant', content, ...(calls.length > 0 ? { tool_calls: calls } : {}) };
    return {
      ...headOf(said, 'chat.completion'),
      choices: [{ index: 0, message, finish_reason: finishOf(said) }],
      usage: usageOf(said),
    };
  },
  refuse: refuseAsOpenAi,
};

function headOf({ id, model }: Said, object: string) {
  return { id: `chatcmpl-${id}`, object, created: 1_700_000_000, model };
}

function toolCalls({ blocks }: Said) {
  return blocks.flatMap((block) =>
    block.type === 'tool'
      ? [
          {
            id: block.id,
            type: 'function',
            function: { name: block.name, arguments: JSON.stringify(block.args) },
          },
        ]
      : [],
  );
}

function finishOf({ blocks }: Said): string {
  return blocks.some((block) => block.type === 'tool') ? 'tool_calls' : 'stop';
}

/** The prompt's tokens hold those from the cache. */
function usageOf({ usage }: Said) {
  const prompt = usage.input + usage.cacheRead;
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.output,
    total_tokens: prompt + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cacheRead },
  };
}

function messageOf(message: JsonObject): Message {
  const text =
    typeof message.content === 'string'
      ? message.content
      : asArray(message.content)
          .map((part) => asString(asObject(part)?.text) ?? '')
          .join('\n');
  const role = asString(message.role);
  if (role === 'assistant' || role === 'tool' || role === 'user') return { role, text };
  return { role: 'system', text };
}
