import { type LiveRow, liveRow, MARKS, nameOf, totals } from './live-rows.ts';
import type { LiveState } from './live-state.ts';
import { oneLine, type Style } from './style.ts';
import { cells, cut, spread } from './width.ts';

export interface FrameView {
  columns: number;
  rows: number;
  style: Style;
  /** Put the plan before the ticket: a daemon works on many. */
  withPlan: boolean;
}

const GAP = '  ';
const LEAST_TEXT = 16;
const PHASE = { least: 11, most: 24 };
const RANK: LiveRow['kind'][] = ['running', 'waiting', 'gate', 'queued'];

/**
 * The live block: a rule, a row per ticket that runs or waits, the totals. No line is as wide as the terminal, and
 * all of them with the cursor below fit on it; what has no room is counted.
 */
export function frame(state: LiveState, view: FrameView, now: number): string[] {
  const tickets = [...state.tickets.values()];
  if (tickets.length === 0 || view.rows < 2) return [];
  // The last column stays free: some terminals wrap as soon as it is filled.
  const width = Math.max(1, view.columns - 1);
  const { style, withPlan } = view;
  const name = Math.max(...tickets.map((ticket) => cells(nameOf(ticket, withPlan))));
  const rows = tickets.flatMap((ticket) => liveRow(ticket, withPlan, now) ?? []);
  const { kept, left } = choose(rows, Math.max(0, view.rows - 3));
  const lines = [
    style.dim('─'.repeat(width)),
    ...lay(kept, { width, name: Math.min(name, Math.max(8, Math.floor(width * 0.3))) }, style),
    ...(left > 0 ? [style.dim(cut(`${GAP}… and ${left} more`, width))] : []),
    style.bold(cut(totals(state, now), width)),
  ];
  return lines.slice(-(view.rows - 1));
}

/** As many rows as there is room for, the running ones first; their order stays. */
function choose(rows: readonly LiveRow[], room: number): { kept: LiveRow[]; left: number } {
  if (rows.length <= room) return { kept: [...rows], left: 0 };
  const byRank = [...rows].sort((a, b) => RANK.indexOf(a.kind) - RANK.indexOf(b.kind));
  const chosen = new Set(byRank.slice(0, Math.max(0, room - 1)));
  return { kept: rows.filter((row) => chosen.has(row)), left: rows.length - chosen.size };
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
