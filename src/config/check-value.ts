import { nearest } from '../model/text/nearest-word.ts';
import { allowed, type Bases, found, KEYS, type Kind, refusal, TEXT_KINDS } from './value-kinds.ts';

export interface ValueProblem {
  /** Default: `config/value`. */
  code?: string;
  /** Below the setting; default: the setting itself. */
  path?: (string | number)[];
  /** Default: `value`. */
  on?: 'key' | 'value';
  text: string;
  hint?: string;
}

export interface CheckContext extends Bases {
  fail(problem: ValueProblem): never;
}

/** The value with its paths resolved. A bad value goes to `fail`, which throws. */
export function check(
  kind: Kind,
  value: unknown,
  context: CheckContext,
  path: (string | number)[] = [],
): unknown {
  const wrong = (hint?: string): never =>
    context.fail({
      path,
      text:
        kind.is === 'whole' && kind.flag
          ? refusal(kind, value)
          : `found ${kind.is === 'url' ? 'something else' : found(value)}; allowed is ${allowed(kind)}`,
      hint,
    });
  switch (kind.is) {
    case 'boolean':
      return typeof value === 'boolean' ? value : wrong(booleanHint(value));
    case 'choice':
      return typeof value === 'string' && kind.of.includes(value) ? value : wrong(choiceHint(kind.of, value));
    case 'whole':
    case 'number':
      return isNumber(kind, value) ? value : wrong(unquoteHint(value) ?? secondsHint(kind, value));
    case 'list':
      if (!Array.isArray(value)) return wrong();
      return value.map((item, index) => check(kind.of, item, context, [...path, index]));
    case 'record':
      return isMapping(value) ? checkRecord(kind, value ?? {}, context, path) : wrong();
    case 'object':
      return isMapping(value) ? checkObject(kind, value ?? {}, context, path) : wrong();
    case 'maybe':
      return value === null ? null : check(kind.of, value, context, path);
    default:
      if (typeof value !== 'string') return wrong(quoteHint(value));
      if (value.trim() === '' || value.includes('\0')) return wrong();
      return TEXT_KINDS[kind.is].read(value, context) ?? wrong();
  }
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
  const { pattern, text } = KEYS[kind.keys];
  const entries = Object.entries(value).map(([name, item]) => {
    const here = [...path, name];
    const wrong = `the name ${JSON.stringify(name)} ${text}`;
    if (!new RegExp(pattern).test(name))
      context.fail({ code: 'config/name', path: here, on: 'key', text: wrong });
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
  for (const [name, field] of Object.entries(kind.fields)) {
    if (field.required && !Object.hasOwn(value, name))
      context.fail({ path, text: `"${name}" is missing; it is ${allowed(field.kind)}` });
  }
  return Object.fromEntries(entries);
}

export function unknownKey(path: (string | number)[], name: string, known: readonly string[]): ValueProblem {
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

/** An empty value counts as an empty mapping: all its entries are commented out. */
export function isMapping(value: unknown): value is Record<string, unknown> | null {
  return value === null || (typeof value === 'object' && !Array.isArray(value));
}

const WORDS: Readonly<Record<string, boolean>> = { true: true, 1: true, false: false, 0: false };

/** Reads a variable or flag, which is always text, as its kind; a text that does not fit is left as it is. */
export function fromText(kind: Kind, text: string): unknown {
  if (kind.is === 'maybe') return fromText(kind.of, text);
  if (kind.is === 'boolean') return Object.hasOwn(WORDS, text) ? WORDS[text] : text;
  if (kind.is !== 'whole' && kind.is !== 'number') return text;
  return /^\s*[+-]?\d+(\.\d+)?\s*$/.test(text) ? Number(text) : text;
}

function quoteHint(value: unknown): string | undefined {
  if (typeof value !== 'number' && typeof value !== 'boolean') return undefined;
  return `Put it in quotes: "${value}".`;
}

/** Only files can hold a number as text: variables and flags are converted before. */
function unquoteHint(value: unknown): string | undefined {
  const number = typeof value === 'string' && /^\s*[+-]?\d+(\.\d+)?\s*$/.test(value);
  return number ? `It is a text; leave out the quotes: ${value.trim()}.` : undefined;
}

function booleanHint(value: unknown): string | undefined {
  if (/^(yes|on|y|t)$/i.test(String(value))) return 'Write true.';
  return /^(no|off|n|f)$/i.test(String(value)) ? 'Write false.' : undefined;
}

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** `30m` must not be read as 30 seconds. */
function secondsHint(kind: Kind, value: unknown): string | undefined {
  if (kind.is !== 'whole' || kind.unit !== 'seconds') return undefined;
  const [, count, unit = ''] = /^(\d+)\s*([smhd])/.exec(String(value)) ?? [];
  const meant = Number(count) * (UNITS[unit] ?? Number.NaN);
  return Number.isSafeInteger(meant)
    ? `It is in seconds, without a unit; write ${meant}.`
    : 'It is in seconds, without a unit.';
}

function choiceHint(of: readonly string[], value: unknown): string | undefined {
  const near = typeof value === 'string' ? nearest(value, of) : undefined;
  return near === undefined ? undefined : `Did you mean ${JSON.stringify(near)}?`;
}
