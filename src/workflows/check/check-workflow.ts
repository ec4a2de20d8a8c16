import { type Finding, type Problem, placed, tidy } from '../../config/parse-yaml-and-place-problems.ts';
import { actionOf } from '../../model/workflow.ts';
import { findScriptInsteadOfAction, type SearchPath } from '../find-workflows-prompts-scripts.ts';
import { type LoadedWorkflow, listWorkflows } from '../load-and-list-workflows.ts';
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
    const instead = phase && (await findScriptInsteadOfAction(phase, scripts));
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
