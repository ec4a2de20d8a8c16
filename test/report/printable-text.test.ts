import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { oneLine, printable, safeJson } from '../../src/report/printable-text.ts';
import { style } from '../../src/report/style-and-phrases.ts';
import { within } from '../support/within.ts';

// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what must not be there
const ACTS = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/;
const anything = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc
    .array(
      fc.constantFrom('\u001b', '[', ']', '2J', '0;', '\u0007', '\u009b', '\r', '\n', '\u202e', '31m', 'a'),
    )
    .map((parts) => parts.join('')),
);

describe('printable', () => {
  it('leaves nothing that acts on a terminal, ends the line or turns text around', () => {
    fc.assert(
      fc.property(anything, (text) => {
        const line = printable(text);
        expect(line).not.toMatch(ACTS);
        expect(printable(line)).toBe(line);
        expect(oneLine(text)).not.toMatch(ACTS);
      }),
    );
  });

  it('leaves our own colours where they are wanted, and nothing else that acts', () => {
    const { bold, red } = style(true);
    const [begin, end] = ['\u001b[1ma\u001b[22m', '\u001b[31mb\u001b[39m'];
    fc.assert(
      fc.property(anything, (text) => {
        const line = printable(`${bold('a')}${text}${red('b')}`, true);
        expect(line).toBe(`${begin}${printable(text)}${end}`);
      }),
    );
    expect(printable(bold('a'))).toBe('a');
  });

  it('takes colours out of other text, also in the middle of ours', () => {
    expect(printable(style(true).bold('a\u001b[31mb\u001b[1;2mc'), true)).toBe('\u001b[1mabc\u001b[22m');
    expect(printable('\u001b[31mred\u001b[39m', true)).toBe('red');
  });

  it.each([
    ['a family, with joiners', '👩‍👩‍👧 a️⃣ 🏴󠁧󠁢󠁥󠁮󠁧󠁿'],
    ['Persian, with a joiner that is none', 'می‌خواهم'],
    ['Hebrew and Arabic', 'שלום (abc) مرحبا\u200f'],
    ['Hindi, with marks', 'क्ष'],
    ['a tab', 'a\tb'],
  ])('keeps %s', (_, text) => {
    expect(printable(text)).toBe(text);
  });

  it('puts a space where lines end, and drops whole sequences', () => {
    expect(printable('a\r\n  b\u2028c')).toBe('a b c');
    expect(printable('a\u001b]0;title\u0007b\u001b[2Jc\u009b1Ad')).toBe('abcd');
    expect(printable("a('\u001b]0;HIDDEN_OSC()\u0007')")).toBe("a('HIDDEN_OSC()')");
  });

  it('takes no time for the endless white space that a model may print', () => {
    const began = performance.now();
    for (const space of [' ', '\t', '\u00a0', '\n ', '\u0085'])
      expect(printable(`a${space.repeat(200_000)}b`)).toHaveLength(/[\n\u0085]/.test(space) ? 3 : 200_002);
    expect(performance.now() - began).toBeLessThan(within(3_000));
  });
});

it('one line never ends in half a character', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', minLength: 20 }),
      fc.integer({ min: 2, max: 12 }),
      (text, max) => {
        expect(oneLine(text, max)).not.toMatch(/\p{Surrogate}/u);
      },
    ),
  );
  expect(oneLine('a👩👩👩', 4)).toBe('a👩…');
});

it('JSON for the terminal is the same value, with nothing that acts in it', () => {
  fc.assert(
    fc.property(fc.record({ a: anything, b: fc.array(anything) }), (value) => {
      expect(JSON.parse(safeJson(value))).toEqual(value);
      expect(safeJson(value)).not.toMatch(ACTS);
    }),
  );
});
