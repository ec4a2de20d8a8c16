import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readFrom, readJson } from '../machine/files/read-and-remove-files.ts';
import type { Machine } from '../machine/machine-files-and-locks.ts';
import type { TicketRef } from '../model/ids-and-branch-names.ts';
import { type Attempt, attemptKey } from '../model/ticket.ts';
import type { OUTPUT_STREAMS, OutputLog, OutputPiece, Store } from '../store/store-interface.ts';

/** Where the output of an attempt is read from. */
export interface OutputSource {
  /** The directory of its files; null where it is on another machine, and every reading asks the store. */
  readonly dir: string | null;
  /** Bytes of stdout. */
  readonly size: number;
  /** How an agent's output is to be read, once that is known. */
  readonly adapter: string | undefined;
  /** Reads a stream from an offset to its end, and returns where that is. */
  read(stream: (typeof OUTPUT_STREAMS)[number], start: number, take: (chunk: Buffer) => void): number;
}

/** The files of a job on this machine. */
export function outputInFiles(dir: string): OutputSource {
  return {
    dir,
    get size() {
      return statSync(join(dir, 'stdout'), { throwIfNoEntry: false })?.size ?? 0;
    },
    get adapter() {
      return readJson<{ agent?: { adapter: string } }>(join(dir, 'command.json'))?.agent?.adapter;
    },
    read: (stream, start, take) => readFrom(join(dir, stream), start, take),
  };
}

/** The output of a job on another machine, read from the bytes of each stream that are known here. */
function outputInBytes(
  adapter: () => string | undefined,
  bytesOf: (stream: (typeof OUTPUT_STREAMS)[number]) => Buffer,
): OutputSource {
  return {
    dir: null,
    get size() {
      return bytesOf('stdout').length;
    },
    get adapter() {
      return adapter();
    },
    read(stream, start, take) {
      const fresh = bytesOf(stream).subarray(start);
      if (fresh.length > 0) take(fresh);
      return start + fresh.length;
    },
  };
}

/** As far as the store has it now. */
function outputInStore(output: OutputLog, ref: TicketRef, attempt: string): OutputSource {
  const known: Record<string, number> = {};
  const kept: Record<string, Buffer[]> = { stdout: [], stderr: [], adapter: [] };
  const adapter = () => kept.adapter?.[0]?.toString();
  return outputInBytes(adapter, (wanted) => {
    for (const { stream, number, text } of output.after(ref, attempt, known)) {
      known[stream] = number;
      kept[stream]?.push(Buffer.from(text));
    }
    return Buffer.concat(kept[wanted] ?? []);
  });
}

/** The last pieces of what an attempt on another machine printed. */
export function outputOfPieces(pieces: readonly OutputPiece[]): OutputSource {
  const adapter = () => pieces.find(({ stream }) => stream === 'adapter')?.text;
  return outputInBytes(adapter, (wanted) => {
    const own = pieces.filter(({ stream }) => stream === wanted);
    const text = own.map((piece) => piece.text).join('');
    // The first of several pieces may begin inside a line.
    return Buffer.from(own[0]?.number ? text.slice(text.indexOf('\n') + 1) : text);
  });
}

/** A job's own files where it ran on this machine, else what the store has of its output. */
export function outputOf(store: Store, machine: Machine, ref: TicketRef, attempt: Attempt): OutputSource {
  const dir = machine.job(ref, attempt);
  return store.output && !existsSync(dir)
    ? outputInStore(store.output, ref, attemptKey(attempt))
    : outputInFiles(dir);
}
