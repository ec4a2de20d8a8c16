import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { keyPath, meant, type SchemaIssue, valueAt, wanted } from '../config/describe-schema-problems.ts';
import type { Path, Place, YamlSource } from '../config/parse-yaml-and-place-problems.ts';
import { type Finding, type Problem, placed, problemFrom } from '../config/parse-yaml-and-place-problems.ts';
import { found } from '../config/value-kinds.ts';
import { messageOf } from '../model/errors.ts';
import { capital } from '../model/text/clean-escape-quote-plural.ts';
import { didYouMean } from '../model/text/nearest-word.ts';
import { isObject } from '../model/text/values-of-unknown-type.ts';
import {
  ActionPhase,
  AgentPhase,
  GatePhase,
  type Phase,
  PollPhase,
  ScriptPhase,
  TerminalPhase,
  Workflow,
} from '../model/workflow.ts';
import { workflowFiles } from './find-workflows-prompts-scripts.ts';

const Head = Workflow.omit({ phases: true });

export interface WorkflowSource {
  file: string;
  text: string;
}

/** A workflow file as far as it could be read. */
export interface LoadedWorkflow extends WorkflowSource {
  /** The `name` field; the file's name when there is none. */
  name: string;
  /** Only when nothing is wrong with its form. */
  workflow: Workflow | undefined;
  /** In the file's order; undefined where the form is wrong. */
  phases: (Phase | undefined)[];
  /** Ids of all phases that have one, well-formed or not. */
  ids: string[];
  problems: Problem[];
  at(path: Path, on?: 'value' | 'key'): Place;
}

/** Reads a workflow and collects everything wrong with its form, each with its place. */
export async function loadWorkflow(source: WorkflowSource): Promise<LoadedWorkflow> {
  const { file, text } = source;
  const loaded: LoadedWorkflow = {
    ...source,
    name: guessName(source),
    workflow: undefined,
    phases: [],
    ids: [],
    problems: [],
    at: () => ({ line: 1, column: 1 }),
  };
  let yaml: YamlSource;
  // The parser is loaded when the first workflow is read: most commands read none.
  const { parseYaml } = await import('../config/parse-yaml-and-place-problems.ts');
  try {
    yaml = parseYaml(text, file);
  } catch (error) {
    loaded.problems.push(problemFrom(error, file));
    return loaded;
  }
  loaded.at = yaml.at;
  const findings: Finding[] = findReserved(yaml.data);
  const top = readHead(loaded, yaml.data, findings);
  readPhases(loaded, yaml.data, findings);
  loaded.problems.push(...placed(loaded, findings));
  const whole = loaded.phases.filter((phase) => phase !== undefined);
  if (top && loaded.problems.length === 0) loaded.workflow = { ...top, phases: whole };
  return loaded;
}

function readHead(loaded: LoadedWorkflow, data: unknown, findings: Finding[]) {
  if (!isObject(data)) {
    const message = `A workflow must be a mapping with "name" and "phases"; found ${found(data)}.`;
    findings.push({ path: [], message });
    return undefined;
  }
  const { phases: _, ...head } = { name: loaded.name, ...data } as Record<string, unknown>;
  const result = Head.safeParse(head);
  if (result.success) {
    loaded.name = result.data.name;
    return result.data;
  }
  const keys = Object.keys(Workflow.shape);
  const hint = `Keys of a workflow: ${keys.join(', ')}.`;
  for (const issue of result.error.issues) {
    if (issue.code !== 'unrecognized_keys') findings.push(issueFinding(issue, head, 'A workflow'));
    else
      for (const key of issue.keys) {
        findings.push({
          path: [key],
          on: 'key',
          message: `Unknown key "${key}".${didYouMean(key, keys)}`,
          hint,
        });
      }
  }
  return undefined;
}

function readPhases(loaded: LoadedWorkflow, data: unknown, findings: Finding[]): void {
  if (!isObject(data)) return;
  const { phases } = data;
  if (!Array.isArray(phases) || phases.length === 0) {
    const message = `A workflow needs "phases", a list with at least one phase; found ${Array.isArray(phases) ? 'an empty list' : found(phases)}.`;
    const hint = 'The first phase is where a ticket starts, for example "- id: implement".';
    findings.push({ path: ['phases'], on: 'key', message, hint });
    return;
  }
  for (const [index, item] of phases.entries()) {
    if (isObject(item) && typeof item.id === 'string') loaded.ids.push(item.id);
    const read = readPhase(item, index);
    loaded.phases.push(read.phase);
    findings.push(...read.findings);
  }
}

/** Also right for a file that cannot be parsed, so that its name is not taken for an unknown one. */
function guessName({ file, text }: WorkflowSource): string {
  const written = /^name:[ \t]*["']?([A-Za-z0-9][A-Za-z0-9_-]*)["']?[ \t]*(?:#.*)?$/m.exec(text);
  return written?.[1] ?? basename(file).replace(/\.ya?ml$/, '');
}

/** A name that JavaScript keeps for itself would be dropped on the way. */
function findReserved(data: unknown, path: Path = []): Finding[] {
  if (typeof data !== 'object' || data === null) return [];
  return Object.entries(data).flatMap(([key, value]) => {
    const at: Path = [...path, Array.isArray(data) ? Number(key) : key];
    if (key !== '__proto__') return findReserved(value, at);
    return [{ path: at, on: 'key', message: '"__proto__" cannot be used as a name.' } as const];
  });
}

export const PHASE_SCHEMAS = {
  script: ScriptPhase,
  action: ActionPhase,
  agent: AgentPhase,
  poll: PollPhase,
  gate: GatePhase,
  terminal: TerminalPhase,
} as const;
type PhaseType = keyof typeof PHASE_SCHEMAS;
const PHASE_TYPES = Object.keys(PHASE_SCHEMAS) as PhaseType[];

/** One entry of `phases`: the phase, or what is wrong with its form. */
function readPhase(data: unknown, index: number): { phase: Phase | undefined; findings: Finding[] } {
  const at: Path = ['phases', index];
  const wrong = (...findings: Finding[]) => ({ phase: undefined, findings });
  if (!isObject(data))
    return wrong({ path: at, message: `A phase must be a mapping; found ${found(data)}.` });
  const { type } = data;
  const hint = `Types: ${PHASE_TYPES.join(', ')}.`;
  if (type === undefined || type === null)
    return wrong({ path: at, message: 'The phase has no type.', hint });
  if (!isPhaseType(type)) {
    const message = `Unknown phase type ${JSON.stringify(type)}.${didYouMean(String(type), PHASE_TYPES)}`;
    return wrong({ path: [...at, 'type'], message, hint });
  }
  const result = PHASE_SCHEMAS[type].safeParse(data);
  if (result.success) return { phase: result.data, findings: [] };
  const findings = result.error.issues.flatMap((issue): Finding[] => {
    if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey(type, issue.path, key));
    return [issueFinding(issue, data, capital(`${article(type)} phase`))];
  });
  return wrong(...findings.map((finding) => ({ ...finding, path: [...at, ...finding.path] })));
}

/** A key that another type has is not misspelt; it has to go. */
function unknownKey(type: PhaseType, inside: readonly PropertyKey[], key: string): Finding {
  const path = [...inside.map(String), key];
  if (inside.length > 0) {
    const keys = nestedKeys(type, inside);
    const where = `"${inside.join('.')}"`;
    const message = `Unknown key "${key}" in ${where}.${didYouMean(key, keys)}`;
    return { path, on: 'key', message, hint: `Keys of ${where}: ${keys.join(', ')}.` };
  }
  const own = Object.keys(PHASE_SCHEMAS[type].shape);
  const owners = PHASE_TYPES.filter((other) => Object.hasOwn(PHASE_SCHEMAS[other].shape, key));
  if (owners.length === 0) {
    const hint = `Keys of ${article(type)} phase: ${own.join(', ')}.`;
    return { path, on: 'key', message: `Unknown key "${key}".${didYouMean(key, own)}`, hint };
  }
  const message = `"${key}" is not allowed on ${article(type)} phase.`;
  return { path, on: 'key', message, hint: `It belongs to ${owners.join(', ')} phases.` };
}

/** Keys of a nested mapping such as `retry`. */
function nestedKeys(type: PhaseType, inside: readonly PropertyKey[]): string[] {
  const shape: Record<string, unknown> = PHASE_SCHEMAS[type].shape;
  const field = shape[String(inside[0])] as { unwrap?(): { shape?: object } } | undefined;
  return Object.keys(field?.unwrap?.().shape ?? {});
}

function isPhaseType(value: unknown): value is PhaseType {
  return typeof value === 'string' && Object.hasOwn(PHASE_SCHEMAS, value);
}

export function article(type: string): string {
  return `${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type}`;
}

/** What a schema finds wrong, in words and with its path. Unknown keys are not its business. */
function issueFinding(issue: SchemaIssue, data: unknown, owner: string): Finding {
  const path = issue.path.map((part) => (typeof part === 'number' ? part : String(part)));
  const value = valueAt(data, path);
  if (value === undefined && issue.code === 'invalid_type') {
    const parent = path.slice(0, -1);
    return {
      path: parent,
      message: `${parent.length > 0 ? `"${keyPath(parent)}"` : owner} needs "${path.at(-1)}".`,
    };
  }
  const name = `"${keyPath(path)}"`;
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
  const near = meant(issue, value);
  return near === undefined ? { path, message } : { path, message, hint: `Did you mean "${near}"?` };
}

export interface ListedWorkflow {
  loaded: LoadedWorkflow;
  /** The file of an earlier directory that has the same name and is used instead. */
  shadowedBy?: string;
  /** Beside those of its form: its name is taken in the same directory. */
  problems: Problem[];
}

/** Every workflow file with its name, read but not checked; or those only that may have the name wanted. */
export async function listWorkflows(dirs: readonly string[], wanted?: string): Promise<ListedWorkflow[]> {
  const owners = new Map<string, { file: string; dir: string }>();
  const all: ListedWorkflow[] = [];
  for (const dir of dirs) {
    for (const file of await workflowFiles(dir)) {
      const loaded = await readWorkflow(file, wanted);
      if (!loaded) continue;
      const owner = owners.get(loaded.name);
      owners.set(loaded.name, owner ?? { file, dir });
      const twin = owner?.dir === dir ? owner.file : undefined;
      all.push({
        loaded,
        ...(owner && !twin ? { shadowedBy: owner.file } : {}),
        problems: twin ? [twinProblem(loaded, twin)] : [],
      });
    }
  }
  return all;
}

async function readWorkflow(file: string, wanted: string | undefined): Promise<LoadedWorkflow | undefined> {
  try {
    const text = await readFile(file, 'utf8');
    return wanted !== undefined && isPlainlyAnother(text, wanted)
      ? undefined
      : await loadWorkflow({ file, text });
  } catch (error) {
    const unread = await loadWorkflow({ file, text: '' });
    return {
      ...unread,
      problems: [{ file, line: 1, column: 1, message: `The file cannot be read: ${messageOf(error)}.` }],
    };
  }
}

/** Reading YAML is slow and most files are not wanted: one plain `name` line is enough; any other file is read in full. */
function isPlainlyAnother(text: string, wanted: string): boolean {
  const [line, ...more] = text.match(/^["']?name\b.*$/gm) ?? [];
  const [, name] = /^name: ([A-Za-z][\w-]*) *$/.exec(line ?? '') ?? [];
  return more.length === 0 && name !== undefined && name !== wanted;
}

function twinProblem(loaded: LoadedWorkflow, twin: string): Problem {
  const { file, name } = loaded;
  const message = `The name "${name}" is taken by ${twin}, in the same directory.`;
  return { file, ...loaded.at(['name']), message, hint: 'Give one of them another "name".' };
}
