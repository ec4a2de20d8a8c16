import type { ErrorClass } from '../model/ticket.ts';
import { escapes } from './safe-path.ts';

type Path = Array<string | number>;

/** Something wrong at one place of a scenario; whoever read the file adds its name and the line. */
export class Problem extends Error {
  readonly path: Path;

  constructor(path: Path, message: string) {
    super(message);
    this.path = path;
  }
}

export type Field = (value: unknown, at: Path) => unknown;
export type Fields = Record<string, Field>;

/** Checks a map against its fields: unknown and missing keys are problems. */
export function checkKeys(
  value: unknown,
  at: Path,
  fields: Fields,
  required: string[] = [],
): Record<string, unknown> {
  const allowed = Object.keys(fields).join(', ');
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Problem(at, `must be a map with ${allowed}`);
  const checked: Record<string, unknown> = {};
  for (const [key, part] of Object.entries(value)) {
    const check = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (!check) throw new Problem([...at, key], `unknown key ${JSON.stringify(key)}; allowed are ${allowed}`);
    checked[key] = check(part, [...at, key]);
  }
  for (const key of required) if (!(key in checked)) throw new Problem(at, `needs ${JSON.stringify(key)}`);
  return checked;
}

/** A list of the model's classes that costs no schema library at start-up; the compiler keeps it whole. */
const CLASSES: Record<ErrorClass, true> = {
  auth: true,
  billing: true,
  limit: true,
  overloaded: true,
  context: true,
  turns: true,
  budget: true,
  timeout: true,
  idle: true,
  interrupted: true,
  stopped: true,
  config: true,
  protocol: true,
  crash: true,
  evidence: true,
  exit: true,
  refused: true,
  workspace: true,
  visits: true,
  merge: true,
};
const SIGNALS = ['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP', 'SIGABRT', 'SIGSEGV'];

export const field = {
  string: must('a text', (value) => typeof value === 'string'),
  text: must('a text that is not empty', (value) => typeof value === 'string' && value !== ''),
  boolean: must('true or false', (value) => typeof value === 'boolean'),
  positive: must('a whole number from 1', (value) => Number.isSafeInteger(value) && Number(value) >= 1),
  count: must('a whole number from 0', (value) => Number.isSafeInteger(value) && Number(value) >= 0),
  exitCode: must('an exit code from 0 to 255', (value) => Number.isInteger(value) && inRange(value, 0, 255)),
  json: must('a value', (value) => value !== undefined),
  path: must(
    'a relative path that stays in the worktree and out of .git',
    (value) => typeof value === 'string' && !escapes(value),
  ),
  errorClass: oneOf(Object.keys(CLASSES)),
  signal: oneOf(SIGNALS),
  between: (least: number, most: number) =>
    must(`a number from ${least} to ${most}`, (value) => inRange(value, least, most)),
};

function inRange(value: unknown, least: number, most: number): boolean {
  return typeof value === 'number' && value >= least && value <= most;
}

function oneOf(values: string[]): Field {
  return must(`one of ${values.join(', ')}`, (value) => values.includes(String(value)));
}

function must(what: string, holds: (value: unknown) => boolean): Field {
  return (value, at) => {
    if (holds(value)) return value;
    throw new Problem(at, `must be ${what}, not ${JSON.stringify(value)?.slice(0, 60)}`);
  };
}
