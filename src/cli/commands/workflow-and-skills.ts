import { existsSync, readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { agentProblems } from '../../agents/adapters-and-agent-problems.ts';
import { type Problem, problemLines } from '../../config/parse-yaml-and-place-problems.ts';
import type { Settings } from '../../config/settings-table.ts';
import { ACTIONS } from '../../model/actions.ts';
import { plural } from '../../model/text/clean-escape-quote-plural.ts';
import { actionOf } from '../../model/workflow.ts';
import { style } from '../../report/style-and-phrases.ts';
import { checkLoaded, notesOn } from '../../workflows/check/check-workflow.ts';
import { drawing, mermaid } from '../../workflows/draw-graph.ts';
import { findWorkflows, resolveWorkflow } from '../../workflows/find-and-check-workflow.ts';
import { findPrompt, type SearchPath } from '../../workflows/find-workflows-prompts-scripts.ts';
import { installSkills, listSkills } from '../../workflows/install-skills.ts';
import { type LoadedWorkflow, listWorkflows, loadWorkflow } from '../../workflows/load-and-list-workflows.ts';
import type { OptionsOf } from '../definitions/commands-and-their-options.ts';
import { answer, type Io, outJson, outWrapped } from '../io.ts';
import { type GlobalOptions, openSettings } from '../open-settings-store-and-engine.ts';

export async function workflowList(io: Io, options: GlobalOptions): Promise<void> {
  const { workflows } = await searchPathOf(options, io);
  const rows = (await listWorkflows(workflows)).map(({ loaded, shadowedBy, problems }) => ({
    name: loaded.name,
    description: loaded.workflow?.description ?? '',
    tags: loaded.workflow?.tags ?? [],
    file: loaded.file,
    shadowedBy: shadowedBy ?? null,
    readable: loaded.workflow !== undefined && problems.length === 0,
  }));
  if (options.json) return outJson(io, rows);
  const shown = rows.filter((row) => row.shadowedBy === null);
  if (shown.length === 0) return io.out(`No workflows in ${workflows.join(' or ')}.`);
  const width = Math.max(...shown.map(({ name }) => name.length));
  for (const { name, description, file, readable } of shown) {
    outWrapped(
      io,
      `${name.padEnd(width)}  ${readable ? description || '-' : 'has problems: run `signalbox workflow check`'}  (${file})`,
    );
  }
}

export async function workflowShow(io: Io, options: GlobalOptions, name: string): Promise<void> {
  const path = await searchPathOf(options, io);
  const { workflow, prompts, scripts, hash, file } = await resolveWorkflow(name, path);
  if (options.json) return outJson(io, { name, file, hash, workflow, prompts, scripts });
  outWrapped(io, `${workflow.name}${workflow.description ? `: ${workflow.description}` : ''}`);
  io.out([file, '', ...drawing(workflow, io.style)]);
  const promptRows = await Promise.all(
    Object.keys(prompts).map(async (prompt) => [prompt, (await findPrompt(prompt, path.prompts)) ?? '']),
  );
  const actions = workflow.phases.flatMap((phase) => actionOf(phase) ?? []);
  for (const [title, rows] of [
    ['Actions', [...new Set(actions)].map((action) => [action, ACTIONS[action].does])],
    ['Prompts', promptRows],
    ['Scripts', Object.entries(scripts)],
  ] as const) {
    if (rows.length === 0) continue;
    const width = Math.max(...rows.map(([key = '']) => key.length));
    outWrapped(io, ['', title, ...rows.map(([key = '', value = '']) => `  ${key.padEnd(width)}  ${value}`)]);
  }
}

export async function workflowGraph(
  io: Io,
  options: OptionsOf<'workflow graph'>,
  name: string,
): Promise<void> {
  const { workflow } = await resolveWorkflow(name, await searchPathOf(options, io));
  const chart = mermaid(workflow);
  const value = { name, mermaid: chart.join('\n'), drawing: drawing(workflow, style(false)).join('\n') };
  answer(io, options, value, options.mermaid ? chart : drawing(workflow, io.style));
}

export async function workflowCheck(io: Io, options: GlobalOptions, file: string | undefined): Promise<void> {
  const settings = await openSettings(io, options);
  const checked = file === undefined ? await checkEvery(settings) : [await checkOne(file, settings, io)];
  const count = checked.reduce((sum, { problems }) => sum + problems.length, 0);
  if (count > 0) io.exit(1);
  if (options.json) return outJson(io, checked);
  io.out(checked.flatMap(({ problems }) => problems.flatMap(problemLines)));
  outWrapped(
    io,
    checked.flatMap(({ notes }) => notes),
  );
  const names = checked.map(({ name }) => name).join(', ');
  io.out(
    count > 0 ? `${plural(count, 'problem')}.` : `No problems in ${names || 'any workflow: there is none'}.`,
  );
}

interface Checked {
  file: string;
  name: string;
  problems: Problem[];
  /** What is valid but may surprise. */
  notes: string[];
}

async function checkEvery(settings: Settings): Promise<Checked[]> {
  const listed = await listWorkflows(settings.searchPath.workflows);
  return Promise.all(listed.map(({ loaded, problems }) => checkRead(loaded, settings, problems)));
}

async function checkRead(
  loaded: LoadedWorkflow,
  settings: Settings,
  found: readonly Problem[] = [],
): Promise<Checked> {
  const { file, name } = loaded;
  const own = await checkLoaded(loaded, settings.searchPath);
  const problems = [...found, ...own, ...agentProblems(loaded, settings.agents)];
  return { file, name, problems, notes: await notesOn(loaded, settings.searchPath) };
}

/** A path that exists is a file; anything else is a name. */
async function checkOne(file: string, settings: Settings, io: Io): Promise<Checked> {
  const path = resolve(io.cwd, file);
  if (existsSync(path) && statSync(path).isFile())
    return checkRead(await loadWorkflow({ file, text: readFileSync(path, 'utf8') }), settings);
  const found = await findWorkflows(file, settings.searchPath.workflows);
  return checkRead(
    found[0].loaded,
    settings,
    found.flatMap(({ problems }) => problems),
  );
}

async function searchPathOf(options: GlobalOptions, io: Io): Promise<SearchPath> {
  return (await openSettings(io, options)).searchPath;
}

type Options = OptionsOf<'skills install'>;

export async function skillsList(io: Io, options: Options): Promise<void> {
  const found = await listSkills((await openSettings(io, options)).searchPath.skills);
  if (options.json) return outJson(io, found);
  const width = Math.max(0, ...found.map(({ name }) => name.length));
  const rows = found.map(({ name, dir }) => `${name.padEnd(width)}  ${dir}`);
  io.out(rows.length > 0 ? rows : 'There are none.');
}

export async function skillsInstall(io: Io, options: Options, names: readonly string[]): Promise<void> {
  const settings = await openSettings(io, options);
  const root = options.user ? settings.userHome : resolve(io.cwd, options.dir ?? '.');
  const known = await listSkills(settings.searchPath.skills);
  const done = installSkills(known, { root, names, force: options.force === true });
  if (options.json) return outJson(io, done);
  for (const { did, path } of done) io.out(`${did.padEnd(9)}  ${path}`);
  if (done.some(({ did }) => did === 'kept')) io.out('What was changed there was kept; --force replaces it.');
}
