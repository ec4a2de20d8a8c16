import type { ReadContext } from '../../../src/model/agent-and-adapter-types.ts';
import type { ErrorClass, Json } from '../../../src/model/ticket.ts';

/** What a recorded stream is read as. */
export interface Expected {
  session: string | null;
  /** null: it went well. */
  error: ErrorClass | null;
  message?: RegExp;
  /** [input, output, cache read, cache write, dollars] */
  usage: [number, number, number, number | null, number | null] | null;
  text?: string;
  data?: Json;
  resetAt?: string | null;
  sure?: boolean;
  warnings?: number;
  context?: Partial<ReadContext>;
}

export const DONE = 'Done: hello.txt written (stub, tool results seen: 1).';
export const RUNNING = 'Running a command. ';
