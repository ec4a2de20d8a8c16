import { describe, expect, it } from 'vitest';
import { lastWords } from '../../src/phases/capture-values-and-excerpt-output.ts';

describe('lastWords', () => {
  it.each([
    ['', ''],
    ['first\nlast\n\n', 'last'],
    [
      'noise\n❌ GitHub answered with 502.\n   Try again in a moment.\n',
      'GitHub answered with 502. Try again in a moment.',
    ],
    ['✗ npm test exited with code 1\n', 'npm test exited with code 1'],
    ['head\n  one\n  two\n', 'head one two'],
    ['head\n  one\n  two\n  three\n', 'three'],
    ['  alone\n', 'alone'],
  ])('%j: %j', (text, words) => {
    expect(lastWords(text)).toBe(words);
  });

  it('are few', () => {
    expect(lastWords('x'.repeat(1000))).toHaveLength(300);
  });
});
