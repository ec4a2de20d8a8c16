import { maskedUrl } from '../model/text/find-and-redact-secrets.ts';
import { valueAt } from './describe-schema-problems.ts';
import { ROWS, type Settings, variableOf } from './settings-table.ts';
import { allowed, isScalar, KEYS, type Kind, TEXT_KINDS } from './value-kinds.ts';

type JsonSchema = Record<string, unknown>;

/** JSON Schema of the config file, for editors. */
export function settingsJsonSchema(): JsonSchema {
  const properties: Record<string, JsonSchema> = {
    $schema: { type: 'string', description: 'Where this schema is, for editors.' },
    version: { const: 1, description: 'Version of the file’s form.' },
  };
  for (const row of ROWS) {
    const schema = { ...kindSchema(row.kind), description: row.about, default: row.default };
    place(properties, row.key.split('.'), schema);
  }
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Signalbox settings',
    type: 'object',
    properties,
    additionalProperties: false,
  };
}

function place(
  properties: Record<string, JsonSchema>,
  [name = '', ...below]: string[],
  schema: JsonSchema,
): void {
  if (below.length === 0) {
    properties[name] = schema;
    return;
  }
  const inner = { ...(properties[name]?.properties as Record<string, JsonSchema> | undefined) };
  place(inner, below, schema);
  properties[name] = { type: ['object', 'null'], properties: inner, additionalProperties: false };
}

function kindSchema(kind: Kind): JsonSchema {
  switch (kind.is) {
    case 'boolean':
      return { type: 'boolean' };
    case 'choice':
      return { enum: [...kind.of] };
    case 'whole':
      return { type: 'integer', minimum: kind.min, maximum: kind.max };
    case 'number':
      return { type: 'number', exclusiveMinimum: kind.above, minimum: kind.min, maximum: kind.max };
    case 'list':
      return { type: 'array', items: kindSchema(kind.of) };
    case 'record':
      return {
        type: ['object', 'null'],
        propertyNames: { pattern: KEYS[kind.keys].pattern },
        additionalProperties: kindSchema(kind.of),
      };
    case 'object': {
      const fields = Object.entries(kind.fields);
      const required = fields.flatMap(([name, field]) => (field.required ? [name] : []));
      return {
        // An empty value cannot have what is required.
        type: required.length > 0 ? 'object' : ['object', 'null'],
        properties: Object.fromEntries(
          fields.map(([name, field]) => [name, { ...kindSchema(field.kind), description: field.about }]),
        ),
        ...(required.length > 0 ? { required } : {}),
        additionalProperties: false,
      };
    }
    case 'maybe':
      return { anyOf: [kindSchema(kind.of), { type: 'null' }] };
    default:
      return { type: 'string', ...TEXT_KINDS[kind.is].schema };
  }
}

/** What the docs say about every setting. */
export function settingsDocRows() {
  return ROWS.map((row) => ({
    key: row.key,
    allowed: allowed(row.kind),
    /** As JSON. */
    default: JSON.stringify(row.default),
    variable: isScalar(row.kind) ? variableOf(row.key) : null,
    about: row.about,
    /** Of records and lists of objects: what an entry may have. */
    fields: fieldRows(row),
  }));
}

function fieldRows({ key, kind }: { key: string; kind: Kind }) {
  if ((kind.is !== 'record' && kind.is !== 'list') || kind.of.is !== 'object') return [];
  const entry = kind.is === 'list' ? '[]' : kind.keys === 'phase' ? '.<phase>' : '.<name>';
  return Object.entries(kind.of.fields).map(([name, field]) => ({
    path: `${key}${entry}.${name}`,
    allowed: allowed(field.kind),
    about: field.about,
  }));
}

interface ListedSetting {
  key: string;
  value: unknown;
  origin: string;
}

const MASK = '***';

/** Every setting in the table's order, records entry by entry, values of variables and addresses masked. */
export function listSettings(settings: Settings): ListedSetting[] {
  const origin = (key: string) => settings.origin[key] ?? 'default';
  return ROWS.flatMap(({ key, kind }): ListedSetting[] => {
    const value = valueAt(settings, key.split('.'));
    const entries = kind.is === 'record' ? Object.entries(value as Record<string, RecordEntry | string>) : [];
    const secret = kind.is === 'maybe' && kind.of.is === 'url' && typeof value === 'string';
    if (secret) return [{ key, value: maskedUrl(value), origin: origin(key) }];
    if (entries.length === 0) return [{ key, value, origin: origin(key) }];
    return entries.map(([name, entry]) => ({
      key: `${key}.${name}`,
      value: masked(entry),
      origin: origin(`${key}.${name}`),
    }));
  });
}

interface RecordEntry {
  name?: string;
  env?: object;
}

/** Values of variables may be keys. The name of the entry is in the row already. */
function masked(entry: RecordEntry | string): unknown {
  if (typeof entry === 'string') return entry;
  const { name: _name, env, ...rest } = entry;
  if (env === undefined) return rest;
  return { ...rest, env: Object.fromEntries(Object.keys(env).map((name) => [name, MASK])) };
}
