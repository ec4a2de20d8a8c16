import { dirname } from 'node:path';
import type { Env } from '../machine/paths-and-user-home.ts';
import { InputError } from '../model/errors.ts';
import type { CheckContext, ValueProblem } from './check-value.ts';
import { check, fromText, isMapping, unknownKey } from './check-value.ts';
import type { Path, YamlSource } from './parse-yaml-and-place-problems.ts';
import { type Flags, flagOf, type Key, ROWS, variableOf } from './settings-table.ts';
import { found, isScalar, type Kind, type Row } from './value-kinds.ts';

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
/** The code of a value that is not allowed. */
const VALUE = 'config/value';
/** Keys a file may have beside the settings. */
const NON_SETTING_KEYS = ['version', '$schema'];
/** Key names by group; the top level of the file is group ''. */
const GROUPS = new Map<string, Set<string>>();
for (const { key } of ROWS) {
  const parts = key.split('.');
  for (const [depth, name] of parts.entries()) {
    const group = parts.slice(0, depth).join('.');
    GROUPS.set(group, (GROUPS.get(group) ?? new Set()).add(name));
  }
}

/** The settings of one file, checked. */
export function fileLayer(source: YamlSource, file: string, userHome: string): Entry[] {
  const place = (path: Path, on: 'key' | 'value') => source.at(path, on);
  const failAt = (
    above: Path,
    { code = VALUE, path: below = [], on = 'value', text, hint }: ValueProblem,
  ): never => {
    const path = [...above, ...below];
    const at = place(path, on);
    const name = path.join('.');
    const subject = code === VALUE && name !== '' ? `${name}: ` : '';
    const message = `${file}:${at.line}:${at.column}: ${subject}${sentence(text)}`;
    throw new InputError(code, message, { hint, details: { file, ...at, key: name } });
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

/** Finds the table's rows in a file's data, or in a group of it; a key that belongs to none is refused. */
function paths(
  data: unknown,
  fail: (path: Path, problem: ValueProblem) => never,
  above: string[] = [],
): Found[] {
  const names = [...(GROUPS.get(above.join('.')) ?? [])];
  const top = above.length === 0;
  if (!isMapping(data)) {
    const text = `found ${found(data)}; allowed is a mapping ${top ? 'of settings' : `with ${names.join(', ')}`}`;
    return fail(above, { text });
  }
  return Object.entries(data ?? {}).flatMap(([name, value]): Found[] => {
    const path = [...above, name];
    const row = name.includes('.') ? undefined : ROWS.find(({ key }) => key === path.join('.'));
    if (row) return [{ row, path, value }];
    if (names.includes(name)) return paths(value, fail, path);
    if (top && name === 'version') checkVersion(value, fail);
    if (top && NON_SETTING_KEYS.includes(name)) return [];
    return fail(above, (top && misplaced(name)) || unknownKey([name], name, names));
  });
}

/** A key of a group written alone: `agentSeconds` or `timeouts.agentSeconds` for `timeouts: {agentSeconds}`. */
function misplaced(name: string): ValueProblem | undefined {
  const row = ROWS.find(({ key }) => key.includes('.') && (key === name || key.endsWith(`.${name}`)));
  if (!row) return undefined;
  const parts = row.key.split('.');
  const lines = parts.map((part, depth) => `${'  '.repeat(depth)}${part}:`);
  return {
    code: 'config/unknown-key',
    path: [name],
    on: 'key',
    text: `unknown key "${name}"; "${parts.at(-1)}" belongs under "${parts.slice(0, -1).join('.')}"`,
    hint: `Write:\n${lines.join('\n')} …`,
  };
}

function checkVersion(value: unknown, fail: (path: Path, problem: ValueProblem) => never): void {
  // Other tools write versions as text: "1.0" is version 1.
  if (value === VERSION || value === `${VERSION}` || value === `${VERSION}.0`) return;
  if (typeof value !== 'number' || value <= VERSION)
    fail(['version'], { text: `found ${found(value)}; allowed is ${VERSION}` });
  fail(['version'], {
    code: 'config/newer',
    text: `version ${value} was written for a newer Signalbox`,
    hint: 'Update Signalbox, or write the file again with this one.',
  });
}

/** Variables that are set and not empty; paths in them are relative to the working directory. */
export function variableLayer(env: Env, cwd: string, userHome: string, rows = ROWS): Entry[] {
  return rows
    .filter(({ kind }) => isScalar(kind))
    .flatMap((row) => {
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
  const checked = checkGiven(row.kind, name, value, { base: cwd, userHome, key: row.key });
  return { key: row.key, value: checked, origin: name, where: name, parts: {} };
}

/** Checks a value that comes from no file; `name` is the variable, flag or option it came from. */
export function checkGiven(
  kind: Kind,
  name: string,
  value: unknown,
  { key = name, ...places }: { base: string; userHome: string; key?: string },
): unknown {
  const fail = ({ code = VALUE, path = [], text, hint }: ValueProblem): never => {
    // A refusal that names the flag needs no other subject.
    const subject = kind.is === 'whole' && kind.flag === name ? '' : `${[name, ...path].join('.')}: `;
    throw new InputError(code, `${subject}${sentence(text)}`, { hint, details: { name, key } });
  };
  return check(kind, typeof value === 'string' ? fromText(kind, value) : value, { ...places, fail });
}

function sentence(text: string): string {
  return /[.?!]$/.test(text) ? text : `${text}.`;
}
