import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  extractTagged,
  repairPrompt,
  resultInText,
  taggedInstruction,
  taggedProblem,
} from '../../../src/agents/reading/result-block-and-signal.ts';

const SCHEMA = { type: 'object', properties: { outcome: { enum: ['success'] } } };

describe('taggedProblem', () => {
  it.each([
    ['no block', 'no block', undefined],
    ['no closing tag', '<signalbox>{bad', undefined],
    ['a good block', '<signalbox>{"a":1}</signalbox>', undefined],
    ['the tag inside a value', '<signalbox>{"a":"<signalbox>"}</signalbox>', undefined],
    ['a broken block', 'Done. <signalbox>{bad</signalbox>', /is not JSON: .*at position 1/],
    [
      'a broken one after the tag',
      'As <signalbox> so: <signalbox>{bad</signalbox>',
      /is not JSON: .*position 1/,
    ],
    ['a broken one after a good one', '<signalbox>1</signalbox><signalbox>{bad</signalbox>', /is not JSON/],
    [
      'an empty fence',
      '<signalbox>```json\n```</signalbox>',
      'there is nothing between <signalbox> and </signalbox>',
    ],
    [
      'a block that is nested too deep',
      `<signalbox>${'['.repeat(1001)}${']'.repeat(1001)}</signalbox>`,
      'the JSON between <signalbox> and </signalbox> is nested more than 1000 levels deep',
    ],
    ['an empty block', '<signalbox> </signalbox>', 'there is nothing between <signalbox> and </signalbox>'],
  ])('%s', (_, text, expected) => {
    const said = taggedProblem(text);
    if (expected instanceof RegExp) expect(said).toMatch(expected);
    else expect(said).toBe(expected);
  });
});

describe('extractTagged', () => {
  it.each([
    ['none', 'no block', undefined],
    ['one', 'Text <signalbox>{"a":1}</signalbox> more', { a: 1 }],
    ['the last of several', '<signalbox>{"a":1}</signalbox><signalbox>{"a":2}</signalbox>', { a: 2 }],
    ['a fence inside', '<signalbox>\n```json\n{"a":1}\n```\n</signalbox>', { a: 1 }],
    ['a fence without a language', '<signalbox>```\n[1]\n```</signalbox>', [1]],
    [
      'not the one before a broken one',
      '<signalbox>{"a":1}</signalbox> <signalbox>{"a":</signalbox>',
      undefined,
    ],
    ['an empty block', '<signalbox> </signalbox>', undefined],
    ['no closing tag', '<signalbox>{"a":1}', undefined],
    ['no closing tag, but more text', '<signalbox>{"a":1}.', undefined],
    ['a fence in several lines', '<signalbox>```json\n{\n  "a": 1\n}\n```</signalbox>', { a: 1 }],
    ['the tag inside a value', '<signalbox>{"a":"<signalbox>"}</signalbox>', { a: '<signalbox>' }],
    ['a mention in prose before', 'I use <signalbox> now: <signalbox>{"a":1}</signalbox>', { a: 1 }],
  ])('%s', (_, text, value) => {
    expect(extractTagged(text)).toEqual(value);
  });

  it('looks for the beginning of a value that contains the opening tag 19 times, and not 20', () => {
    const holding = (times: number) => JSON.stringify('<signalbox>'.repeat(times));
    expect(extractTagged(`<signalbox>${holding(19)}</signalbox>`)).toHaveLength(19 * 11);
    expect(extractTagged(`<signalbox>${holding(20)}</signalbox>`)).toBeUndefined();
  });

  it('finds what was put in, whatever stands around it', () => {
    fc.assert(
      fc.property(fc.string(), fc.jsonValue(), fc.string(), (before, value, after) => {
        const json = JSON.stringify(value);
        expect(extractTagged(`${before}<signalbox>${json}</signalbox>${after}`)).toEqual(JSON.parse(json));
      }),
    );
  });

  it('never throws', () => {
    const parts = fc.constantFrom(
      '<signalbox>',
      '</signalbox>',
      '```json\n',
      '\n```',
      '{',
      '}',
      '"a":1',
      ' ',
    );
    fc.assert(fc.property(fc.array(parts), (all) => void resultInText(all.join(''))));
  });
});

describe('resultInText', () => {
  it('takes a message that is nothing but JSON', () => {
    expect(resultInText(' {"a":1} ')).toEqual({ a: 1 });
    expect(resultInText('```json\n{"a":1}\n```')).toEqual({ a: 1 });
    expect(resultInText('It is {"a":1}.')).toBeUndefined();
    expect(resultInText('See ```json\n1\n```')).toBeUndefined();
    expect(resultInText('```json\n1\n``` or so')).toBeUndefined();
  });
});

describe('the instructions', () => {
  it('show the schema and the tags, and do not hold a result themselves', () => {
    const text = taggedInstruction(SCHEMA);
    expect(text).toContain('"enum"');
    expect(text).toContain('<signalbox>');
    expect(repairPrompt('outcome: missing', SCHEMA)).toContain('outcome: missing');
    expect(repairPrompt('x', SCHEMA)).toContain(text);
  });
});
