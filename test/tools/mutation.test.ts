import { describe, expect, it } from 'vitest';
import { mutantsOf, switched } from '../../tools/mutation/mutants.mjs';
import { regexMutants } from '../../tools/mutation/regex-mutants.mjs';

const changes = (code: string, part = {}) => mutantsOf(code, part).map(({ was, by }) => `${was} → ${by}`);

describe('the mutants of a file', () => {
  it.each([
    ['if (a && !b) c();', ['a && !b → false', 'a → true', 'b → false', 'b → true', 'c(); → ']],
    ['x = a > 1;', ['x = a > 1; → ', 'a > 1 → true', 'a > 1 → false', 'a > 1 → a >= 1', '1 → 2']],
    ['x = a ?? b;', ['x = a ?? b; → ', 'a ?? b → a', 'a ?? b → b']],
    ['x = (a + b) * c;', ['x = (a + b) * c; → ', '(a + b) * c → (a + b) / c', 'a + b → a - b']],
    ["switch (a) { case 'b': }", ["'b' → Symbol()"]],
    ['const x: 1 = y as 2;', []],
    ['const x = [a, { b }];', ['a → ', '{ b } → ', 'b → ']],
    ["const x = a.trim().split(',');", ['a.trim() → a', "',' → ''"]],
    ['const x = Math.max(a, ...b);', ['Math.max(a, ...b) → a', 'Math.max(a, ...b) → Math.max(...b)']],
    ['const x = new RegExp("a|b");', ['"a|b" → "b"', '"a|b" → "a"']],
  ])('%s', (code, expected) => {
    expect(changes(code)).toEqual(expected);
  });

  it('are those of the part that is asked for', () => {
    const code = 'const a = 1;\nfunction b() {}\nconst c = 2;\nconst d = 3;';
    expect(changes(code, { from: 'b', without: ['d'] })).toEqual(['2 → 3']);
    expect(() => mutantsOf(code, { from: 'x' })).toThrow('There is no declaration of x.');
  });

  it('are switched on one at a time, and change nothing while all are off', () => {
    const code = 'if (a) list.push(1); else list.push(2);\nlist.push(...[2, 3].map((n) => n * 5));';
    const mutants = mutantsOf(code);
    const run = (on: number | null, a: boolean): number[] => {
      const list: number[] = [];
      const names = ['globalThis', 'a', 'list'];
      new Function(...names, switched(code, mutants, 10))({ __mutant: (id: number) => id === on }, a, list);
      return list;
    };
    expect([run(null, true), run(null, false)]).toEqual([
      [1, 10, 15],
      [2, 10, 15],
    ]);
    const seen = mutants.map((_, index) => JSON.stringify([run(10 + index, true), run(10 + index, false)]));
    expect(seen).not.toContain(JSON.stringify([run(null, true), run(null, false)]));
  });
});

it('a regular expression loses one of its parts at a time', () => {
  const patterns = regexMutants('^a(?:b|cd)?[xy]+\\b(?!e)', 'i').map(
    ({ pattern, flags }) => `/${pattern}/${flags}`,
  );
  expect(patterns.sort()).toEqual(
    [
      '/a(?:b|cd)?[xy]+\\b(?!e)/i',
      '/^a(?:cd)?[xy]+\\b(?!e)/i',
      '/^a(?:b)?[xy]+\\b(?!e)/i',
      '/^a[xy]+\\b(?!e)/i',
      '/^a(?:b|cd)[xy]+\\b(?!e)/i',
      '/^a(?:b|cd)?[y]+\\b(?!e)/i',
      '/^a(?:b|cd)?[x]+\\b(?!e)/i',
      '/^a(?:b|cd)?[xy]\\b(?!e)/i',
      '/^a(?:b|cd)?[xy]+(?!e)/i',
      '/^a(?:b|cd)?[xy]+\\b/i',
      '/^a(?:b|cd)?[xy]+\\b(?!e)/',
    ].sort(),
  );
});
