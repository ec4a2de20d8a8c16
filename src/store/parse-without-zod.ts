import planSchema from '../../schemas/plan.schema.json' with { type: 'json' };
import ticketSchema from '../../schemas/ticket.schema.json' with { type: 'json' };
import { withFieldsAside } from '../model/extra-fields.ts';
import { BRANCH_PATTERN, branchProblem, ID_PATTERN, idProblem } from '../model/ids-and-branch-names.ts';
import type { Plan } from '../model/plan.ts';
import type { Ticket } from '../model/ticket.ts';

type Data = Record<string, unknown>;
type Schema = Readonly<Data>;

/** Checks a value, and returns it with its defaults and with extra fields set aside. `NO`: ask the zod schema. */
type Read = (value: unknown) => unknown;
/** A field of an object; `place`: among the keys of the template, behind them for others. */
interface Field {
  read: Read;
  place: number;
}
const NO = Symbol('not plain');
const never: Read = () => NO;

/**
 * Reads a ticket that is plainly well-formed, some twenty times faster than its zod schema and without loading zod: people
 * notice that in `status` of a thousand tickets. The checks come from the JSON Schemas that `npm run generate` makes of the
 * zod schemas. Undefined means no more than "ask the zod schema".
 */
export function quickTicket(data: unknown): Ticket | undefined {
  if (!isObject(data)) return undefined;
  return read('ticket', data.unit !== undefined ? 0 : data.source !== undefined ? 1 : 2, data);
}

export function quickPlan(data: unknown): Plan | undefined {
  if (!isObject(data)) return undefined;
  return read('plan', [undefined, 'run', 'spec'].indexOf(data.kind as string | undefined), data);
}

/** What agents of deleted tickets used, as it is stored; what cannot be read is left out. */
export function parseUsage(text: string): Ticket[] {
  const all: unknown = JSON.parse(text);
  return Array.isArray(all) ? all.flatMap((each) => quickTicket(each) ?? []) : [];
}

export function serializeUsage(all: readonly object[]): string {
  const lines = new Set(all.map((each) => JSON.stringify(each)));
  return `[\n${[...lines].join(',\n')}\n]\n`;
}

/** A schema as `jsonSchemas` makes it of a union: what all members have, and what each of them adds. */
interface Union extends Member {
  anyOf?: Member[];
}

interface Member {
  properties: Readonly<Record<string, Schema | undefined>>;
  required: string[];
}

const SCHEMAS: Readonly<Record<'plan' | 'ticket', Union>> = { plan: planSchema, ticket: ticketSchema };
const readers: Record<keyof typeof SCHEMAS, Read[]> = { plan: [], ticket: [] };

function read<T>(name: keyof typeof SCHEMAS, member: number, data: Data): T | undefined {
  readers[name][member] ??= memberReader(SCHEMAS[name], member);
  const found = readers[name][member](data);
  return found === NO ? undefined : (found as T);
}

function memberReader({ properties, required, anyOf = [] }: Union, member: number): Read {
  const more = anyOf[member];
  if (!more) return never;
  return object({
    properties: { ...properties, ...more.properties },
    required: [...required, ...more.required],
  });
}

function compile(schema: Schema): Read {
  // Only the schema of any JSON value has a name.
  if (schema.$ref !== undefined) return json;
  if (Array.isArray(schema.anyOf)) return orNull(schema.anyOf);
  if (Array.isArray(schema.type)) return orNull(schema.type.map((type) => ({ ...schema, type })));
  if (schema.enum) return when((value) => (schema.enum as unknown[]).includes(value));
  if ('const' in schema) return when((value) => value === schema.const);
  switch (schema.type) {
    case 'object':
      return schema.additionalProperties ? record(schema) : object(schema);
    case 'array':
      return array(compile(schema.items as Schema));
    case 'string':
      return schema.pattern === undefined ? text : patterned(String(schema.pattern));
    case 'integer':
    case 'number':
      return when(numberCheck(schema));
    case 'boolean':
      return when((value) => typeof value === 'boolean');
    case 'null':
      return when((value) => value === null);
    default:
      return Object.keys(schema).length === 0 ? json : never;
  }
}

function when(fits: (value: unknown) => boolean): Read {
  return (value) => (fits(value) ? value : NO);
}

/** The only unions inside these objects are of something and null. */
function orNull([schema, none]: Schema[]): Read {
  if (!schema || none?.type !== 'null') return never;
  const read = compile(schema);
  return (value) => (value === null ? null : read(value));
}

/** Deeper values are left to the zod schema: only before that is a text searched for nesting that overflows the stack. */
const MAX_LEVELS = 50;

function isJson(value: unknown, levels = MAX_LEVELS): boolean {
  if (typeof value !== 'object' || value === null) return typeof value !== 'number' || Number.isFinite(value);
  if (levels === 0 || !(Array.isArray(value) || isObject(value))) return false;
  return Object.values(value).every((each) => isJson(each, levels - 1));
}

const json: Read = (value) => (isJson(value) ? value : NO);
const text: Read = (value) => (typeof value === 'string' ? value : NO);

function patterned(pattern: string): Read {
  const problem = { [ID_PATTERN]: idProblem, [BRANCH_PATTERN]: branchProblem }[pattern];
  if (!problem) return never;
  return (value) => (typeof value === 'string' && problem(value) === undefined ? value : NO);
}

function numberCheck({ type, minimum = -Infinity, exclusiveMinimum = -Infinity }: Schema) {
  const isOne = type === 'integer' ? Number.isSafeInteger : Number.isFinite;
  const [least, above] = [Number(minimum), Number(exclusiveMinimum)];
  return (value: unknown) => isOne(value) && (value as number) >= least && (value as number) > above;
}

function array(read: Read): Read {
  return (value) => {
    if (!Array.isArray(value)) return NO;
    if (value.length === 0) return [];
    const found = value.map(read);
    return found.includes(NO) ? NO : found;
  };
}

function record(schema: Schema): Read {
  const read = compile(schema.additionalProperties as Schema);
  const isKey = compile((schema.propertyNames ?? {}) as Schema);
  return (value) => {
    if (!isObject(value)) return NO;
    const found: Data = {};
    for (const key of Object.keys(value)) {
      found[key] = isKey(key) === NO ? NO : read(value[key]);
      if (found[key] === NO) return NO;
    }
    return found;
  };
}

function object(schema: Schema): Read {
  const required = (schema.required ?? []) as string[];
  const properties = Object.entries(schema.properties as Record<string, Schema>);
  const presets = properties.filter(([key, field]) => field.default !== undefined || required.includes(key));
  // V8 makes objects slow to which many keys are added one by one, but not those that it reads from JSON.
  const template: Data = JSON.parse(JSON.stringify(mapValues(presets, (field) => field.default ?? null)));
  const placed = Object.keys(template);
  const fields: Record<string, Field | undefined> = Object.create(null);
  for (const [key, field] of properties) {
    const place = placed.indexOf(key);
    fields[key] = { read: compile(field), place: place < 0 ? placed.length : place };
  }
  // Defaults are shared by all objects that leave the field out, so they must not be changed.
  for (const key of placed)
    if (template[key] instanceof Object) template[key] = Object.freeze(fields[key]?.read(template[key]));
  // Counting loops, because this runs a thousand times before V8 compiles it, and `for … of` is slow until then.
  return (value) => {
    if (!isObject(value)) return NO;
    const result = { ...template };
    const keys = Object.keys(value);
    let hasExtra = false;
    // Keys of the template come first in the result, in their order, and the others as they are written.
    let before = -1;
    let inOrder = true;
    for (let at = 0; at < keys.length; at += 1) {
      const key = keys[at] as string;
      const field = fields[key];
      if (field) {
        const found = field.read(value[key]);
        if (found === NO) return NO;
        result[key] = found;
        inOrder &&= field.place >= before;
        before = field.place;
      } else hasExtra = true;
    }
    for (let at = 0; at < required.length; at += 1)
      if (value[required[at] as string] === undefined) return NO;
    if (!hasExtra && inOrder) return result;
    if (hasExtra && schema.additionalProperties === false) return NO;
    const extra = hasExtra ? keys.filter((key) => !fields[key]) : [];
    return extra.every((key) => isJson(value[key])) ? withFieldsAside(result, keys, value, extra) : NO;
  };
}

function mapValues(entries: [string, Schema][], change: (field: Schema) => unknown): Data {
  return Object.fromEntries(entries.map(([key, field]) => [key, change(field)]));
}

/** Whether it is a plain object. One with `__proto__` is left to the zod schema. */
function isObject(value: unknown): value is Data {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !Object.hasOwn(value, '__proto__')
  );
}
