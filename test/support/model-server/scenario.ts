import type { Json } from '../../../src/model/ticket.ts';

/** What the model does with a tool, whatever the CLI calls its own. */
export type Action = { shell: string } | { write: { path: string; content: string } };

/** Each token counted once: `input` leaves out what came from the cache. */
export interface Tokens {
  input: number;
  output: number;
  cacheRead: number;
}

/** A refusal, told the way each provider tells it. */
export interface Failure {
  kind: 'auth' | 'limit' | 'overloaded' | 'context' | 'billing' | 'server';
  /** For `limit`: when it ends, in the headers and the body that the provider uses for that. It holds until then. */
  resetInSeconds?: number;
}

/** One answer of the model. */
export interface Answer {
  say?: string;
  do?: Action[];
  /** A structured result: by the tool or the format the client asked for, else as a tagged block. */
  result?: Json;
  usage?: Tokens;
  /** Milliseconds between two pieces of the stream. */
  everyMs?: number;
  /** What becomes of the stream in its middle: the connection breaks, or nothing more is sent. */
  end?: 'cut' | 'stall';
}

/** `hang`: the request is taken and never answered. */
export type Reply = Answer | { fail: Failure } | { hang: true };

/** Replies in the order of the requests; the last one is given again to all that follow. */
export type Scenario = Reply[];

export const USAGE: Tokens = { input: 100, output: 20, cacheRead: 50 };
