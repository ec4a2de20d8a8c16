export interface SourceLine {
  text: string;
  /** Offset of its first character in the file. */
  start: number;
}

/** The lines of a file, whatever ends them, with the offsets where they begin. A byte order mark is no part of them. */
export function splitLines(text: string): SourceLine[] {
  const lines: SourceLine[] = [];
  let start = text.startsWith('\ufeff') ? 1 : 0;
  for (const end of text.matchAll(/\r\n|\n|\r/g)) {
    lines.push({ text: text.slice(start, end.index), start });
    start = end.index + end[0].length;
  }
  lines.push({ text: text.slice(start), start });
  return lines;
}

/** Columns of leading space; a tab goes to the next multiple of four. */
export function indentOf(line: string): number {
  let columns = 0;
  for (const char of line) {
    if (char === '\t') columns += 4 - (columns % 4);
    else if (char === ' ' || char === '\u00a0' || char === '\u3000') columns += 1;
    else break;
  }
  return columns;
}

/** A code block without the space that all of its lines begin with. */
export function dedent(lines: readonly string[]): string {
  const least = Math.min(...lines.filter((line) => line.trim() !== '').map(indentOf));
  return lines.map((line) => withoutColumns(line, least).trimEnd()).join('\n');
}

function withoutColumns(line: string, columns: number): string {
  let [cut, at] = [0, 0];
  for (; at < columns && /[ \t]/.test(line[cut] ?? ''); cut += 1) at += line[cut] === '\t' ? 4 - (at % 4) : 1;
  return line.slice(cut);
}

/** The first inline code of a value, else all of it. */
export function firstCode(value: string): string {
  return /`([^`]+)`/.exec(value)?.[1] ?? value;
}
