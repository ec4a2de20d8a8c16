import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareVersions, rangeText, standing, versionIn } from '../../src/agents/program-versions.ts';

describe('versions', () => {
  it.each([
    ['2.1.325 (Claude Code)', '2.1.325'],
    ['codex-cli 0.166.0', '0.166.0'],
    ['v1.2.3-alpha.10', '1.2.3-alpha.10'],
    ['no version here 1.2', undefined],
    ['', undefined],
  ])('finds the version in %j', (text, version) => {
    expect(versionIn(text)).toBe(version);
  });

  it('are ordered by number, with pre-releases before their release', () => {
    const inOrder = ['0.9.9', '0.10.0-alpha.2', '0.10.0-alpha.10', '0.10.0', '0.10.1', '1.0.0', '1.0.10'];
    const part = fc.nat({ max: inOrder.length - 1 });
    fc.assert(
      fc.property(part, part, (a, b) => {
        expect(Math.sign(compareVersions(inOrder[a] ?? '', inOrder[b] ?? ''))).toBe(Math.sign(a - b));
      }),
    );
  });

  it.each([
    ['1.1.9', 'older'],
    ['1.2.0-rc.1', 'older'],
    ['1.2.0', 'tested'],
    ['1.3.5', 'tested'],
    ['1.4.0', 'tested'],
    ['1.4.1', 'newer'],
    ['2.0.0', 'newer'],
  ])('%s stands to the tested ones as %s', (version, expected) => {
    expect(standing(version, ['1.2.0', '1.4.0'])).toBe(expected);
  });

  it('are told as one when there is one', () => {
    expect(rangeText(['1.2.0', '1.4.0'])).toBe('1.2.0 to 1.4.0');
    expect(rangeText(['1.2.0', '1.2.0'])).toBe('1.2.0');
  });
});
