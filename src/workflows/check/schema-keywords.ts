import { TEXT_FORMATS } from '../../model/text/formats.ts';

const JSON_TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];

/** What the value of a keyword may be. */
type Kind = { is(value: unknown): boolean; wanted: string; options?: readonly string[] };

const count: Kind = {
  is: (value) => Number.isSafeInteger(value) && (value as number) >= 0,
  wanted: 'a whole number from 0',
};
const number: Kind = { is: Number.isFinite, wanted: 'a number' };
const flag: Kind = { is: (value) => typeof value === 'boolean', wanted: 'true or false' };
const text: Kind = { is: (value) => typeof value === 'string', wanted: 'text' };
const names: Kind = {
  is: (value) => Array.isArray(value) && value.every((name) => typeof name === 'string'),
  wanted: 'a list of property names',
};
const anything: Kind = { is: () => true, wanted: 'a value' };
const values: Kind = {
  is: (value) => Array.isArray(value) && value.length > 0,
  wanted: 'a list with at least one value',
};
const step: Kind = { is: (value) => Number.isFinite(value) && (value as number) > 0, wanted: 'more than 0' };
const pattern: Kind = { is: isRegExp, wanted: 'a regular expression' };
const format: Kind = {
  is: (value) => TEXT_FORMATS.includes(value as string),
  wanted: `one of ${TEXT_FORMATS.join(', ')}`,
  options: TEXT_FORMATS,
};
const types: Kind = {
  is: (value) =>
    [value].flat().length > 0 && [value].flat().every((type) => JSON_TYPES.includes(type as string)),
  wanted: `one of ${JSON_TYPES.join(', ')}, or a list of them`,
  options: JSON_TYPES,
};

/** Keywords with plain values that stand beside any type. */
export const ANYWHERE: Readonly<Record<string, Kind>> = {
  type: types,
  enum: values,
  const: anything,
  $ref: text,
  title: text,
  description: text,
  default: anything,
  examples: anything,
  deprecated: flag,
  $comment: text,
};

/** Those that only the whole schema has. */
export const AT_TOP: Readonly<Record<string, Kind>> = { $schema: text, $id: text };

/** Keywords with plain values by the type that they narrow. */
export const OF_TYPE: Readonly<Record<string, Readonly<Record<string, Kind>>>> = {
  object: { required: names, minProperties: count, maxProperties: count },
  array: { minItems: count, maxItems: count, uniqueItems: flag, minContains: count, maxContains: count },
  string: { minLength: count, maxLength: count, pattern, format },
  number: {
    minimum: number,
    maximum: number,
    exclusiveMinimum: number,
    exclusiveMaximum: number,
    multipleOf: step,
  },
};

/** Keywords that hold schemas: one, one or true or false, a list of them, or a mapping by name or by pattern. */
export type Holds = 'schema' | 'schema or flag' | 'list' | 'names' | 'patterns';
export const SCHEMAS_ANYWHERE: Readonly<Record<string, Holds>> = {
  allOf: 'list',
  anyOf: 'list',
  oneOf: 'list',
};
export const SCHEMAS_AT_TOP: Readonly<Record<string, Holds>> = { $defs: 'names', definitions: 'names' };
export const SCHEMAS_OF_TYPE: Readonly<Record<string, Readonly<Record<string, Holds>>>> = {
  object: {
    properties: 'names',
    patternProperties: 'patterns',
    additionalProperties: 'schema or flag',
    propertyNames: 'schema',
  },
  array: { items: 'schema or flag', prefixItems: 'list', contains: 'schema' },
};

/** The type that a keyword narrows; undefined for one that stands beside any. */
export function typeOf(keyword: string): string | undefined {
  return Object.keys(OF_TYPE).find(
    (type) =>
      Object.hasOwn(OF_TYPE[type] ?? {}, keyword) || Object.hasOwn(SCHEMAS_OF_TYPE[type] ?? {}, keyword),
  );
}

export function isRegExp(value: unknown): boolean {
  if (typeof value !== 'string') return false;
  try {
    return new RegExp(value) instanceof RegExp;
  } catch {
    return false;
  }
}

const all = (table: Readonly<Record<string, Readonly<Record<string, unknown>>>>) =>
  Object.values(table).flatMap((keywords) => Object.keys(keywords));

/** Every keyword, for who has misspelt one. */
export const KEYWORDS: readonly string[] = [
  ...Object.keys(ANYWHERE),
  ...Object.keys(AT_TOP),
  ...all(OF_TYPE),
  ...Object.keys(SCHEMAS_ANYWHERE),
  ...Object.keys(SCHEMAS_AT_TOP),
  ...all(SCHEMAS_OF_TYPE),
];
