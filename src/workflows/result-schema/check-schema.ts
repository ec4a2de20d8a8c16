import type { Finding, Path } from '../../config/parse-yaml-and-place-problems.ts';
import { didYouMean } from '../../model/text/nearest-word.ts';
import { isObject, type JsonObject } from '../../model/text/values-of-unknown-type.ts';
import { isRegExp, KEYWORDS, referredSchema } from './keywords.ts';

/** What holds for a part because the schema around it says so. */
interface Around {
  root: JsonObject;
  types: readonly unknown[];
  properties: readonly string[];
}

/** Says why the JSON Schema of a result cannot be used and where, or undefined when all of it will be enforced. */
export function outputProblem(schema: JsonObject): Finding | undefined {
  if (schema.type !== 'object')
    return { path: [], message: 'A result must be an object: write "type: object".' };
  return problemIn(schema, [], { root: schema, types: [], properties: [] });
}

const MAY_BE_NULL = new Set(['const', 'default']);

/** Finds what would be accepted and never checked. */
function problemIn(schema: unknown, path: Path, around: Around): Finding | undefined {
  if (!isObject(schema)) return { path, message: 'A schema must be a mapping.' };
  const types = schema.type === undefined ? around.types : [schema.type].flat();
  const own = isObject(schema.properties) ? Object.keys(schema.properties) : [];
  const inside = { root: around.root, types, properties: [...around.properties, ...own] };
  for (const [key, value] of Object.entries(schema)) {
    const at: Path = [...path, key];
    // `description: Why, in short` in braces is a description and a keyword without a value.
    if (value === null && !MAY_BE_NULL.has(key))
      return { path: at, message: `"${key}" has no value; quote text that has commas in it.` };
    const keyword = keywordOf(key, path);
    if (keyword?.of && !hasType(types, keyword.of))
      return { path, message: `A schema with "${key}" needs "type: ${keyword.of}".` };
    if (/^(min|max)Contains$/.test(key) && schema.contains === undefined)
      return { path: at, on: 'key', message: `"${key}" needs "contains".` };
    const problem = keyword?.holds
      ? partsProblem(key, value, at, inside)
      : valueProblem(key, value, at, inside);
    if (problem) return problem;
  }
  return refProblem(schema, path, around.root);
}

/** `path` is that of the schema. */
function keywordOf(name: string, path: Path) {
  const keyword = Object.hasOwn(KEYWORDS, name) ? KEYWORDS[name] : undefined;
  return keyword?.top && path.length > 0 ? undefined : keyword;
}

function hasType(types: readonly unknown[], type: string): boolean {
  return types.includes(type) || (type === 'number' && types.includes('integer'));
}

function valueProblem(key: string, value: unknown, path: Path, around: Around): Finding | undefined {
  const kind = keywordOf(key, path.slice(0, -1))?.value;
  if (!kind) {
    const message = `"${key}" cannot be enforced.${didYouMean(key, Object.keys(KEYWORDS))}`;
    const hint = 'Everything in the schema of a result is enforced; delete what cannot be.';
    return { path, on: 'key', message, hint };
  }
  if (!kind.is(value)) {
    const near = kind.options ? didYouMean(String(value), kind.options) : '';
    return { path, message: `"${key}" must be ${kind.wanted}; found ${JSON.stringify(value)}.${near}` };
  }
  if (key !== 'required') return undefined;
  const names = value as string[];
  const missing = names.findIndex((name) => !around.properties.includes(name));
  if (missing < 0) return undefined;
  const message = `"${names[missing]}" is required but not among the properties.`;
  return { path: [...path, missing], message };
}

/** Problems of the schemas that a keyword holds. Those of `allOf` and the like are about the same value. */
function partsProblem(key: string, value: unknown, path: Path, around: Around): Finding | undefined {
  const holds = KEYWORDS[key]?.holds;
  if (holds === 'schema or flag' && typeof value === 'boolean') return undefined;
  const below = { root: around.root, types: key === 'propertyNames' ? ['string'] : [], properties: [] };
  if (holds === 'schema' || holds === 'schema or flag') {
    if (Array.isArray(value) && key === 'items')
      return { path, message: '"items" must be one schema; write a list of them as "prefixItems".' };
    return problemIn(value, path, below);
  }
  if (holds === 'list') {
    if (!Array.isArray(value) || value.length === 0)
      return { path, message: `"${key}" must be a list of schemas.` };
    const inner = key === 'prefixItems' ? below : around;
    return first(value.entries(), ([index, part]) => problemIn(part, [...path, index], inner));
  }
  if (!isObject(value)) return { path, message: `"${key}" must be a mapping by name.` };
  return first(Object.entries(value), ([name, part]) => {
    if (holds === 'patterns' && !isRegExp(name))
      return { path: [...path, name], on: 'key', message: `"${name}" is no regular expression.` };
    return problemIn(part, [...path, name], below);
  });
}

function first<T>(items: Iterable<T>, find: (item: T) => Finding | undefined): Finding | undefined {
  for (const item of items) {
    const problem = find(item);
    if (problem) return problem;
  }
  return undefined;
}

function refProblem(schema: JsonObject, path: Path, root: JsonObject): Finding | undefined {
  if (typeof schema.$ref !== 'string') return undefined;
  const at: Path = [...path, '$ref'];
  if (!isObject(referredSchema(root, schema.$ref)))
    return {
      path: at,
      message: `"$ref" leads to no schema: write "#/$defs/<name>" and put it into "$defs".`,
    };
  return leadsBack(schema, root, new Set())
    ? { path: at, message: `"$ref" leads back to itself: ${schema.$ref}.` }
    : undefined;
}

/** A schema that asks for itself about the same value would be asked for ever. */
function leadsBack(schema: unknown, root: JsonObject, seen: ReadonlySet<unknown>): boolean {
  if (!isObject(schema)) return false;
  if (seen.has(schema)) return true;
  const next = [schema.allOf, schema.anyOf, schema.oneOf].flatMap((list) =>
    Array.isArray(list) ? list : [],
  );
  if (typeof schema.$ref === 'string') next.push(referredSchema(root, schema.$ref));
  return next.some((part) => leadsBack(part, root, new Set([...seen, schema])));
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
