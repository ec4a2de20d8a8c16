import type { Document, Node, ParsedNode } from 'yaml';
import { isCollection, isMap, isPair, LineCounter, parseDocument, visit } from 'yaml';
import { InputError, messageOf } from '../model/errors.ts';
import { MAX_YAML_DEPTH, tooDeepAt } from '../model/text/parse-yaml-and-limit-depth.ts';

export interface Place {
  line: number;
  column: number;
}

export type Path = readonly (string | number)[];

export interface YamlSource {
  /** Plain data; null for an empty file. */
  data: unknown;
  /** Where the value at a path begins, or its key; the nearest thing that exists when there is no such path. */
  at(path: Path, on?: 'value' | 'key'): Place;
}

/** Parses one YAML document (JSON is YAML too) and remembers all positions. */
export function parseYaml(text: string, file: string): YamlSource {
  const lines = new LineCounter();
  const deep = tooDeepAt(text);
  if (deep !== undefined) {
    const at = placeIn(text, deep);
    throw new InputError('yaml/depth', `${file}:${at.line}:${at.column}: ${TOO_DEEP}`, {
      hint: 'Write the file with fewer lists and mappings inside each other.',
      details: { file, ...at },
    });
  }
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const place = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const bad = document.errors[0] ?? document.warnings[0];
  if (bad) throw yamlError(file, place(bad.pos[0]), bad.message, bad);
  return {
    data: plainData(document, file, place),
    at: (path, on = 'value') => place(offsetOf(document.contents, path, on)),
  };
}

/** The place of an offset in a text. */
function placeIn(text: string, offset: number): Place {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

const TOO_DEEP = `The file is nested more than ${MAX_YAML_DEPTH} levels deep.`;

/** A settings file: YAML, or JSON with `//` and slash-star comments. */
export function parseSettings(text: string, file: string): YamlSource {
  return parseYaml(file.endsWith('.json') ? blankComments(text, file) : text, file);
}

/** Replaces comments by spaces, so that positions stay the same. */
function blankComments(text: string, file: string): string {
  return text.replace(/"(?:[^"\\\n]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g, (part, offset: number) => {
    if (part.startsWith('"')) return part;
    if (part.startsWith('/*') && !(part.length > 3 && part.endsWith('*/'))) {
      throw yamlError(file, placeIn(text, offset), 'The comment that begins here does not end');
    }
    return part.replace(/[^\n]/g, ' ');
  });
}

function yamlError(file: string, at: Place, message: string, cause?: unknown): InputError {
  const first = (message.split('\n')[0] ?? '').replace(/[.:]?\s*$/, '');
  const json = file.endsWith('.json');
  const text = json ? first.replace(/^Flow map/, 'An object').replace(/^Flow sequence/, 'A list') : first;
  return new InputError('yaml/syntax', `${file}:${at.line}:${at.column}: ${text}.`, {
    hint: json
      ? 'Correct the JSON at that place; comments may stand in it.'
      : 'Correct the YAML at that place; indentation is by spaces, and text with ": " or " #" in it needs quotes.',
    details: { file, ...at },
    cause,
  });
}

/** Turning nodes into data fails on an alias without an anchor, or on aliases that multiply. */
function plainData(document: Document.Parsed, file: string, place: (offset: number) => Place): unknown {
  try {
    return document.toJS();
  } catch (error) {
    throw yamlError(file, place(brokenAlias(document)), messageOf(error), error);
  }
}

function brokenAlias(document: Document.Parsed): number {
  let offset = 0;
  visit(document, {
    Alias(_key, alias) {
      if (alias.resolve(document) !== undefined) return undefined;
      offset = startOf(alias) ?? 0;
      return visit.BREAK;
    },
  });
  return offset;
}

function offsetOf(root: ParsedNode | null, path: Path, on: 'value' | 'key'): number {
  let offset = startOf(root) ?? 0;
  let node: unknown = root;
  for (const [index, name] of path.entries()) {
    if (!isCollection(node)) break;
    const item = isMap(node)
      ? node.items.find((pair) => keyText(pair.key) === String(name))
      : node.items[Number(name)];
    if (item === undefined) break;
    const value = isPair(item) ? item.value : item;
    const key = isPair(item) ? startOf(item.key) : undefined;
    const last = index === path.length - 1;
    offset = (last && on === 'key' ? key : startOf(value)) ?? key ?? startOf(value) ?? offset;
    node = value;
  }
  return offset;
}

function keyText(key: unknown): string {
  return String((key as { value?: unknown } | null)?.value);
}

/** An empty value has an empty range, so its key's position is used. */
function startOf(node: unknown): number | undefined {
  const range = (node as Node | null)?.range;
  return range && range[1] > range[0] ? range[0] : undefined;
}

/** Something wrong in a content file, with its position. */
export interface Problem {
  file: string;
  line: number;
  column: number;
  message: string;
  hint?: string;
}

/** A problem of a workflow before its place in the file is known. */
export interface Finding {
  path: Path;
  on?: 'key' | 'value';
  message: string;
  hint?: string;
}

interface Placing {
  file: string;
  at(path: Path, on?: 'key' | 'value'): Place;
}

export function placed(source: Placing, findings: readonly Finding[]): Problem[] {
  return findings.map(({ path, on, message, hint }) => {
    const problem = { file: source.file, ...source.at(path, on), message };
    return hint ? { ...problem, hint } : problem;
  });
}

export function problemLines({ file, line, column, message, hint }: Problem): string[] {
  return [`${file}:${line}:${column}: ${message}`, ...(hint?.split('\n').map((text) => `    ${text}`) ?? [])];
}

/** In reading order, `first` before other files, each once: two phases may share a prompt with problems. */
export function tidy(problems: readonly Problem[], first: string): Problem[] {
  const seen = new Set<string>();
  const all = problems.filter((problem) => {
    const key = JSON.stringify([problem.file, problem.line, problem.column, problem.message]);
    return !seen.has(key) && seen.add(key);
  });
  const rank = (problem: Problem) => (problem.file === first ? '' : problem.file);
  return all.sort(
    (a, b) =>
      rank(a).localeCompare(rank(b)) ||
      a.line - b.line ||
      a.column - b.column ||
      a.message.localeCompare(b.message),
  );
}

/** Turns an error about a file into a problem of that file, with the place the error knows. */
export function problemFrom(error: unknown, file: string): Problem {
  if (!(error instanceof InputError)) throw error;
  const { line, column } = error.details as { line?: number; column?: number };
  const at = line !== undefined && column !== undefined ? { line, column } : { line: 1, column: 1 };
  const prefix = `${file}:${at.line}:${at.column}: `;
  const message = error.message.startsWith(prefix) ? error.message.slice(prefix.length) : error.message;
  return { file, ...at, message, ...(error.hint ? { hint: error.hint } : {}) };
}

/** One error for many problems. */
export function problemsError(code: string, what: string, problems: readonly Problem[]): InputError {
  const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`;
  const lines = problems.flatMap(problemLines).map((line) => line.replaceAll('\n', ' '));
  return new InputError(code, `${what} has ${count}:\n${lines.join('\n')}`, {
    hint: 'Fix these lines, then run `signalbox workflow check` again.',
    details: { problems },
  });
}
