import planSchema from '../../schemas/plan.schema.json' with { type: 'json' };
import ticketSchema from '../../schemas/ticket.schema.json' with { type: 'json' };
import { setAside } from '../model/extra-fields.ts';
import { BRANCH_PATTERN, branchProblem, ID_PATTERN, idProblem } from '../model/ids.ts';
import type { Plan } from '../model/plan.ts';
import type { Ticket } from '../model/ticket.ts';

type Data = Record<string, unknown>;
type Schema = Readonly<Data>;

/** Checks a value, and returns it with its defaults and with extra fields set aside. `NO`: ask the zod schema. */
type Read = (value: unknown) => unknown;
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
  if (schema.$ref !== undefined) return when(isJson);
  if (Array.isArray(schema.anyOf)) return anyOf(schema.anyOf.map(compile));
  if (Array.isArray(schema.type)) return anyOf(schema.type.map((type) => compile({ ...schema, type })));
  if (schema.enum) return when((value) => (schema.enum as unknown[]).includes(value));
  if ('const' in schema) return when((value) => value === schema.const);
  switch (schema.type) {
    case 'object':
      return schema.additionalProperties ? record(schema) : object(schema);
    case 'array':
      return array(compile(schema.items as Schema));
    case 'string':
      return when(textCheck(schema.pattern));
    case 'integer':
    case 'number':
      return when(numberCheck(schema));
    case 'boolean':
      return when((value) => typeof value === 'boolean');
    case 'null':
      return when((value) => value === null);
    default:
      return Object.keys(schema).length === 0 ? (value) => value : never;
  }
}

function when(fits: (value: unknown) => boolean): Read {
  return (value) => (fits(value) ? value : NO);
}

function anyOf([first = never, ...rest]: Read[]): Read {
  return (value) => {
    let found = first(value);
    for (const read of rest) if (found === NO) found = read(value);
    return found;
  };
}

function isJson(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return typeof value !== 'number' || Number.isFinite(value);
  return Array.isArray(value) ? value.every(isJson) : isObject(value) && Object.values(value).every(isJson);
}

function textCheck(pattern: unknown): (value: unknown) => boolean {
  if (pattern === undefined) return (value) => typeof value === 'string';
  const problem = { [ID_PATTERN]: idProblem, [BRANCH_PATTERN]: branchProblem }[String(pattern)];
  return (value) => typeof value === 'string' && problem !== undefined && problem(value) === undefined;
}

function numberCheck({ type, minimum = -Infinity, exclusiveMinimum = -Infinity }: Schema) {
  const isOne = type === 'integer' ? Number.isSafeInteger : Number.isFinite;
  const [least, above] = [Number(minimum), Number(exclusiveMinimum)];
  return (value: unknown) => isOne(value) && (value as number) >= least && (value as number) > above;
}

function array(read: Read): Read {
  return (value) => {
    if (!Array.isArray(value)) return NO;
    const found = value.map(read);
    return found.includes(NO) ? NO : found;
  };
}

function record(schema: Schema): Read {
  const read = compile(schema.additionalProperties as Schema);
  const isKey = compile((schema.propertyNames ?? {}) as Schema);
  return (value) => {
    if (!isObject(value)) return NO;
    const found = Object.entries(value).map(
      ([key, each]) => [key, isKey(key) === NO ? NO : read(each)] as const,
    );
    return found.some(([, each]) => each === NO) ? NO : Object.fromEntries(found);
  };
}

function object(schema: Schema): Read {
  const required = (schema.required ?? []) as string[];
  const properties = Object.entries(schema.properties as Record<string, Schema>);
  const fields = new Map(properties.map(([key, field]) => [key, compile(field)]));
  const presets = properties.filter(([key, field]) => field.default !== undefined || required.includes(key));
  // V8 makes objects slow to which many keys are added one by one, but not those that it reads from JSON.
  const template: Data = JSON.parse(
    JSON.stringify(Object.fromEntries(presets.map(([key, field]) => [key, field.default ?? null]))),
  );
  const inside = presets.filter(([, field]) => typeof field.default === 'object' && field.default !== null);
  return (value) => {
    if (!isObject(value)) return NO;
    const result: Data = Object.assign({ ...template }, value);
    let hasExtra = false;
    for (const key in value) {
      const read = fields.get(key);
      const field = read?.(value[key]);
      if (field === NO) return NO;
      if (!read) hasExtra = true;
      else if (field !== value[key]) result[key] = field;
    }
    for (const key of required) if (value[key] === undefined) return NO;
    for (const [key] of inside) if (value[key] === undefined) result[key] = fields.get(key)?.(template[key]);
    if (!hasExtra) return result;
    return schema.additionalProperties === false ? NO : withoutExtra(result, value, fields);
  };
}

function withoutExtra(result: Data, value: Data, known: ReadonlyMap<string, unknown>): Data {
  const own = Object.entries(result).filter(([key]) => known.has(key));
  const order = Object.keys(value);
  return setAside(
    Object.fromEntries(own),
    order,
    value,
    order.filter((key) => !known.has(key)),
  );
}

/** Data of ours has no `__proto__`; what becomes of it is for the zod schema to say. */
function isObject(value: unknown): value is Data {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !Object.hasOwn(value, '__proto__')
  );
}
