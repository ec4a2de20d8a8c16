import { resolve } from 'node:path';
import type { Command } from 'commander';
import { type Io, outJson } from '../io.ts';
import { type GlobalOptions, openSettings } from '../open.ts';

interface Options extends GlobalOptions {
  dir?: string;
  user?: boolean;
  force?: boolean;
}

/** Skills teach agents that a person talks to how to drive Signalbox. */
export function registerSkills(program: Command, io: Io): void {
  const skills = program
    .command('skills')
    .description('skills for agents that drive Signalbox')
    .addHelpText('after', '\nExamples:\n  $ signalbox skills install');
  skills
    .command('list')
    .description('list the skills that there are')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExamples:\n  $ signalbox skills list')
    .action(async (_options: unknown, command: Command) => list(command.optsWithGlobals<Options>(), io));
  skills
    .command('install')
    .argument('[names...]', 'default: all of them')
    .description('copy skills to where agents look for them: .claude/skills and .agents/skills')
    .option('--dir <path>', 'the project; default the current directory')
    .option('--user', 'for all projects: into your home directory')
    .option('--force', 'replace what was changed there')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExamples:\n  $ signalbox skills install\n  $ signalbox skills install --user')
    .action(async (names: string[], _options: unknown, command: Command) =>
      install(names, command.optsWithGlobals<Options>(), io),
    );
}

async function list(options: Options, io: Io): Promise<void> {
  const [settings, { listSkills }] = await Promise.all([
    openSettings(io, options),
    import('../../workflows/skills.ts'),
  ]);
  const found = await listSkills(settings.searchPath.skills);
  if (options.json) return outJson(io, found);
  const width = Math.max(0, ...found.map(({ name }) => name.length));
  io.out(found.map(({ name, dir }) => `${name.padEnd(width)}  ${dir}`).join('\n') || 'There are none.');
}

async function install(names: readonly string[], options: Options, io: Io): Promise<void> {
  const [settings, { installSkills, listSkills }] = await Promise.all([
    openSettings(io, options),
    import('../../workflows/skills.ts'),
  ]);
  const root = options.user ? settings.userHome : resolve(io.cwd, options.dir ?? '.');
  const done = installSkills(await listSkills(settings.searchPath.skills), {
    root,
    names,
    force: options.force === true,
  });
  if (options.json) return outJson(io, done);
  for (const { did, path } of done) io.out(`${did.padEnd(9)}  ${path}`);
  if (done.some(({ did }) => did === 'kept')) io.out('What was changed there was kept; --force replaces it.');
}
