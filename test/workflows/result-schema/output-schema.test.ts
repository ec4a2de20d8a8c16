import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { outputProblem } from '../../../src/workflows/result-schema/check-schema.ts';
import { KEYWORDS } from '../../../src/workflows/result-schema/keywords.ts';
import { validateResult } from '../../../src/workflows/result-schema/validate-result.ts';

type Schema = Record<string, unknown>;

const object = (properties: Schema, more: Schema = {}): Schema => ({ type: 'object', properties, ...more });

describe('outputProblem', () => {
  it.each<[Schema, string]>([
    [{}, 'must be an object'],
    [{ type: 'array' }, 'must be an object'],
    [object({ l: { maxItems: 1 } }), 'A schema with "maxItems" needs "type: array".'],
    [object({ m: { minLength: 9 } }), 'A schema with "minLength" needs "type: string".'],
    [object({ n: { minimum: 9 } }), 'A schema with "minimum" needs "type: number".'],
    [object({ n: { type: 'string', minimum: 9 } }), 'A schema with "minimum" needs "type: number".'],
    [object({ m: { enum: ['x'], minLength: 9 } }), 'A schema with "minLength" needs "type: string".'],
    [
      object({ m: { type: 'string', minLenght: 9 } }),
      '"minLenght" cannot be enforced. Did you mean "minLength"?',
    ],
    [object({ m: { type: 'string', minLength: '9' } }), '"minLength" must be a whole number from 0'],
    [object({ m: { type: 'string', format: 'zork' } }), '"format" must be one of date-time'],
    [object({ m: { type: 'string', format: 'datetime' } }), 'Did you mean "date-time"?'],
    [object({ m: { type: 'string', contentEncoding: 'base64' } }), '"contentEncoding" cannot be enforced.'],
    [object({ m: { type: 'string', pattern: '(' } }), '"pattern" must be a regular expression'],
    [object({ m: { type: 'string', allOf: [{ minLenght: 9 }] } }), 'Did you mean "minLength"?'],
    [object({ m: { type: 'string', allOf: [{ minItems: 9 }] } }), 'needs "type: array"'],
    [object({ l: { type: 'array', items: [{ type: 'string' }] } }), 'write a list of them as "prefixItems"'],
    [object({ l: { type: 'array', minContains: 2 } }), '"minContains" needs "contains".'],
    [object({ l: { type: 'array', prefixItems: [{ minimum: 1 }] } }), 'needs "type: number"'],
    [object({ o: { type: 'object', patternProperties: { '(': {} } } }), '"(" is no regular expression.'],
    [object({ o: { type: 'object', additionalProperties: { minLength: 2 } } }), 'needs "type: string"'],
    [object({ a: { type: 'string' } }, { anyOf: [{ required: ['b'] }] }), '"b" is required but not among'],
    [object({ a: { $ref: 'other.json' } }), '"$ref" leads to no schema'],
    [object({ a: { $ref: '#/$defs/b' } }, { $defs: { a: {} } }), '"$ref" leads to no schema'],
    [
      object({ a: { $ref: '#/$defs/a' } }, { $defs: { a: { allOf: [{ $ref: '#/$defs/a' }] } } }),
      'leads back',
    ],
    [object({}, { not: {} }), '"not" cannot be enforced.'],
    [object({}, { if: {} }), '"if" cannot be enforced.'],
    [object({}, { toString: 1 }), '"toString" cannot be enforced.'],
    [object({ a: { $defs: {} } }), '"$defs" cannot be enforced.'],
    [object({ a: [] as unknown as Schema }), 'A schema must be a mapping.'],
  ])('refuses %j', (schema, message) => {
    const problem = outputProblem(schema);
    expect(problem?.message).toContain(message);
  });

  it('says where', () => {
    const schema = object({ l: { type: 'array', items: object({ m: { type: 'string', minLenght: 1 } }) } });
    expect(outputProblem(schema)?.path).toEqual(['properties', 'l', 'items', 'properties', 'm', 'minLenght']);
  });
});

/** A keyword, schemas that have it, and a value that breaks it in each of them. */
const BREAKS: ReadonlyArray<[keyword: string, schema: Schema, bad: unknown]> = [
  ['type', { type: 'string' }, 1],
  ['type', { type: ['integer', 'null'] }, 1.5],
  ['enum', { enum: ['a', 1, null] }, 'b'],
  ['enum', { type: 'string', enum: ['x'], minLength: 9 }, 'x'],
  ['const', { const: null }, 0],
  ['const', { const: { a: [1] } }, { a: [2] }],
  ['required', object({ a: {} }, { required: ['a'] }), {}],
  ['required', object({ a: {} }, { anyOf: [{ required: ['a'] }] }), {}],
  ['minProperties', { type: 'object', minProperties: 2 }, { a: 1 }],
  ['maxProperties', { type: 'object', maxProperties: 1 }, { a: 1, b: 2 }],
  ['minItems', { type: 'array', minItems: 1 }, []],
  ['maxItems', { type: 'array', maxItems: 1 }, [1, 2]],
  [
    'uniqueItems',
    { type: 'array', uniqueItems: true },
    [
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ],
  ],
  ['contains', { type: 'array', contains: { type: 'string' } }, [1]],
  ['minContains', { type: 'array', contains: { const: 1 }, minContains: 2 }, [1]],
  ['maxContains', { type: 'array', contains: { const: 1 }, maxContains: 1 }, [1, 1]],
  ['minLength', { type: 'string', minLength: 9 }, 'x'],
  ['minLength', { type: ['string', 'null'], allOf: [{ minLength: 2 }] }, '😀'],
  ['maxLength', { type: 'string', maxLength: 0 }, 'x'],
  ['pattern', { type: 'string', pattern: '^a' }, 'ba'],
  ['format', { type: 'string', format: 'date' }, 'x'],
  ['format', { type: 'string', format: 'hostname' }, '-x-'],
  ['format', { type: 'string', format: 'email' }, 'x'],
  ['minimum', { type: 'number', minimum: 9 }, 3],
  ['maximum', { type: 'integer', maximum: 1 }, 3],
  ['exclusiveMinimum', { type: 'number', exclusiveMinimum: 3 }, 3],
  ['exclusiveMaximum', { type: 'number', exclusiveMaximum: 3 }, 3],
  ['multipleOf', { type: 'number', multipleOf: 0.1 }, 0.35],
  ['allOf', { allOf: [{ type: 'string' }, { const: 'a' }] }, 'b'],
  ['anyOf', { anyOf: [{ type: 'string' }, { type: 'null' }] }, 1],
  ['oneOf', { type: 'number', oneOf: [{ minimum: 1 }, { maximum: 5 }] }, 3],
  ['oneOf', { oneOf: [{ type: 'string' }, { type: 'null' }] }, 1],
  ['properties', object({ a: { type: 'string' } }), { a: 1 }],
  ['patternProperties', { type: 'object', patternProperties: { '^a': { type: 'string' } } }, { ab: 1 }],
  ['additionalProperties', object({ a: {} }, { additionalProperties: false }), { b: 1 }],
  ['additionalProperties', { type: 'object', additionalProperties: { type: 'string' } }, { b: 1 }],
  ['propertyNames', { type: 'object', propertyNames: { maxLength: 1 } }, { bb: 1 }],
  ['items', { type: 'array', items: { type: 'string' } }, ['a', 1]],
  ['items', { type: 'array', prefixItems: [{}], items: false }, [1, 2]],
  ['prefixItems', { type: 'array', prefixItems: [{ type: 'string' }] }, [1]],
  ['$ref', { $ref: '#/$defs/word' }, 1],
];
const SAYS_NOTHING = [
  'title',
  'description',
  'default',
  'examples',
  'deprecated',
  '$comment',
  '$schema',
  '$id',
];
const HOLD_FOR_REF = ['$defs', 'definitions'];

/** Ways to put a schema, and a value for it, into another. */
const PLACES: ReadonlyArray<(schema: Schema, value: unknown) => [Schema, unknown]> = [
  (schema, value) => [object({ a: schema }, { required: ['a'] }), { a: value }],
  (schema, value) => [object({ a: {} }, { allOf: [object({ a: schema })] }), { a: value }],
  (schema, value) => [{ type: 'array', items: schema }, [value]],
  (schema, value) => [{ type: 'array', prefixItems: [{}, schema], maxItems: 9 }, [0, value]],
  (schema, value) => [{ type: 'object', additionalProperties: schema }, { x: value }],
  (schema, value) => [{ type: 'object', patternProperties: { x: schema } }, { x: value }],
  (schema, value) => [{ allOf: [{ title: 'a' }, schema] }, value],
  (schema, value) => [{ anyOf: [{ const: 'never' }, schema] }, value],
  (schema, value) => [{ oneOf: [schema, { const: 'never' }] }, value],
];

const broken = fc
  .tuple(fc.constantFrom(...BREAKS), fc.array(fc.constantFrom(...PLACES), { maxLength: 3 }))
  .map(([[, schema, bad], places]) => {
    const [inner, value] = places.reduce<[Schema, unknown]>(([s, v], place) => place(s, v), [schema, bad]);
    const $defs = { word: { type: 'string' } };
    return { schema: object({ it: inner }, { required: ['it'], $defs }), value: { it: value } };
  });

describe('what the check accepts', () => {
  it('has a case here for every keyword', () => {
    const known = [...SAYS_NOTHING, ...HOLD_FOR_REF, ...BREAKS.map(([keyword]) => keyword)];
    expect(new Set(known)).toEqual(new Set(Object.keys(KEYWORDS)));
  });

  it('is enforced, wherever it stands', () => {
    fc.assert(
      fc.property(broken, ({ schema, value }) => {
        expect(outputProblem(schema)).toBeUndefined();
        expect(validateResult(schema, value)).toMatchObject({ ok: false });
      }),
      { numRuns: 1000 },
    );
  });

  it('is enforced beside any other keyword', () => {
    const two = fc.tuple(fc.constantFrom(...BREAKS), fc.constantFrom(...BREAKS));
    let accepted = 0;
    fc.assert(
      fc.property(two, ([[, schema, bad], [, other]]) => {
        const both = object(
          { it: { ...other, ...schema } },
          { required: ['it'], $defs: { word: { type: 'string' } } },
        );
        if (outputProblem(both)) return;
        accepted += 1;
        expect(validateResult(both, { it: bad })).toMatchObject({ ok: false });
      }),
      { numRuns: 2000 },
    );
    expect(accepted).toBeGreaterThan(100);
  });

  it.each<[Schema, unknown]>([
    [{ type: 'number', multipleOf: 0.1 }, 0.3],
    [{ type: ['string', 'null'], minLength: 2 }, null],
    [{ type: 'string', format: 'date-time' }, '2026-01-02T03:04:05+01:00'],
    [{ type: 'array', contains: { const: 1 }, minContains: 0, maxItems: 2 }, [2]],
    [{ type: 'array', prefixItems: [{ type: 'string' }], items: { type: 'number' } }, ['a', 1]],
    [object({ a: {}, b: {} }, { anyOf: [{ required: ['a'] }, { required: ['b'] }] }), { b: 1 }],
    [{ const: { a: 1, b: [2] } }, { b: [2], a: 1 }],
    [{ $ref: '#/$defs/tree' }, { below: [{ below: [] }] }],
  ])('%j takes %j', (schema, value) => {
    const tree = object(
      { below: { type: 'array', items: { $ref: '#/$defs/tree' } } },
      { required: ['below'] },
    );
    const whole = object({ it: schema }, { $defs: { tree } });
    expect(outputProblem(whole)).toBeUndefined();
    expect(validateResult(whole, { it: value })).toEqual({ ok: true, value: { it: value } });
  });
});
