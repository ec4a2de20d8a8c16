import { readSync, writeSync } from 'node:fs';
import type { ErrorClass, Json } from '../model/ticket.ts';

export interface SpentTokens {
  inputTokens?: number;
  outputTokens?: number;
  costUsd?: number;
}

/** Everything the rehearsal agent says, one JSON object per line of its standard output. */
type Line =
  | { type: 'session'; id: string }
  | { type: 'text'; text: string }
  | { type: 'tool'; name: string; summary: string; done: boolean; failed?: boolean }
  | ({ type: 'usage' } & SpentTokens)
  | { type: 'limit'; resetAt: string; message: string }
  | { type: 'result'; text: string; data?: Json }
  | { type: 'error'; class: ErrorClass; message: string };

/** Where lines and noise go; both return when the text has left the process. */
export interface Output {
  line(line: Line): void;
  noise(text: string): void;
}

/** Standard output without node's streams, which cost more than the whole rest of a short attempt. */
export const standardOutput: Output = {
  line: (line) => writeAll(1, `${JSON.stringify(line)}\n`),
  noise: (text) => writeAll(1, text),
};

function writeAll(fd: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) at += whenReady(() => writeSync(fd, bytes, at));
}

/** Reads standard input to its end. */
export function readStandardInput(): string {
  const chunks: Buffer[] = [];
  for (;;) {
    const chunk = Buffer.allocUnsafe(65_536);
    const size = whenReady(() => readSync(0, chunk));
    if (size === 0) return Buffer.concat(chunks).toString('utf8');
    chunks.push(chunk.subarray(0, size));
  }
}

/** Repeats a call on a pipe that does not block, a little later each time it has nothing to give or take. */
function whenReady(call: () => number): number {
  for (;;) {
    try {
      return call();
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EOF') return 0;
      if (code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
    }
  }
}
