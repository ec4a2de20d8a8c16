import { type LiveRow, liveRow, MARKS, totals } from './live-rows.ts';
import type { LiveState } from './live-state.ts';
import { type Naming, nameOf } from './names.ts';
import { oneLine, type Style } from './style.ts';
import { cells, cut, spread } from './width.ts';

export interface FrameView extends Naming {
  columns: number;
  rows: number;
  /** So many rows above the block may leave the screen. */
  above: number;
  style: Style;
}

const GAP = '  ';
const RULE = 40;
/** Below this nothing can be read. */
const LEAST_WIDTH = 24;
const LEAST_TEXT = 16;
const PHASE = { least: 11, most: 24 };
const RANK: LiveRow['kind'][] = ['running', 'waiting', 'gate', 'queued'];

/**
 * The live block: a rule, a row per ticket that runs or waits, the totals. No line is as wide as the terminal, and
 * what has no room is counted.
 */
export function frame(state: LiveState, view: FrameView, now: number): string[] {
  const tickets = [...state.tickets.values()];
  if (tickets.length === 0 || view.rows < 2) return [];
  const { style } = view;
  const name = Math.max(...tickets.map((ticket) => cells(nameOf(ticket, view))));
  const rows = tickets.flatMap((ticket) => liveRow(ticket, view, now) ?? []);
  const { width, height } = room(view, rows.length + 2);
  const rule =
    height >= Math.min(3, rows.length + 2) ? [style.dim('─'.repeat(Math.min(RULE, half(view.columns))))] : [];
  const { kept, left } = choose(rows, height - rule.length - 1);
  return [
    ...rule,
    ...lay(kept, { width, name: Math.min(name, Math.max(8, Math.floor(width * 0.3))) }, style),
    ...(left > 0 ? [style.dim(cut(`${GAP}… and ${left} more`, width))] : []),
    style.bold(totals(state, now, width)),
  ];
}

/**
 * What scrolls out of the screen cannot be erased. So the block stays on it when the terminal is made half as wide, or 80
 * columns, though not below 24: it is low enough for its lines to be broken, and narrow where little is above it.
 */
function room({ columns, rows, above }: FrameView, lines: number): { width: number; height: number } {
  // The last column stays free: some terminals wrap as soon as it is filled.
  const width = Math.max(1, columns - 1);
  const pieces = Math.max(2, Math.ceil(width / 80));
  const height = Math.min(lines, Math.max(1, Math.floor((rows - 1) / pieces)));
  const more = (pieces - 1) * (height > 2 ? height - 1 : height);
  if (above >= more) return { width, height };
  const narrow = pieces > 2 ? Math.floor(width / pieces) : half(columns);
  return { width: Math.min(width, Math.max(LEAST_WIDTH, narrow)), height };
}

const half = (columns: number) => Math.max(1, Math.floor(columns / 2));

/** As many rows as there is room for, the running ones first; their order stays. What is left is counted where that costs little. */
function choose(rows: readonly LiveRow[], room: number): { kept: LiveRow[]; left: number } {
  if (rows.length <= room) return { kept: [...rows], left: 0 };
  const byRank = [...rows].sort((a, b) => RANK.indexOf(a.kind) - RANK.indexOf(b.kind));
  const chosen = new Set(byRank.slice(0, room > 2 ? room - 1 : room));
  return { kept: rows.filter((row) => chosen.has(row)), left: room > 2 ? rows.length - chosen.size : 0 };
}

/** Columns aligned; on a narrow terminal first the usage goes, then the text, then whatever is too far right. */
function lay(rows: readonly LiveRow[], size: { width: number; name: number }, style: Style): string[] {
  const { width, name } = size;
  const widest = (key: 'phase' | 'time' | 'usage') => Math.max(0, ...rows.map((row) => cells(row[key])));
  const phase = Math.min(Math.max(widest('phase'), PHASE.least), PHASE.most);
  const time = widest('time');
  const usage = widest('usage');
  const left = '● '.length + name + GAP.length + phase + GAP.length + time;
  const rest = width - left - GAP.length;
  const withUsage = rest - GAP.length - usage >= LEAST_TEXT;
  return rows.map((row) => {
    const { sign, paint } = MARKS[row.kind];
    if (left > width) return cut(`${sign} ${row.name} ${row.phase} ${row.time}`, width);
    const parts = [
      `${style[paint](sign)} ${style.bold(spread(row.name, name))}`,
      spread(row.phase, phase),
      style.dim(spread(row.time, time, 'right')),
    ];
    // A row without usage may have its place for text.
    const shown = withUsage && row.usage !== '';
    const text = rest - (shown ? GAP.length + usage : 0);
    if (text > 0) parts.push(spread(plain(row.text), text));
    if (shown) parts.push(style.dim(spread(row.usage, usage, 'right')));
    return parts.join(GAP).trimEnd();
  });
}

/** Invisible characters could join or turn what stands beside them. */
function plain(text: string): string {
  return oneLine(text, 1000).replace(/\p{Cf}/gu, '');
}
