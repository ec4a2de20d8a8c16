import { refKey, type TicketRef } from '../../model/ids-and-branch-names.ts';
import { illegal, type TicketCommand } from '../../model/state/commands.ts';
import { capital } from '../../model/text/clean-escape-quote-plural.ts';
import type { AnswerBox, Question } from '../live/answer-box.ts';
import { beside, emptyBox, isKey, pressInBox, questionOf, questionsIn, typed } from '../live/answer-box.ts';
import { oneLine } from '../printable-text.ts';
import type { Board, BoardRow } from '../view-schemas.ts';
import { GROUPINGS, type Shown } from './filter-and-group-rows.ts';

/** What a key does to a ticket after a person has agreed. */
export type Wish =
  | { type: 'retry' }
  | { type: 'pause' }
  | { type: 'resume' }
  | { type: 'skip'; phase: string }
  | { type: 'respond'; decision: string; message: string; attempt: string };

/** What is shown in place of the board, or below it. */
type Mode =
  | { kind: 'board' }
  /** `from`: the first line that is shown, on a terminal that is too low for all. */
  | { kind: 'help'; from: number }
  /** The filter is being typed; `before` is the one that Esc brings back. */
  | { kind: 'filter'; before: string }
  | { kind: 'confirm'; ref: TicketRef; question: string; wish: Wish }
  | { kind: 'phase'; ref: TicketRef; phases: readonly string[]; chosen: string | undefined }
  | { kind: 'answer'; box: AnswerBox };

/** What happened to the last key. */
interface Notice {
  lines: readonly string[];
  isProblem: boolean;
}

export interface TopState {
  shown: Shown;
  /** The selected ticket by refKey, and its place among the rows, for when it is gone. */
  selected: string | null;
  place: number;
  mode: Mode;
  notice: Notice | null;
}

export type Program = 'log' | 'diff' | 'pull request' | 'shell' | 'session';

/** What a key needs of the world. */
export type Effect =
  | { type: 'quit' }
  | { type: 'start'; program: Program; row: BoardRow }
  /** The phases of a ticket's workflow are needed, to choose one. */
  | { type: 'phases'; row: BoardRow }
  | { type: 'command'; ref: TicketRef; wish: Wish };

interface Pressed {
  state: TopState;
  effect?: Effect;
}

export function startState(): TopState {
  return {
    shown: { filter: '', failuresOnly: false, grouping: 'section' },
    selected: null,
    place: 0,
    mode: { kind: 'board' },
    notice: null,
  };
}

/** Where the selected ticket is among the rows; where it is gone, the row that took its place. */
function selectedPlace({ selected, place }: TopState, rows: readonly BoardRow[]): number {
  const at = rows.findIndex((row) => refKey(row) === selected);
  return at >= 0 ? at : Math.max(0, Math.min(place, rows.length - 1));
}

/** Selects a row that exists, and closes the answer to a question that is no longer open. */
export function afterBoardChange(
  state: TopState,
  rows: readonly BoardRow[],
  board: Board,
  whyClosed: WhyClosed = () => undefined,
): TopState {
  const place = selectedPlace(state, rows);
  const selected = rows[place];
  const next = { ...state, selected: selected ? refKey(selected) : null, place };
  const { mode } = next;
  if (mode.kind !== 'answer' || mode.box.isSending || mode.box.closed) return next;
  const { box } = mode;
  if (questionOf(box, openQuestions(board))) return next;
  const row = board.rows.find((each) => refKey(each) === box.key);
  const why = row?.why ? `: ${oneLine(row.why, 200)}` : '.';
  const closed = box.problem || (row && whyClosed(row, box.attempt)) || `${box.key} no longer asks${why}`;
  return { ...next, mode: { kind: 'answer', box: { ...box, closed } } };
}

/** Who answered a gate. */
export type WhyClosed = (ref: TicketRef, attempt: string) => string | undefined;

/** Gates that can be answered here. */
export function openQuestions({ rows }: Pick<Board, 'rows'>): Question[] {
  return questionsIn(rows.filter(({ decisions }) => decisions.length > 0));
}

interface Around {
  board: Board;
  /** The rows in the order in which they are shown. */
  rows: readonly BoardRow[];
  /** How many rows a page has. */
  page: number;
}

/** Applies one key. */
export function pressKey(state: TopState, key: string, around: Around): Pressed {
  const { mode } = state;
  switch (mode.kind) {
    case 'board':
      return pressOnBoard({ ...state, notice: null }, key, around);
    case 'help': {
      const { from } = mode;
      const scroll = (step: number) => ({
        state: { ...state, mode: { ...mode, from: Math.max(0, Math.min(from + step, MAX_HELP_SCROLL)) } },
      });
      if (isKey('down', key) || key === 'j') return scroll(1);
      if (isKey('up', key) || key === 'k') return scroll(-1);
      if (isKey('pageDown', key) || key === ' ') return scroll(around.page);
      if (isKey('pageUp', key)) return scroll(-around.page);
      return { state: toBoard(state) };
    }
    case 'filter':
      return pressInFilter(state, mode.before, key);
    case 'confirm':
      return key === 'y' || key === 'Y'
        ? { state: toBoard(state), effect: { type: 'command', ref: mode.ref, wish: mode.wish } }
        : { state: say(toBoard(state), 'Nothing was changed.') };
    case 'phase':
      return pressInPhases(state, mode, key);
    case 'answer':
      return pressInAnswer(state, mode.box, key, around);
  }
}

/** More than the lines that the keys need on a narrow terminal. */
const MAX_HELP_SCROLL = 40;

function toBoard(state: TopState): TopState {
  return { ...state, mode: { kind: 'board' } };
}

export function say(state: TopState, lines: string | readonly string[], isProblem = false): TopState {
  return { ...state, notice: { lines: [lines].flat(), isProblem } };
}

function pressOnBoard(state: TopState, key: string, { rows, board, page }: Around): Pressed {
  const place = selectedPlace(state, rows);
  const row = rows[place];
  const move = (to: number): Pressed => {
    const at = Math.max(0, Math.min(to, rows.length - 1));
    const next = rows[at];
    return { state: { ...state, place: at, selected: next ? refKey(next) : null } };
  };
  if (isKey('up', key) || key === 'k') return move(place - 1);
  if (isKey('down', key) || key === 'j') return move(place + 1);
  if (isKey('pageUp', key)) return move(place - page);
  if (isKey('pageDown', key)) return move(place + page);
  if (isKey('home', key)) return move(0);
  if (isKey('end', key)) return move(rows.length - 1);
  const { shown } = state;
  if (key === 'q') return { state, effect: { type: 'quit' } };
  if (key === '?') return { state: { ...state, mode: { kind: 'help', from: 0 } } };
  if (key === '/') return { state: { ...state, mode: { kind: 'filter', before: shown.filter } } };
  if (key === 'f') return { state: { ...state, shown: { ...shown, failuresOnly: !shown.failuresOnly } } };
  if (key === 'g') {
    const grouping = beside(GROUPINGS, shown.grouping, 1) ?? 'section';
    return { state: { ...state, shown: { ...shown, grouping } } };
  }
  if (isKey('esc', key)) return { state: { ...state, shown: { ...shown, filter: '', failuresOnly: false } } };
  return row ? pressOnRow(state, key, row, board) : { state };
}

const PROGRAMS: Readonly<Record<string, Program>> = {
  d: 'diff',
  o: 'pull request',
  w: 'shell',
  e: 'session',
};

function pressOnRow(state: TopState, key: string, row: BoardRow, board: Board): Pressed {
  const program = isKey('enter', key) ? 'log' : PROGRAMS[key];
  if (row.machine !== null && (program === 'shell' || program === 'session'))
    return { state: say(state, elsewhere(row, row.machine), true) };
  if (program) return { state, effect: { type: 'start', program, row } };
  switch (key) {
    case 'a':
      return openAnswer(state, row, board);
    case 'r':
      return ask(state, row, { type: 'retry' });
    case 'p':
      return ask(state, row, { type: row.status === 'paused' ? 'resume' : 'pause' });
    case 's':
      return ifLegal(state, row, 'skip', () => ({ state, effect: { type: 'phases', row } }));
    default:
      return { state };
  }
}

function elsewhere(row: BoardRow, machine: string): string[] {
  const name = oneLine(machine);
  return [
    `${refKey(row)} is on ${name}: its worktree and its sessions are there.`,
    `On ${name}: signalbox top ${row.planId}`,
  ];
}

/** Refuses with the words of the command line what the ticket does not take now. */
function ifLegal(state: TopState, row: BoardRow, name: TicketCommand['type'], then: () => Pressed): Pressed {
  return row.legal.includes(name) ? then() : refuse(state, row, name);
}

function refuse(state: TopState, row: BoardRow, name: TicketCommand['type']): Pressed {
  const { message, hint } = illegal(row, name, row.legal);
  return { state: say(state, hint ? [message, hint] : message, true) };
}

const CONSEQUENCES: Record<'retry' | 'pause' | 'resume', (row: BoardRow) => string> = {
  retry: ({ phase }) => (phase === null ? '' : ` It starts again at ${oneLine(phase)}.`),
  pause: ({ section }) => (section === 'running' ? ' Its agent is stopped.' : ''),
  resume: () => '',
};

function ask(state: TopState, row: BoardRow, wish: { type: 'retry' | 'pause' | 'resume' }): Pressed {
  return ifLegal(state, row, wish.type, () => {
    const verb = capital(wish.type);
    const question = `${verb} ${called(row)}?${CONSEQUENCES[wish.type](row)}`;
    return { state: { ...state, mode: { kind: 'confirm', ref: refOf(row), question, wish } } };
  });
}

/** `p/a (Fix it)` */
function called(row: BoardRow): string {
  const title = oneLine(row.title, 60);
  return title === '' || title === row.ticketId ? refKey(row) : `${refKey(row)} (${title})`;
}

function refOf({ planId, ticketId }: TicketRef): TicketRef {
  return { planId, ticketId };
}

/** The selected gate; where another row is selected, the first one, as in the live view of a run. */
function openAnswer(state: TopState, row: BoardRow, board: Board): Pressed {
  const questions = openQuestions(board);
  const question = questions.find((each) => refKey(each) === refKey(row)) ?? questions[0];
  if (!question) return refuse(state, row, 'respond');
  return { state: answering(state, emptyBox(question)) };
}

function answering(state: TopState, box: AnswerBox): TopState {
  return { ...state, selected: box.key, mode: { kind: 'answer', box } };
}

function pressInFilter(state: TopState, before: string, key: string): Pressed {
  const { shown } = state;
  if (isKey('enter', key)) return { state: toBoard(state) };
  if (isKey('esc', key)) return { state: toBoard({ ...state, shown: { ...shown, filter: before } }) };
  return { state: { ...state, shown: { ...shown, filter: typed(shown.filter, key).trimStart() } } };
}

/** Asks where a ticket continues, unless the person has begun something else meanwhile. */
export function choosePhase(state: TopState, row: BoardRow, phases: readonly string[]): TopState {
  if (state.mode.kind !== 'board') return state;
  return { ...state, mode: { kind: 'phase', ref: refOf(row), phases, chosen: undefined } };
}

function pressInPhases(state: TopState, mode: Extract<Mode, { kind: 'phase' }>, key: string): Pressed {
  const { phases, chosen, ref } = mode;
  const choose = (step: 1 | -1) => ({
    state: { ...state, mode: { ...mode, chosen: beside(phases, chosen, step) }, notice: null },
  });
  if (isKey('right', key) || isKey('down', key)) return choose(1);
  if (isKey('left', key) || isKey('up', key)) return choose(-1);
  if (!isKey('enter', key))
    return isKey('esc', key) ? { state: say(toBoard(state), 'Nothing was changed.') } : { state };
  if (chosen === undefined) return { state: say(state, 'Choose a phase first, with ← and →.', true) };
  const wish = { type: 'skip' as const, phase: chosen };
  return { state: toBoard({ ...state, notice: null }), effect: { type: 'command', ref, wish } };
}

function pressInAnswer(state: TopState, before: AnswerBox, key: string, { board }: Around): Pressed {
  const { box, send } = pressInBox(before, key, openQuestions(board));
  if (!box) return { state: toBoard(state) };
  const next = answering(state, box);
  if (!send) return { state: next };
  const { decision, message, attempt, ...ref } = send;
  return {
    state: next,
    effect: { type: 'command', ref, wish: { type: 'respond', decision, message, attempt } },
  };
}

/** After an answer was sent, or refused: a refused one stays to be read and copied. */
export function answerEnded(state: TopState, refusal?: string): TopState {
  const { mode } = state;
  if (mode.kind !== 'answer' || !mode.box.isSending) return state;
  if (refusal === undefined) return toBoard(state);
  return { ...state, mode: { ...mode, box: { ...mode.box, isSending: false, problem: refusal } } };
}
