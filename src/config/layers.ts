import { dirname } from 'node:path';
import { InputError } from '../model/errors.ts';
import { type CheckContext, check, fromText, isMapping, type Problem, unknownKey } from './check.ts';
import { found, isScalar } from './kinds.ts';
import type { Env } from './paths.ts';
import type { Flags } from './settings.ts';
import { flagOf, type Key, ROWS, type Row, variableOf } from './table.ts';
import type { Path, YamlSource } from './yaml-source.ts';

/** One setting that a layer gives. */
export interface Entry {
  key: Key;
  value: unknown;
  /** For people who ask where a value came from: a variable, a flag, `file:line`. */
  origin: string;
  /** For errors: as `origin`, with the column. */
  where: string;
  /** Of a record's entries, by name. */
  parts: Record<string, { origin: string; where: string }>;
}

const VERSION = 1;
/** Keys a file may have beside the settings. */
const ABOUT_THE_FILE = ['version', '$schema'];
const GROUPS = new Map<string, string[]>();
for (const { key } of ROWS) {
  const [group, leaf] = key.split('.');
  if (group !== undefined && leaf !== undefined) GROUPS.set(group, [...(GROUPS.get(group) ?? []), leaf]);
}
const TOP = [...new Set(ROWS.map(({ key }) => key.split('.')[0] ?? key))];

/** The settings of one file, checked. */
export function fileLayer(source: YamlSource, file: string, userHome: string): Entry[] {
  const place = (path: Path, on: 'key' | 'value') => source.at(path, on);
  const failAt = (path: Path, problem: Problem): never => {
    const at = place([...path, ...problem.path], problem.on);
    const name = [...path, ...problem.path].join('.');
    const subject = problem.code === 'config/value' && name !== '' ? `${name}: ` : '';
    throw new InputError(
      problem.code,
      `${file}:${at.line}:${at.column}: ${subject}${sentence(problem.text)}`,
      {
        hint: problem.hint,
        details: { file, ...at, key: name },
      },
    );
  };
  return paths(source.data, failAt).map(({ row, path, value }) => {
    const context: CheckContext = { base: dirname(file), userHome, fail: (problem) => failAt(path, problem) };
    const where = (below: Path) => {
      const at = place([...path, ...below], 'key');
      return { origin: `${file}:${at.line}`, where: `${file}:${at.line}:${at.column}` };
    };
    const checked = check(row.kind, value, context);
    const names = row.kind.is === 'record' ? Object.keys(checked as object) : [];
    const parts = Object.fromEntries(names.map((name) => [name, where([name])]));
    return { key: row.key, value: checked, ...where([]), parts };
  });
}

interface Found {
  row: Row & { key: Key };
  path: string[];
  value: unknown;
}

/** Finds the table's rows in a file's data; a key that belongs to none is refused. */
function paths(data: unknown, fail: (path: Path, problem: Problem) => never): Found[] {
  if (!isMapping(data))
    return fail([], {
      code: 'config/value',
      path: [],
      on: 'value',
      text: `found ${found(data)}; allowed is a mapping of settings`,
    });
  const all: Found[] = [];
  for (const [name, value] of Object.entries(data ?? {})) {
    const row = ROWS.find(({ key }) => key === name && !key.includes('.'));
    const leaves = GROUPS.get(name);
    if (row) all.push({ row, path: [name], value });
    else if (leaves) all.push(...group(name, value, leaves, fail));
    else if (name === 'version') checkVersion(value, fail);
    else if (!ABOUT_THE_FILE.includes(name)) fail([], misplaced(name) ?? unknownKey([name], name, TOP));
  }
  return all;
}

function group(
  name: string,
  value: unknown,
  leaves: string[],
  fail: (path: Path, problem: Problem) => never,
): Found[] {
  if (!isMapping(value))
    return fail([name], {
      code: 'config/value',
      path: [],
      on: 'value',
      text: `found ${found(value)}; allowed is a mapping with ${leaves.join(', ')}`,
    });
  return Object.entries(value ?? {}).map(([leaf, inner]) => {
    const row = ROWS.find(({ key }) => key === `${name}.${leaf}`);
    return row ? { row, path: [name, leaf], value: inner } : fail([name], unknownKey([leaf], leaf, leaves));
  });
}

/** A key of a group that stands alone: `agentSeconds` or `timeouts.agentSeconds` for `timeouts: {agentSeconds}`. */
function misplaced(name: string): Problem | undefined {
  const row = ROWS.find(({ key }) => key.includes('.') && (key === name || key.endsWith(`.${name}`)));
  if (!row) return undefined;
  const [inGroup, leaf] = row.key.split('.');
  return {
    code: 'config/unknown-key',
    path: [name],
    on: 'key',
    text: `unknown key "${name}"; "${leaf}" belongs under "${inGroup}"`,
    hint: `Write:\n${inGroup}:\n  ${leaf}: …`,
  };
}

function checkVersion(value: unknown, fail: (path: Path, problem: Problem) => never): void {
  if (value === VERSION) return;
  const newer = typeof value === 'number' && value > VERSION;
  fail(['version'], {
    code: newer ? 'config/newer' : 'config/value',
    path: [],
    on: 'value',
    text: newer
      ? `version ${value} was written for a newer Signalbox`
      : `found ${found(value)}; allowed is ${VERSION}`,
    hint: newer ? 'Update Signalbox, or write the file anew with this one.' : undefined,
  });
}

/** Variables that are set and not empty; paths in them are relative to the working directory. */
export function variableLayer(env: Env, cwd: string, userHome: string): Entry[] {
  return ROWS.filter(({ kind }) => isScalar(kind)).flatMap((row) => {
    const name = variableOf(row.key);
    const text = env[name];
    return text === undefined || text === '' ? [] : [given(row, name, text, cwd, userHome)];
  });
}

export function flagLayer(flags: Flags, cwd: string, userHome: string): Entry[] {
  return ROWS.flatMap((row) => {
    const value = flags[row.key];
    return value === undefined ? [] : [given(row, flagOf(row), value, cwd, userHome)];
  });
}

function given(row: Row & { key: Key }, name: string, value: unknown, cwd: string, userHome: string): Entry {
  const context: CheckContext = {
    base: cwd,
    userHome,
    fail: ({ code, path, text, hint }) => {
      throw new InputError(code, `${[name, ...path].join('.')}: ${sentence(text)}`, {
        hint,
        details: { name, key: row.key },
      });
    },
  };
  const checked = check(row.kind, typeof value === 'string' ? fromText(row.kind, value) : value, context);
  return { key: row.key, value: checked, origin: name, where: name, parts: {} };
}

function sentence(text: string): string {
  return /[.?!]$/.test(text) ? text : `${text}.`;
}
