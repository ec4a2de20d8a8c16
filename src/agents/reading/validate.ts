import { messageOf } from '../../model/errors.ts';
import { asArray, asObject, type JsonObject } from '../../model/text/json.ts';
import type { Json } from '../../model/ticket.ts';
import { fits, type ValueIssue, valueIssues } from './schema-value.ts';

type Validated = { ok: true; value: Json } | { ok: false; problem: string };

/** Checks a result against its JSON Schema. The value comes back as it was, save nulls that stand for "not given". */
export function validateResult(schema: JsonObject, value: unknown): Validated {
  if (value === undefined) return { ok: false, problem: 'there was no result' };
  try {
    const given = withoutOptionalNulls(schema, value, schema);
    const issues = valueIssues(schema, given, schema);
    if (issues.length === 0) return { ok: true, value: given as Json };
    return { ok: false, problem: sayIssues(issues) };
  } catch (error) {
    return { ok: false, problem: `the schema cannot be used: ${messageOf(error)}` };
  }
}

/** Providers with strict schemas know no optional property: they send null for one that has no value. */
function withoutOptionalNulls(schema: unknown, value: unknown, root: JsonObject): unknown {
  const rules = asObject(schema);
  if (!rules) return value;
  if (Array.isArray(value)) return value.map((item) => withoutOptionalNulls(rules.items, item, root));
  const object = asObject(value);
  if (!object) return value;
  const properties = asObject(rules.properties) ?? {};
  const required = asArray(rules.required);
  const entries = Object.entries(object)
    .filter(
      ([name, part]) => part !== null || required.includes(name) || !refusesNull(properties, name, root),
    )
    .map(([name, part]) => [
      name,
      Object.hasOwn(properties, name) ? withoutOptionalNulls(properties[name], part, root) : part,
    ]);
  return Object.fromEntries(entries);
}

function refusesNull(properties: JsonObject, name: string, root: JsonObject): boolean {
  return Object.hasOwn(properties, name) && !fits(properties[name], null, root);
}

function sayIssues(issues: readonly ValueIssue[]): string {
  const shown = issues.slice(0, 5).map(({ path, message }) => {
    return path.length === 0 ? `it ${message}` : `${path.join('.')}: ${message}`;
  });
  const more = issues.length - shown.length;
  return shown.join('; ') + (more > 0 ? `; and ${more} more` : '');
}
