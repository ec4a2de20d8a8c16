import { z } from 'zod';
import { messageOf } from '../model/errors.ts';
import type { Json } from '../model/ticket.ts';
import { asList, asObject, type JsonObject } from './json.ts';

export type Validated = { ok: true; value: Json } | { ok: false; problem: string };

/** Checks a result against its JSON Schema. The value comes back as it was, save nulls that stand for "not given". */
export function validateResult(schema: JsonObject, value: unknown): Validated {
  if (value === undefined) return { ok: false, problem: 'there was no result' };
  const given = withoutOptionalNulls(schema, value);
  try {
    const parsed = compile(schema).safeParse(given);
    if (parsed.success) return { ok: true, value: given as Json };
    return { ok: false, problem: sayIssues(parsed.error.issues) };
  } catch (error) {
    return { ok: false, problem: `the schema cannot be used: ${messageOf(error)}` };
  }
}

/** Says why a schema cannot be used for results, or undefined when it can. */
export function schemaProblem(schema: JsonObject): string | undefined {
  if (schema.type !== 'object') return 'the result must be an object: set "type: object"';
  const problem = shapeProblem(schema, '');
  if (problem) return problem;
  try {
    compile(schema);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

// A registry of its own, so that an `id` in a user's schema never meets one seen before.
function compile(schema: JsonObject): z.ZodType {
  return z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0], { registry: z.registry() });
}

/** Finds parts that would be accepted but never checked: `properties` without a type, `required` of unknown names. */
function shapeProblem(value: unknown, path: string): string | undefined {
  const schema = asObject(value);
  if (!schema) return undefined;
  const where = path === '' ? 'the schema' : path;
  const types = Array.isArray(schema.type) ? schema.type : [schema.type];
  if (schema.properties !== undefined && !asObject(schema.properties))
    return `${where}: "properties" is not a map`;
  if (schema.properties !== undefined && !types.includes('object'))
    return `${where} has "properties" but not "type: object"`;
  if (schema.items !== undefined && !types.includes('array'))
    return `${where} has "items" but not "type: array"`;
  const properties = asObject(schema.properties) ?? {};
  for (const name of asList(schema.required))
    if (typeof name !== 'string' || !Object.hasOwn(properties, name))
      return `${where} requires ${JSON.stringify(name)}, which is not among its properties`;
  for (const [name, part] of subschemas(schema, path)) {
    const problem = shapeProblem(part, name);
    if (problem) return problem;
  }
  return undefined;
}

function subschemas(schema: JsonObject, path: string): [string, unknown][] {
  const at = (name: string) => (path === '' ? name : `${path}.${name}`);
  const found: [string, unknown][] = [];
  for (const [name, part] of Object.entries(asObject(schema.properties) ?? {})) found.push([at(name), part]);
  for (const [name, part] of Object.entries(asObject(schema.$defs) ?? {}))
    found.push([`$defs.${name}`, part]);
  for (const key of ['anyOf', 'oneOf', 'allOf'])
    for (const [index, part] of asList(schema[key]).entries()) found.push([at(`${key}[${index}]`), part]);
  if (asObject(schema.items)) found.push([at('items'), schema.items]);
  if (asObject(schema.additionalProperties)) found.push([at('*'), schema.additionalProperties]);
  return found;
}

/** Providers with strict schemas know no optional property: they send null for one that has no value. */
function withoutOptionalNulls(schema: unknown, value: unknown): unknown {
  const rules = asObject(schema);
  if (!rules) return value;
  if (Array.isArray(value)) return value.map((item) => withoutOptionalNulls(rules.items, item));
  const object = asObject(value);
  if (!object) return value;
  const properties = asObject(rules.properties) ?? {};
  const required = asList(rules.required);
  const entries = Object.entries(object)
    .filter(([name, part]) => part !== null || required.includes(name) || !refusesNull(properties, name))
    .map(([name, part]) => [
      name,
      Object.hasOwn(properties, name) ? withoutOptionalNulls(properties[name], part) : part,
    ]);
  return Object.fromEntries(entries);
}

function refusesNull(properties: JsonObject, name: string): boolean {
  if (!Object.hasOwn(properties, name)) return false;
  try {
    return !compile(properties[name] as JsonObject).safeParse(null).success;
  } catch {
    return false;
  }
}

function sayIssues(issues: readonly z.core.$ZodIssue[]): string {
  const shown = issues.slice(0, 5).map((issue) => {
    const path = issue.path.map(String).join('.');
    return path === '' ? issue.message : `${path}: ${issue.message}`;
  });
  const more = issues.length - shown.length;
  return shown.join('; ') + (more > 0 ? `; and ${more} more` : '');
}
