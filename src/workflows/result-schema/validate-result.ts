import { messageOf } from '../../model/errors.ts';
import { plural } from '../../model/text/clean-escape-quote-plural.ts';
import type { JsonObject } from '../../model/text/values-of-unknown-type.ts';
import { asArray, asNumber, asObject, isObject } from '../../model/text/values-of-unknown-type.ts';
import type { Json } from '../../model/ticket.ts';
import { KEYWORDS, referredSchema, TYPES } from './keywords.ts';

/** What is wrong with a value, and where in it. */
interface Issue {
  path: Path;
  message: string;
}

type Path = readonly (string | number)[];

/** Checks a result against its JSON Schema. The value is returned unchanged, without nulls that mean "not given". */
export function validateResult(
  schema: JsonObject,
  value: unknown,
): { ok: true; value: Json } | { ok: false; problem: string } {
  if (value === undefined) return { ok: false, problem: 'there was no result' };
  try {
    const given = withoutOptionalNulls(schema, value, schema);
    const issues = issuesIn(schema, given, schema);
    if (issues.length === 0) return { ok: true, value: given as Json };
    return { ok: false, problem: describe(issues) };
  } catch (error) {
    return { ok: false, problem: `the schema cannot be used: ${messageOf(error)}` };
  }
}

/** Providers with strict schemas know no optional property: they send null for one that has no value. */
function withoutOptionalNulls(schema: unknown, value: unknown, root: JsonObject): unknown {
  const rules = asObject(schema);
  if (!rules) return value;
  if (Array.isArray(value)) return value.map((item) => withoutOptionalNulls(rules.items, item, root));
  if (!isObject(value)) return value;
  const properties = asObject(rules.properties) ?? {};
  const required = asArray(rules.required);
  const isDeclared = (name: string) => Object.hasOwn(properties, name);
  const isKept = ([name, part]: [string, unknown]) =>
    part !== null || required.includes(name) || !isDeclared(name) || fits(properties[name], null, root);
  const entries = Object.entries(value).filter(isKept);
  return Object.fromEntries(
    entries.map(([name, part]) => [
      name,
      isDeclared(name) ? withoutOptionalNulls(properties[name], part, root) : part,
    ]),
  );
}

function describe(issues: readonly Issue[]): string {
  const shown = issues
    .slice(0, 5)
    .map(({ path, message }) => (path.length === 0 ? `it ${message}` : `${path.join('.')}: ${message}`));
  const more = issues.length - shown.length;
  return shown.join('; ') + (more > 0 ? `; and ${more} more` : '');
}

/** Everything in which a value differs from a schema. Throws where the schema itself cannot be read. */
function issuesIn(schema: unknown, value: unknown, root: JsonObject, path: Path = []): Issue[] {
  if (schema === true) return [];
  if (schema === false) return [{ path, message: 'must not be there' }];
  if (!isObject(schema)) throw new Error('a schema must be a mapping');
  const types = [schema.type].flat();
  if (schema.type !== undefined && !types.some((type) => testOf(type)(value)))
    return [{ path, message: `must be ${types.join(' or ')}; found ${kindOf(value)}` }];
  const own = Object.entries(KEYWORDS).flatMap(([name, { of, wrong }]) => {
    if (!wrong || schema[name] === undefined || (of && !testOf(of)(value))) return [];
    const message = wrong(schema[name], value);
    return message ? [{ path, message }] : [];
  });
  return [
    ...own,
    ...(Array.isArray(value) ? entryIssues(schema, value, root, path) : []),
    ...(isObject(value) ? propertyIssues(schema, value, root, path) : []),
    ...composedIssues(schema, value, root, path),
  ];
}

function fits(schema: unknown, value: unknown, root: JsonObject): boolean {
  return issuesIn(schema, value, root).length === 0;
}

function testOf(type: unknown): (value: unknown) => boolean {
  const test = typeof type === 'string' && Object.hasOwn(TYPES, type) ? TYPES[type] : undefined;
  if (!test) throw new Error(`there is no type ${JSON.stringify(type)}`);
  return test;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function entryIssues(rules: JsonObject, list: readonly unknown[], root: JsonObject, path: Path): Issue[] {
  const found: Issue[] = [];
  if (rules.contains !== undefined) {
    const number = list.filter((item) => fits(rules.contains, item, root)).length;
    const [least, most] = [asNumber(rules.minContains) ?? 1, asNumber(rules.maxContains)];
    const say = (bound: string, limit: number) => {
      const message = `must have ${bound} ${plural(limit, 'entry', 'entries')} that fit "contains"; found ${number}`;
      found.push({ path, message });
    };
    if (number < least) say('at least', least);
    if (most !== undefined && number > most) say('at most', most);
  }
  const leading = asArray(rules.prefixItems);
  for (const [index, item] of list.entries()) {
    const part = index < leading.length ? leading[index] : rules.items;
    if (part !== undefined) found.push(...issuesIn(part, item, root, [...path, index]));
  }
  return found;
}

function propertyIssues(rules: JsonObject, object: JsonObject, root: JsonObject, path: Path): Issue[] {
  const missing = asArray(rules.required).filter(
    (name): name is string => typeof name === 'string' && !Object.hasOwn(object, name),
  );
  const found: Issue[] = missing.map((name) => ({ path: [...path, name], message: 'is missing' }));
  const properties = asObject(rules.properties) ?? {};
  const patterns = Object.entries(asObject(rules.patternProperties) ?? {});
  for (const name of Object.keys(object)) {
    const parts = patterns.filter(([pattern]) => new RegExp(pattern).test(name)).map(([, part]) => part);
    if (Object.hasOwn(properties, name)) parts.push(properties[name]);
    else if (parts.length === 0 && rules.additionalProperties !== undefined)
      parts.push(rules.additionalProperties);
    for (const part of parts) found.push(...issuesIn(part, object[name], root, [...path, name]));
    if (rules.propertyNames !== undefined && !fits(rules.propertyNames, name, root))
      found.push({ path: [...path, name], message: 'has a name that is not allowed' });
  }
  return found;
}

function composedIssues(rules: JsonObject, value: unknown, root: JsonObject, path: Path): Issue[] {
  const found: Issue[] = [];
  const issuesOf = (part: unknown) => issuesIn(part, value, root, path);
  if (typeof rules.$ref === 'string') {
    const part = referredSchema(root, rules.$ref);
    if (part === undefined) throw new Error(`"$ref" leads to no schema: ${rules.$ref}`);
    found.push(...issuesOf(part));
  }
  found.push(...asArray(rules.allOf).flatMap(issuesOf));
  for (const list of [rules.anyOf, rules.oneOf]) {
    if (!Array.isArray(list)) continue;
    const ways = list.map(issuesOf);
    const fitting = ways.filter((issues) => issues.length === 0).length;
    if (fitting === 0) found.push(noAlternativeFits(ways, path));
    if (fitting > 1 && list === rules.oneOf)
      found.push({ path, message: `fits ${fitting} ways of "oneOf" at once` });
  }
  return found;
}

/** The first issue of each way: it shows which way was meant. */
function noAlternativeFits(ways: readonly Issue[][], path: Path): Issue {
  const said = ways.flatMap(([issue]) => {
    if (!issue) return [];
    const below = issue.path.slice(path.length).join('.');
    return [below === '' ? issue.message : `${below} ${issue.message}`];
  });
  return { path, message: [...new Set(said)].join(', or ') || 'fits nothing that is allowed' };
}
