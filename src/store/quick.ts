import planSchema from '../../schemas/plan.schema.json' with { type: 'json' };
import ticketSchema from '../../schemas/ticket.schema.json' with { type: 'json' };
import { setAside } from '../model/extra-fields.ts';
import { BRANCH_PATTERN, branchProblem, ID_PATTERN, idProblem } from '../model/ids.ts';
import type { Plan } from '../model/plan.ts';
import type { Ticket } from '../model/ticket.ts';

type Data = Record<string, unknown>;
type Schema = Readonly<Data>;

/** A check of one value, and what completes it: defaults, and extra fields set aside. */
interface Reader {
  fits(value: unknown): boolean;
  complete?: ((value: never) => unknown) | undefined;
}

/**
 * Reads a ticket that is plainly well-formed, some twenty times faster than its zod schema and without loading zod: people
 * notice that in `status` of a thousand tickets. The checks come from the JSON Schemas that `npm run generate` makes of the
 * zod schemas. Undefined means no more than "ask the zod schema".
 */
export function quickTicket(data: unknown): Ticket | undefined {
  if (!isObject(data)) return undefined;
  const kind = data.unit !== undefined ? 0 : data.source !== undefined ? 1 : 2;
  return read('ticket', kind, data) as Ticket | undefined;
}

export function quickPlan(data: unknown): Plan | undefined {
  if (!isObject(data)) return undefined;
  const kind = [undefined, 'run', 'spec'].indexOf(data.kind as string | undefined);
  return kind < 0 ? undefined : (read('plan', kind, data) as Plan | undefined);
}

const SCHEMAS: Readonly<Record<'plan' | 'ticket', Union>> = { plan: planSchema, ticket: ticketSchema };
const readers: Record<keyof typeof SCHEMAS, Reader[]> = { plan: [], ticket: [] };

/** `member`: which of the forms that the schema has. */
function read(name: keyof typeof SCHEMAS, member: number, data: Data): unknown {
  readers[name][member] ??= readerOf(name, member);
  const reader = readers[name][member];
  return reader.fits(data) ? (reader.complete?.(data as never) ?? data) : undefined;
}

function readerOf(name: keyof typeof SCHEMAS, member: number): Reader {
  const { properties, required, anyOf = [], $defs = {} }: Union = SCHEMAS[name];
  const more = anyOf[member];
  if (!more) return NEVER;
  const all = {
    properties: { ...properties, ...more.properties },
    required: [...required, ...more.required],
  };
  return object(all, { defs: $defs, known: new Map() });
}

/** A schema as `jsonSchemas` makes it of a union: what all members have, and what each of them adds. */
interface Union extends Member {
  anyOf?: Member[];
  $defs?: Named['defs'];
}

interface Member {
  properties: Readonly<Record<string, Schema | undefined>>;
  required: string[];
}

interface Named {
  defs: Readonly<Record<string, Schema>>;
  known: Map<string, Reader>;
}

const NEVER: Reader = { fits: () => false };

function compile(schema: Schema, named: Named): Reader {
  if (typeof schema.$ref === 'string') return compileNamed(schema.$ref.replace('#/$defs/', ''), named);
  if (Array.isArray(schema.anyOf)) return anyOf(schema.anyOf.map((each: Schema) => compile(each, named)));
  if (Array.isArray(schema.type))
    return anyOf(schema.type.map((type) => compile({ ...schema, type }, named)));
  if (schema.enum) return { fits: (value) => (schema.enum as unknown[]).includes(value) };
  if ('const' in schema) return { fits: (value) => value === schema.const };
  switch (schema.type) {
    case 'object':
      return schema.additionalProperties ? record(schema, named) : object(schema, named);
    case 'array':
      return array(compile(schema.items as Schema, named));
    case 'string':
      return { fits: text(schema.pattern) };
    case 'integer':
    case 'number':
      return { fits: number(schema) };
    case 'boolean':
      return { fits: (value) => typeof value === 'boolean' };
    case 'null':
      return { fits: (value) => value === null };
    default:
      return Object.keys(schema).length === 0 ? { fits: () => true } : NEVER;
  }
}

/** A schema that refers to itself has nothing to complete: it is that of any JSON value. */
function compileNamed(name: string, named: Named): Reader {
  const known = named.known.get(name);
  if (known) return known;
  const reader: Reader = { fits: (value) => compiled.fits(value) };
  named.known.set(name, reader);
  const compiled = compile(named.defs[name] ?? {}, named);
  reader.complete = compiled.complete;
  return reader;
}

/** Only one of them may complete something: then whether it is meant shows in that the value is an object or a list. */
function anyOf(readers: Reader[]): Reader {
  const [completer, another] = readers.filter(({ complete }) => complete);
  if (another) return NEVER;
  return {
    fits: (value) => readers.some((reader) => reader.fits(value)),
    complete: completer?.complete && ((value: never) => (value ? completer.complete?.(value) : value)),
  };
}

function text(pattern: unknown): Reader['fits'] {
  if (pattern === undefined) return (value) => typeof value === 'string';
  const problem = { [ID_PATTERN]: idProblem, [BRANCH_PATTERN]: branchProblem }[String(pattern)];
  return (value) => typeof value === 'string' && problem !== undefined && problem(value) === undefined;
}

function number({ type, minimum = -Infinity, exclusiveMinimum = -Infinity }: Schema): Reader['fits'] {
  const isOne = type === 'integer' ? Number.isSafeInteger : Number.isFinite;
  const [least, above] = [Number(minimum), Number(exclusiveMinimum)];
  return (value) => isOne(value) && (value as number) >= least && (value as number) > above;
}

function array({ fits, complete }: Reader): Reader {
  return {
    fits: (value) => Array.isArray(value) && value.every(fits),
    complete: complete && ((value: never[]) => value.map(complete)),
  };
}

function record(schema: Schema, named: Named): Reader {
  const { fits, complete } = compile(schema.additionalProperties as Schema, named);
  const isKey = compile((schema.propertyNames ?? {}) as Schema, named).fits;
  return {
    fits: (value) =>
      isObject(value) && Object.entries(value).every(([key, each]) => isKey(key) && fits(each)),
    complete:
      complete &&
      ((value: Data) =>
        Object.fromEntries(Object.entries(value).map(([key, each]) => [key, complete(each as never)]))),
  };
}

function object(schema: Schema, named: Named): Reader {
  const required = new Set((schema.required ?? []) as string[]);
  const fields = Object.entries(schema.properties as Record<string, Schema>).map(([key, field]) => {
    const { fits, complete } = compile(field, named);
    return { key, fits, complete, required: required.has(key), preset: field.default };
  });
  const known = new Set(fields.map(({ key }) => key));
  const isClosed = schema.additionalProperties === false;
  // All keys at once: objects to which many are added one by one become slow.
  const preset = fields.filter((field) => field.required || field.preset !== undefined);
  const template: Data = Object.fromEntries(preset.map((field) => [field.key, field.preset]));
  const hasPresets = fields.some((field) => field.preset !== undefined);
  const fresh = fields.filter((field) => typeof field.preset === 'object' && field.preset !== null);
  const inside = fields.filter((field) => field.complete);
  const fill = (value: Data): Data => {
    if (!hasPresets && inside.length === 0) return value;
    const result: Data = hasPresets ? Object.assign({ ...template }, value) : { ...value };
    for (const { key, preset } of fresh)
      if (value[key] === undefined)
        result[key] = Array.isArray(preset) ? [...preset] : { ...(preset as Data) };
    for (const { key, complete } of inside) {
      const field = result[key];
      if (typeof field === 'object' && field !== null) result[key] = complete?.(field as never);
    }
    return result;
  };
  return {
    fits(value) {
      if (!isObject(value)) return false;
      for (const { key, fits, required } of fields) {
        const field = value[key];
        if (field === undefined ? required : !fits(field)) return false;
      }
      return !isClosed || Object.keys(value).every((key) => known.has(key));
    },
    complete(value: Data) {
      let hasExtra = false;
      for (const key in value) hasExtra ||= !known.has(key);
      if (!hasExtra) return fill(value);
      const order = Object.keys(value);
      const own = Object.fromEntries(Object.entries(value).filter(([key]) => known.has(key)));
      const extra = order.filter((key) => !known.has(key));
      return setAside({ ...fill(own) }, order, value, extra);
    },
  };
}

/** Data of ours has no `__proto__`; what becomes of it is for the zod schema to say. */
function isObject(value: unknown): value is Data {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !Object.hasOwn(value, '__proto__')
  );
}
