import type { ErrorClass, Json } from '../model/ticket.ts';

export interface SpentTokens {
  inputTokens?: number;
  outputTokens?: number;
  costUsd?: number;
}

/** Everything the rehearsal agent says, one JSON object per line of its standard output. */
export type Line =
  | { type: 'session'; id: string }
  | { type: 'text'; text: string }
  | { type: 'tool'; name: string; summary: string; done: boolean }
  | ({ type: 'usage' } & SpentTokens)
  | { type: 'limit'; resetAt: string; message: string }
  | { type: 'result'; text: string; data?: Json }
  | { type: 'error'; class: ErrorClass; message: string };
