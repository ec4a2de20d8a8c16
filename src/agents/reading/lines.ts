const MAX_LINE = 8 * 1024 * 1024;
/** A buffer larger than this is given back after the line that needed it. */
const KEEP = 256 * 1024;
const NEWLINE = 0x0a;

interface LineSplitter {
  push(chunk: Buffer): void;
  /** Hands out a last line that had no newline. */
  flush(): void;
  /** How many lines were longer than the limit and therefore left out. */
  readonly dropped: number;
}

/**
 * Cuts a byte stream into lines. Bytes are decoded a whole line at a time, so a character split over two
 * chunks stays whole; a line above the limit is dropped, so memory stays bounded whatever is printed.
 */
export function lineSplitter(onLine: (line: string) => void, maxLine = MAX_LINE): LineSplitter {
  let pending = Buffer.alloc(0);
  let used = 0;
  let skipping = false;
  let dropped = 0;

  // Copies, because a caller may read into the same buffer again; grows by doubling.
  const keep = (piece: Buffer) => {
    if (used + piece.length > pending.length) {
      const grown = Buffer.allocUnsafe(Math.min(maxLine, Math.max(4096, (used + piece.length) * 2)));
      pending.copy(grown, 0, 0, used);
      pending = grown;
    }
    used += piece.copy(pending, used);
  };
  const emit = (bytes: Buffer) => {
    const text = bytes.toString('utf8');
    onLine(text.endsWith('\r') ? text.slice(0, -1) : text);
  };
  const take = (piece: Buffer, whole: boolean) => {
    if (!skipping && used + piece.length > maxLine) {
      skipping = true;
      dropped += 1;
      used = 0;
      pending = Buffer.alloc(0);
    }
    if (!skipping) {
      if (whole && used === 0) emit(piece);
      else keep(piece);
      if (whole && used > 0) emit(pending.subarray(0, used));
    }
    if (!whole) return;
    used = 0;
    skipping = false;
    if (pending.length > KEEP) pending = Buffer.alloc(0);
  };

  return {
    push(chunk) {
      let start = 0;
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
        take(chunk.subarray(start, end), true);
        start = end + 1;
      }
      if (start < chunk.length) take(chunk.subarray(start), false);
    },
    flush() {
      if (used > 0) emit(pending.subarray(0, used));
      used = 0;
      skipping = false;
      pending = Buffer.alloc(0);
    },
    get dropped() {
      return dropped;
    },
  };
}
