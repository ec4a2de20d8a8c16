import type { Json } from '../model/ticket.ts';

type Schema = { [key: string]: Json };

const MAX_DEPTH = 12;
const FAILURE = /^(fail|failed|failure|error|reject|rejected|abort|escalate|stop|no)$/i;

/** The smallest value that satisfies a JSON Schema, with the outcome a workflow hopes for. */
export function minimalInstance(schema: Schema): Json {
  return build(schema, schema, 0);
}

/** `nth`: which item of a list it is; items that choose among values take them in turn. */
function build(root: Schema, node: Json | undefined, depth: number, nth = 0): Json {
  if (!isSchema(node) || depth > MAX_DEPTH) return 'rehearsed';
  const schema = resolve(root, node);
  if (schema.const !== undefined) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[nth % schema.enum.length] ?? null;
  if (schema.default !== undefined) return schema.default;
  const [choice] = [schema.anyOf, schema.oneOf].flatMap((list) => (Array.isArray(list) ? [list[0]] : []));
  if (isSchema(choice)) return build(root, { ...without(schema, ['anyOf', 'oneOf']), ...choice }, depth + 1);
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  switch (type ?? (isSchema(schema.properties) ? 'object' : 'string')) {
    case 'object':
      return buildObject(root, schema, depth, nth);
    case 'array':
      return Array.from({ length: Number(schema.minItems ?? 0) }, (_, index) =>
        build(root, schema.items, depth + 1, index),
      );
    case 'boolean':
      return true;
    case 'null':
      return null;
    case 'integer':
    case 'number':
      return buildNumber(schema);
    default:
      return buildString(schema);
  }
}

function buildObject(root: Schema, schema: Schema, depth: number, nth: number): Json {
  const properties = isSchema(schema.properties) ? schema.properties : {};
  const wanted = Array.isArray(schema.required) ? schema.required.map(String) : [];
  if (properties.outcome !== undefined) wanted.unshift('outcome');
  const made: { [key: string]: Json } = {};
  for (const key of new Set(wanted)) {
    const part = build(root, properties[key], depth + 1, nth);
    made[key] = key === 'outcome' ? bestOutcome(root, properties[key], part) : part;
  }
  return made;
}

/** `success` or `pass` where there is one, else the first that does not sound like a failure. */
function bestOutcome(root: Schema, node: Json | undefined, fallback: Json): Json {
  const values = isSchema(node) ? resolve(root, node).enum : undefined;
  if (!Array.isArray(values)) return fallback;
  const wanted = ['success', 'pass'].find((name) => values.includes(name));
  return wanted ?? values.find((value) => !FAILURE.test(String(value))) ?? fallback;
}

/** Follows local references and folds `allOf` into one schema. */
function resolve(root: Schema, schema: Schema): Schema {
  let at = schema;
  for (let hops = 0; typeof at.$ref === 'string' && hops < MAX_DEPTH; hops++) {
    const target = lookUp(root, at.$ref);
    if (!isSchema(target)) break;
    at = { ...without(at, ['$ref']), ...target };
  }
  return Array.isArray(at.allOf) ? fold(root, at, at.allOf.filter(isSchema)) : at;
}

function fold(root: Schema, schema: Schema, parts: Schema[]): Schema {
  const all = without(schema, ['allOf']);
  for (const part of parts) {
    const { properties, required, ...rest } = resolve(root, part);
    Object.assign(all, rest);
    if (isSchema(properties)) all.properties = Object.assign({}, all.properties, properties);
    if (Array.isArray(required))
      all.required = (Array.isArray(all.required) ? all.required : []).concat(required);
  }
  return all;
}

function lookUp(root: Schema, ref: string): Json | undefined {
  if (!ref.startsWith('#')) return undefined;
  const keys = ref.slice(1).split('/').slice(1);
  return keys.reduce<Json | undefined>((at, key) => {
    const name = decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~');
    return isSchema(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  }, root);
}

function buildNumber(schema: Schema): number {
  const unit = Number(schema.multipleOf ?? 1);
  const least = Number(schema.minimum ?? schema.exclusiveMinimum ?? Math.min(0, Number(schema.maximum ?? 0)));
  const value = Math.ceil(least / unit) * unit;
  return schema.exclusiveMinimum !== undefined && value <= Number(schema.exclusiveMinimum)
    ? value + unit
    : value;
}

const FORMATS: Record<string, string> = {
  'date-time': '2000-01-01T00:00:00Z',
  date: '2000-01-01',
  time: '00:00:00Z',
  email: 'rehearsal@example.com',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
};

function buildString(schema: Schema): string {
  const text = FORMATS[String(schema.format)] ?? 'rehearsed';
  const long = text.padEnd(Number(schema.minLength ?? 0), '.');
  return schema.maxLength === undefined ? long : long.slice(0, Number(schema.maxLength));
}

function isSchema(value: Json | undefined): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function without(schema: Schema, keys: string[]): Schema {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => !keys.includes(key)));
}
