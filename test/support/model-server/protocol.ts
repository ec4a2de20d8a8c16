import type { JsonObject } from '../../../src/model/text/values-of-unknown-type.ts';
import type { Failure, Tokens } from './scenario.ts';

export type ProtocolName = 'anthropic' | 'responses' | 'chat' | 'gemini';

export interface OfferedTool {
  name: string;
  parameters: JsonObject;
  /** Takes text instead of JSON. */
  freeform: boolean;
}

export interface Message {
  role: 'system' | 'user' | 'assistant' | 'tool';
  text: string;
}

/** A request in one form for all protocols. */
export interface Asked {
  model: string;
  effort: string | null;
  messages: Message[];
  tools: OfferedTool[];
  /** The client wants the text of the answer to be JSON of a schema. */
  wantsJson: boolean;
  stream: boolean;
}

export type Block =
  | { type: 'text'; text: string }
  | { type: 'tool'; id: string; name: string; args: JsonObject | string };

export interface Said {
  id: string;
  model: string;
  blocks: Block[];
  usage: Tokens;
}

export interface Refusal {
  status: number;
  headers: Record<string, string>;
  body: unknown;
}

/** How one provider's API is read and spoken. */
export interface Protocol {
  name: ProtocolName;
  matches(path: string): boolean;
  read(body: JsonObject, path: string): Asked;
  /** The frames of a stream, in order. */
  frames(said: Said): string[];
  /** The answer to a request that wanted no stream. */
  whole(said: Said): unknown;
  refuse(failure: Failure, now: Date): Refusal;
}

export function sse(data: unknown, event?: string): string {
  return `${event ? `event: ${event}\n` : ''}data: ${JSON.stringify(data)}\n\n`;
}

/** Text in three pieces, so that a stream has a middle. */
export function pieces(text: string): string[] {
  const size = Math.max(1, Math.ceil(text.length / 3));
  return Array.from({ length: Math.ceil(text.length / size) }, (_, i) =>
    text.slice(i * size, (i + 1) * size),
  );
}

/** `billing` is what OpenAI and Google say; they use the status of a limit for it. */
export const STATUS: Record<Failure['kind'], number> = {
  auth: 401,
  limit: 429,
  overloaded: 529,
  context: 400,
  billing: 429,
  server: 500,
};

export function retryAfter({ resetInSeconds }: Failure): Record<string, string> {
  return resetInSeconds === undefined ? {} : { 'retry-after': String(resetInSeconds) };
}

export function epochOf({ resetInSeconds }: Failure, now: Date): number | undefined {
  return resetInSeconds === undefined ? undefined : Math.ceil(now.getTime() / 1000) + resetInSeconds;
}
