import { describe, expect, it } from 'vitest';
import { style } from '../../../src/report/style-and-phrases.ts';
import { printBoard } from '../../../src/report/top/draw-board.ts';
import { NOW } from '../../model/build.ts';
import { board, row } from './boards.ts';

describe('the board', () => {
  it('is printed with every row, however many there are', () => {
    const many = board(Array.from({ length: 100 }, (_, at) => row(`T-${at}`, { section: 'waiting' })));
    const view = { shown: { filter: '', failuresOnly: false, grouping: 'section' as const }, empty: [] };
    const frame = { columns: Number.POSITIVE_INFINITY, style: style(false), now: Date.parse(NOW) };
    const lines = printBoard(many, view, frame);
    expect(lines.filter((line) => line.includes('T-'))).toHaveLength(100);
  });
});
