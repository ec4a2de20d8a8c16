import type { Style } from './style.ts';

/** Columns aligned by what one sees, not by bytes; empty columns are left out. */
export function table(header: readonly string[], rows: readonly (readonly string[])[], style: Style): string {
  const used = header.map((_, column) => rows.some((row) => (row[column] ?? '') !== ''));
  const keep = (row: readonly string[]) => row.filter((_, column) => used[column]);
  const head = keep(header);
  const body = rows.map(keep);
  const widths = head.map((cell, column) =>
    Math.max(width(cell), ...body.map((row) => width(row[column] ?? ''))),
  );
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => cell + ' '.repeat(Math.max(0, (widths[column] ?? 0) - width(cell))))
      .join('  ')
      .trimEnd();
  return [style.dim(line(head)), ...body.map(line)].join('\n');
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours have no width
const ANSI = /\u001b\[[0-9;]*m/g;

function width(text: string): number {
  return [...text.replace(ANSI, '')].length;
}
