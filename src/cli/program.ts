import { Command } from 'commander';
import type { Io } from './io.ts';

/** Adds the commands of one file to the program. */
type Register = (program: Command, io: Io) => void;

/** Every command with the file that has it. Each file says what it takes and shows; the work is behind another `import()`. */
const FILES: [names: string[], load: () => Promise<Register>][] = [
  [['init'], async () => (await import('./commands/init.ts')).registerInit],
  [['run'], async () => (await import('./commands/run.ts')).registerRun],
  [['daemon', 'tick'], async () => (await import('./commands/daemon.ts')).registerDaemon],
  [['status'], async () => (await import('./commands/status.ts')).registerStatus],
  [['logs'], async () => (await import('./commands/logs.ts')).registerLogs],
  [['attach'], async () => (await import('./commands/attach.ts')).registerAttach],
  [['diff'], async () => (await import('./commands/diff.ts')).registerDiff],
  [
    ['pause', 'retry', 'skip', 'respond', 'resume', 'stop', 'pause-plan', 'resume-plan'],
    async () => (await import('./commands/ticket.ts')).registerTicket,
  ],
  [['sessions', 'resume-session'], async () => (await import('./commands/sessions.ts')).registerSessions],
  [['plan'], async () => (await import('./commands/plan.ts')).registerPlan],
  [['interactive'], async () => (await import('./commands/interactive.ts')).registerInteractive],
  [['import'], async () => (await import('./commands/import.ts')).registerImport],
  [['workflow'], async () => (await import('./commands/workflow.ts')).registerWorkflow],
  [['spec'], async () => (await import('./commands/spec.ts')).registerSpec],
  [['skills'], async () => (await import('./commands/skills.ts')).registerSkills],
  [['config'], async () => (await import('./commands/config.ts')).registerConfig],
  [['doctor'], async () => (await import('./commands/doctor.ts')).registerDoctor],
  [['stats'], async () => (await import('./commands/stats.ts')).registerStats],
  [['clean'], async () => (await import('./commands/clean.ts')).registerClean],
  [['workspace'], async () => (await import('./commands/workspace.ts')).registerWorkspace],
  [['checks', 'integrate'], async () => (await import('./commands/checks.ts')).registerChecks],
  [['forge'], async () => (await import('./commands/forge.ts')).registerForge],
  [['merge'], async () => (await import('./commands/merge.ts')).registerMerge],
  [['notify'], async () => (await import('./commands/notify.ts')).registerNotify],
  [['completion'], async () => (await import('./commands/completion.ts')).registerCompletion],
];

/** The file of the command that comes first; all of them where the command is not plain to see, or asks for all. */
function filesFor(first: string | undefined): (() => Promise<Register>)[] {
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
  const all = await Promise.all(filesFor(options.first).map((load) => load()));
  for (const register of all) register(program, io);
  for (const each of program.commands) inherit(program, each);
  return program;
}

/** Subcommands made before exitOverride was known throw like their parent. */
function inherit(parent: Command, child: Command): void {
  child.copyInheritedSettings(parent);
  for (const each of child.commands) inherit(child, each);
}
