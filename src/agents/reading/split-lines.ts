/** CLIs print whole tool results and messages in one line. */
export const MAX_LINE_BYTES = 64 * 1024 * 1024;
const NEWLINE = 0x0a;

/**
 * Cuts a byte stream into lines. Bytes are decoded a whole line at a time, so a character split over two chunks stays
 * whole. A line above the limit is skipped, so memory stays bounded.
 */
export function lineSplitter(onLine: (line: string) => void, maxLine = MAX_LINE_BYTES) {
  let pieces: Buffer[] = [];
  let length = 0;
  let dropped = 0;

  const add = (piece: Buffer) => {
    const fitted = length <= maxLine;
    length += piece.length;
    // Copied, because a caller may read into the same buffer again.
    if (length <= maxLine) pieces.push(Buffer.from(piece));
    if (fitted && length > maxLine) dropped += 1;
  };
  const endLine = () => {
    if (length <= maxLine) onLine(Buffer.concat(pieces).toString('utf8').replace(/\r$/, ''));
    pieces = [];
    length = 0;
  };

  return {
    push(chunk: Buffer) {
      let start = 0;
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
        add(chunk.subarray(start, end));
        endLine();
        start = end + 1;
      }
      add(chunk.subarray(start));
    },
    /** Hands out a last line that had no newline. */
    flush() {
      if (length > 0) endLine();
    },
    /** How many lines were longer than the limit and therefore skipped. */
    get dropped() {
      return dropped;
    },
  };
}
