import { isAbsolute } from 'node:path';
import { allowed, found, type Kind, keyRule } from './kinds.ts';
import { nearest } from './near.ts';
import { expandPath } from './paths.ts';

export interface Problem {
  code: string;
  /** Below the setting; empty for the setting itself. */
  path: (string | number)[];
  on: 'key' | 'value';
  text: string;
  hint?: string;
}

export interface CheckContext {
  /** Relative paths are relative to this directory. */
  base: string;
  /** What `~` stands for. */
  userHome: string;
  fail(problem: Problem): never;
}

/** Gives back the value with its paths resolved; whatever is wrong goes to `fail`, which throws. */
export function check(
  kind: Kind,
  value: unknown,
  context: CheckContext,
  path: (string | number)[] = [],
): unknown {
  const wrong = (hint?: string): never =>
    context.fail({
      code: 'config/value',
      path,
      on: 'value',
      text: `found ${found(value)}; allowed is ${allowed(kind)}`,
      hint,
    });
  switch (kind.is) {
    case 'text':
    case 'path':
    case 'command':
    case 'inside':
      if (typeof value !== 'string') return wrong(quoteHint(value));
      return checkText(kind, value, context) ?? wrong();
    case 'choice':
      return typeof value === 'string' && kind.of.includes(value) ? value : wrong(choiceHint(kind.of, value));
    case 'whole':
    case 'number':
      return isNumber(kind, value) ? value : wrong();
    case 'list':
      if (!Array.isArray(value)) return wrong();
      return value.map((item, index) => check(kind.of, item, context, [...path, index]));
    case 'record':
      return isMapping(value) ? checkRecord(kind, value ?? {}, context, path) : wrong();
    case 'object':
      return isMapping(value) ? checkObject(kind, value ?? {}, context, path) : wrong();
    case 'maybe':
      return value === null ? null : check(kind.of, value, context, path);
  }
}

function checkText(kind: Kind, value: string, { base, userHome }: CheckContext): string | undefined {
  if (value.trim() === '' || value.includes('\0')) return undefined;
  if (kind.is === 'path') return /^~[^/]/.test(value) ? undefined : expandPath(value, base, userHome);
  if (kind.is === 'command') {
    if (value.includes('\n') || value.startsWith('-')) return undefined;
    return value.includes('/') ? expandPath(value, base, userHome) : value;
  }
  if (kind.is === 'inside' && (isAbsolute(value) || /^[~-]/.test(value) || value.split('/').includes('..')))
    return undefined;
  return value;
}

function isNumber(kind: Kind & { is: 'whole' | 'number' }, value: unknown): boolean {
  if (typeof value !== 'number' || !Number.isFinite(value)) return false;
  if (kind.is === 'whole' && !Number.isSafeInteger(value)) return false;
  if (kind.is === 'number' && kind.above !== undefined && value <= kind.above) return false;
  return value >= (kind.min ?? value) && value <= (kind.max ?? value);
}

function checkRecord(
  kind: Kind & { is: 'record' },
  value: Record<string, unknown>,
  context: CheckContext,
  path: (string | number)[],
): Record<string, unknown> {
  const { pattern, text } = keyRule(kind.keys);
  const entries = Object.entries(value).map(([name, item]) => {
    const here = [...path, name];
    if (!new RegExp(pattern).test(name))
      context.fail({
        code: 'config/name',
        path: here,
        on: 'key',
        text: `the name ${JSON.stringify(name)} may only hold ${text}`,
      });
    return [name, check(kind.of, item, context, here)];
  });
  return Object.fromEntries(entries);
}

function checkObject(
  kind: Kind & { is: 'object' },
  value: Record<string, unknown>,
  context: CheckContext,
  path: (string | number)[],
): Record<string, unknown> {
  const names = Object.keys(kind.fields);
  const entries = Object.entries(value).map(([name, item]) => {
    const here = [...path, name];
    const field = Object.hasOwn(kind.fields, name) ? kind.fields[name] : undefined;
    if (!field) return context.fail(unknownKey(here, name, names));
    return [name, check(field.kind, item, context, here)];
  });
  return Object.fromEntries(entries);
}

export function unknownKey(path: (string | number)[], name: string, known: readonly string[]): Problem {
  const near = nearest(name, known);
  const guess = near === undefined ? '' : `; did you mean ${JSON.stringify(near)}?`;
  return {
    code: 'config/unknown-key',
    path,
    on: 'key',
    text: `unknown key ${JSON.stringify(name.slice(0, 80))}${guess}`,
    hint: `Known here: ${known.join(', ')}.`,
  };
}

/** An empty value stands for an empty mapping: all its entries are commented out. */
export function isMapping(value: unknown): value is Record<string, unknown> | null {
  return value === null || (typeof value === 'object' && !Array.isArray(value));
}

/** Reads a variable or flag, which is always text, as the kind wants it; a text that does not fit stays one. */
export function fromText(kind: Kind, text: string): unknown {
  if (kind.is === 'maybe') return fromText(kind.of, text);
  if (kind.is !== 'whole' && kind.is !== 'number') return text;
  return /^\s*[+-]?\d+(\.\d+)?\s*$/.test(text) ? Number(text) : text;
}

function quoteHint(value: unknown): string | undefined {
  if (typeof value !== 'number' && typeof value !== 'boolean') return undefined;
  return `Put it in quotes: "${value}".`;
}

function choiceHint(of: readonly string[], value: unknown): string | undefined {
  const near = typeof value === 'string' ? nearest(value, of) : undefined;
  return near === undefined ? undefined : `Did you mean ${JSON.stringify(near)}?`;
}
