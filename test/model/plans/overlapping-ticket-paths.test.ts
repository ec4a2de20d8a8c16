import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pathProblem, pathsMeet } from '../../../src/model/plans/overlapping-ticket-paths.ts';

describe('pathsMeet', () => {
  it.each([
    ['src/a.ts', 'src/a.ts', true],
    ['src/a.ts', 'src/b.ts', false],
    ['src', 'src/deep/a.ts', true],
    ['src/', './src/a.ts', true],
    ['src', 'srcs/a.ts', false],
    ['src/*.ts', 'src/a.ts', true],
    ['src/*.ts', 'src/a.md', false],
    ['src/*.ts', 'src/deep/a.ts', false],
    ['src/**/*.ts', 'src/a/b/c.ts', true],
    ['src/**/*.ts', 'src/c.ts', true],
    ['**/*.md', 'docs/x/y.md', true],
    ['**/*.md', 'docs/x/y.ts', false],
    ['src/{a,b}.ts', 'src/b.ts', true],
    ['src/a*.ts', 'src/*b.ts', true],
    ['src/a*.ts', 'src/b*.ts', false],
    ['.', 'anything', true],
    ['./src/../src/x.ts', 'src/x.ts', true],
    ['src/a/../b', 'src/a/x.ts', false],
    ['src/..', 'anything', true],
  ])('%s and %s: %s', (a, b, expected) => {
    expect(pathsMeet(a, b)).toBe(expected);
    expect(pathsMeet(b, a)).toBe(expected);
  });

  it('every path meets itself and the directories it lies in', () => {
    const part = fc.stringMatching(/^[a-z]{1,4}\*?$/);
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 5 }), fc.nat(5), (parts, cut) => {
        const path = parts.join('/');
        expect(pathsMeet(path, path)).toBe(true);
        expect(pathsMeet(path, parts.slice(0, cut).join('/'))).toBe(true);
      }),
    );
  });
});

it.each([
  ['src/a.ts', undefined],
  ['**/*.ts', undefined],
  ['/etc/passwd', 'is not relative to the repository'],
  ['~/x', 'is not relative to the repository'],
  ['src/../../x', 'leaves the repository'],
  ['..', 'leaves the repository'],
  ['../src/../src/x', 'leaves the repository'],
  ['./src/../src/x.ts', undefined],
  ['src/*/../x.ts', undefined],
  ['src/**/../x.ts', 'goes up from `**`, which may be any directory'],
  [' ', 'is empty'],
])('pathProblem(%s) is %s', (path, expected) => {
  expect(pathProblem(path)).toBe(expected);
});
