import { asList, asObject, type JsonObject } from '../reading/json.ts';

const LISTS = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
const MAPS = ['$defs', 'definitions'];

/**
 * The same schema in the strict form the provider asks for: closed objects with every property required, and
 * null allowed where one was optional. The check of the result reads such a null as "not given".
 */
export function strictSchema(schema: JsonObject): JsonObject {
  return closed(schema) as JsonObject;
}

function closed(value: unknown): unknown {
  const schema = asObject(value);
  if (!schema) return value;
  const strict: JsonObject = { ...schema };
  for (const key of LISTS) if (Array.isArray(schema[key])) strict[key] = schema[key].map(closed);
  for (const key of MAPS) {
    const map = asObject(schema[key]);
    if (map) strict[key] = mapValues(map, closed);
  }
  if (schema.items !== undefined) strict.items = closed(schema.items);
  const properties = asObject(schema.properties);
  if (properties) {
    const required = asList(schema.required);
    strict.properties = mapValues(properties, (part, name) =>
      required.includes(name) ? closed(part) : orNull(closed(part)),
    );
    strict.required = Object.keys(properties);
  }
  const isObject = schema.type === 'object' || (Array.isArray(schema.type) && schema.type.includes('object'));
  if (isObject && schema.additionalProperties === undefined) strict.additionalProperties = false;
  return strict;
}

function orNull(value: unknown): unknown {
  const schema = asObject(value);
  const types = Array.isArray(schema?.type) ? schema.type : [schema?.type];
  return types.includes('null') ? value : { anyOf: [value, { type: 'null' }] };
}

function mapValues(map: JsonObject, fn: (value: unknown, name: string) => unknown): JsonObject {
  return Object.fromEntries(Object.entries(map).map(([name, value]) => [name, fn(value, name)]));
}
