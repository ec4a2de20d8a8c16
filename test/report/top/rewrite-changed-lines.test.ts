import { describe, expect, it } from 'vitest';
import { ChangedLines } from '../../../src/report/top/rewrite-changed-lines.ts';

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
