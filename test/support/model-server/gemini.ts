import {
  asArray,
  asObject,
  asString,
  type JsonObject,
} from '../../../src/model/text/values-of-unknown-type.ts';
import { type Message, type Protocol, pieces, type Refusal, type Said, STATUS, sse } from './protocol.ts';
import type { Failure } from './scenario.ts';

const PATH = /\/models\/([^:/]+):(streamGenerateContent|generateContent)/;

/** Google's Gemini API. */
export const gemini: Protocol = {
  name: 'gemini',
  matches: (path) => PATH.test(path),
  read: (body, path) => ({
    model: PATH.exec(path)?.[1] ?? '',
    effort: null,
    messages: [
      { role: 'system', text: textOf(asObject(body.systemInstruction)) },
      ...asArray(body.contents).flatMap((item) => messagesOf(asObject(item) ?? {})),
    ],
    tools: asArray(body.tools).flatMap((item) =>
      asArray(asObject(item)?.functionDeclarations).flatMap((each) => {
        const tool = asObject(each) ?? {};
        const name = asString(tool.name);
        const parameters = asObject(tool.parametersJsonSchema) ?? asObject(tool.parameters) ?? {};
        return name ? [{ name, parameters, freeform: false }] : [];
      }),
    ),
    wantsJson: asObject(body.generationConfig)?.responseMimeType === 'application/json',
    stream: path.includes(':streamGenerateContent'),
  }),
  frames: (said) => {
    const parts = said.blocks.flatMap((block): JsonObject[] =>
      block.type === 'text' ? pieces(block.text).map((text) => ({ text })) : [callOf(block.name, block.args)],
    );
    const last = parts.length - 1;
    return parts.map((part, index) => sse(chunk(said, [part], index === last)));
  },
  whole: (said) =>
    chunk(
      said,
      said.blocks.map((block) =>
        block.type === 'text' ? { text: block.text } : callOf(block.name, block.args),
      ),
      true,
    ),
  refuse,
};

function callOf(name: string, args: JsonObject | string): JsonObject {
  return { functionCall: { name, args } };
}

function chunk({ model, id, usage }: Said, parts: JsonObject[], last: boolean) {
  const prompt = usage.input + usage.cacheRead;
  return {
    candidates: [{ index: 0, content: { role: 'model', parts }, ...(last ? { finishReason: 'STOP' } : {}) }],
    ...(last
      ? {
          usageMetadata: {
            promptTokenCount: prompt,
            cachedContentTokenCount: usage.cacheRead,
            candidatesTokenCount: usage.output,
            totalTokenCount: prompt + usage.output,
          },
        }
      : {}),
    modelVersion: model,
    responseId: id,
  };
}

function messagesOf(content: JsonObject): Message[] {
  return asArray(content.parts).flatMap((item): Message[] => {
    const part = asObject(item) ?? {};
    const response = asObject(part.functionResponse);
    if (response) return [{ role: 'tool', text: JSON.stringify(response.response ?? null) }];
    const text = asString(part.text);
    if (text === undefined) return [];
    return [{ role: content.role === 'model' ? 'assistant' : 'user', text }];
  });
}

function textOf(content: JsonObject | undefined): string {
  return asArray(content?.parts)
    .map((part) => asString(asObject(part)?.text) ?? '')
    .join('\n');
}

const TYPES: Record<Failure['kind'], [status: string, message: string]> = {
  auth: ['UNAUTHENTICATED', 'API key not valid. Please pass a valid API key.'],
  limit: ['RESOURCE_EXHAUSTED', 'You have reached the request limit of this project.'],
  overloaded: ['UNAVAILABLE', 'The model is overloaded. Please try again later.'],
  context: [
    'INVALID_ARGUMENT',
    'The input token count (1250000) exceeds the maximum number of tokens allowed (1048576).',
  ],
  billing: [
    'RESOURCE_EXHAUSTED',
    'Your prepayment credits are depleted. Please go to AI Studio at https://ai.studio/projects to manage your project and billing.',
  ],
  server: ['INTERNAL', 'An internal error has occurred.'],
};

function refuse(failure: Failure): Refusal {
  const [status, message] = TYPES[failure.kind];
  const code = failure.kind === 'overloaded' ? 503 : STATUS[failure.kind];
  const details =
    failure.resetInSeconds === undefined
      ? []
      : [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${failure.resetInSeconds}s` }];
  return { status: code, headers: {}, body: { error: { code, message, status, details } } };
}
