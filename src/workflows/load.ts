import { basename } from 'node:path';
import { type Finding, type Problem, placed, problemFrom } from '../config/file-problem.ts';
import { found } from '../config/kinds.ts';
import type { Path, Place, YamlSource } from '../config/yaml-source.ts';
import { isObject } from '../model/text/json.ts';
import { didYouMean } from '../model/text/near.ts';
import { type Phase, Workflow } from '../model/workflow.ts';
import { issueFinding, readPhase } from './read-phase.ts';

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
  const { parseYaml } = await import('../config/yaml-source.ts');
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
