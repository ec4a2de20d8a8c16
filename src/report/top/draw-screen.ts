import { refKey } from '../../model/ids-and-branch-names.ts';
import { boxLines } from '../live/answer-box.ts';
import { oneLine, printable } from '../printable-text.ts';
import { clock, waitTime } from '../style-and-phrases.ts';
import { cells, cut, fold } from '../tables-and-text-wrapping.ts';
import type { Board, BoardRow } from '../view-schemas.ts';
import { countLines, drawEntry, type Frame, factLines, type Listing } from './draw-board.ts';
import type { ListEntry } from './filter-and-group-rows.ts';
import { headerRow } from './lay-out-and-draw-rows.ts';
import { openQuestions, type TopState } from './top-state.ts';

/** The state could not be read: why, and when it was read last. */
export interface Stale {
  message: string;
  since: number;
}

export interface ScreenInput {
  board: Board;
  list: Listing;
  state: TopState;
  /** The last lines of the selected ticket's log. */
  tail: readonly string[];
  stale: Stale | null;
  /** Shown in place of rows if there are none. */
  empty: readonly string[];
  /** The first entry of the list that was shown last. */
  scroll: number;
}

export interface ScreenFrame extends Frame {
  rows: number;
}

/** A lower terminal shows the list alone. */
const MIN_ROWS_WITH_TAIL = 14;
const MIN_ROWS_WITH_HEADER = 10;
const TAIL_SHARE = 0.4;
const MAX_TAIL = 16;
const MAX_NOTICE_LINES = 6;

/** The whole screen: exactly as many lines as it has rows, none wider than it, and the first entry of the list that is shown. */
export function drawScreen(input: ScreenInput, frame: ScreenFrame): { lines: string[]; scroll: number } {
  const { rows: height, columns } = frame;
  const foot = footLines(input, frame).slice(-Math.max(1, height - 2));
  const head = headLines(input, frame).slice(0, Math.max(1, height - foot.length));
  const free = height - head.length - foot.length;
  if (input.state.mode.kind === 'help') {
    const all = helpLines(frame);
    const first = Math.max(0, Math.min(input.state.mode.from, all.length - free));
    const body = all.slice(first, first + free);
    return { lines: [...head, ...padded(body, free), ...foot], scroll: input.scroll };
  }
  const below = height < MIN_ROWS_WITH_TAIL ? 0 : Math.min(MAX_TAIL, Math.floor(free * TAIL_SHARE));
  const header =
    height < MIN_ROWS_WITH_HEADER || input.list.rows.length === 0
      ? []
      : [frame.style.dim(cut(headerRow(input.list.layout), columns))];
  const { lines: list, scroll } = listLines(input, frame, free - below - header.length);
  return { lines: [...head, ...header, ...list, ...tailLines(input, frame, below), ...foot], scroll };
}

function padded(lines: readonly string[], height: number): string[] {
  return [...lines, ...Array.from({ length: Math.max(0, height - lines.length) }, () => '')];
}

/** Of a low terminal's head, the counts stay, and that the board is old. */
function headLines({ board, state, stale }: ScreenInput, frame: ScreenFrame): string[] {
  const { columns, rows: height, style, now } = frame;
  const old = stale
    ? [
        style.yellow(
          cut(
            `Not up to date: ${waitTime(now - stale.since)} old, from ${clock(new Date(stale.since).toISOString(), now)}. ${oneLine(stale.message, 300)}`,
            columns,
          ),
        ),
      ]
    : [];
  const counts = countLines(board, state.shown, frame);
  const room = Math.max(0, Math.floor(height / 3) - counts.length - old.length);
  return [...old, ...factLines(board, frame).slice(0, room), ...counts];
}

/** The entries around the selected one. Those above and below are counted in the headings. */
function listLines(
  { list, state, empty, scroll }: ScreenInput,
  frame: ScreenFrame,
  height: number,
): { lines: string[]; scroll: number } {
  const { columns, style } = frame;
  const { entries, layout, nameOf } = list;
  if (height <= 0) return { lines: [], scroll };
  if (list.rows.length === 0) {
    const { filter, failuresOnly } = state.shown;
    const why = filter || failuresOnly ? ['No ticket is shown. Esc shows all.'] : empty;
    const folded = ['', ...why].flatMap((line) => fold(line, columns));
    return { lines: padded(folded.map((line) => cut(line, columns)).slice(0, height), height), scroll: 0 };
  }
  const at = entries.findIndex((entry) => 'row' in entry && refKey(entry.row) === state.selected);
  // The heading of the selected row is shown with it.
  const from = at > 0 && !('row' in (entries[at - 1] ?? {})) ? at - 1 : at;
  const room = entries.length > height ? Math.max(1, height - 1) : height;
  const least = at - room + 1;
  const first = Math.max(0, Math.min(Math.max(scroll, least), room > 1 ? from : at, entries.length - room));
  const shown = entries
    .slice(first, first + room)
    .map((entry) => drawEntry(entry, layout, { ...frame, nameOf, selected: state.selected }));
  const isRow = (entry: ListEntry) => 'row' in entry;
  const [over, under] = [entries.slice(0, first), entries.slice(first + room)].map(
    (some) => some.filter(isRow).length,
  );
  const more = [over ? `↑ ${over} more` : '', under ? `↓ ${under} more` : ''].filter(Boolean).join(' · ');
  const note = entries.length > height && height > 1 ? [style.dim(cut(`    ${more}`, columns))] : [];
  return { lines: padded([...shown, ...note], height), scroll: first };
}

/** The selected ticket: its reason, the next command, and the end of its log. */
function tailLines({ list, state, tail }: ScreenInput, frame: ScreenFrame, height: number): string[] {
  const { columns, style } = frame;
  if (height <= 0) return [];
  const row = list.rows.find((each) => refKey(each) === state.selected);
  if (!row) return padded([style.dim('─'.repeat(columns))], height);
  const facts = [
    refKey(row),
    oneLine(row.title, 200),
    ...(row.agent ? [oneLine(row.agent)] : []),
    ...(row.machine ? [`on ${oneLine(row.machine)}`] : []),
  ];
  const name = cut(`── ${facts.filter(Boolean).join(' · ')} `, columns);
  const rule = `${name}${'─'.repeat(Math.max(0, columns - cells(name)))}`;
  const reason = row.section === 'running' || row.why === '' ? [] : fold(oneLine(row.why, 1000), columns);
  const most = Math.max(1, Math.ceil(height / 2) - 1);
  const about = [
    ...reason.slice(0, most - 1).map((line) => cut(line, columns)),
    ...(reason.length < most ? [] : [reason.slice(most - 1).join(' ')]).map((line) => cut(line, columns)),
    ...(row.next ? [style.cyan(cut(`→ ${oneLine(row.next, 400)}`, columns))] : []),
  ].slice(0, height - 1);
  const log = tail.map((line) => style.dim(cut(printable(line).replaceAll('\t', '  '), columns)));
  const room = height - 1 - about.length;
  return padded([style.dim(rule), ...about, ...(room > 0 ? log.slice(-room) : [])], height);
}

/** What is being asked or said, then the keys. */
function footLines({ board, list, state }: ScreenInput, { columns, rows, style }: ScreenFrame): string[] {
  const { mode, notice } = state;
  const wrap = (text: string) => fold(text, columns).map((line) => cut(line, columns));
  const said = (notice?.lines ?? []).flatMap(wrap).slice(0, MAX_NOTICE_LINES);
  /** A question begins with the name of its ticket: on a low terminal its end is left out. */
  const asked = (text: string, linesBelow: number, paint = style.yellow) => {
    const most = Math.max(1, Math.min(MAX_NOTICE_LINES, rows - 2 - linesBelow));
    return wrap(text).slice(0, most).map(paint);
  };
  const news = said.map(notice?.isProblem ? style.red : style.green);
  switch (mode.kind) {
    case 'board': {
      const row = list.rows.find((each) => refKey(each) === state.selected);
      return [...news, style.dim(keyLine(row, columns))];
    }
    case 'help':
      return [style.dim(cut('↑ ↓ scroll · any other key: the board', columns))];
    case 'filter':
      return [
        cut(`Filter: ${oneLine(state.shown.filter, 1000)}▏`, columns),
        style.dim(cut(FILTER_KEYS, columns)),
      ];
    case 'confirm':
      return [...asked(mode.question, 1), style.bold(cut('y yes · any other key: no', columns))];
    case 'phase': {
      const choices = mode.phases.map((phase) => (phase === mode.chosen ? `[${phase}]` : ` ${phase} `));
      const below = [...wrap(choices.join(' ')), ...news];
      return [
        ...asked(`Skip: continue ${refKey(mode.ref)} at which phase?`, below.length + 1),
        ...below,
        style.dim(cut('← → choose · Enter continues there · Esc leaves', columns)),
      ];
    }
    case 'answer': {
      const [question = '', ...box] = boxLines(mode.box, openQuestions(board), mode.box.key, columns);
      const paint = mode.box.closed ? style.red : style.yellow;
      return [...asked(question, box.length, paint), ...box.map((line) => cut(line, columns))];
    }
  }
}

const FILTER_KEYS = 'Enter keeps it · Esc leaves it as it was · Ctrl-U empties it';

/** The keys that do something to the selected ticket now; the last two are always there. */
function keyLine(row: BoardRow | undefined, columns: number): string {
  const can = (name: BoardRow['legal'][number]) => row?.legal.includes(name) === true;
  const last = '? help · q quit';
  const keys = [
    ...(row && row.decisions.length > 0 ? ['a answer'] : []),
    ...(can('retry') ? ['r retry'] : []),
    ...(row?.status === 'paused' ? ['p resume'] : can('pause') ? ['p pause'] : []),
    ...(can('skip') ? ['s skip'] : []),
    ...(row ? ['Enter log', 'd diff'] : []),
    ...(row?.pullRequest ? ['o pull request'] : []),
    ...(row?.machine === null ? ['w shell', 'e session'] : []),
    '/ filter',
    'f failures',
    'g group',
  ];
  for (let count = keys.length; count > 0; count--) {
    const line = [...keys.slice(0, count), last].join(' · ');
    if (cells(line) <= columns) return line;
  }
  return cut(last, columns);
}

const HELP: readonly (readonly [keys: string, meaning: string])[] = [
  ['↑ ↓ j k', 'select a ticket (also Page Up, Page Down, Home, End)'],
  ['Enter', 'its log; of a running ticket as it grows, until Ctrl-C'],
  ['d', 'its diff'],
  ['a', 'answer its question'],
  ['r', 'retry it'],
  ['p', 'pause it, or resume it'],
  ['s', 'skip to another phase'],
  ['o', 'open its pull request'],
  ['w', 'a shell in its worktree'],
  ['e', 'continue the session of its agent'],
  ['/', 'show only tickets with these words'],
  ['f', 'show only what needs you'],
  ['g', 'group by state, plan or agent'],
  ['Esc', 'show all tickets again'],
  ['q', 'quit; nothing is stopped'],
];

function helpLines({ columns, style }: ScreenFrame): string[] {
  const width = Math.max(...HELP.map(([keys]) => cells(keys)));
  return [
    '',
    ...HELP.map(([keys, meaning]) => {
      const line = cut(`  ${keys.padEnd(width)}  ${meaning}`, columns);
      return `${style.bold(line.slice(0, width + 2))}${line.slice(width + 2)}`;
    }),
    '',
    style.dim(cut('  a, r, p and s ask before they change anything.', columns)),
  ];
}
