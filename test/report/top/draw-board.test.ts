import { describe, expect, it } from 'vitest';
import { style } from '../../../src/report/style-and-phrases.ts';
import { printBoard } from '../../../src/report/top/draw-board.ts';
import type { Board } from '../../../src/report/view-schemas.ts';
import { NOW } from '../../model/build.ts';
import { board, row } from './boards.ts';

function print(shown: Board): string[] {
  const view = { shown: { filter: '', failuresOnly: false, grouping: 'section' as const }, empty: [] };
  const frame = { columns: Number.POSITIVE_INFINITY, style: style(false), now: Date.parse(NOW) };
  return printBoard(shown, view, frame);
}

describe('the board', () => {
  it('is printed with every row, however many there are', () => {
    const many = board(Array.from({ length: 100 }, (_, at) => row(`T-${at}`, { section: 'waiting' })));
    expect(print(many).filter((line) => line.includes('T-'))).toHaveLength(100);
  });

  it('says how many files cannot be read, beyond those that it names', () => {
    const problems = Array.from({ length: 333 }, (_, at) => ({
      planId: 'p',
      ticketId: `T-${at}`,
      path: `/state/T-${at}.json`,
      message: 'not JSON',
    }));
    const count = (most: number) =>
      print({ ...board([]), problems: problems.slice(0, most) }).filter((line) => /^✗|more/.test(line));
    expect(count(333)).toEqual([
      expect.stringContaining('T-0.json'),
      expect.stringContaining('T-1.json'),
      '  … and 331 more, listed by: signalbox status',
    ]);
    expect(count(2)).toHaveLength(2);
  });
});
