import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { readTextFile } from '../machine/files/read-and-remove-files.ts';
import { InputError } from '../model/errors.ts';
import { parseJson } from '../model/text/parse-json-and-find-places.ts';
import { asRecord } from '../model/text/values-of-unknown-type.ts';
import { parseRequirements, type Requirement, RequirementIndex } from './parse-and-find-requirements.ts';
import { type DesignSection, parseDesign } from './parse-and-select-design-sections.ts';
import { type ParsedTasks, parseTasks } from './parse-tasks.ts';
import { inFile, type SpecProblem, warning } from './task-and-problem-types.ts';

export interface Spec extends ParsedTasks {
  /** The directory's name. */
  name: string;
  dir: string;
  kind: 'feature' | 'bugfix';
  /** Paths of the files that were read. */
  files: { tasks: string; requirements: string | null; design: string | null };
  /** tasks.md as it was read, byte order mark and line ends included. */
  text: string;
  requirements: Requirement[];
  index: RequirementIndex;
  design: DesignSection[];
  /** The values of `.config.kiro` and `spec.json`. */
  config: Record<string, unknown>;
}

/** Reads a spec directory, or the one that contains the given tasks.md. Only tasks.md has to exist. */
export async function readSpec(path: string): Promise<Spec> {
  const { dir, names } = await openDirectory(path);
  const find = (...wanted: string[]) => {
    const name = wanted.map((each) => names.find((one) => one.toLowerCase() === each)).find(Boolean);
    return name === undefined ? null : join(dir, name);
  };
  const files = {
    tasks: find('tasks.md') ?? missingTasks(dir, names),
    requirements: find('requirements.md', 'bugfix.md'),
    design: find('design.md'),
  };
  const [text = '', wanted = '', design = ''] = await Promise.all(
    [files.tasks, files.requirements, files.design].map((file) => (file === null ? '' : readFile(file))),
  );
  const parsed = parseTasks(text, files.tasks);
  const requirements = parseRequirements(wanted);
  const index = new RequirementIndex(requirements);
  const config = await readConfig([find('.config.kiro'), find('spec.json')]);
  const bugfix = files.requirements !== null && basename(files.requirements).toLowerCase() === 'bugfix.md';
  return {
    ...parsed,
    name: basename(dir),
    dir,
    kind: bugfix || config.values.specType === 'bugfix' ? 'bugfix' : 'feature',
    files,
    text,
    requirements,
    index,
    design: parseDesign(design),
    config: config.values,
    problems: [
      ...parsed.problems,
      ...requirementProblems(parsed, index, files),
      ...config.problems,
      ...approval(config.values, find('spec.json')),
    ],
  };
}

/** A spec with another text of its tasks. */
export function withTasks(spec: Spec, text: string): Spec {
  if (text === spec.text) return spec;
  const { files, index } = spec;
  const parsed = parseTasks(text, files.tasks);
  const others = spec.problems.filter(({ file }) => file !== files.tasks);
  const problems = [...parsed.problems, ...requirementProblems(parsed, index, files), ...others];
  return { ...spec, ...parsed, text, problems };
}

async function openDirectory(path: string): Promise<{ dir: string; names: string[] }> {
  try {
    const dir = (await stat(path)).isFile() ? dirname(path) : path;
    return { dir, names: (await readdir(dir)).sort() };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code ?? 'unknown error'})`;
    throw new InputError('spec/unknown', `${path} ${why}.`, {
      hint: 'Name a spec directory, such as .kiro/specs/my-feature.',
      cause: error,
      details: { dir: path },
    });
  }
}

function missingTasks(dir: string, names: readonly string[]): never {
  const begun = names.some((name) => /^(?:requirements|bugfix|design)\.md$/i.test(name));
  throw new InputError('spec/no-tasks-file', `${dir} has no tasks.md.`, {
    hint: begun
      ? 'The spec has no task list yet: let Kiro write it, or write one with lines such as `- [ ] 1. Text`.'
      : 'Name the directory of one spec, such as .kiro/specs/my-feature.',
    details: { dir },
  });
}

function readFile(file: string): Promise<string> {
  return readTextFile(file, { code: 'spec/unreadable', what: 'a spec' });
}

interface Config {
  values: Record<string, unknown>;
  problems: SpecProblem[];
}

async function readConfig(files: readonly (string | null)[]): Promise<Config> {
  const config: Config = { values: {}, problems: [] };
  for (const file of files) {
    if (file === null) continue;
    const data = parseJson((await readFile(file)).replace(/^\ufeff/, ''));
    const problem = warning(1, 'spec/config', 'This is not valid JSON and is left out.');
    if (data === undefined) config.problems.push(inFile(file, problem));
    Object.assign(config.values, asRecord(data));
  }
  return config;
}

/** Warns if `spec.json` of cc-sdd says that the tasks are not approved. */
function approval(values: Record<string, unknown>, file: string | null): SpecProblem[] {
  const tasks = asRecord(asRecord(values.approvals).tasks);
  if (file === null || tasks.approved !== false) return [];
  const message = 'The tasks are not approved yet (approvals.tasks.approved is false).';
  return [inFile(file, warning(1, 'spec/not-approved', message))];
}

function requirementProblems(
  parsed: ParsedTasks,
  index: RequirementIndex,
  files: Spec['files'],
): SpecProblem[] {
  const [first] = parsed.all.flatMap((task) => task.requirements);
  if (!first) return [];
  if (files.requirements === null) {
    const message = 'Tasks name requirements, and there is no requirements.md or bugfix.md.';
    return [inFile(files.tasks, warning(first.line, 'spec/no-requirements-file', message))];
  }
  return parsed.all.flatMap((task) => {
    const lost = task.requirements.filter(({ id }) => /\d/.test(id) && !/\s/.test(id) && !index.has(id));
    if (!lost[0]) return [];
    const ids = [...new Set(lost.map(({ id }) => id))].join(', ');
    const message = `Task ${task.id} names unknown requirements: ${ids}.`;
    return inFile(files.tasks, warning(lost[0].line, 'spec/unknown-requirement', message));
  });
}
