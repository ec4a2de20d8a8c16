import { readFileSync } from 'node:fs';
import { InputError, messageOf } from '../model/errors.ts';
import { ERROR_CLASSES } from '../model/ticket.ts';
import { escapes } from './perform-steps.ts';
import type { Rule, Step, StepName } from './scenario-rules.ts';

/** Reads and checks a scenario. `.yaml` and `.yml` are YAML, everything else is JSON, which starts faster. */
export async function loadScenario(file: string): Promise<Rule[]> {
  const text = readText(file);
  const value = /\.ya?ml$/.test(file) ? await fromYaml(file, text) : fromJson(file, text);
  try {
    return checkScenario(value);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const { lineOf } = await import('../model/text/parse-yaml-and-limit-depth.ts');
    throw bad(
      `Scenario ${file}, line ${lineOf(text, error.path)}, ${sayPlace(error.path)}: ${error.message}.`,
    );
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw bad(`Scenario ${file} cannot be read: ${messageOf(error)}.`);
  }
}

async function fromYaml(file: string, text: string): Promise<unknown> {
  const { parseYaml } = await import('../model/text/parse-yaml-and-limit-depth.ts');
  const parsed = parseYaml(text);
  if ('problem' in parsed) throw bad(`Scenario ${file} is not YAML: ${parsed.problem}.`);
  return parsed.value;
}

function fromJson(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw bad(`Scenario ${file} is not JSON: ${messageOf(error)}.`);
  }
}

/** Turns `[1, 'do', 0, 'say']` into "rule 2, step 1, say". */
function sayPlace(path: Path): string {
  const [rule, part, ...rest] = path;
  if (rule === undefined) return 'the whole file';
  const words = [`rule ${Number(rule) + 1}`];
  if (part === 'do' && rest.length > 0) words.push(`step ${Number(rest.shift()) + 1}`);
  else if (part !== undefined) words.push(String(part));
  return [...words, ...rest.map(String)].join(', ');
}

function bad(message: string): InputError {
  return new InputError('rehearsal/scenario', message, {
    hint: 'Fix the scenario, or leave it out for the built-in behaviour.',
  });
}

type Path = Array<string | number>;

/** A problem at one place of a scenario; the caller adds the file's name and the line. */
class Problem extends Error {
  readonly path: Path;

  constructor(path: Path, message: string) {
    super(message);
    this.path = path;
  }
}

type Field = (value: unknown, at: Path) => unknown;
type Fields = Record<string, Field>;

/** Checks a map against its fields: unknown and missing keys are problems. */
function checkKeys(
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

const SIGNALS = ['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP', 'SIGABRT', 'SIGSEGV'];

const field = {
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
  errorClass: oneOf(ERROR_CLASSES),
  signal: oneOf(SIGNALS),
  between: (least: number, most: number) =>
    must(`a number from ${least} to ${most}`, (value) => inRange(value, least, most)),
};

function inRange(value: unknown, least: number, most: number): boolean {
  return typeof value === 'number' && value >= least && value <= most;
}

function oneOf(values: readonly string[]): Field {
  return must(`one of ${values.join(', ')}`, (value) => values.includes(String(value)));
}

function must(what: string, holds: (value: unknown) => boolean): Field {
  return (value, at) => {
    if (holds(value)) return value;
    throw new Problem(at, `must be ${what}, not ${JSON.stringify(value)?.slice(0, 60)}`);
  };
}

interface Shape {
  fields: Fields;
  required?: string[];
  /** Exactly one of these must be there. */
  either?: string[];
  /** The field that a bare value sets, as in `say: Hello`. */
  short?: string;
  /** The agent ends with it. */
  ends?: true;
}

const SHAPES: Record<StepName, Shape> = {
  write: {
    fields: { path: field.path, text: field.string, append: field.string },
    required: ['path'],
    either: ['text', 'append'],
  },
  commit: { fields: { message: field.text }, required: ['message'], short: 'message' },
  say: { fields: { text: field.text }, required: ['text'], short: 'text' },
  tool: { fields: { name: field.text, summary: field.string, done: field.boolean }, required: ['name'] },
  wait: { fields: { seconds: field.between(0, 60) }, required: ['seconds'], short: 'seconds' },
  run: { fields: { command: field.text }, required: ['command'], short: 'command' },
  usage: { fields: { inputTokens: field.count, outputTokens: field.count, costUsd: field.between(0, 1e6) } },
  print: { fields: { bytes: field.count, oneLine: field.boolean }, required: ['bytes'], short: 'bytes' },
  result: { fields: { text: field.string, data: field.json }, short: 'text' },
  limit: {
    fields: { seconds: field.between(0, 604_800), message: field.text },
    required: ['seconds'],
    short: 'seconds',
    ends: true,
  },
  fail: {
    fields: { class: field.errorClass, message: field.text },
    required: ['class', 'message'],
    ends: true,
  },
  crash: { fields: { signal: field.signal, code: field.exitCode }, either: ['signal', 'code'], ends: true },
  hang: { fields: { stubborn: field.boolean }, ends: true },
};
const WHEN: Fields = {
  ticket: field.text,
  phase: field.text,
  visit: field.positive,
  attempt: field.positive,
  resumed: field.boolean,
};

/** Turns the parsed file into rules, or throws a Problem that says where and what. */
export function checkScenario(value: unknown): Rule[] {
  if (!Array.isArray(value))
    throw new Problem([], 'a scenario is a list of rules, each with "when" and "do"');
  return value.map((rule, i) => checkRule(rule, [i]));
}

function checkRule(value: unknown, at: Path): Rule {
  const list: Field = (steps, path) => {
    if (!Array.isArray(steps) || steps.length === 0)
      throw new Problem(path, 'must be a list of at least one step');
    return steps.map((step, i) => checkStep(step, [...path, i], i === steps.length - 1));
  };
  const when: Field = (condition, path) => checkKeys(condition, path, WHEN);
  const rule = checkKeys(value, at, { when, do: list }, ['do']);
  return { when: rule.when ?? {}, do: rule.do } as Rule;
}

function checkStep(value: unknown, at: Path, last: boolean): Step {
  const entries = typeof value === 'string' ? [[value, null] as const] : Object.entries(Object(value));
  const [entry] = entries;
  if (!entry || entries.length > 1 || Array.isArray(value))
    throw new Problem(at, 'must be one step with its arguments, as in "say: Hello"');
  const [name, raw] = entry;
  if (!isStep(name))
    throw new Problem(
      at,
      `unknown step ${JSON.stringify(name)}; there are ${Object.keys(SHAPES).join(', ')}`,
    );
  const shape = SHAPES[name];
  const path = [...at, name];
  const args = checkKeys(spellOut(shape, raw), path, shape.fields, shape.required);
  const either = shape.either ?? [];
  if (either.length > 0 && either.filter((key) => key in args).length !== 1)
    throw new Problem(path, `needs either ${either.join(' or ')}`);
  if (shape.ends && !last) throw new Problem(path, 'ends the agent, so no step may follow');
  return { name, args } as Step;
}

function isStep(name: string): name is StepName {
  return Object.hasOwn(SHAPES, name);
}

function spellOut(shape: Shape, raw: unknown): unknown {
  if (raw === null) return {};
  return shape.short !== undefined && typeof raw !== 'object' ? { [shape.short]: raw } : raw;
}
