import type { TicketRef } from '../../model/ids-and-branch-names.ts';
import { tokensOf } from '../../model/limits/budget.ts';
import { dollars } from '../../model/limits/usage-cost-and-estimate.ts';
import { isTooSilent } from '../board/make-board.ts';
import { elapsed } from '../live/draw-frame.ts';
import { oneLine } from '../printable-text.ts';
import { rounded, type Style, statusMark, style, untilNote } from '../style-and-phrases.ts';
import { cells, padOrCut } from '../tables-and-text-wrapping.ts';
import type { BoardRow } from '../view-schemas.ts';

/** The columns between the name of a ticket and the end of its row, in their order. */
const COLUMNS = ['title', 'phase', 'time', 'silent', 'text', 'tokens', 'cost'] as const;
type Column = (typeof COLUMNS)[number];

/** What a narrow terminal leaves out first. The reason stays. */
const DROPPED: readonly Column[] = ['tokens', 'title', 'cost', 'silent', 'time', 'phase'];

const HEADERS: Record<Column, string> = {
  title: 'TITLE',
  phase: 'PHASE',
  time: 'TIME',
  silent: 'SILENT',
  text: 'LAST ACTION OR REASON',
  tokens: 'TOKENS',
  cost: 'COST',
};
const RIGHT: ReadonlySet<Column> = new Set(['time', 'silent', 'tokens', 'cost']);
const GAP = '  ';
/** The cursor, the mark and a space before the name. */
const LEAD = 4;
const MAX_NAME = 28;
const MAX_PHASE = 20;
const MAX_TITLE = 48;
const MIN_TITLE = 12;
/** The reason gets so much before other columns do. */
const MIN_TEXT = 24;
const MAX_TEXT = 400;
const MAX_COST = 12;
const TITLE_SHARE = 0.4;

export interface RowLayout {
  name: number;
  /** The widths of the columns that are shown. */
  columns: ReadonlyMap<Column, number>;
}

export interface RowOptions {
  nameOf: (row: TicketRef) => string;
  now: number;
}

/**
 * The widths of all columns, so that rows are aligned and no row is wider than the terminal. They depend on what changes
 * seldom, and are cheap for a thousand rows: they are needed for every frame.
 */
export function layOutRows(rows: readonly BoardRow[], width: number, { nameOf, now }: RowOptions): RowLayout {
  const widest = (text: (row: BoardRow) => string, most: number) =>
    Math.min(
      most,
      rows.reduce((sum, row) => Math.max(sum, cells(text(row).slice(0, most))), 0),
    );
  const half = Math.max(1, Math.floor((width - LEAD) * 0.5));
  const name = Math.max(Math.min(6, half), widest(nameOf, Math.min(MAX_NAME, half)));
  const all: Record<Column, number> = {
    title: widest(({ title }) => title, MAX_TITLE),
    phase: widest(phaseText, MAX_PHASE),
    time: 8,
    silent: rows.some((row) => silentSince(row) !== null) ? 7 : 0,
    text: width === Number.POSITIVE_INFINITY ? widest((row) => reasonOf(row, now), MAX_TEXT) : MAX_TEXT,
    tokens: rows.some(({ usage }) => tokensOf(usage) > 0) ? 6 : 0,
    cost: widest(costOf, MAX_COST),
  };
  // A column that is empty in all rows is left out.
  const used = COLUMNS.filter((column) => all[column] > 0).map(
    (column) => [column, Math.max(all[column], column === 'text' ? 0 : cells(HEADERS[column]))] as const,
  );
  for (let dropped = 0; ; dropped++) {
    const isKept = ([column]: (typeof used)[number]) => !DROPPED.slice(0, dropped).includes(column);
    const columns = new Map(used.filter(isKept));
    const isFlexible = (column: Column) => column === 'text' || column === 'title';
    const fixed = [...columns].map(([column, own]) => GAP.length + (isFlexible(column) ? 0 : own));
    const free = width - fixed.reduce((sum, own) => sum + own, LEAD + name);
    const title = columns.get('title') ?? 0;
    const least = Math.min(title, MIN_TITLE);
    if (free < least + MIN_TEXT && dropped < DROPPED.length) continue;
    const own = Math.max(
      0,
      Math.min(title, Math.max(least, Math.floor(free * TITLE_SHARE)), free - MIN_TEXT),
    );
    if (title > 0) columns.set('title', own);
    columns.set('text', Math.max(0, Math.min(all.text, free - own)));
    return { name, columns };
  }
}

/** The names of the columns. */
export function headerRow({ name, columns }: RowLayout): string {
  const parts = [...columns].map(([column, own]) =>
    padOrCut(HEADERS[column], own, RIGHT.has(column) ? 'right' : 'left'),
  );
  return [`${' '.repeat(LEAD)}${padOrCut('TICKET', name)}`, ...parts].join(GAP).trimEnd();
}

/** One row. The selected one has a cursor, so that it is found without colours, too. */
export function drawRow(
  row: BoardRow,
  { name, columns }: RowLayout,
  options: RowOptions & { style: Style; isSelected: boolean; width: number },
): string {
  const { nameOf, now, style, isSelected, width } = options;
  const shown = cellsOf(row, nameOf, now);
  const isSilent = row.section === 'running' && isTooSilent(row, now);
  const mark = markOf(row, isSelected ? PLAIN : style, isSilent);
  const paint: Partial<Record<Column, (text: string) => string>> = isSelected
    ? {}
    : {
        title: style.dim,
        time: style.dim,
        silent: isSilent ? style.yellow : style.dim,
        tokens: style.dim,
        cost: style.dim,
        ...(row.section === 'waiting' || row.section === 'done' ? { phase: style.dim, text: style.dim } : {}),
      };
  const parts = [...columns].map(([column, own]) => {
    const text = padOrCut(shown[column], own, RIGHT.has(column) ? 'right' : 'left');
    return paint[column]?.(text) ?? text;
  });
  const called = padOrCut(shown.name, name);
  const line = [
    `${isSelected ? '▸' : ' '} ${mark} ${isSelected ? called : style.bold(called)}`,
    ...parts,
  ].join(GAP);
  if (!isSelected) return line.trimEnd();
  const whole = style.inverse(padOrCut(line, width));
  return isSilent ? style.yellow(whole) : whole;
}

const PLAIN = style(false);

function markOf({ status, section }: BoardRow, style: Style, isSilent: boolean): string {
  if (isSilent) return style.yellow('●');
  // A cancelled ticket needs no person.
  return section === 'done' && status !== 'complete' ? style.dim('✗') : statusMark(status, style);
}

function cellsOf(row: BoardRow, nameOf: RowOptions['nameOf'], now: number): Record<Column | 'name', string> {
  const isRunning = row.section === 'running';
  const tokens = tokensOf(row.usage);
  return {
    name: oneLine(nameOf(row)),
    title: oneLine(row.title, 200),
    phase: phaseText(row),
    time: isRunning ? ageOf(row.since, now) : timeOf(row.since, now),
    silent: isRunning ? ageOf(silentSince(row), now) : '',
    text: reasonOf(row, now),
    tokens: tokens > 0 ? rounded(tokens) : '',
    cost: costOf(row),
  };
}

/** An agent that has printed nothing yet is silent since its phase began. */
function silentSince({ printedAt, idleSeconds, since }: BoardRow): string | null {
  return printedAt ?? (idleSeconds === null ? null : since);
}

function phaseText({ phase, visit, section }: BoardRow): string {
  if (phase === null || section === 'done') return '';
  return visit > 1 ? `${oneLine(phase)} (${visit})` : oneLine(phase);
}

/** What a running ticket did last; why another one is where it is. */
function reasonOf({ section, action, why, hold, attempt, phase }: BoardRow, now: number): string {
  if (section === 'running') {
    const which = attempt > 1 ? `attempt ${attempt}: ` : '';
    return oneLine(
      action === null ? why.replace(phase ?? '', '').replace(/^[:,;]\s*/, '') : `${which}${action}`,
      400,
    );
  }
  return `${oneLine(why, 400)}${untilNote(hold, why, now)}`;
}

/** `$0.41`; `$0.41+` where the cost of some attempts is unknown. */
function costOf({ usage, unpriced }: BoardRow): string {
  const usd = usage?.costUsd ?? null;
  if (usd === null || (usd === 0 && unpriced > 0)) return unpriced > 0 ? '?' : '';
  return `${dollars(usd)}${unpriced > 0 ? '+' : ''}`;
}

function ageOf(since: string | null, now: number): string {
  return since === null ? '' : elapsed(now - Date.parse(since));
}

/** A time of day, which stays true while nothing is drawn: `at 14:03`, or `17 Nov` for another day. */
function timeOf(since: string | null, now: number): string {
  if (since === null) return '';
  const date = new Date(since);
  const two = (value: number) => String(value).padStart(2, '0');
  if (new Date(now).toDateString() === date.toDateString())
    return `at ${two(date.getHours())}:${two(date.getMinutes())}`;
  return `${two(date.getDate())} ${MONTHS[date.getMonth()]}`;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
