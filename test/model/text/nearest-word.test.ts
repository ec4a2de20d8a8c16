import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { didYouMean, editDistance, nearest } from '../../../src/model/text/nearest-word.ts';

const KEYS = ['maxConcurrency', 'stateDir', 'defaultAgent', 'hooks', 'copy', 'slots'];

describe('nearest', () => {
  it.each([
    ['maxConcurency', 'maxConcurrency'],
    ['max_concurrency', 'maxConcurrency'],
    ['MAXCONCURRENCY', 'maxConcurrency'],
    ['concurrency', 'maxConcurrency'],
    ['state-dir', 'stateDir'],
    ['sttaeDir', 'stateDir'],
    ['hook', 'hooks'],
    ['slot', 'slots'],
    ['xyz', undefined],
    ['', undefined],
    ['x'.repeat(200), undefined],
  ])('%s → %s', (word, expected) => {
    expect(nearest(word, KEYS)).toBe(expected);
  });

  it('prefers the closest of several', () => {
    expect(nearest('review', ['reviews2', 'review_x', 'reviewed', 'reviews'])).toBe('review_x');
    expect(nearest('claud', ['cloud', 'claude'])).toBe('cloud');
  });

  it('finds any long enough word again after one typing error', () => {
    const letters = fc.string({ unit: fc.constantFrom(...'abcdefghij'), minLength: 6, maxLength: 20 });
    fc.assert(
      fc.property(letters, fc.nat(), (word, at) => {
        const index = at % word.length;
        expect(nearest(word.slice(0, index) + word.slice(index + 1), [word])).toBe(word);
      }),
    );
  });

  it('puts a question behind a sentence, or nothing', () => {
    expect(didYouMean('slot', KEYS)).toBe(' Did you mean "slots"?');
    expect(didYouMean('zzzzzz', KEYS)).toBe('');
  });
});

describe('editDistance', () => {
  it.each([
    ['', '', 0],
    ['a', '', 1],
    ['ab', 'ba', 1],
    ['kitten', 'sitting', 3],
    ['same', 'same', 0],
  ])('%s, %s → %i', (a, b, distance) => {
    expect(editDistance(a, b)).toBe(distance);
  });

  it('is symmetric, and zero only for equal texts', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 12 }), fc.string({ maxLength: 12 }), (a, b) => {
        expect(editDistance(a, b)).toBe(editDistance(b, a));
        expect(editDistance(a, b) === 0).toBe(a === b);
      }),
    );
  });
});
