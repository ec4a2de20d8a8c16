import { Command } from 'commander';
import type { Io } from './io.ts';

interface CommandFile {
  register(program: Command, io: Io): void;
}

/** Every command with the file that has it. Each file says what it takes and shows; the work is behind another `import()`. */
const FILES: [names: string[], load: () => Promise<CommandFile>][] = [
  [['init'], () => import('./commands/init.ts')],
  [['run'], () => import('./commands/run.ts')],
  [['daemon', 'tick'], () => import('./commands/daemon.ts')],
  [['status'], () => import('./commands/status.ts')],
  [['logs'], () => import('./commands/logs.ts')],
  [['attach'], () => import('./commands/attach.ts')],
  [['diff'], () => import('./commands/diff.ts')],
  [
    ['pause', 'retry', 'skip', 'respond', 'resume', 'stop', 'pause-plan', 'resume-plan'],
    () => import('./commands/ticket.ts'),
  ],
  [['sessions', 'resume-session'], () => import('./commands/sessions.ts')],
  [['plan'], () => import('./commands/plan.ts')],
  [['interactive'], () => import('./commands/interactive.ts')],
  [['import'], () => import('./commands/import.ts')],
  [['workflow'], () => import('./commands/workflow.ts')],
  [['spec'], () => import('./commands/spec.ts')],
  [['skills'], () => import('./commands/skills.ts')],
  [['config'], () => import('./commands/config.ts')],
  [['doctor'], () => import('./commands/doctor.ts')],
  [['stats'], () => import('./commands/stats.ts')],
  [['clean'], () => import('./commands/clean.ts')],
  [['workspace'], () => import('./commands/workspace.ts')],
  [['checks', 'integrate'], () => import('./commands/checks.ts')],
  [['forge'], () => import('./commands/forge.ts')],
  [['merge'], () => import('./commands/merge.ts')],
  [['notify'], () => import('./commands/notify.ts')],
  [['completion'], () => import('./commands/completion.ts')],
];

/** The file of the command that comes first; all of them where the command is not plain to see, or asks for all. */
function filesFor(first: string | undefined): (() => Promise<CommandFile>)[] {
  const [one] = FILES.filter(
    ([names]) => first !== undefined && first !== 'completion' && names.includes(first),
  );
  return one ? [one[1]] : FILES.map(([, load]) => load);
}

/** Where there is no terminal. */
const HELP_WIDTH = 80;

/** The program as far as these words need it. `quiet`: wrong words are not explained here. */
export async function createProgram(
  io: Io,
  version: string,
  options: { quiet: boolean; first: string | undefined },
): Promise<Command> {
  const program = new Command('signalbox')
    .description(
      'Drives tickets through YAML workflows with headless coding agents, each in its own git worktree.',
    )
    .version(version, '-V, --version')
    .option('-C, --config <path>', 'use this config file')
    .option('--debug', 'show stack traces')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.out(text.trimEnd()),
      writeErr: (text) => options.quiet || io.err(text.trimEnd()),
      getOutHelpWidth: () => io.columns?.() ?? HELP_WIDTH,
      getErrHelpWidth: () => io.stderr.terminal?.columns() ?? HELP_WIDTH,
      getOutHasColors: () => io.color,
      getErrHasColors: () => io.color,
    })
    .showHelpAfterError('(signalbox --help shows the commands)')
    .helpCommand('help [command]', 'show help for a command');
  const files = await Promise.all(filesFor(options.first).map((load) => load()));
  for (const file of files) file.register(program, io);
  for (const each of program.commands) inherit(program, each);
  return program;
}

/** Subcommands made before exitOverride was known throw like their parent. */
function inherit(parent: Command, child: Command): void {
  child.copyInheritedSettings(parent);
  for (const each of child.commands) inherit(child, each);
}
