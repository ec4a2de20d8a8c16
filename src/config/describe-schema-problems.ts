import type { z } from 'zod';
import { nearest } from '../model/text/nearest-word.ts';
import { found } from './value-kinds.ts';

/** What a schema finds wrong at one place of a file. */
export type SchemaIssue = z.core.$ZodIssue;

const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping',
  record: 'a mapping',
};

/** A key path as a person would write it: `retry.max`, `args[0]`. */
export function keyPath(path: readonly PropertyKey[]): string {
  return path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index > 0 ? '.' : ''}${String(part)}`))
    .join('');
}

export function valueAt(data: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, key) => (value as Record<PropertyKey, unknown> | null)?.[key], data);
}

/** What is allowed instead. */
export function wanted(issue: SchemaIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return TYPES[issue.expected] ?? issue.expected;
    case 'invalid_value':
      return listed(issue.values.map(String));
    case 'too_small':
      if (issue.origin === 'string') return 'text that is not empty';
      if (issue.origin === 'array') return 'a list with at least one entry';
      return `${issue.inclusive ? 'at least' : 'more than'} ${issue.minimum}`;
    case 'too_big':
      return `${issue.inclusive ? 'at most' : 'less than'} ${issue.maximum}`;
    case 'invalid_union':
      return listed([...new Set(issue.errors.flatMap((branch) => branch.slice(0, 1)).map(wanted))]);
    default:
      return issue.message;
  }
}

function listed(values: readonly string[]): string {
  if (values.length < 2) return values[0] ?? 'something else';
  return `${values.slice(0, -1).join(', ')} or ${values.at(-1)}`;
}

/** The value of an enumeration that was probably meant. */
export function meant(issue: SchemaIssue, value: unknown): string | undefined {
  if (issue.code !== 'invalid_value' || typeof value !== 'string') return undefined;
  return nearest(value, issue.values.map(String));
}

const IN_WORDS = new Set(['invalid_type', 'invalid_value', 'too_small', 'too_big', 'invalid_union']);

/** One sentence, as for settings: `status: found the text "dnoe"; allowed is …`. */
export function issueSentence(
  issue: { path: readonly PropertyKey[]; message: string },
  data: unknown,
): string {
  const known = issue as SchemaIssue;
  const value = valueAt(data, issue.path);
  const near = meant(known, value);
  const text = IN_WORDS.has(known.code)
    ? `found ${found(value)}; allowed is ${wanted(known)}.${near === undefined ? '' : ` Did you mean ${JSON.stringify(near)}?`}`
    : `${issue.message.replace(/\.$/, '')}.`;
  return issue.path.length > 0 ? `${keyPath(issue.path)}: ${text}` : text;
}
