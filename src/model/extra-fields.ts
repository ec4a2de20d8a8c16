import { parseJson } from './text/parse-json-and-find-places.ts';
import { asArray, asRecord } from './text/values-of-unknown-type.ts';

/**
 * Holds the order of an object's keys in its file, and what people added to it themselves. Spreading the object keeps it;
 * JSON.stringify leaves it out. Not set where there is nothing extra and the keys are in the schema's order.
 */
const EXTRA = Symbol('extra fields');

interface Extra {
  /** All keys of the object as the file has them, so that the extra ones can go back to their places. */
  order: readonly string[];
  fields: Readonly<Fields>;
}

type Fields = { [key: string]: unknown; [EXTRA]?: Extra };

/** The fields of a plan, a ticket or an object inside one that no schema knows. */
export function extraFields(value: object): Readonly<Record<string, unknown>> {
  return (value as Fields)[EXTRA]?.fields ?? {};
}

/** Checks data by a schema, and keeps the fields that the schema does not know aside, at every level. */
export function parseKeepingExtra<T>(schema: { parse(data: unknown): T }, data: unknown): T {
  const raw = withExtra(data);
  return keepExtra(raw, schema.parse(raw));
}

/** The parsed value `known` of `raw`, with the fields that the schema does not know stored aside. */
export function keepExtra<T>(raw: unknown, known: T): T {
  return keep(raw, known) as T;
}

function keep(raw: unknown, known: unknown): unknown {
  if (Array.isArray(raw) && Array.isArray(known)) return known.map((each, index) => keep(raw[index], each));
  if (!isFields(raw) || !isFields(known)) return known;
  const result = mapValues(known, (each, key) => keep(raw[key], each));
  const order = Object.keys(raw).filter((key) => raw[key] !== undefined);
  const extra = order.filter((key) => !Object.hasOwn(known, key));
  const inOrder = Object.keys(result).filter((key) => raw[key] !== undefined);
  const isKept = extra.length === 0 && inOrder.every((key, index) => key === order[index]);
  return isKept ? result : withFieldsAside(result, order, raw, extra);
}

/** Stores the fields `extra` of `raw` in `known`. */
export function withFieldsAside<T extends object>(
  known: T,
  order: readonly string[],
  raw: Readonly<Record<string, unknown>>,
  extra: readonly string[],
): T {
  const fields = Object.fromEntries(extra.map((key) => [key, raw[key]]));
  (known as Fields)[EXTRA] = { order, fields };
  return known;
}

/**
 * As the file has it: all fields in their order, and the extra ones where people wrote them. What has nothing extra inside is not
 * copied: a plan of a thousand tickets has some ten thousand objects.
 */
export function withExtra(value: unknown): unknown {
  if (Array.isArray(value)) {
    const all = value.map(withExtra);
    return all.every((each, at) => each === value[at]) ? value : all;
  }
  if (!isFields(value)) return value;
  const entries = Object.keys(value).map((key) => [key, withExtra(value[key])] as const);
  const known = entries.every(([key, each]) => each === value[key]) ? value : Object.fromEntries(entries);
  const extra = value[EXTRA];
  if (!extra) return known;
  const all = { ...extra.fields, ...known };
  const placed = extra.order.filter((key) => Object.hasOwn(all, key));
  const rest = Object.keys(known).filter((key) => !extra.order.includes(key));
  return Object.fromEntries([...placed, ...rest].map((key) => [key, all[key]]));
}

/** The JSON text of something that may have plans or tickets in it. */
export function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(withExtra(value), null, indent);
}

/** A string, with the colon behind it if it is a key. */
const WORD = /"[^"\\]*(?:\\.[^"\\]*)*"(?:\s*:)?/g;
const NUMBER_KEY = /"(?:0|[1-9]\d*)"\s*:/;
const MARKED = /"\ue000number (\d+)":/g;

/**
 * A JSON text whose keys that are whole numbers are where `before` has them: JavaScript moves them to the front of their object.
 * `before` is called only if there are any.
 */
export function keepNumberKeys(text: string, before: () => string): string {
  if (!NUMBER_KEY.test(text)) return text;
  const ordered = inOrderOf(parseJson(markNumberKeys(before())), JSON.parse(markNumberKeys(text)));
  return JSON.stringify(ordered, null, 2).replace(MARKED, '"$1":');
}

function markNumberKeys(text: string): string {
  return text.replace(WORD, (word) => (NUMBER_KEY.test(word) ? `"\ue000number ${word.slice(1)}` : word));
}

function inOrderOf(before: unknown, now: unknown): unknown {
  if (Array.isArray(now)) return now.map((each, at) => inOrderOf(asArray(before)[at], each));
  if (!isFields(now)) return now;
  const known = asRecord(before);
  const keys = new Set([...Object.keys(known), ...Object.keys(now)]);
  const placed = [...keys].filter((key) => Object.hasOwn(now, key));
  return Object.fromEntries(placed.map((key) => [key, inOrderOf(known[key], now[key])]));
}

function mapValues(fields: Fields, change: (value: unknown, key: string) => unknown): Fields {
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, change(value, key)]));
}

/** Plain objects only: others, such as a Map or an Error, are as they are. */
function isFields(value: unknown): value is Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Of plan and ticket files; newer ones are refused. */
export const SCHEMA_VERSION = 1;
