import { describe, expect, it } from 'vitest';
import { KeySplitter } from '../../../src/report/top/split-keys.ts';

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
