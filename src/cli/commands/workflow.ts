import { existsSync, readFileSync, statSync } from 'node:fs';
import { resolve as resolvePath } from 'node:path';
import type { Command } from 'commander';
import type { Problem } from '../../config/file-problem.ts';
import type { Settings } from '../../config/settings.ts';
import { plural } from '../../model/text/plural.ts';
import type { SearchPath } from '../../workflows/find.ts';
import type { LoadedWorkflow } from '../../workflows/load.ts';
import { type Io, outJson } from '../io.ts';
import { openSettings } from '../open.ts';

interface Options {
  config?: string;
  json?: boolean;
  mermaid?: boolean;
}

export function registerWorkflow(program: Command, io: Io): void {
  const workflow = program
    .command('workflow')
    .description('list, show, check and draw workflows')
    .addHelpText(
      'after',
      '\nExamples:\n  $ signalbox workflow list\n  $ signalbox workflow check my-workflow.yaml',
    );

  workflow
    .command('list')
    .description('list the workflows a ticket can name, and where each comes from')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExamples:\n  $ signalbox workflow list\n  $ signalbox workflow list --json')
    .action(async (_options: unknown, command: Command) => listAll(command.optsWithGlobals<Options>(), io));

  workflow
    .command('show')
    .argument('<name>', 'the workflow')
    .description('print a workflow’s phases, prompts and scripts')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  $ signalbox workflow show local\n  $ signalbox workflow show local --json',
    )
    .action(async (name: string, _options: unknown, command: Command) =>
      show(name, command.optsWithGlobals<Options>(), io),
    );

  workflow
    .command('check')
    .argument('[file]', 'a workflow file or name; default all of them')
    .description('find everything wrong with workflows and their prompts, before anything runs')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExits with 1 when there is a problem.\n\nExamples:\n  $ signalbox workflow check\n  $ signalbox workflow check my-workflow.yaml',
    )
    .action(async (file: string | undefined, _options: unknown, command: Command) =>
      check(file, command.optsWithGlobals<Options>(), io),
    );

  workflow
    .command('graph')
    .argument('<name>', 'the workflow')
    .description('draw a workflow’s phases and edges')
    .option('--mermaid', 'as a Mermaid flowchart')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  $ signalbox workflow graph local\n  $ signalbox workflow graph local --mermaid > local.mmd',
    )
    .action(async (name: string, _options: unknown, command: Command) =>
      graph(name, command.optsWithGlobals<Options>(), io),
    );
}

async function listAll(options: Options, io: Io): Promise<void> {
  const { listWorkflows } = await import('../../workflows/check/check.ts');
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
    io.out(
      `${name.padEnd(width)}  ${readable ? description || '-' : 'has problems: run `signalbox workflow check`'}  (${file})`,
    );
  }
}

async function show(name: string, options: Options, io: Io): Promise<void> {
  const { workflow, prompts, scripts, hash, file } = await resolve(name, options, io);
  if (options.json) return outJson(io, { name, file, hash, workflow, prompts, scripts });
  const { drawing } = await import('../../workflows/graph.ts');
  const { findPrompt } = await import('../../workflows/find.ts');
  const { ACTIONS } = await import('../../model/actions.ts');
  const { actionOf } = await import('../../model/workflow.ts');
  const { prompts: dirs } = await searchPathOf(options, io);
  io.out(`${workflow.name}${workflow.description ? `: ${workflow.description}` : ''}`);
  io.out(`${file}\n`);
  io.out(drawing(workflow, { color: io.color }));
  const promptRows = await Promise.all(
    Object.keys(prompts).map(async (prompt) => [prompt, (await findPrompt(prompt, dirs)) ?? '']),
  );
  const actions = workflow.phases.flatMap((phase) => actionOf(phase) ?? []);
  for (const [title, rows] of [
    ['Actions', [...new Set(actions)].map((action) => [action, ACTIONS[action].does])],
    ['Prompts', promptRows],
    ['Scripts', Object.entries(scripts)],
  ] as const) {
    if (rows.length === 0) continue;
    const width = Math.max(...rows.map(([key = '']) => key.length));
    io.out(`\n${title}`);
    for (const [key = '', path = ''] of rows) io.out(`  ${key.padEnd(width)}  ${path}`);
  }
}

async function graph(name: string, options: Options, io: Io): Promise<void> {
  const { workflow } = await resolve(name, options, io);
  const { drawing, mermaid } = await import('../../workflows/graph.ts');
  if (options.json)
    outJson(io, { name, mermaid: mermaid(workflow), drawing: drawing(workflow, { color: false }) });
  else io.out(options.mermaid ? mermaid(workflow) : drawing(workflow, { color: io.color }));
}

async function check(file: string | undefined, options: Options, io: Io): Promise<void> {
  const { sayProblem } = await import('../../config/file-problem.ts');
  const settings = await openSettings(io, options);
  const checked = file === undefined ? await checkEvery(settings) : [await checkOne(file, settings, io)];
  const count = checked.reduce((sum, { problems }) => sum + problems.length, 0);
  if (count > 0) io.exit(1);
  if (options.json) return outJson(io, checked);
  for (const problem of checked.flatMap(({ problems }) => problems)) io.out(sayProblem(problem));
  for (const note of checked.flatMap(({ notes }) => notes)) io.out(note);
  const names = checked.map(({ name }) => name).join(', ');
  io.out(
    count > 0 ? `${plural(count, 'problem')}.` : `No problems in ${names || 'any workflow: there is none'}.`,
  );
}

interface Checked {
  file: string;
  name: string;
  problems: Problem[];
  /** What is right but may surprise. */
  notes: string[];
}

async function checkEvery(settings: Settings): Promise<Checked[]> {
  const { listWorkflows } = await import('../../workflows/check/check.ts');
  const listed = await listWorkflows(settings.searchPath.workflows);
  return Promise.all(listed.map(({ loaded, problems }) => checkRead(loaded, settings, problems)));
}

async function checkRead(
  loaded: LoadedWorkflow,
  settings: Settings,
  found: readonly Problem[] = [],
): Promise<Checked> {
  const [{ checkLoaded, notesOn }, { agentProblems }] = await Promise.all([
    import('../../workflows/check/check.ts'),
    import('../../features/plans/workflow-agents.ts'),
  ]);
  const { file, name } = loaded;
  const own = await checkLoaded(loaded, settings.searchPath);
  const problems = [...found, ...own, ...agentProblems(loaded, settings.agents)];
  return { file, name, problems, notes: await notesOn(loaded, settings.searchPath) };
}

/** A path that exists is a file; anything else is a name. */
async function checkOne(file: string, settings: Settings, io: Io): Promise<Checked> {
  const { searchPath } = settings;
  const { listWorkflows } = await import('../../workflows/check/check.ts');
  const { loadWorkflow } = await import('../../workflows/load.ts');
  const path = resolvePath(io.cwd, file);
  if (existsSync(path) && statSync(path).isFile()) {
    return checkRead(await loadWorkflow({ file, text: readFileSync(path, 'utf8') }), settings);
  }
  const all = await listWorkflows(searchPath.workflows);
  const found = all.filter(({ loaded, shadowedBy }) => loaded.name === file && !shadowedBy);
  const [first] = found;
  if (!first) {
    const { unknownWorkflow } = await import('../../workflows/resolve.ts');
    throw unknownWorkflow(
      file,
      all.map(({ loaded }) => loaded.name),
      searchPath.workflows,
    );
  }
  return checkRead(
    first.loaded,
    settings,
    found.flatMap((one) => one.problems),
  );
}

async function resolve(name: string, options: Options, io: Io) {
  const { resolveWorkflow } = await import('../../workflows/resolve.ts');
  return await resolveWorkflow(name, await searchPathOf(options, io));
}

async function searchPathOf(options: Options, io: Io): Promise<SearchPath> {
  return (await openSettings(io, options)).searchPath;
}
