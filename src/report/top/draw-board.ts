import { refKey, type TicketRef } from '../../model/ids-and-branch-names.ts';
import { costText, dollars } from '../../model/limits/usage-cost-and-estimate.ts';
import { BOARD_SECTIONS, type BoardSection } from '../plan-and-ticket-status.ts';
import { oneLine } from '../printable-text.ts';
import type { Style } from '../style-and-phrases.ts';
import { clock, enginesText, sayProblem, statusMark, waitTime } from '../style-and-phrases.ts';
import { cells, cut, joined } from '../tables-and-text-wrapping.ts';
import type { Board, BoardRow } from '../view-schemas.ts';
import { type ListEntry, listEntries, rowNames, type Shown, sectionWords } from './filter-and-group-rows.ts';
import { drawRow, headerRow, layOutRows, type RowLayout } from './lay-out-and-draw-rows.ts';

export interface Frame {
  columns: number;
  style: Style;
  now: number;
}

export interface BoardView {
  shown: Shown;
  /** Shown in place of rows if there are none. */
  empty: readonly string[];
}

/** The whole board, for a pipe or a file. */
export function printBoard(board: Board, view: BoardView, frame: Frame): string[] {
  const { columns, style, now } = frame;
  const { entries, layout, nameOf } = listing(board, view.shown, columns, now);
  return [
    ...factLines(board, frame),
    ...countLines(board, view.shown, frame),
    '',
    ...(entries.length === 0 ? view.empty : [style.dim(headerRow(layout))]),
    ...entries.map((entry) => drawEntry(entry, layout, { ...frame, nameOf, selected: null })),
  ];
}

/** The list of a board, made once for every board that is read and for every choice of what is shown. */
export interface Listing {
  entries: readonly ListEntry[];
  rows: readonly BoardRow[];
  layout: RowLayout;
  nameOf: (row: TicketRef) => string;
}

export function listing(board: Board, shown: Shown, columns: number, now: number): Listing {
  const entries = listEntries(board, shown);
  const rows = entries.flatMap((entry) => ('row' in entry ? [entry.row] : []));
  const nameOf = rowNames(board.rows);
  return { entries, rows, nameOf, layout: layOutRows(rows, columns, { nameOf, now }) };
}

/** A row or a heading; `selected` is the refKey of the row with the cursor. */
export function drawEntry(
  entry: ListEntry,
  layout: RowLayout,
  frame: Frame & Pick<Listing, 'nameOf'> & { selected: string | null },
): string {
  if (!('row' in entry)) return headingLine(entry, frame);
  const isSelected = refKey(entry.row) === frame.selected;
  return drawRow(entry.row, layout, { ...frame, width: frame.columns, isSelected });
}

const MAX_PROBLEMS = 2;

/** Engines, spending, limits and problems: what a low terminal leaves out. */
export function factLines(board: Board, { columns: width, style, now }: Frame): string[] {
  const { engines, running, maximum, today, limits, problems } = board;
  const spent = today.usd === null && today.unpriced === 0 ? '$0.00' : costText(today.usd, today.unpriced);
  const facts = [
    oneLine(enginesText(engines), 200),
    `${running} of ${maximum} running`,
    `${spent}${today.budgetUsd === null ? '' : ` of ${dollars(today.budgetUsd)}`} today`,
  ];
  return [
    ...joined(facts, width).map((line) => style.dim(cut(line, width))),
    ...limits.map(({ account, until }) => {
      const left = waitTime(Date.parse(until) - now);
      return style.yellow(
        cut(`Usage limit of ${oneLine(account)} until ${clock(until, now)}, in ${left}`, width),
      );
    }),
    ...problems
      .slice(0, MAX_PROBLEMS)
      .map((problem) => `${style.red('✗')} ${cut(oneLine(sayProblem(problem), 300), width - 2)}`),
    ...(problems.length > MAX_PROBLEMS
      ? [style.dim(cut(`  … and ${problems.length - MAX_PROBLEMS} more, listed by: signalbox status`, width))]
      : []),
  ];
}

/** The counts, which every terminal shows, and what is left out of the list. */
export function countLines(board: Board, shown: Shown, { columns: width, style }: Frame): string[] {
  return [countsLine(board, width, style), ...filterLines(shown, width, style)];
}

const SIGNS: Record<BoardSection, 'needs_attention' | 'running' | 'ready' | 'complete'> = {
  'need you': 'needs_attention',
  running: 'running',
  waiting: 'ready',
  done: 'complete',
};

/** `2 need you · 3 running · 4 waiting · 33 done`, or with marks where that does not fit. */
function countsLine({ counts }: Board, width: number, style: Style): string {
  const say = (section: BoardSection) => `${counts[section]} ${sectionWords(section, counts[section])}`;
  const long = BOARD_SECTIONS.map(say);
  const paint = (section: BoardSection, text: string) =>
    counts[section] === 0
      ? style.dim(text)
      : section === 'need you'
        ? style.yellow(style.bold(text))
        : style.bold(text);
  if (cells(long.join(' · ')) <= width)
    return BOARD_SECTIONS.map((section, at) => paint(section, long[at] ?? '')).join(style.dim(' · '));
  const short = BOARD_SECTIONS.map((section) => `${statusMark(SIGNS[section], style)}${counts[section]}`);
  return short.join(' ');
}

function filterLines({ filter, failuresOnly, grouping }: Shown, width: number, style: Style): string[] {
  const facts = [
    ...(filter ? [`only “${oneLine(filter)}”`] : []),
    ...(failuresOnly ? ['only what needs you'] : []),
    ...(grouping === 'section' ? [] : [`grouped by ${grouping}`]),
  ];
  return facts.length === 0 ? [] : [style.cyan(cut(facts.join(' · '), width))];
}

function headingLine(
  { heading, section, count }: Extract<ListEntry, { heading: string }>,
  { columns, style }: Frame,
): string {
  const text = cut(`${oneLine(heading)} (${count})`, columns);
  return section === 'need you' ? style.yellow(style.bold(text)) : style.bold(text);
}
