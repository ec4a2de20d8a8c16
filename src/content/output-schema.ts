import { z } from 'zod';
import type { Path } from '../config/yaml-source.ts';
import { messageOf } from '../model/errors.ts';

type Schema = Record<string, unknown>;

/** Says why the JSON Schema of a result cannot be used and where, or undefined when it can. */
export function outputProblem(schema: Schema): { path: Path; message: string } | undefined {
  if (schema.type !== 'object')
    return { path: [], message: 'A result must be an object: write "type: object".' };
  const problem = shapeProblem(schema, []);
  if (problem) return problem;
  try {
    z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0], { registry: z.registry() });
    return undefined;
  } catch (error) {
    return { path: [], message: `The schema cannot be used: ${messageOf(error)}.` };
  }
}

const MAY_BE_NULL = new Set(['const', 'default']);

/** Finds what would be accepted and never checked. */
function shapeProblem(schema: unknown, path: Path): { path: Path; message: string } | undefined {
  if (!isObject(schema)) return { path, message: 'A schema must be a mapping.' };
  // `description: Why, in short` in braces is a description and a keyword without a value.
  const empty = Object.keys(schema).find((key) => schema[key] === null && !MAY_BE_NULL.has(key));
  if (empty !== undefined)
    return { path: [...path, empty], message: `"${empty}" has no value; quote text that has commas in it.` };
  const types = [schema.type].flat();
  const { properties, required, items } = schema;
  if (properties !== undefined && !isObject(properties)) {
    return { path: [...path, 'properties'], message: '"properties" must be a mapping by name.' };
  }
  if (properties !== undefined && !types.includes('object')) {
    return { path, message: 'A schema with "properties" needs "type: object".' };
  }
  if (items !== undefined && !types.includes('array')) {
    return { path, message: 'A schema with "items" needs "type: array".' };
  }
  if (required !== undefined && !Array.isArray(required)) {
    return { path: [...path, 'required'], message: '"required" must be a list of property names.' };
  }
  const missing = (required ?? []).findIndex((name) => !Object.hasOwn(properties ?? {}, String(name)));
  if (missing >= 0) {
    const message = `"${String(required?.[missing])}" is required but not among the properties.`;
    return { path: [...path, 'required', missing], message };
  }
  for (const [name, part] of Object.entries(properties ?? {})) {
    const problem = shapeProblem(part, [...path, 'properties', name]);
    if (problem) return problem;
  }
  return isObject(items) ? shapeProblem(items, [...path, 'items']) : undefined;
}

/** Does the schema know a field such as `summary` or `findings.0.file`? */
export function hasField(schema: unknown, field: string): boolean {
  let here: unknown = schema;
  for (const part of field.split('.')) {
    if (!isObject(here)) return false;
    here =
      isObject(here.properties) && Object.hasOwn(here.properties, part)
        ? here.properties[part]
        : /^\d+$/.test(part)
          ? here.items
          : undefined;
  }
  return here !== undefined;
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
