import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cannotCoexist, namesAbove, ownBranchProblem } from '../../src/model/ids-and-branch-names.ts';

describe('the branch of a ticket', () => {
  it.each([
    ['main', { base: 'main', trunk: null }, 'is the base'],
    ['main', { base: 'origin/main', trunk: null }, 'is the base'],
    ['main', { base: 'release', trunk: 'main' }, "is the repository's default branch"],
    ['signalbox/main', { base: 'main', trunk: null }, 'is where finished work for main is gathered'],
    ['signalbox/main', { base: null, trunk: 'main' }, 'is where finished work for main is gathered'],
  ])('%s is refused with %j', (branch, trunks, why) => {
    expect(ownBranchProblem(branch, trunks)).toContain(why);
  });

  it.each([
    ['main', { base: null, trunk: null }],
    ['main-2', { base: 'main', trunk: 'main' }],
    ['x/main', { base: 'main', trunk: 'main' }],
    ['signalbox/x', { base: 'main', trunk: null }],
  ])('%s is fine with %j', (branch, trunks) => {
    expect(ownBranchProblem(branch, trunks)).toBeUndefined();
  });

  it('excludes exactly the names above it and below it', () => {
    expect(namesAbove('a/b/c')).toEqual(['a', 'a/b']);
    expect(namesAbove('a')).toEqual([]);
    const name = fc
      .array(fc.constantFrom('a', 'b'), { minLength: 1, maxLength: 4 })
      .map((parts) => parts.join('/'));
    fc.assert(
      fc.property(name, name, (a, b) => {
        expect(cannotCoexist(a, b)).toBe(namesAbove(a).includes(b) || namesAbove(b).includes(a));
      }),
    );
  });
});
