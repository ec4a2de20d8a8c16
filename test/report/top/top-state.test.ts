import { describe, expect, it } from 'vitest';
import { style } from '../../../src/report/style-and-phrases.ts';
import { listing } from '../../../src/report/top/draw-board.ts';
import { drawScreen } from '../../../src/report/top/draw-screen.ts';
import {
  afterBoardChange,
  answerEnded,
  choosePhase,
  type Effect,
  pressKey,
  startState,
  type TopState,
} from '../../../src/report/top/top-state.ts';
import type { Board } from '../../../src/report/view-schemas.ts';
import { NOW } from '../../model/build.ts';
import { board, row } from './boards.ts';

const GATE = {
  section: 'need you',
  status: 'needs_attention',
  phase: 'ask',
  decisions: ['yes', 'no'],
  hold: { kind: 'gate', reason: 'Ship it?', until: null },
  legal: ['respond', 'retry', 'skip', 'pause'],
} as const;
const ALL = board([
  row('a', {
    section: 'need you',
    status: 'failed',
    phase: 'build',
    legal: ['retry', 'skip'],
    title: 'Fix it',
  }),
  row('b', { ...GATE, decisions: [...GATE.decisions], legal: [...GATE.legal] }),
  row('c', { section: 'running', status: 'running', legal: ['pause', 'stop', 'skip'] }),
  row('d', { status: 'paused', legal: ['resume', 'skip', 'retry'] }),
  row('e', { section: 'done', status: 'complete' }),
]);

/** Presses keys one after the other. */
function press(keys: readonly string[], on: Board = ALL, from: TopState = startState()) {
  let state = from;
  const effects: Effect[] = [];
  for (const key of keys) {
    const { rows } = listing(on, state.shown, 80, Date.parse(NOW));
    state = afterBoardChange(state, rows, on);
    const pressed = pressKey(state, key, { board: on, rows, page: 2 });
    state = afterBoardChange(pressed.state, listing(on, pressed.state.shown, 80, Date.parse(NOW)).rows, on);
    if (pressed.effect) effects.push(pressed.effect);
  }
  return { state, effects };
}

const DOWN = '\u001b[B';
const UP = '\u001b[A';
const ESC = '\u001b';

describe('keys of the board', () => {
  it.each([
    [['j', 'j'], 'p/c'],
    [[DOWN, 'k'], 'p/a'],
    [['j', UP, UP], 'p/a'],
    [['\u001b[6~'], 'p/c'],
    [['\u001b[F'], 'p/e'],
    [['\u001b[F', '\u001b[5~', '\u001b[H'], 'p/a'],
  ])('%j selects %s', (keys, selected) => {
    expect(press(keys).state.selected).toBe(selected);
  });

  it.each([
    ['\r', 'log'],
    ['d', 'diff'],
    ['o', 'pull request'],
    ['w', 'shell'],
    ['e', 'session'],
  ])('%j starts: %s', (key, program) => {
    expect(press([key]).effects).toMatchObject([{ type: 'start', program, row: { ticketId: 'a' } }]);
  });

  it.each(['w', 'e'])('%s is refused with the name of the machine for a ticket of another one', (key) => {
    const far = board([row('a', { section: 'running', status: 'running', machine: 'build-2' })]);
    const { state, effects } = press([key], far);
    expect(effects).toEqual([]);
    expect(state.notice).toEqual({
      lines: ['p/a is on build-2: its worktree and its sessions are there.', 'On build-2: signalbox top p'],
      isProblem: true,
    });
    expect(press(['d'], far).effects).toHaveLength(1);
  });

  it('q quits', () => {
    expect(press(['q']).effects).toEqual([{ type: 'quit' }]);
  });

  it.each([
    ['r', ['r'], 'Retry p/a (Fix it)? It starts again at build.', { type: 'retry' }],
    ['p on what runs', ['j', 'j', 'p'], 'Pause p/c (Title)? Its agent is stopped.', { type: 'pause' }],
    ['p on what is paused', ['j', 'j', 'j', 'p'], 'Resume p/d (Title)?', { type: 'resume' }],
  ])('%s asks first and names the ticket', (_what, keys, question, wish) => {
    const asked = press(keys);
    expect(asked.effects).toEqual([]);
    expect(asked.state.mode).toMatchObject({ kind: 'confirm', question });
    expect(press(['y'], ALL, asked.state).effects).toMatchObject([{ type: 'command', wish }]);
    const left = press(['n'], ALL, asked.state);
    expect(left.effects).toEqual([]);
    expect(left.state).toMatchObject({
      mode: { kind: 'board' },
      notice: { lines: ['Nothing was changed.'] },
    });
  });

  it('a pasted text agrees to nothing', () => {
    expect(press(['r', 'yes\ny']).effects).toEqual([]);
    expect(press(['ry']).state.mode.kind).toBe('board');
  });

  it('s asks for a phase, and none is chosen before a person does so', () => {
    const { state, effects } = press(['s']);
    expect(effects).toMatchObject([{ type: 'phases', row: { ticketId: 'a' } }]);
    const asked = choosePhase(state, row('a'), ['review', 'done']);
    const early = press(['\r'], ALL, asked);
    expect(early.effects).toEqual([]);
    expect(early.state.notice?.lines).toEqual(['Choose a phase first, with ← and →.']);
    expect(press(['\u001b[C'], ALL, early.state).state.notice).toBe(null);
    expect(press(['\u001b[C', '\u001b[C', '\r'], ALL, asked).effects).toEqual([
      { type: 'command', ref: { planId: 'p', ticketId: 'a' }, wish: { type: 'skip', phase: 'done' } },
    ]);
    expect(press([ESC], ALL, asked).state.notice?.lines).toEqual(['Nothing was changed.']);
    const busy = press(['s', '/', 'x']).state;
    expect(choosePhase(busy, row('a'), ['review'])).toBe(busy);
  });

  it('refuses with the words of the command line', () => {
    expect(press(['p']).state.notice).toEqual({
      lines: ['Cannot pause p/a: it is failed.', 'Possible now: retry, skip.'],
      isProblem: true,
    });
    const done = board([row('e', { section: 'done', status: 'complete' })]);
    expect(press(['a'], done).state.notice?.lines).toEqual([
      'Cannot respond to p/e: it is complete.',
      'It accepts no more commands.',
    ]);
  });

  it('a answers the selected gate, else the first one; the answer names the attempt', () => {
    const open = press(['a']);
    expect(open.state).toMatchObject({ selected: 'p/b', mode: { kind: 'answer' } });
    const sent = press(['\u001b[C', 'o', 'k', '\r'], ALL, open.state);
    expect(sent.effects).toEqual([
      {
        type: 'command',
        ref: { planId: 'p', ticketId: 'b' },
        wish: { type: 'respond', decision: 'yes', message: 'ok', attempt: 'ask#1#1' },
      },
    ]);
    expect(answerEnded(sent.state).mode.kind).toBe('board');
    const refused = answerEnded(sent.state, 'Jo was first.');
    expect(refused.mode).toMatchObject({ kind: 'answer', box: { message: 'ok', problem: 'Jo was first.' } });
    expect(press([ESC], ALL, open.state).state.mode.kind).toBe('board');
  });

  it('keeps an answer whose question is answered elsewhere, says who was first, and takes no key as a command', () => {
    const { state } = press(['j', 'a', 'o', 'k']);
    const later = board([
      row('b', { section: 'running', status: 'running', phase: 'build', legal: ['pause'], why: 'builds' }),
    ]);
    const says = (_ref: object, attempt: string) => `${attempt} was answered by bob.`;
    const late = afterBoardChange(state, later.rows, later, says);
    const typed = press(['p', 'y', 'q', 'p\ny'], later, late);
    expect(typed).toMatchObject({
      effects: [],
      state: { mode: { kind: 'answer', box: { message: 'ok', closed: 'ask#1#1 was answered by bob.' } } },
    });
    const { lines } = drawScreen(
      {
        board: later,
        list: listing(later, late.shown, 80, 0),
        state: late,
        ...{ tail: [], stale: null, empty: [], scroll: 0 },
      },
      { columns: 80, rows: 12, style: style(false), now: Date.parse(NOW) },
    );
    expect(lines.slice(-3)).toEqual([
      'ask#1#1 was answered by bob.',
      '  Not sent: ok',
      '  Esc or Enter leaves this.',
    ]);
    for (const key of [ESC, '\r'])
      expect(press([key], later, late)).toMatchObject({ effects: [], state: { mode: { kind: 'board' } } });
    expect(afterBoardChange(state, later.rows, later).mode).toMatchObject({
      box: { closed: 'p/b no longer asks: builds' },
    });
  });

  it('sends no answer to another question of the ticket than the one that was read', () => {
    const { state } = press(['j', 'a', '\u001b[C', 'o', 'k']);
    const second = board([row('b', { ...GATE, phase: 'second', decisions: ['yes'], legal: ['respond'] })]);
    const { effects, state: after } = press(['\r'], second, state);
    expect(effects).toEqual([]);
    expect(after.mode).toEqual({ kind: 'board' });
  });

  it('takes no key while an answer is sent', () => {
    const { state } = press(['j', 'a', '\u001b[C', '\r']);
    const later = board([row('b', { section: 'running', status: 'running', legal: ['pause'] })]);
    expect(press(['p', 'y', 'q'], later, state)).toMatchObject({
      effects: [],
      state: { mode: { kind: 'answer', box: { isSending: true } } },
    });
    expect(afterBoardChange(answerEnded(state, 'bob was first.'), later.rows, later).mode).toMatchObject({
      kind: 'answer',
      box: { isSending: false, closed: 'bob was first.' },
    });
  });

  it('/ filters while it is typed; Enter keeps it, Esc brings the old one back, on the board Esc shows all', () => {
    const typed = press(['/', 'F', 'i', 'x']);
    expect(typed.state).toMatchObject({ selected: 'p/a', shown: { filter: 'Fix' } });
    expect(press([ESC], ALL, typed.state).state.shown.filter).toBe('');
    const kept = press(['\r'], ALL, typed.state).state;
    expect(kept).toMatchObject({ mode: { kind: 'board' }, shown: { filter: 'Fix' } });
    expect(press([ESC], ALL, kept).state.shown.filter).toBe('');
  });

  it('f shows only what needs a person, g groups by plan and by agent', () => {
    expect(press(['f']).state.shown.failuresOnly).toBe(true);
    expect(press(['f', 'f']).state.shown.failuresOnly).toBe(false);
    expect(['g', 'gg', 'ggg'].map((keys) => press([...keys]).state.shown.grouping)).toEqual([
      'plan',
      'agent',
      'section',
    ]);
  });

  it('? shows the keys until the next one', () => {
    const help = press(['?']).state;
    expect(help.mode.kind).toBe('help');
    // On a low terminal all of them are reached with the arrows.
    const seen = new Set<string>();
    for (let down = 0; down < 30; down++) {
      const { state } = press(
        Array.from({ length: down }, () => DOWN),
        ALL,
        help,
      );
      const { lines } = drawScreen(
        {
          board: ALL,
          list: listing(ALL, state.shown, 40, 0),
          state,
          ...{ tail: [], stale: null, empty: [], scroll: 0 },
        },
        { columns: 40, rows: 12, style: style(false), now: Date.parse(NOW) },
      );
      for (const line of lines) seen.add(line.trim().split(/ {2,}/)[0] ?? '');
    }
    for (const key of 'd a r p s o w e / f g Esc q'.split(' ')) expect(seen).toContain(key);
    expect(press(['q'], ALL, help)).toMatchObject({ state: { mode: { kind: 'board' } }, effects: [] });
  });

  it('keeps the selected ticket where it moves, and takes its neighbour where it is gone', () => {
    const { state } = press(['j']);
    const moved = board([row('b', { section: 'done', status: 'complete' }), row('a'), row('c')]);
    expect(afterBoardChange(state, moved.rows, moved).selected).toBe('p/b');
    const gone = board([row('a'), row('c')]);
    expect(afterBoardChange(state, gone.rows, gone).selected).toBe('p/c');
    const none = board([]);
    expect(afterBoardChange(state, none.rows, none).selected).toBeNull();
  });
});
