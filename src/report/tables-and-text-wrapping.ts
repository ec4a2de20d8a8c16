import { groupBy } from '../model/group-and-remember.ts';
import { plural } from '../model/text/clean-escape-quote-plural.ts';
import type { Lines } from './printable-text.ts';
import { counted, type Style } from './style-and-phrases.ts';

/** Columns aligned by their width on the screen; empty columns are left out. */
export function table(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  style: Style,
): string[] {
  const { head, body } = filled(header, rows);
  const widths = head.map((cell, column) =>
    Math.max(width(cell), ...body.map((row) => width(row[column] ?? ''))),
  );
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => cell + ' '.repeat(Math.max(0, (widths[column] ?? 0) - width(cell))))
      .join('  ')
      .trimEnd();
  return [style.dim(line(head)), ...body.map(line)];
}

export interface Fit {
  /** Columns of the terminal; missing if there is no limit. */
  columns?: number | undefined;
  /** This many cells of a row always stay on one line. */
  lead: number;
}

/**
 * The table if it fits, else the table with the reasons below the rows, else a block per row: the first cells, then a line for
 * each other cell.
 */
export function fittingTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  { style, columns, lead }: Fit & { style: Style },
): string[] {
  const whole = table(header, rows, style);
  if (columns === undefined) return whole;
  const fits = (lines: readonly string[]) => lines.every((line) => width(line) <= columns);
  if (fits(whole)) return whole;
  const last = header.length - 1;
  const short = table(
    header.slice(0, last),
    rows.map((row) => row.slice(0, last)),
    style,
  );
  const isTable = rows.some((row) => row.slice(lead, last).some((cell) => cell !== ''));
  if (header[last] === 'why' && isTable && fits(short)) {
    const below = ['', ...rows.map((row) => row[last] ?? '')].map((text) =>
      text === '' ? [] : foldProse(text, columns - INDENT.length),
    );
    return short.flatMap((line, at) => [line, ...(below[at] ?? []).map((each) => INDENT + each)]);
  }
  const first = rows.map((row) => row.slice(0, lead));
  const [, ...heads] = table(header.slice(0, lead), first, style);
  const { head: names, body } = filled(
    header.slice(lead),
    rows.map((row) => row.slice(lead)),
  );
  const key = Math.max(0, ...names.map(cells));
  const room = columns - INDENT.length - key - GAP.length;
  const block = (row: readonly string[]) =>
    row.flatMap((value, at) => {
      if (value === '') return [];
      const [one = '', ...more] = foldProse(value, room);
      const name = names[at] ?? '';
      // A word that is too long gets lines of its own, unbroken, so that it can be copied.
      if (cells(one) > room)
        return [`${INDENT}${style.dim(name)}`, ...[one, ...more].map((line) => INDENT + line)];
      const under = INDENT + ' '.repeat(key) + GAP;
      return [`${INDENT}${style.dim(padOrCut(name, key))}${GAP}${one}`, ...more.map((line) => under + line)];
    });
  return heads.flatMap((head, at) => [head, ...block(body[at] ?? [])]);
}

const INDENT = '   ';
const GAP = '  ';

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours have no width
const ANSI = /\u001b\[[0-9;]*m/g;

/** Breaks a text between words; no arrow has a line for itself. */
export function fold(text: string, room: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const longer = lines.length > 0 ? `${lines.at(-1)} ${word}` : word;
    const fits = width(longer) <= room || lines.at(-1)?.replace(ANSI, '') === '→';
    if (lines.length > 0 && fits) lines[lines.length - 1] = longer;
    // Of several spaces at a break, none begins the next line.
    else if (lines.length === 0 || word !== '') lines.push(word);
  }
  return lines;
}

/** Where a command to be copied begins, up to the end of its line. An arrow before it belongs to it. */
let command: RegExp | undefined;
const commandPattern = () =>
  (command ??= new RegExp(
    `(?:^| )(?=(?:${ANSI.source})*(?:→ (?:${ANSI.source})*)?(?:(?:signalbox|git -C|git merge|gh pr) |git branch -)\\S)`,
  ));

/**
 * Breaks a text between words. A command is never broken, however long it is: it gets a line of its own, which the terminal wraps,
 * so that it can be copied. Two commands get two lines: a shell reads on after `&&`.
 */
export function foldProse(text: string, room: number): string[] {
  const at = text.search(commandPattern());
  if (at < 0) return fold(text, room);
  const lines = at === 0 ? [] : fold(text.slice(0, at), room);
  const command = text.slice(at).trimStart();
  const together = `${lines.at(-1)} ${command}`;
  return lines.length > 0 && width(together) <= room
    ? [...lines.slice(0, -1), together]
    : [...lines, ...(width(command) <= room ? [command] : command.split(/(?<= &&) (?=signalbox )/))];
}

/** A row of a summary. The first cells are its mark and its name, the last is the reason. */
export interface SummaryRow {
  /** What needs a person comes last, where it is seen. */
  group: 'done' | 'cancelled' | 'waiting' | 'need you';
  cells: readonly string[];
}

/** So many rows with the same reason are one; of failures, two have one cause. */
export const FOLDED_FROM = 3;
export const FOLDED_FAILED_FROM = 2;
export const FOLDED_DONE_FROM = 11;
const MAX_NAMES = 8;

/** `33 of 50 done`, `11 need you`, `6 waiting` */
export function groupCounts(groups: readonly SummaryRow['group'][], all: number): string[] {
  const count = (wanted: SummaryRow['group']) => groups.filter((group) => group === wanted).length;
  const asking = count('need you');
  return [
    `${count('done')} of ${all} done`,
    ...counted({
      [asking === 1 ? 'needs you' : 'need you']: asking,
      waiting: count('waiting'),
      cancelled: count('cancelled'),
    }),
  ];
}

/**
 * The rows of a summary as a terminal shows them: what is done first, what needs a person last, equal ones folded. Elsewhere as
 * they are.
 */
export function foldSummary(
  rows: readonly SummaryRow[],
  noun: string,
  columns: number | undefined,
): (readonly string[])[] {
  if (columns === undefined) return rows.map(({ cells }) => cells);
  const groups = ['done', 'cancelled', 'waiting', 'need you'] as const;
  return groups.flatMap((group) => {
    const own = rows.filter((row) => row.group === group).map(({ cells }) => cells);
    if (group === 'done') return own.length < FOLDED_DONE_FROM ? own : [foldedRow(own, noun)];
    const equal = groupBy(own, (cells) => `${cells[0]} ${cells.at(-1)}`);
    return [...equal.values()].flatMap((same) =>
      same.length < (group === 'need you' ? FOLDED_FAILED_FROM : FOLDED_FROM)
        ? same
        : [foldedRow(same, noun)],
    );
  });
}

/** One row for all: a status that they share, and their names behind the reason. */
function foldedRow(rows: readonly (readonly string[])[], noun: string): string[] {
  const [first = []] = rows;
  const shared = (at: number) =>
    rows.every((row) => row.at(at) === first.at(at)) ? (first.at(at) ?? '') : '';
  const names = rows.slice(0, MAX_NAMES).map(([, name]) => name);
  const list = `${names.join(', ')}${rows.length > MAX_NAMES ? ', …' : ''}`;
  const why = shared(-1);
  // The time of one ticket says nothing about all of them.
  const status = /\d/.test(shared(2)) ? '' : shared(2).replace(/^needs /, 'need ');
  const others = first.slice(3, -1).map(() => '');
  return [shared(0), plural(rows.length, noun), status, ...others, why ? `${why} (${list})` : list];
}

/** Breaks lines that are wider than the terminal between words, and indents what follows. Commands stay whole. */
export function wrapLines(lines: Lines, columns: number | undefined): string[] {
  const all = [lines].flat();
  return columns === undefined ? all : all.flatMap((line) => wrapLine(line, columns));
}

function wrapLine(line: string, columns: number): string[] {
  if (width(line) <= columns) return [line];
  const indent = /^ */.exec(line)?.[0] ?? '';
  const below = `${indent}${/^\S{1,2} /.test(line.slice(indent.length).replace(ANSI, '')) ? '  ' : INDENT.slice(1)}`;
  const [first = '', ...more] = foldProse(line.slice(indent.length), columns - below.length);
  return [`${indent}${first}`, ...more.map((each) => below + each)];
}

function filled(header: readonly string[], rows: readonly (readonly string[])[]) {
  const used = header.map((_, column) => rows.some((row) => (row[column] ?? '') !== ''));
  const keep = (row: readonly string[]) => row.filter((_, column) => used[column]);
  return { head: keep(header), body: rows.map(keep) };
}

/** The width of a text that may have colours. */
export function width(text: string): number {
  return cells(text.replace(ANSI, ''));
}

/** The maximum number of rows after the terminal wraps the lines again: a wide character may leave a cell empty. */
export function rowsOf(lines: readonly string[], columns: number): number {
  const rows = lines
    .map(width)
    .map((all) => (all <= columns ? 1 : Math.ceil((all - 1) / Math.max(1, columns - 1))));
  return rows.reduce((sum, each) => sum + each, 0);
}

const WIDE =
  /[\p{Emoji_Presentation}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Yi}\u3000-\u303e\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f000}-\u{1faff}]/u;
/** Marks above letters, joiners, and tags of flags; other invisible characters may show as a box. */
const ZERO_WIDTH = /[\p{Mn}\p{Me}\u200b-\u200f\u2060-\u2064\ufeff\u{e0020}-\u{e007f}]/u;
const EMOJI_STYLE = '\ufe0f';

/** Most texts are ASCII. */
const PLAIN = /^[ -~]*$/;

/** The width of a text without colours in a terminal. In doubt it is too large, so that a line never wraps. */
export function cells(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let sum = 0;
  for (const char of text) sum += cellsOf(char);
  return sum;
}

function cellsOf(char: string): number {
  if (char < '\u0300') return 1;
  if (char === EMOJI_STYLE) return 1;
  if (ZERO_WIDTH.test(char)) return 0;
  return WIDE.test(char) ? 2 : 1;
}

/** Cuts a text to a width, with an ellipsis: behind a word, unless that would lose more than half. */
export function cut(text: string, most: number): string {
  if (cells(text) <= most) return text;
  if (most <= 0) return '';
  let used = 0;
  let kept = '';
  let next = '';
  for (const char of text) {
    used += cellsOf(char);
    next = char;
    if (used > most - 1) break;
    kept += char;
  }
  const word = next === ' ' ? kept.length : kept.lastIndexOf(' ');
  return `${(word > kept.length / 2 ? kept.slice(0, word) : kept).trimEnd()}…`;
}

/** Joins facts in one line, or in several where the width needs it; no fact is broken. */
export function joined(facts: readonly string[], width = Number.POSITIVE_INFINITY): string[] {
  const lines: string[] = [];
  // The text of usage has two facts.
  for (const fact of facts.flatMap((each) => each.split(SEPARATOR)))
    if (lines.length > 0 && cells(`${lines.at(-1)}${SEPARATOR}${fact}`) <= width)
      lines.push(`${lines.pop()}${SEPARATOR}${fact}`);
    else lines.push(fact);
  return lines;
}

const SEPARATOR = ' · ';

/** Pads or cuts a text to exactly this width. */
export function padOrCut(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const short = cut(text, width);
  const space = ' '.repeat(Math.max(0, width - cells(short)));
  return align === 'left' ? short + space : space + short;
}
