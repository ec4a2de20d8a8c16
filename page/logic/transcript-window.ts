import type { Transcript, TranscriptEntry } from '../../src/web/schemas-of-api-answers-events-and-bodies.ts';

/** A part of a transcript that is in the page. */
export interface Piece {
  from: number;
  to: number;
  entries: TranscriptEntry[];
}

/** The parts of a transcript that are in the page, one behind the other. What is far away is dropped, and read again when needed. */
export interface TranscriptWindow {
  pieces: Piece[];
  size: number;
  ended: boolean;
  /** Whether nothing came after the last part when that was asked for. */
  atEnd: boolean;
}

/** Bytes that are asked for at a time. */
export const PIECE_BYTES = 64 * 1024;
/** More pieces than these are dropped, unless few entries would be left: a piece may be one long line. */
export const MAX_PIECES = 6;
const MIN_ENTRIES = 200;

export function opened({ from, to, entries, size, ended }: Transcript, atEnd: boolean): TranscriptWindow {
  return { pieces: [{ from, to, entries }], size, ended, atEnd };
}

/** Where the first part begins and the last one ends. */
export function rangeOf({ pieces }: TranscriptWindow): { from: number; to: number } {
  return { from: pieces[0]?.from ?? 0, to: pieces.at(-1)?.to ?? 0 };
}

/** With the part above; the lowest one is dropped if there are too many. */
export function withEarlier(window: TranscriptWindow, { from, to, entries }: Transcript): TranscriptWindow {
  if (to === from || to !== rangeOf(window).from) return window;
  const all = [{ from, to, entries }, ...window.pieces];
  const pieces = all.slice(0, kept(all));
  return { ...window, pieces, atEnd: window.atEnd && pieces.length === all.length };
}

/** How many pieces are kept, from the first one on. */
function kept(pieces: readonly Piece[]): number {
  let entries = 0;
  const enough = pieces.findIndex((piece) => {
    entries += piece.entries.length;
    return entries >= MIN_ENTRIES;
  });
  return enough < 0 ? pieces.length : Math.max(MAX_PIECES, enough + 1);
}

/** Where to ask for what comes next: at the first tool call that was not ended in the last part, so that its end is seen. */
export function nextOffset({ pieces }: TranscriptWindow): number {
  const last = pieces.at(-1);
  return last?.entries.find(({ tool }) => tool && !tool.done)?.at ?? last?.to ?? 0;
}

/** With what comes next. What is there already is replaced: a tool call may have ended since. */
export function withLater(window: TranscriptWindow, next: Transcript): TranscriptWindow {
  const { size, ended } = next;
  const last = window.pieces.at(-1);
  if (!last || next.from > last.to || next.from < last.from) return window;
  const atEnd = next.to <= last.to || next.to >= size;
  const isNew = next.from === last.to && last.to - last.from >= PIECE_BYTES;
  const entries = [
    ...last.entries.filter(({ at }) => at < next.from),
    ...next.entries,
    ...last.entries.filter(({ at }) => at >= next.to),
  ];
  const grown = isNew
    ? [last, { from: next.from, to: next.to, entries: next.entries }]
    : [{ from: last.from, to: Math.max(last.to, next.to), entries }];
  const pieces = [...window.pieces.slice(0, -1), ...grown.filter((piece) => piece.to > piece.from)];
  return { size, ended, atEnd, pieces: pieces.slice(-kept([...pieces].reverse())) };
}

export const nameOf = ({ at, part }: TranscriptEntry) => `${at}.${part}`;
