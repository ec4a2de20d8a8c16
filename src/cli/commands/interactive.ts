import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { PlanningSession } from '../../features/planning/session.ts';
import { InputError, WorkspaceError } from '../../model/errors.ts';
import { type Io, inherited, outJson } from '../io.ts';
import { type GlobalOptions, openSettings, trusted } from '../open.ts';

interface Options extends GlobalOptions {
  repo?: string;
  workflow?: string;
  agent?: string;
  dryRun?: boolean;
}

export function registerInteractive(program: Command, io: Io): void {
  program
    .command('interactive')
    .description('plan with an agent in its own terminal interface: pi, claude, codex, opencode or gemini')
    .option('-r, --repo <path>', 'the repository to plan for; default the one you are in')
    .option('-w, --workflow <name>', 'the workflow to plan for')
    .option('-a, --agent <name>', 'the agent to plan with; default the first that is installed')
    .option('--dry-run', 'print what would be started, without secrets, and start nothing')
    .option('--json', 'the same as JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  $ signalbox interactive\n  $ signalbox interactive --repo ~/src/teatime --agent claude',
    )
    .action(async (_options: unknown, command: Command) => start(command.optsWithGlobals<Options>(), io));
}

async function start(options: Options, io: Io): Promise<void> {
  const settings = await openSettings(io, options);
  trusted(settings);
  const show = options.dryRun === true || options.json === true;
  if (!show && !(io.tty && io.stdin.isTTY()))
    throw new InputError('usage', 'A planning session needs a terminal.', {
      hint: 'In scripts, make plans with: signalbox plan new <id> --from <issues, files or a spec>',
    });
  const [{ planningSession }, { sessionDir, writeFiles, removeDir }, { repositoryOf }] = await Promise.all([
    import('../../features/planning/session.ts'),
    import('../planning-session-files.ts'),
    import('../../config/paths.ts'),
  ]);
  const repo = await repoOf(options, io, repositoryOf);
  const hooks = holdSignals(io);
  const dir = show ? '<session>' : sessionDir(settings.home, io.env);
  try {
    const { session, shown } = await planningSession(
      settings,
      { agent: options.agent, repo, workflow: options.workflow },
      { cwd: io.cwd, env: io.env, dir, node: process.execPath },
    );
    if (show) return print(shown, options, io);
    writeFiles(session.files, [settings.stateDir]);
    for (const note of session.notes) io.err(`! ${note}`);
    io.exit(await run(session, hooks, io));
  } finally {
    if (!show) removeDir(dir);
    hooks.end();
  }
}

interface Hooks {
  pass: (signal: NodeJS.Signals) => void;
  end(): void;
}

/** No signal ends us before the session's files are gone, however late it comes. */
function holdSignals(io: Io): Hooks {
  const hooks: Hooks = { pass: () => undefined, end: () => undefined };
  hooks.end = io.signals.on(['SIGINT', 'SIGTERM', 'SIGHUP'], (signal) => hooks.pass(signal));
  return hooks;
}

async function repoOf(
  { repo }: Options,
  io: Io,
  repositoryOf: (directory: string) => string | null,
): Promise<string | null> {
  if (repo === undefined) return repositoryOf(io.cwd);
  const { createWorkspaces } = await import('../../workspaces/index.ts');
  try {
    return (await createWorkspaces({ env: io.env }).checkRepo(resolve(io.cwd, repo))).root;
  } catch (error) {
    if (!(error instanceof WorkspaceError)) throw error;
    const hint = 'Name a directory of a git repository with --repo.';
    throw new InputError(error.code, error.message, { hint, cause: error });
  }
}

function print(session: PlanningSession, options: Options, io: Io): void {
  if (options.json) {
    outJson(io, session);
    return;
  }
  io.out(`${session.agent} in ${session.cwd}`);
  io.out(`  ${session.argv.map(shortly).join(' ')}`);
  for (const [name, value] of Object.entries(session.env)) io.out(`  ${name}=${value}`);
  for (const file of session.files)
    io.out(`  ${file.path}${'to' in file ? ` -> ${file.to}` : ` (${file.mode.toString(8)})`}`);
  for (const note of session.notes) io.out(`! ${note}`);
}

/** A prompt of a hundred lines is not for reading here. */
function shortly(arg: string): string {
  if (arg.length > 160)
    return `${JSON.stringify(arg.slice(0, 60)).slice(0, -1)}…" (${arg.length} characters)`;
  return /^[\w./:=@<>-]+$/.test(arg) ? arg : JSON.stringify(arg);
}

/** The terminal is the agent's until it ends; Ctrl-C is for it alone. */
async function run({ argv, env, cwd, agent }: PlanningSession, hooks: Hooks, io: Io): Promise<number> {
  const [command = '', ...args] = argv;
  const child = spawn(command, args, { cwd, env: { ...io.env, ...env }, stdio: inherited(io) });
  hooks.pass = (signal) => void (signal === 'SIGINT' || child.kill(signal));
  return new Promise<number>((done, failed) => {
    child.once('error', (cause) =>
      failed(
        new InputError(
          'agent/missing',
          `Agent "${agent}": ${command} cannot be started (${cause.message}).`,
          {
            hint: 'See what is missing with: signalbox doctor',
            cause,
          },
        ),
      ),
    );
    child.once('exit', (status, signal) => done(status ?? 128 + (signal ? constants.signals[signal] : 1)));
  });
}
