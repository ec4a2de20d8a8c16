import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Json } from '../../src/model/ticket.ts';
import { minimalInstance } from '../../src/rehearsal/schema-example.ts';

type Schema = { [key: string]: Json };
const outcome = (...values: string[]): Schema => ({ properties: { outcome: { enum: values } } });

describe('minimalInstance', () => {
  it.each<[Schema, Json]>([
    [outcome('failure', 'success'), { outcome: 'success' }],
    [outcome('fail', 'pass'), { outcome: 'pass' }],
    [outcome('fail', 'merge', 'split'), { outcome: 'merge' }],
    [outcome('fail', 'failure'), { outcome: 'fail' }],
    [{ type: 'object', required: ['a'], properties: { a: { type: 'boolean' }, b: {} } }, { a: true }],
    [{ type: 'array', items: { type: 'string' } }, []],
    [{ type: 'array', items: { const: 1 }, minItems: 2 }, [1, 1]],
    [
      {
        type: 'array',
        minItems: 3,
        items: { type: 'object', required: ['name'], properties: { name: { enum: ['a', 'b'] } } },
      },
      [{ name: 'a' }, { name: 'b' }, { name: 'a' }],
    ],
    [{ type: 'string', minLength: 12 }, 'rehearsed...'],
    [{ type: 'string', maxLength: 3 }, 'reh'],
    [{ type: 'string', format: 'date' }, '2000-01-01'],
    [{ type: 'integer', minimum: 3 }, 3],
    [{ type: 'integer', exclusiveMinimum: 3 }, 4],
    [{ type: 'number', maximum: -2 }, -2],
    [{ type: 'integer', minimum: 7, multipleOf: 5 }, 10],
    [{ type: ['null', 'string'] }, null],
    [{ anyOf: [{ type: 'null' }, { type: 'string' }] }, null],
    [{ enum: ['small', 'large'] }, 'small'],
    [{ $ref: '#/$defs/tea', $defs: { tea: { enum: ['green'] } } }, 'green'],
    [
      {
        allOf: [
          { required: ['a'], properties: { a: { const: 1 } } },
          { required: ['b'], properties: { b: { const: 2 } } },
        ],
      },
      { a: 1, b: 2 },
    ],
    [{ required: ['free'] }, 'rehearsed'],
    [{ type: 'object', required: ['free'] }, { free: 'rehearsed' }],
  ])('of %j is %j', (schema, instance) => {
    expect(minimalInstance(schema)).toEqual(instance);
  });

  it('ends on a schema that refers to itself', () => {
    const schema = { type: 'object', required: ['child'], properties: { child: { $ref: '#' } } };
    expect(() => JSON.stringify(minimalInstance(schema))).not.toThrow();
  });

  it('satisfies any schema of the kinds that results are made of', () => {
    const { schema } = fc.letrec<{ schema: z.ZodType; leaf: z.ZodType }>((tie) => ({
      leaf: fc.oneof(
        fc.constant(z.string()),
        fc.constant(z.boolean()),
        fc.nat(20).map((least) => z.string().min(least)),
        fc.integer({ min: -50, max: 50 }).map((least) => z.int().min(least)),
        fc.integer({ min: -50, max: 50 }).map((most) => z.number().max(most)),
        fc.uniqueArray(fc.string(), { minLength: 1, maxLength: 4 }).map((values) => z.enum(values)),
      ),
      schema: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        tie('leaf'),
        tie('schema').map((inner) => z.array(inner)),
        tie('schema').map((inner) => z.array(inner).min(2)),
        tie('schema').map((inner) => z.nullable(inner)),
        fc
          .dictionary(fc.stringMatching(/^[a-z]{1,8}$/), tie('schema'), { maxKeys: 4 })
          .map((shape) => z.object(shape)),
        fc
          .dictionary(fc.stringMatching(/^[a-z]{1,8}$/), tie('schema'), { maxKeys: 4 })
          .map((shape) => z.strictObject(shape).partial()),
      ),
    }));
    fc.assert(
      fc.property(schema, (type) => {
        const made = minimalInstance(z.toJSONSchema(type) as Schema);
        expect(type.safeParse(made).error?.message).toBeUndefined();
      }),
    );
  });
});
