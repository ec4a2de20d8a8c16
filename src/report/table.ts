import type { Style } from './style.ts';
import { cells, spread } from './width.ts';

/** Columns aligned by their width on the screen; empty columns are left out. */
export function table(header: readonly string[], rows: readonly (readonly string[])[], style: Style): string {
  const { head, body } = filled(header, rows);
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

export interface Fit {
  /** Columns of the terminal; missing if there is no limit. */
  columns?: number | undefined;
  /** This many cells of a row always stay on one line. */
  lead: number;
}

/** The table if it fits, else a block per row: the first cells, then a line for each other cell. */
export function fittingTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  { style, columns, lead }: Fit & { style: Style },
): string {
  const whole = table(header, rows, style);
  if (columns === undefined || whole.split('\n').every((line) => width(line) <= columns)) return whole;
  const first = rows.map((row) => row.slice(0, lead));
  const [, ...heads] = table(header.slice(0, lead), first, style).split('\n');
  const { head: names, body } = filled(
    header.slice(lead),
    rows.map((row) => row.slice(lead)),
  );
  const key = Math.max(0, ...names.map(cells));
  const room = columns - INDENT.length - key - GAP.length;
  const block = (row: readonly string[]) =>
    row.flatMap((value, at) => {
      if (value === '') return [];
      const [one = '', ...more] = fold(value, room);
      const name = names[at] ?? '';
      // A word that is too long gets lines of its own, unbroken, so that it can be copied.
      if (cells(one) > room)
        return [`${INDENT}${style.dim(name)}`, ...fold(value, room).map((line) => INDENT + line)];
      const under = INDENT + ' '.repeat(key) + GAP;
      return [`${INDENT}${style.dim(spread(name, key))}${GAP}${one}`, ...more.map((line) => under + line)];
    });
  return heads.flatMap((head, at) => [head, ...block(body[at] ?? [])]).join('\n');
}

const INDENT = '   ';
const GAP = '  ';

/** Breaks a text between words. */
function fold(text: string, room: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const longer = lines.length > 0 ? `${lines.at(-1)} ${word}` : word;
    if (lines.length > 0 && cells(longer) <= room) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

function filled(header: readonly string[], rows: readonly (readonly string[])[]) {
  const used = header.map((_, column) => rows.some((row) => (row[column] ?? '') !== ''));
  const keep = (row: readonly string[]) => row.filter((_, column) => used[column]);
  return { head: keep(header), body: rows.map(keep) };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours have no width
const ANSI = /\u001b\[[0-9;]*m/g;

function width(text: string): number {
  return cells(text.replace(ANSI, ''));
}
