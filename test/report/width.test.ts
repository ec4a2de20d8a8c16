import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cells, cut, joined, padOrCut } from '../../src/report/tables-and-text-wrapping.ts';

describe('cells', () => {
  it.each([
    ['', 0],
    ['tea', 3],
    ['● 75 °C …', 9],
    ['お茶', 4],
    ['차', 2],
    ['🍵', 2],
    ['☕', 2],
    ['e\u0301', 1],
    ['a\u200bb', 2],
    ['Ｔ', 2],
  ])('%j takes %i', (text, count) => {
    expect(cells(text)).toBe(count);
  });
});

describe('cut', () => {
  it.each([
    ['steep', 5, 'steep'],
    ['steep it', 5, 'stee…'],
    ['steep it', 7, 'steep…'],
    ['お茶です', 5, 'お茶…'],
    ['お茶です', 4, 'お…'],
    ['steep', 1, '…'],
    ['steep', 0, ''],
  ])('%j in %i cells is %j', (text, most, short) => {
    expect(cut(text, most)).toBe(short);
  });

  it('never takes more cells than it may', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.nat(40), (text, most) => cells(cut(text, most)) <= most),
    );
  });
});

describe('spread', () => {
  it.each([
    ['tea', 5, 'left', 'tea  '],
    ['tea', 5, 'right', '  tea'],
    ['お茶', 5, 'left', 'お茶 '],
    ['teapot', 5, 'right', 'teap…'],
  ] as const)('%j in %i cells, %s', (text, width, align, expected) => {
    expect(padOrCut(text, width, align)).toBe(expected);
  });

  it('takes exactly as many cells as asked for', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.nat(40),
        (text, width) => cells(padOrCut(text, width)) === width,
      ),
    );
  });
});

describe('joined', () => {
  const facts = ['1/2 complete', '4m 6s', '1.2k tokens · $0.01'];
  it.each([
    [undefined, ['1/2 complete · 4m 6s · 1.2k tokens · $0.01']],
    [40, ['1/2 complete · 4m 6s · 1.2k tokens', '$0.01']],
    [20, ['1/2 complete · 4m 6s', '1.2k tokens · $0.01']],
    [5, ['1/2 complete', '4m 6s', '1.2k tokens', '$0.01']],
  ])('in %s columns breaks between facts', (width, lines) => {
    expect(joined(facts, width)).toEqual(lines);
  });
});
