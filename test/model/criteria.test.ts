import { describe, expect, it } from 'vitest';
import {
  judgedIn,
  judgementOf,
  judgementProblem,
  schemaForCriteria,
} from '../../src/model/verdict-criteria-and-missing-checks.ts';

const WANTED = ['Prints `80 °C`.', 'x > 5 is refused'];
const judged = (criterion: string, met = true, evidence = 'a test') => ({ criterion, met, evidence });
const READY = { outcome: 'READY', allMet: true };
const OTHER = { outcome: 'OTHER', allMet: false };

describe('a judgement of criteria', () => {
  it.each([
    ['as they stand', [judged('Prints `80 °C`.'), judged('x > 5 is refused')]],
    ['copied with marks', [judged('2. X > 5  is refused'), judged('- [ ] AC-1: **Prints** “80 °C”')]],
    ['and more beside them', [judged(WANTED[0] ?? ''), judged(WANTED[1] ?? ''), judged('Tests pass')]],
  ])('is believed with all of them %s', (_, entries) => {
    expect(judgementProblem(WANTED, entries, READY)).toBeUndefined();
  });

  it.each([
    ['nothing', [], /missing: "Prints `80 °C`\.", "x > 5 is refused"/],
    ['one entry for both', [judged(WANTED.join(' | '))], /missing: "Prints .*", "x > 5/],
    ['the opposite', [judged('Prints `80 °C`.'), judged('x < 5 is refused')], /missing: "x > 5 is refused"$/],
    [
      'no evidence',
      [judged('Prints 80 °C'), judged('x > 5 is refused', true, ' ')],
      /no evidence for "x > 5/,
    ],
    [
      'one that is not met',
      [judged('Prints 80 °C'), judged('x > 5 is refused', false)],
      /READY says .*"x > 5/,
    ],
  ])('is not believed with %s', (_, entries, problem) => {
    expect(judgementProblem(WANTED, entries, READY)).toMatch(problem);
  });

  it('may say no where its outcome does not say yes, and of two entries no counts', () => {
    const entries = [judged('Prints 80 °C'), judged('x > 5 is refused'), judged('x > 5 is refused', false)];
    expect(judgementProblem(WANTED, entries, OTHER)).toBeUndefined();
    expect(judgementOf('x > 5 is refused', entries)).toMatchObject({ met: false });
  });

  it('is read from whatever was captured', () => {
    expect(judgedIn(['x', null, { criterion: 'a', met: 'yes' }])).toEqual([judged('a', false, '')]);
    expect(judgedIn(undefined)).toEqual([]);
  });
});

it('the schema of a result names the criteria, once each', () => {
  const fields = { criterion: { type: 'string' }, met: { type: 'boolean' } };
  const schema = {
    type: 'object',
    properties: { criteria: { type: 'array', items: { type: 'object', properties: fields } } },
  };
  expect(schemaForCriteria(schema, ['a', 'b', 'a'])).toEqual({
    type: 'object',
    properties: {
      criteria: {
        type: 'array',
        minItems: 2,
        items: { type: 'object', properties: { ...fields, criterion: { type: 'string', enum: ['a', 'b'] } } },
      },
    },
  });
  expect(schemaForCriteria(schema, [])).toBe(schema);
  expect(schemaForCriteria({ type: 'object' }, ['a'])).toEqual({ type: 'object' });
});
