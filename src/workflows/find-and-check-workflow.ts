import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { problemsError } from '../config/parse-yaml-and-place-problems.ts';
import { ifPossible } from '../machine/files/read-and-remove-files.ts';
import { scriptInstead } from '../model/actions.ts';
import { InputError } from '../model/errors.ts';
import { didYouMean } from '../model/text/nearest-word.ts';
import { actionOf, commandOf, type Phase, type Workflow } from '../model/workflow.ts';
import { checkLoaded } from './check/check-workflow.ts';
import {
  findScript,
  findScriptInsteadOfAction,
  isWorkflowName,
  readPrompt,
  type SearchPath,
} from './find-workflows-prompts-scripts.ts';
import { type ListedWorkflow, listWorkflows } from './load-and-list-workflows.ts';
import { type PinnedWorkflow, pinWorkflow } from './pin-workflow-and-render-prompts.ts';
import { readIncluded } from './templates/find-template-variables-and-faults.ts';

interface ResolvedWorkflow extends PinnedWorkflow {
  hash: string;
  /** What to keep for `readPinned`. */
  text: string;
  /** The file it was read from. */
  file: string;
}

/** Two writes within this time may leave the same time on a file. */
const CLOCK_GRAIN_MS = 20;

const known = new Map<string, { stamp: string; resolved: ResolvedWorkflow }>();
const running = new Map<string, Promise<ResolvedWorkflow>>();

/**
 * Finds a workflow by name, checks it, and collects what it names. Throws one error with everything that is wrong.
 * Every ticket asks, so the answer is kept as long as none of its files changes; treat it as read-only.
 */
export async function resolveWorkflow(name: string, searchPath: SearchPath): Promise<ResolvedWorkflow> {
  const { workflows, prompts, scripts } = searchPath;
  const key = JSON.stringify([name, workflows, prompts, scripts]);
  const kept = known.get(key);
  if (kept && kept.stamp === stampOf(searchPath, kept.resolved).stamp) return kept.resolved;
  const anew = running.get(key) ?? resolveAndKeep(key, name, searchPath).finally(() => running.delete(key));
  running.set(key, anew);
  return await anew;
}

async function resolveAndKeep(key: string, name: string, searchPath: SearchPath): Promise<ResolvedWorkflow> {
  const begun = Date.now();
  const resolved = await resolveAnew(name, searchPath);
  const { stamp, newest } = stampOf(searchPath, resolved);
  // A file written while it was being read may have been read half; such an answer is given, but not kept.
  if (newest < begun - CLOCK_GRAIN_MS) known.set(key, { stamp, resolved });
  return resolved;
}

async function resolveAnew(name: string, searchPath: SearchPath): Promise<ResolvedWorkflow> {
  const named = await findWorkflows(name, searchPath.workflows);
  const { loaded } = named[0];
  const problems = [...named.flatMap((one) => one.problems), ...(await checkLoaded(loaded, searchPath))];
  const { workflow } = loaded;
  if (problems.length > 0 || !workflow)
    throw problemsError('workflow/invalid', `Workflow "${name}"`, problems);
  const pinned = { workflow, ...(await collect(workflow, searchPath)) };
  return { ...pinned, ...pinWorkflow(pinned), file: loaded.file };
}

/** The workflow of that name, and others in the same directory that have it too. An unknown name is refused. */
export async function findWorkflows(
  name: string,
  dirs: readonly string[],
): Promise<[ListedWorkflow, ...ListedWorkflow[]]> {
  const listed = await listWorkflows(dirs, name);
  const [first, ...more] = listed.filter(({ loaded, shadowedBy }) => loaded.name === name && !shadowedBy);
  if (first) return [first, ...more];
  const names = (await listWorkflows(dirs)).map(({ loaded }) => loaded.name);
  throw unknownWorkflow(name, names, dirs);
}

export function unknownWorkflow(name: string, known: string[], dirs: readonly string[]): InputError {
  const names = [...new Set(known)].sort();
  return new InputError('workflow/unknown', `There is no workflow "${name}".${didYouMean(name, names)}`, {
    hint: names.length > 0 ? `Workflows: ${names.join(', ')}.` : `There is none in ${dirs.join(' and ')}.`,
    details: { name, known: names },
  });
}

async function collect(
  workflow: Workflow,
  searchPath: SearchPath,
): Promise<Omit<PinnedWorkflow, 'workflow'>> {
  const prompts: Record<string, string> = {};
  const scripts: Record<string, string> = {};
  for (const phase of workflow.phases) {
    const command = commandOf(phase);
    if (command !== undefined) scripts[command] = (await findScript(command, searchPath.scripts)) ?? '';
    const instead = await findScriptInsteadOfAction(phase, searchPath.scripts);
    if (instead) scripts[instead.name] = instead.path;
    if (phase.type !== 'agent') continue;
    const name = phase.promptTemplate;
    const found = name === undefined ? undefined : await readPrompt(name, searchPath.prompts);
    if (found && name !== undefined) prompts[name] = found.text;
    Object.assign(prompts, await readIncluded(found?.text ?? phase.prompt ?? '', searchPath.prompts));
  }
  return { prompts, scripts };
}

/** Scripts that a phase names, or that would run instead of its action. */
function scriptNames(phase: Phase): string[] {
  const action = actionOf(phase);
  return [commandOf(phase) ?? [], action ? scriptInstead(action) : []].flat();
}

/** Changes with every file that could change the answer, also one that appears in an earlier directory. */
function stampOf(
  searchPath: SearchPath,
  { prompts, workflow }: ResolvedWorkflow,
): { stamp: string; newest: number } {
  const files = searchPath.workflows.flatMap((dir) =>
    (ifPossible(() => readdirSync(dir)) ?? []).filter(isWorkflowName).map((name) => join(dir, name)),
  );
  const inDirs = (dirs: readonly string[], names: object) =>
    dirs.flatMap((dir) => Object.keys(names).map((name) => join(dir, name)));
  const scripts = Object.fromEntries(workflow.phases.flatMap(scriptNames).map((name) => [name, '']));
  const paths = [...files, ...inDirs(searchPath.prompts, prompts), ...inDirs(searchPath.scripts, scripts)];
  const stats = paths.map((path) => statSync(path, { throwIfNoEntry: false }));
  const marks = stats.map((stat) => (stat ? [stat.ino, stat.size, stat.mtimeMs, stat.ctimeMs] : null));
  const newest = Math.max(0, ...stats.map((stat) => stat?.mtimeMs ?? 0));
  return { stamp: JSON.stringify([paths, marks]), newest };
}
