import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { validateResult } from '../../../src/workflows/result-schema/validate-result.ts';

const SCHEMA = {
  $id: 'result',
  type: 'object',
  properties: {
    outcome: { type: 'string', enum: ['success', 'failure'] },
    score: { type: 'integer', minimum: 1, maximum: 5 },
    notes: {
      type: 'array',
      items: { type: 'object', properties: { file: { type: 'string' } }, required: ['file'] },
    },
    reason: { type: ['string', 'null'] },
  },
  required: ['outcome'],
};

describe('validateResult', () => {
  it.each([
    [{ outcome: 'success' }],
    [{ outcome: 'success', score: 3, notes: [{ file: 'a', more: 1 }], reason: null, unknown: true }],
  ])('accepts %j as it is', (value) => {
    expect(validateResult(SCHEMA, value)).toEqual({ ok: true, value });
  });

  it.each([
    [undefined, 'there was no result'],
    ['success', 'object'],
    [{}, 'outcome:'],
    [{ outcome: 'maybe' }, 'outcome:'],
    [{ outcome: null }, 'outcome:'],
    [{ outcome: 'success', score: 9 }, 'score:'],
    [{ outcome: 'success', notes: [{}] }, 'notes.0.file:'],
  ])('refuses %j and says where', (value, where) => {
    expect(validateResult(SCHEMA, value)).toMatchObject({
      ok: false,
      problem: expect.stringContaining(where),
    });
  });

  it.each([
    [{ type: 'array', maxItems: 1 }, [1, 2], 'it: must have at most 1 entry'],
    [{ type: 'array', minItems: 2 }, [], 'it: must have at least 2 entries'],
    [{ type: 'object', minProperties: 1 }, {}, 'it: must have at least 1 property'],
    [{ type: 'string', minLength: 9 }, 'x', 'it: must have at least 9 characters'],
    [{ type: ['string', 'null'] }, 1, 'it: must be string or null; found number'],
    [{ anyOf: [{ type: 'string' }, { const: 2 }] }, 1, 'it: must be string; found number, or must be 2'],
  ])('%j: says what is wrong with %j', (it, value, problem) => {
    const schema = { type: 'object', properties: { it }, required: ['it'] };
    expect(validateResult(schema, { it: value })).toEqual({ ok: false, problem });
  });

  it('takes null for an optional property as not given', () => {
    expect(validateResult(SCHEMA, { outcome: 'success', score: null, notes: null, reason: null })).toEqual({
      ok: true,
      value: { outcome: 'success', reason: null },
    });
  });

  it('refuses further properties where the schema does', () => {
    const closed = { ...SCHEMA, additionalProperties: false };
    expect(validateResult(closed, { outcome: 'success', x: 1 })).toMatchObject({ ok: false });
  });

  it('says so when the schema itself is unusable', () => {
    expect(validateResult({ type: 'nonsense' }, {})).toMatchObject({
      ok: false,
      problem: expect.stringContaining('the schema cannot be used'),
    });
  });

  it('never throws', () => {
    fc.assert(
      fc.property(fc.object({ maxDepth: 3 }), fc.anything(), (schema, value) => {
        expect(typeof validateResult(schema, value).ok).toBe('boolean');
      }),
    );
  });
});
