import { groupBy } from '../../model/group-and-remember.ts';
import { type SpentDollars, spentText } from '../../model/limits/budget.ts';
import { totalUsage } from '../../model/limits/usage-cost-and-estimate.ts';
import {
  currentHold,
  type Naming,
  nameOf,
  startsWithVerb,
  withNames,
} from '../../model/state/explain-ticket.ts';
import { plural } from '../../model/text/clean-escape-quote-plural.ts';
import { markOf, progressLines } from '../issue-runs/progress-lines.ts';
import { oneLine } from '../printable-text.ts';
import { type Style, untilText, usageText, waitTime, whichAttempt } from '../style-and-phrases.ts';
import { cells, cut, fold, padOrCut, rowsOf } from '../tables-and-text-wrapping.ts';
import { boxLines } from './answer-box.ts';
import { isAnswering, type LiveState, type LiveTicket, openGates, questionsOf } from './live-state.ts';

interface FrameView extends Naming {
  columns: number;
  rows: number;
  /** The minimum number of screen rows above the block. */
  above: number;
  style: Style;
  spent?: readonly SpentDollars[];
  /** Keys are read. */
  keys?: boolean;
}

const GAP = '  ';
/** The block stays erasable when the terminal shrinks to half of its columns, but not below this width. */
const MIN_COLUMNS = 24;
/** A block of fewer lines has no row for the cost. */
const MIN_LINES_WITH_COST = 5;
/** A shorter text is left out. */
const MIN_TEXT_COLUMNS = 8;
const MAX_PHASE_COLUMNS = 24;
/** `1.2k · $0.01` */
const brief = (usage: string): string => usage.replace(' tokens · ', ' · ');
/** `$0.01`, or the tokens where the cost is unknown. */
const briefest = (usage: string): string => usage.split(' · ').at(-1) ?? '';
/** From wide to narrow: gap, minimum width of the phase, minimum width of the text beside usage, form of usage. */
const LAYOUTS = [
  { gap: GAP, least: 11, text: 18, shown: (usage: string) => usage },
  { gap: GAP, least: 11, text: 0, shown: brief },
  { gap: ' ', least: 0, text: 0, shown: brief },
  { gap: ' ', least: 0, text: 0, shown: briefest },
  { gap: ' ', least: 0, text: 0, shown: () => '' },
];
/** An eighth of the terminal's rows is for the question in the answer box. The whole one was printed above the block. */
const ROWS_PER_QUESTION_LINE = 8;
/** What needs a person first, as in all views. */
const RANK: LiveRow['kind'][] = ['gate', 'running', 'waiting', 'queued'];

/**
 * The live block: a rule, a row per ticket that asks, runs or waits, the progress and the cost. No line is as wide as the
 * terminal. Equal waits are one row. Rows that do not fit are counted.
 *
 * Lines that scroll off the screen cannot be erased. So the block has half of the width while too few rows are above it: its
 * lines must still fit on the screen when the terminal shrinks to half.
 */
export function frame(state: LiveState, view: FrameView, now: number): string[] {
  const { columns, rows, above } = view;
  // A wide character may leave the last cell empty; some terminals wrap as soon as the last column is filled.
  const most = Math.max(1, columns - 1);
  const narrow = Math.max(MIN_COLUMNS, Math.ceil(columns / 2));
  const whole = linesOfWidth(most, state, view, now);
  const grown = rowsOf(whole, narrow) - whole.length;
  if (grown <= Math.min(above, rows - whole.length)) return whole;
  return linesOfWidth(Math.min(narrow, most), state, view, now);
}

function linesOfWidth(width: number, state: LiveState, view: FrameView, now: number): string[] {
  const tickets = [...state.tickets.values()];
  if (tickets.length === 0 || view.rows < 2) return [];
  const { style } = view;
  const rows = foldWaits(tickets.flatMap((ticket) => liveRow(ticket, view, now) ?? [])).sort(
    (a, b) => RANK.indexOf(a.kind) - RANK.indexOf(b.kind),
  );
  const name = rows.reduce((widest, row) => Math.max(widest, cells(row.name)), 0);
  const box = answerLines(state, view, width);
  const answersOf = (row: LiveRow | undefined) => row?.below?.map((each) => foldAnswer(each, width)) ?? [];
  const below = rows.flatMap((row) => answersOf(row).flat()).length;
  const lines = rows.length + below + box.length + 3;
  const height = Math.min(lines, Math.max(1, Math.floor((view.rows - 1) / 2)));
  const rule = height >= Math.min(3, lines) ? ['─'.repeat(width)] : [];
  const footer = [progressLine(tickets, view, width)];
  if (height >= Math.min(MIN_LINES_WITH_COST, lines))
    footer.push(costLine(state, view.spent ?? [], now, width));
  const free = height - footer.length - rule.length;
  const { kept, left } = chooseRows(rows, free - box.length);
  const shown = layOutRows(
    kept,
    { width, name: Math.min(name, Math.max(8, Math.floor(width * 0.3))) },
    style,
  );
  let spare = Math.max(0, height - (lines - below));
  const belowRow = (at: number) => {
    const answers = answersOf(kept[at]);
    const tooMuch = answers.findIndex((_, last) => answers.slice(0, last + 1).flat().length > spare);
    const fitting = answers.slice(0, tooMuch < 0 ? answers.length : tooMuch).flat();
    spare -= fitting.length;
    return fitting.map((each) => style.dim(cut(each, width)));
  };
  return [
    ...rule.map(style.dim),
    ...shown.flatMap((line, at) => [line, ...belowRow(at)]),
    ...(left > 0 ? [style.dim(cut(`${GAP}… and ${left} more`, width))] : []),
    ...box.slice(0, free).map((line) => cut(line, width)),
    ...footer.map(style.bold),
  ];
}

/** How to answer a gate, in lines of this width. A command that does not fit into one can still be copied. */
function foldAnswer(text: string, width: number): string[] {
  const whole = `    ${text}`;
  if (cells(whole) <= width) return [whole];
  const lines = fold(text, width - 8);
  const more = text.startsWith('→ ') ? ' \\' : '';
  return lines.map((line, at) => `${at > 0 ? '      ' : '    '}${line}${at < lines.length - 1 ? more : ''}`);
}

/** The answer that is being written, or that there is a key for it. */
function answerLines(state: LiveState, view: FrameView, width: number): string[] {
  const isOpen = isAnswering(state);
  const { box } = state;
  if (box && (isOpen || box.closed)) {
    const gate = state.tickets.get(box.key);
    const name = gate ? nameOf(gate, view) : box.key;
    const [question = '', ...answer] = boxLines(box, questionsOf(state), name, width);
    const most = Math.max(1, Math.floor(view.rows / ROWS_PER_QUESTION_LINE));
    return [...fold(question, width).slice(0, most), ...answer];
  }
  if (!view.keys || openGates(state).length === 0) return [];
  return [`${GAP}Press a to answer here${state.isAsking ? ', q for later' : ''}.`];
}

/** Tickets that wait for the same are one row, at the place of the first. */
function foldWaits(rows: readonly LiveRow[]): LiveRow[] {
  const keyOf = ({ kind, text }: LiveRow) => `${kind} ${text}`;
  const equal = groupBy(
    rows.filter(({ kind }) => kind === 'waiting' || kind === 'queued'),
    keyOf,
  );
  return rows.flatMap((row) => {
    const same = equal.get(keyOf(row)) ?? [];
    if (same.length < 2) return [row];
    if (same[0] !== row) return [];
    const names = same.map(({ name }) => name).join(', ');
    const phase = same.every((each) => each.phase === row.phase) ? row.phase : '';
    const since = same.reduce((least, each) => Math.min(least, each.since), row.since);
    const longest = same.find((each) => each.since === since) ?? row;
    const name = plural(same.length, 'ticket');
    const text = `${row.text}: ${names}`;
    const short = row.short && `${row.short}: ${names}`;
    return [{ ...row, tickets: same.length, name, phase, since, time: longest.time, usage: '', text, short }];
  });
}

/** Keeps the first rows that fit; up to half of them ask if others run or wait. Counts the other tickets if there is a row for that. */
function chooseRows(rows: readonly LiveRow[], room: number): { kept: readonly LiveRow[]; left: number } {
  if (rows.length <= room) return { kept: rows, left: 0 };
  const most = Math.max(0, room > 2 ? room - 1 : room);
  const others = rows.filter(({ kind }) => kind !== 'gate');
  const asked = rows.length - others.length;
  const asking = rows.slice(0, Math.min(asked, Math.max(Math.ceil(most / 2), most - others.length)));
  const kept = [...asking, ...others.slice(0, most - asking.length)];
  const count = (some: readonly LiveRow[]) => some.reduce((sum, { tickets = 1 }) => sum + tickets, 0);
  return { kept, left: room > 2 ? count(rows) - count(kept) : 0 };
}

/** Aligns columns. In a narrow terminal, usage and text are shortened, then the text is dropped, then the usage. */
function layOutRows(rows: readonly LiveRow[], size: { width: number; name: number }, style: Style): string[] {
  const { width, name } = size;
  const widest = (text: (row: LiveRow) => string) => Math.max(0, ...rows.map((row) => cells(text(row))));
  const [phases, time] = [widest((row) => row.phase), widest((row) => row.time)];
  const layouts = LAYOUTS.map(({ gap, least, text, shown }) => {
    const phase = Math.min(Math.max(phases, least), MAX_PHASE_COLUMNS);
    const usage = widest((row) => shown(row.usage));
    const rest = width - cells(`● ${gap}${gap}${gap}`) - name - phase - time;
    return { gap, phase, usage, shown, rest, fits: rest >= usage + text };
  });
  const layout = layouts.find(({ fits }) => fits);
  return rows.map((row) => {
    const { sign, paint } = MARKS[row.kind];
    if (!layout) return cut(`${sign} ${row.name} ${row.phase} ${row.time}`, width);
    const { gap, phase, usage, shown, rest } = layout;
    const parts = [
      `${style[paint](sign)} ${style.bold(padOrCut(row.name, name))}`,
      padOrCut(row.phase, phase),
      style.dim(padOrCut(row.time, time, 'right')),
    ];
    // A row without usage has more room for text. A question needs it more than the usage does.
    const fits = row.kind !== 'gate' || cells(row.text) <= rest - gap.length - usage;
    const used = fits ? shown(row.usage) : '';
    const text = rest - (used === '' ? 0 : gap.length + usage);
    // The time of day is left out first, so that length and reason of a wait are not cut.
    const said = row.short && cells(row.text) > text ? row.short : row.text;
    if (text >= MIN_TEXT_COLUMNS) parts.push(padOrCut(oneLine(said, 1000), text));
    if (used !== '') parts.push(style.dim(padOrCut(used, usage, 'right')));
    return parts.join(gap).trimEnd();
  });
}

/** The row of one ticket in the live block. */
interface LiveRow {
  kind: 'running' | 'waiting' | 'gate' | 'queued';
  /** How many it stands for, if these are several. */
  tickets?: number;
  name: string;
  phase: string;
  since: number;
  time: string;
  text: string;
  /** The text where there is little room. */
  short?: string | undefined;
  usage: string;
  /** Lines below it, as many as fit. */
  below?: readonly string[];
}

/** Undefined for a ticket that neither runs nor waits. */
export function liveRow(ticket: LiveTicket, naming: Naming, now: number): LiveRow | undefined {
  const { status } = ticket;
  // There may be thousands of them.
  if (status === 'paused' || status === 'complete' || status === 'failed') return undefined;
  const hold = currentHold(ticket, { now });
  const row = {
    name: nameOf(ticket, naming),
    phase: ticket.phase ?? '',
    since: ticket.since,
    time: elapsed(now - ticket.since),
    usage: usageText(totalUsage([ticket.used, ticket.using]), ticket.unpriced),
  };
  const reason = withNames(hold?.reason ?? '', naming.called);
  const free = ticket.inTurn ? 'waits for the one before it' : 'waits for a free slot';
  const until = untilText(hold, now);
  const which = whichAttempt(ticket);
  switch (status) {
    case 'running':
      return { ...row, kind: 'running', text: `${which && `[${which}] `}${reason || ticket.activity}` };
    case 'ready':
      if (startsWithVerb(reason)) return { ...row, kind: 'queued', text: reason };
      if (hold) {
        const left = until && hold.until ? waitTime(Date.parse(hold.until) - now) : '';
        const short = left && `waits ${left}: ${reason}`;
        return { ...row, kind: 'waiting', text: `waits${until}: ${reason}`, short };
      }
      return { ...row, kind: 'queued', text: free };
    case 'queued':
      return { ...row, kind: 'queued', phase: 'queued', text: reason || free };
    case 'needs_attention':
      if (hold?.kind !== 'gate') return undefined;
      return { ...row, kind: 'gate', text: `waits for you${until}: ${reason}`, below: ticket.answer };
  }
}

/** Whole seconds, so that the block changes once a second: `9s`, `4m 06s`, `2h 03m`. */
export function elapsed(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const two = (value: number) => String(value).padStart(2, '0');
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${two(seconds % 60)}s`;
  return `${Math.floor(seconds / 3600)}h ${two(Math.floor(seconds / 60) % 60)}m`;
}

/** `Progress: a ✓ b ⏳`, or the counts where that does not fit. */
function progressLine(tickets: readonly LiveTicket[], naming: Naming, width: number): string {
  const fits = tickets.length < width;
  const marks = tickets.map((ticket) => [fits ? nameOf(ticket, naming) : '', markOf(ticket)] as const);
  const { whole, counts } = progressLines(marks);
  return fits && cells(whole) <= width ? whole : cut(counts, width);
}

/** The time, what was used, and the budgets; the least important is dropped first if it is too wide. */
function costLine(state: LiveState, spent: readonly SpentDollars[], now: number, width: number): string {
  const tickets = [...state.tickets.values()];
  const total = totalUsage(tickets.flatMap(({ used, using }) => [used, using]));
  const unpriced = tickets.reduce((sum, ticket) => sum + ticket.unpriced, 0);
  const usage = usageText(total, unpriced);
  const time = elapsed(now - state.startedAt);
  const budgets = spent.map(spentText);
  const facts = [
    [time, usage, ...budgets],
    [time, brief(usage), ...budgets],
    [time, briefest(usage), ...budgets],
    [time, ...budgets],
    [time, ...budgets.slice(0, 1)],
    [time, briefest(usage)],
  ];
  const lines = facts.map((each) => each.filter(Boolean).join(' · '));
  return lines.find((line) => cells(line) <= width) ?? cut(time, width);
}

const MARKS: Record<LiveRow['kind'], { sign: string; paint: keyof Style }> = {
  running: { sign: '●', paint: 'cyan' },
  waiting: { sign: '◌', paint: 'yellow' },
  gate: { sign: '!', paint: 'yellow' },
  queued: { sign: '◌', paint: 'dim' },
};
