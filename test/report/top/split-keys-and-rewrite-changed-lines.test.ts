import { describe, expect, it } from 'vitest';
import { ChangedLines, KeySplitter } from '../../../src/report/top/split-keys-and-rewrite-changed-lines.ts';

const split = (...chunks: string[]) => {
  const keys = new KeySplitter();
  return chunks.flatMap((chunk) => keys.split(chunk));
};

describe('the keys that a terminal sends', () => {
  it.each([
    ['keys that were typed fast', ['jj\u001b[Bk'], ['j', 'j', '\u001b[B', 'k']],
    ['Esc alone', ['\u001b'], ['\u001b']],
    ['a sequence in two pieces', ['j\u001b[', '5~q'], ['j', '\u001b[5~', 'q']],
    ['arrows of the other kind', ['\u001bOA\u001bOB'], ['\u001bOA', '\u001bOB']],
    ['characters beyond 16 bits', ['a😀'], ['a', '😀']],
    ['text and then Enter', ['fine\r'], ['f', 'i', 'n', 'e', '\r']],
    ['a marked paste as one piece', ['x\u001b[200~ry\r\nq\u001b[201~z'], ['x', 'ry\r\nq', 'z']],
    ['a marked paste in two pieces', ['\u001b[200~ab', 'c\u001b[201~'], ['abc']],
    ['lines that were pasted without a mark', ['one\ntwo\n'], ['one\ntwo\n']],
    ['no sequence of a paste', ['\u001b[200~a\u001b[31mb\u001b[201~'], ['a[31mb']],
  ])('are split: %s', (_what, chunks, keys) => {
    expect(split(...chunks)).toEqual(keys);
  });
});

describe('the rows of the screen', () => {
  it('are written only where they differ', () => {
    const rows = new ChangedLines();
    const first = rows.update(['a', '', 'c'], 10);
    expect(first).toBe('\u001b[H\u001b[2J\u001b[1;1Ha\u001b[K\u001b[3;1Hc\u001b[K');
    expect(rows.update(['a', '', 'c'], 10)).toBe('');
    expect(rows.update(['a', 'b', ''], 10)).toBe('\u001b[2;1Hb\u001b[K\u001b[3;1H\u001b[K');
  });

  it('are all written after something else was there', () => {
    const rows = new ChangedLines();
    rows.update(['a', 'b'], 10);
    rows.forget();
    expect(rows.update(['a', 'b'], 10)).toContain('\u001b[1;1Ha');
  });

  it('keep the character in the last column', () => {
    const rows = new ChangedLines();
    expect(rows.update(['abc'], 3)).not.toContain('\u001b[K');
  });
});
