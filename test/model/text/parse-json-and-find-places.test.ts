import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isTooDeep, parseJson, placeInJson } from '../../../src/model/text/parse-json-and-find-places.ts';

/** The text from a place on. */
function from(text: string, { line, column }: { line: number; column: number }): string {
  const lines = text.split('\n').slice(line - 1);
  return [lines[0]?.slice(column - 1), ...lines.slice(1)].join('\n');
}

it('a text is too deep by its open lists and objects, not by brackets in its strings', () => {
  const lists = (depth: number, inside = '') => '['.repeat(depth) + inside + ']'.repeat(depth);
  expect([isTooDeep(lists(1000)), isTooDeep(lists(1001))]).toEqual([false, true]);
  expect(isTooDeep('{"a":'.repeat(1001))).toBe(true);
  expect(isTooDeep(`[${'[],{},'.repeat(2000)}1]`)).toBe(false);
  const quoted = JSON.stringify(`"\\${'['.repeat(3000)}`);
  expect(isTooDeep(quoted)).toBe(false);
  expect(isTooDeep(lists(1001, quoted))).toBe(true);
  expect(parseJson(lists(1001))).toBeUndefined();
  expect(parseJson(lists(1000))).toBeDefined();
});

it('finds every value of a JSON text by its path', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom(0, 2), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      const visit = (each: unknown, path: (string | number)[]): void => {
        const start = JSON.stringify(each, null, indent).split('\n')[0] ?? '';
        expect(from(text, placeInJson(text, path)).startsWith(start)).toBe(true);
        if (Array.isArray(each)) for (const [index, item] of each.entries()) visit(item, [...path, index]);
        else if (typeof each === 'object' && each !== null)
          for (const [key, item] of Object.entries(each)) visit(item, [...path, key]);
      };
      visit(value, []);
    }),
  );
});

it('finds the nearest value for a path that does not exist', () => {
  expect(placeInJson('{\n "a": {}\n}', ['a', 'b'])).toEqual({ line: 2, column: 7 });
});

it.each([
  ['{', 1, 2],
  ['{"a": 1,}', 1, 9],
  ['{\n "a": 1\n "b": 2\n}', 3, 2],
  ['[1, 2', 1, 6],
  ['title: yaml', 1, 1],
  ['{"a": tru}', 1, 7],
  ['{} {}', 1, 4],
])('says where %j stops being JSON', (text, line, column) => {
  expect(placeInJson(text)).toEqual({ line, column });
});
