import { z } from 'zod';
import { ifPossible } from '../../machine/files/read-and-remove-files.ts';
import { plural } from '../../model/text/clean-escape-quote-plural.ts';
import { asNumber, isObject, type JsonObject } from '../../model/text/values-of-unknown-type.ts';

/**
 * The keywords that the JSON Schema of a result may have. The check accepts these and no others, and the validation
 * enforces all of them.
 */
interface Keyword {
  /** The type that it narrows; a keyword without one is allowed beside any type. */
  of?: 'object' | 'array' | 'string' | 'number';
  /** Only the whole schema may have it. */
  top?: true;
  /** Schemas that it holds: one, one or true or false, a list of them, or a mapping by name or by pattern. */
  holds?: 'schema' | 'schema or flag' | 'list' | 'names' | 'patterns';
  /** What its value may be, unless it holds schemas. */
  value?: KeywordValue;
  /** What is wrong with a value of the type that it narrows. Keywords that hold schemas are enforced by the walk. */
  wrong?(rule: unknown, value: unknown): string | false;
}

interface KeywordValue {
  is(value: unknown): boolean;
  wanted: string;
  options?: readonly string[];
}

export const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  object: isObject,
  array: Array.isArray,
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  integer: Number.isInteger,
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
};
const TYPE_NAMES = Object.keys(TYPES);

const TIME = /^(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;
const FORMATS: Readonly<Record<string, z.ZodType>> = {
  'date-time': z.iso.datetime({ offset: true }),
  date: z.iso.date(),
  time: z.string().regex(TIME),
  duration: z.iso.duration(),
  email: z.email(),
  hostname: z.hostname(),
  ipv4: z.ipv4(),
  ipv6: z.ipv6(),
  uri: z.url(),
  uuid: z.uuid(),
};
const FORMAT_NAMES = Object.keys(FORMATS);

const flag: KeywordValue = { is: (value) => typeof value === 'boolean', wanted: 'true or false' };
const text: KeywordValue = { is: (value) => typeof value === 'string', wanted: 'text' };
const anything: KeywordValue = { is: () => true, wanted: 'a value' };
const number: KeywordValue = { is: Number.isFinite, wanted: 'a number' };
const count: KeywordValue = {
  is: (value) => Number.isSafeInteger(value) && (value as number) >= 0,
  wanted: 'a whole number from 0',
};
const step: KeywordValue = { is: (value) => (asNumber(value) ?? 0) > 0, wanted: 'more than 0' };
const names: KeywordValue = {
  is: (value) => Array.isArray(value) && value.every((name) => typeof name === 'string'),
  wanted: 'a list of property names',
};
const values: KeywordValue = {
  is: (value) => Array.isArray(value) && value.length > 0,
  wanted: 'a list with at least one value',
};
const types: KeywordValue = {
  is: (value) =>
    [value].flat().length > 0 && [value].flat().every((type) => TYPE_NAMES.includes(type as string)),
  wanted: `one of ${TYPE_NAMES.join(', ')}, or a list of them`,
  options: TYPE_NAMES,
};
const format: KeywordValue = {
  is: (value) => FORMAT_NAMES.includes(value as string),
  wanted: `one of ${FORMAT_NAMES.join(', ')}`,
  options: FORMAT_NAMES,
};

export const KEYWORDS: Readonly<Record<string, Keyword>> = {
  type: { value: types },
  enum: {
    value: values,
    wrong: (list, value) =>
      Array.isArray(list) &&
      !list.some((each) => isSame(each, value)) &&
      `must be one of ${list.map((each) => JSON.stringify(each)).join(', ')}`,
  },
  const: {
    value: anything,
    wrong: (rule, value) => !isSame(rule, value) && `must be ${JSON.stringify(rule)}`,
  },
  $ref: { value: text },
  title: { value: text },
  description: { value: text },
  default: { value: anything },
  examples: { value: anything },
  deprecated: { value: flag },
  $comment: { value: text },
  $schema: { top: true, value: text },
  $id: { top: true, value: text },
  required: { of: 'object', value: names },
  minProperties: { of: 'object', value: count, wrong: size('least', propertiesIn, 'property', 'properties') },
  maxProperties: { of: 'object', value: count, wrong: size('most', propertiesIn, 'property', 'properties') },
  minItems: { of: 'array', value: count, wrong: size('least', entriesIn, 'entry', 'entries') },
  maxItems: { of: 'array', value: count, wrong: size('most', entriesIn, 'entry', 'entries') },
  uniqueItems: {
    of: 'array',
    value: flag,
    wrong: (rule, list) =>
      rule === true &&
      new Set((list as unknown[]).map(canonical)).size < entriesIn(list) &&
      'must not have the same entry twice',
  },
  minContains: { of: 'array', value: count },
  maxContains: { of: 'array', value: count },
  minLength: { of: 'string', value: count, wrong: size('least', charactersIn, 'character') },
  maxLength: { of: 'string', value: count, wrong: size('most', charactersIn, 'character') },
  pattern: {
    of: 'string',
    value: { is: isRegExp, wanted: 'a regular expression' },
    wrong: (rule, value) =>
      typeof rule === 'string' && !new RegExp(rule).test(value as string) && `must match ${rule}`,
  },
  format: {
    of: 'string',
    value: format,
    wrong: (rule, value) =>
      format.is(rule) &&
      FORMATS[rule as string]?.safeParse(value).success === false &&
      `must have the format ${rule}`,
  },
  minimum: { of: 'number', value: number, wrong: limit((n, least) => n < least && `at least ${least}`) },
  maximum: { of: 'number', value: number, wrong: limit((n, most) => n > most && `at most ${most}`) },
  exclusiveMinimum: {
    of: 'number',
    value: number,
    wrong: limit((n, above) => n <= above && `more than ${above}`),
  },
  exclusiveMaximum: {
    of: 'number',
    value: number,
    wrong: limit((n, below) => n >= below && `less than ${below}`),
  },
  multipleOf: {
    of: 'number',
    value: step,
    wrong: limit((n, unit) => unit > 0 && !isMultiple(n, unit) && `a multiple of ${unit}`),
  },
  allOf: { holds: 'list' },
  anyOf: { holds: 'list' },
  oneOf: { holds: 'list' },
  $defs: { top: true, holds: 'names' },
  definitions: { top: true, holds: 'names' },
  properties: { of: 'object', holds: 'names' },
  patternProperties: { of: 'object', holds: 'patterns' },
  additionalProperties: { of: 'object', holds: 'schema or flag' },
  propertyNames: { of: 'object', holds: 'schema' },
  items: { of: 'array', holds: 'schema or flag' },
  prefixItems: { of: 'array', holds: 'list' },
  contains: { of: 'array', holds: 'schema' },
};

type Enforce = NonNullable<Keyword['wrong']>;

function limit(says: (value: number, limit: number) => string | false): Enforce {
  return (rule, value) => {
    const bound = asNumber(rule);
    const requirement = bound !== undefined && says(value as number, bound);
    return requirement && `must be ${requirement}`;
  };
}

function size(
  bound: 'least' | 'most',
  sizeOf: (value: unknown) => number,
  one: string,
  many = `${one}s`,
): Enforce {
  return (rule, value) => {
    const limit = asNumber(rule);
    if (limit === undefined) return false;
    const breaks = bound === 'least' ? sizeOf(value) < limit : sizeOf(value) > limit;
    return breaks && `must have at ${bound} ${plural(limit, one, many)}`;
  };
}

function propertiesIn(value: unknown): number {
  return Object.keys(value as object).length;
}

function entriesIn(value: unknown): number {
  return (value as unknown[]).length;
}

/** Counts code points: most emoji are one, although `length` counts two. */
function charactersIn(value: unknown): number {
  return [...(value as string)].length;
}

/** Tolerates rounding: 0.3 counts as three times 0.1. */
function isMultiple(value: number, unit: number): boolean {
  const times = value / unit;
  return Math.abs(times - Math.round(times)) <= Math.abs(times) * Number.EPSILON * 4;
}

function isSame(one: unknown, other: unknown): boolean {
  return canonical(one) === canonical(other);
}

/** One text for equal values, whatever the order of their properties. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    isObject(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part,
  );
}

export function isRegExp(value: unknown): boolean {
  return typeof value === 'string' && ifPossible(() => new RegExp(value)) !== undefined;
}

/** The part of a schema that a reference such as `#/$defs/name` names; undefined for one that does not exist. */
export function referredSchema(root: JsonObject, ref: string): unknown {
  if (ref === '#') return root;
  const [, place, name] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(ref) ?? [];
  const map = place === undefined ? undefined : root[place];
  const plain = name?.replaceAll('~1', '/').replaceAll('~0', '~') ?? '';
  if (typeof map !== 'object' || map === null || !Object.hasOwn(map, plain)) return undefined;
  return (map as JsonObject)[plain];
}
