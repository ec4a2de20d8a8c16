import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { takeFlags } from '../../src/agents/command-flags.ts';

const RULES = [
  { names: ['--yes', '-y'], takesValue: false },
  { names: ['--mode', '-m'], takesValue: true },
  { names: ['-c'], takesValue: true, when: /^key=/ },
];

describe('takeFlags', () => {
  it.each([
    [['--yes', 'a'], ['a']],
    [['--mode', 'x', 'a'], ['a']],
    [['--mode=x', '-mx', '-m', 'x', 'a'], ['a']],
    [['--mode'], []],
    [
      ['-c', 'key=1', '-c', 'other=1'],
      ['-c', 'other=1'],
    ],
    [
      ['-ckey=1', '--modest', '--yes-please'],
      ['--modest', '--yes-please'],
    ],
    [
      ['a', '--', '--yes'],
      ['a', '--', '--yes'],
    ],
  ])('%j leaves %j', (args, kept) => {
    expect(takeFlags(args, RULES).kept).toEqual(kept);
  });

  it('says what it found', () => {
    expect(takeFlags(['-y', '--mode=x', '-m'], RULES).found).toEqual([
      { name: '-y', value: null },
      { name: '--mode', value: 'x' },
      { name: '-m', value: null },
    ]);
  });

  it('leaves arguments alone that no rule names', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (args) => {
        expect(takeFlags(args, []).kept).toEqual(args);
      }),
    );
  });
});
