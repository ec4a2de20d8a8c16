import type { z } from 'zod';
import type { Finding } from '../config/file-problem.ts';
import { found } from '../config/kinds.ts';
import type { Path } from '../config/yaml-source.ts';
import { nearest } from '../model/text/near.ts';

type Issue = z.core.$ZodIssue;

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
function label(path: readonly PropertyKey[]): string {
  return path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index > 0 ? '.' : ''}${String(part)}`))
    .join('');
}

/** What a schema finds wrong, in words and with its path. Unknown keys are not its business. */
export function issueFinding(issue: Issue, data: unknown, owner: string): Finding {
  const path = issue.path.map((part) => (typeof part === 'number' ? part : String(part)));
  const value = valueAt(data, path);
  if (value === undefined && issue.code === 'invalid_type') {
    const parent = path.slice(0, -1);
    return {
      path: parent,
      message: `${parent.length > 0 ? `"${label(parent)}"` : owner} needs "${path.at(-1)}".`,
    };
  }
  const name = `"${label(path)}"`;
  if (issue.code === 'invalid_key') {
    return {
      path,
      on: 'key',
      message: `${name} cannot be used: ${issue.issues[0]?.message ?? issue.message}.`,
    };
  }
  if (issue.code === 'invalid_format' || issue.code === 'custom') {
    return { path, message: `${name} is ${found(value)}, but ${issue.message}.` };
  }
  const message = `${name} must be ${wanted(issue)}; found ${found(value)}.`;
  const options = issue.code === 'invalid_value' ? issue.values.map(String) : [];
  const near = typeof value === 'string' ? nearest(value, options) : undefined;
  return near === undefined ? { path, message } : { path, message, hint: `Did you mean "${near}"?` };
}

export function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function valueAt(data: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (value, key) => (value as Record<string | number, unknown> | null)?.[key],
    data,
  );
}

function wanted(issue: Issue): string {
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
