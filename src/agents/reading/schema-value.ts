import { hasFormat } from '../../model/text/formats.ts';
import { asArray, asNumber, asObject, type JsonObject } from '../../model/text/json.ts';
import { referredSchema } from '../../model/text/schema-ref.ts';

/** What is wrong with a value, and where in it. */
export interface ValueIssue {
  path: readonly (string | number)[];
  message: string;
}

type Found = ValueIssue[];
type At = readonly (string | number)[];

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  object: (value) => asObject(value) !== undefined,
  array: Array.isArray,
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  integer: Number.isInteger,
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
};

/** Everything in which a value differs from a JSON Schema. Throws where the schema itself cannot be read. */
export function valueIssues(schema: unknown, value: unknown, root: JsonObject, at: At = []): Found {
  if (schema === true) return [];
  if (schema === false) return [{ path: at, message: 'must not be there' }];
  const rules = asObject(schema);
  if (!rules) throw new Error('a schema must be a mapping');
  const found: Found = [];
  const say = (message: string) => found.push({ path: at, message });
  if (rules.type !== undefined && ![rules.type].flat().some((type) => typeTest(type)(value))) {
    say(`must be ${[rules.type].flat().join(' or ')}; found ${kindOf(value)}`);
    return found;
  }
  if (Array.isArray(rules.enum) && !rules.enum.some((each) => same(each, value)))
    say(`must be one of ${rules.enum.map((each) => JSON.stringify(each)).join(', ')}`);
  if (rules.const !== undefined && !same(rules.const, value)) say(`must be ${JSON.stringify(rules.const)}`);
  if (typeof value === 'string') for (const message of textIssues(rules, value)) say(message);
  if (typeof value === 'number') for (const message of numberIssues(rules, value)) say(message);
  if (Array.isArray(value)) found.push(...listIssues(rules, value, root, at));
  const object = asObject(value);
  if (object) found.push(...objectIssues(rules, object, root, at));
  found.push(...composedIssues(rules, value, root, at));
  return found;
}

/** Whether a value is what a schema asks for. */
export function fits(schema: unknown, value: unknown, root: JsonObject): boolean {
  return valueIssues(schema, value, root).length === 0;
}

function typeTest(type: unknown): (value: unknown) => boolean {
  const test = typeof type === 'string' && Object.hasOwn(TYPES, type) ? TYPES[type] : undefined;
  if (!test) throw new Error(`there is no type ${JSON.stringify(type)}`);
  return test;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function* textIssues(rules: JsonObject, text: string): Generator<string> {
  // Characters as people count them, not halves of pairs.
  const length = [...text].length;
  const [least, most] = [asNumber(rules.minLength), asNumber(rules.maxLength)];
  if (least !== undefined && length < least) yield `must have at least ${amount(least, 'character')}`;
  if (most !== undefined && length > most) yield `must have at most ${amount(most, 'character')}`;
  if (typeof rules.pattern === 'string' && !new RegExp(rules.pattern).test(text))
    yield `must match ${rules.pattern}`;
  if (!hasFormat(text, rules.format)) yield `must have the format ${rules.format}`;
}

function* numberIssues(rules: JsonObject, value: number): Generator<string> {
  const rule = (name: string) => asNumber(rules[name]);
  const [least, most, above, below] = [
    rule('minimum'),
    rule('maximum'),
    rule('exclusiveMinimum'),
    rule('exclusiveMaximum'),
  ];
  if (least !== undefined && value < least) yield `must be at least ${least}`;
  if (most !== undefined && value > most) yield `must be at most ${most}`;
  if (above !== undefined && value <= above) yield `must be more than ${above}`;
  if (below !== undefined && value >= below) yield `must be less than ${below}`;
  const step = rule('multipleOf');
  if (step !== undefined && step > 0 && !isMultiple(value, step)) yield `must be a multiple of ${step}`;
}

/** 0.3 is three times 0.1, whatever the machine makes of it. */
function isMultiple(value: number, step: number): boolean {
  const times = value / step;
  return Math.abs(times - Math.round(times)) <= Math.abs(times) * Number.EPSILON * 4;
}

function listIssues(rules: JsonObject, list: readonly unknown[], root: JsonObject, at: At): Found {
  const found: Found = [];
  const say = (message: string) => found.push({ path: at, message });
  const [least, most] = [asNumber(rules.minItems), asNumber(rules.maxItems)];
  if (least !== undefined && list.length < least) say(`must have at least ${amount(least, 'entr')}`);
  if (most !== undefined && list.length > most) say(`must have at most ${amount(most, 'entr')}`);
  if (rules.uniqueItems === true && new Set(list.map(canonical)).size < list.length)
    say('must not have the same entry twice');
  if (rules.contains !== undefined) {
    const number = list.filter((item) => fits(rules.contains, item, root)).length;
    const [few, many] = [asNumber(rules.minContains) ?? 1, asNumber(rules.maxContains)];
    if (number < few) say(`must have at least ${amount(few, 'entr')} that fit "contains"; found ${number}`);
    if (many !== undefined && number > many)
      say(`must have at most ${amount(many, 'entr')} that fit "contains"; found ${number}`);
  }
  const leading = asArray(rules.prefixItems);
  for (const [index, item] of list.entries()) {
    const part = index < leading.length ? leading[index] : rules.items;
    if (part !== undefined) found.push(...valueIssues(part, item, root, [...at, index]));
  }
  return found;
}

function objectIssues(rules: JsonObject, object: JsonObject, root: JsonObject, at: At): Found {
  const found: Found = [];
  const names = Object.keys(object);
  const [least, most] = [asNumber(rules.minProperties), asNumber(rules.maxProperties)];
  if (least !== undefined && names.length < least)
    found.push({ path: at, message: `must have at least ${amount(least, 'propert')}` });
  if (most !== undefined && names.length > most)
    found.push({ path: at, message: `must have at most ${amount(most, 'propert')}` });
  for (const name of asArray(rules.required))
    if (typeof name === 'string' && !Object.hasOwn(object, name))
      found.push({ path: [...at, name], message: 'is missing' });
  const properties = asObject(rules.properties) ?? {};
  const patterns = Object.entries(asObject(rules.patternProperties) ?? {});
  for (const name of names) {
    const parts = patterns.filter(([pattern]) => new RegExp(pattern).test(name)).map(([, part]) => part);
    if (Object.hasOwn(properties, name)) parts.push(properties[name]);
    else if (parts.length === 0 && rules.additionalProperties !== undefined)
      parts.push(rules.additionalProperties);
    for (const part of parts) found.push(...valueIssues(part, object[name], root, [...at, name]));
    if (rules.propertyNames !== undefined && !fits(rules.propertyNames, name, root))
      found.push({ path: [...at, name], message: 'has a name that is not allowed' });
  }
  return found;
}

function composedIssues(rules: JsonObject, value: unknown, root: JsonObject, at: At): Found {
  const found: Found = [];
  if (typeof rules.$ref === 'string') {
    const part = referredSchema(root, rules.$ref);
    if (part === undefined) throw new Error(`"$ref" leads to no schema: ${rules.$ref}`);
    found.push(...valueIssues(part, value, root, at));
  }
  for (const part of asArray(rules.allOf)) found.push(...valueIssues(part, value, root, at));
  if (Array.isArray(rules.anyOf)) {
    const ways = rules.anyOf.map((part) => valueIssues(part, value, root, at));
    if (!ways.some((issues) => issues.length === 0)) found.push(noWay(ways, at));
  }
  if (Array.isArray(rules.oneOf)) {
    const ways = rules.oneOf.map((part) => valueIssues(part, value, root, at));
    const fitting = ways.filter((issues) => issues.length === 0).length;
    if (fitting === 0) found.push(noWay(ways, at));
    if (fitting > 1) found.push({ path: at, message: `fits ${fitting} ways of "oneOf" at once` });
  }
  return found;
}

/** Of several ways the first issue of each, so that one can tell which was meant. */
function noWay(ways: readonly Found[], at: At): ValueIssue {
  const said = ways.flatMap(([issue]) => {
    if (!issue) return [];
    const below = issue.path.slice(at.length).join('.');
    return [below === '' ? issue.message : `${below} ${issue.message}`];
  });
  return { path: at, message: [...new Set(said)].join(', or ') || 'fits nothing that is allowed' };
}

/** A number of things in words, such as `1 entry` or `2 entries`. */
function amount(count: number, stem: 'character' | 'entr' | 'propert'): string {
  const [one, more] = stem === 'character' ? ['', 's'] : ['y', 'ies'];
  return `${count} ${stem}${count === 1 ? one : more}`;
}

function same(one: unknown, other: unknown): boolean {
  return canonical(one) === canonical(other);
}

/** One text for equal values, whatever the order of their properties. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    const object = asObject(part);
    return object ? Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1))) : part;
  });
}
