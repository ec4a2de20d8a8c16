import { readFile } from 'node:fs/promises';
import { type Finding, type Problem, placed, tidy } from '../../config/parse-yaml-with-places.ts';
import { messageOf } from '../../model/errors.ts';
import { actionOf } from '../../model/workflow.ts';
import { insteadOf, type SearchPath, workflowFiles } from '../find-workflows-prompts-scripts.ts';
import { type LoadedWorkflow, loadWorkflow } from '../load-workflow.ts';
import { checkGraph, checkTargets } from './check-edges.ts';
import { checkPhase } from './check-phase.ts';
import { type ContentDirs, checkContent } from './check-prompts-and-scripts.ts';

/** Everything that is wrong with a workflow, found before anything runs; empty when it can be used. */
export async function checkLoaded(loaded: LoadedWorkflow, dirs: ContentDirs): Promise<Problem[]> {
  const findings = [
    ...checkIds(loaded),
    ...checkTargets(loaded.phases, loaded.ids),
    ...loaded.phases.flatMap((phase, index) => (phase ? checkPhase(phase, index) : [])),
    ...(loaded.workflow && isSound(loaded) ? checkGraph(loaded.workflow) : []),
  ];
  return tidy(
    [...loaded.problems, ...placed(loaded, findings), ...(await checkContent(loaded, dirs))],
    loaded.file,
  );
}

/** What is no problem, but may surprise: scripts of the user's that run instead of actions. */
export async function notesOn(loaded: LoadedWorkflow, { scripts }: ContentDirs): Promise<string[]> {
  const notes = loaded.phases.map(async (phase) => {
    const instead = phase && (await insteadOf(phase, scripts));
    return instead && phase
      ? [
          `${loaded.name}: phase "${phase.id}" runs ${instead.path} instead of the action "${actionOf(phase)}".`,
        ]
      : [];
  });
  return (await Promise.all(notes)).flat();
}

function checkIds(loaded: LoadedWorkflow): Finding[] {
  const seen = new Map<string, number>();
  const findings: Finding[] = [];
  for (const [index, phase] of loaded.phases.entries()) {
    if (!phase) continue;
    const first = seen.get(phase.id);
    if (first === undefined) seen.set(phase.id, index);
    else {
      const { line } = loaded.at(['phases', first, 'id']);
      findings.push({
        path: ['phases', index, 'id'],
        message: `Phase id "${phase.id}" is taken by the phase at line ${line}.`,
      });
    }
  }
  return findings;
}

/** With duplicate ids or missing targets, findings about the graph would be misleading. */
function isSound(loaded: LoadedWorkflow): boolean {
  return (
    new Set(loaded.ids).size === loaded.ids.length && checkTargets(loaded.phases, loaded.ids).length === 0
  );
}

/** Checks every workflow of the search path, in its order. A file that cannot be read is a problem of that file alone. */
export async function checkAll({ searchPath }: { searchPath: SearchPath }) {
  const listed = await listWorkflows(searchPath.workflows);
  return await Promise.all(
    listed.map(async ({ loaded, problems, ...listing }) => ({
      ...listing,
      file: loaded.file,
      name: loaded.name,
      problems: [...problems, ...(await checkLoaded(loaded, searchPath))],
    })),
  );
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
