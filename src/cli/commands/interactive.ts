import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { repositoryOf } from '../../config/paths.ts';
import { type PlanningSession, planningSession } from '../../features/planning/session.ts';
import { InputError, WorkspaceError } from '../../model/errors.ts';
import { createWorkspaces } from '../../workspaces/index.ts';
import { answer, exitOf, type Io, inherited } from '../io.ts';
import { type GlobalOptions, openSettings, trusted } from '../open.ts';
import { removeDir, sessionDir, writeFiles } from '../planning-session-files.ts';
import { notStarted } from './sessions.ts';

interface Options extends GlobalOptions {
  repo?: string;
  workflow?: string;
  agent?: string;
  dryRun?: boolean;
}

export async function interactive(io: Io, options: Options): Promise<void> {
  const settings = await openSettings(io, options);
  trusted(settings);
  const show = options.dryRun === true || options.json === true;
  if (!show && !(io.tty && io.stdin.isTTY()))
    throw new InputError('usage', 'A planning session needs a terminal.', {
      hint: 'In scripts, make plans with: signalbox plan new <id> --from <issues, files or a spec>',
    });
  const repo = await repoOf(options, io);
  const hooks = holdSignals(io);
  const dir = show ? '<session>' : sessionDir(settings.home, io.env);
  try {
    const { session, shown } = await planningSession(
      settings,
      { agent: options.agent, repo, workflow: options.workflow },
      { cwd: io.cwd, env: io.env, dir, node: process.execPath },
    );
    if (show) return answer(io, options, shown, sessionText(shown));
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

async function repoOf({ repo }: Options, io: Io): Promise<string | null> {
  if (repo === undefined) return repositoryOf(io.cwd);
  try {
    return (await createWorkspaces({ env: io.env }).checkRepo(resolve(io.cwd, repo))).root;
  } catch (error) {
    if (!(error instanceof WorkspaceError)) throw error;
    const hint = 'Name a directory of a git repository with --repo.';
    throw new InputError(error.code, error.message, { hint, cause: error });
  }
}

function sessionText({ agent, cwd, argv, env, files, notes }: PlanningSession): string {
  return [
    `${agent} in ${cwd}`,
    `  ${argv.map(shortly).join(' ')}`,
    ...Object.entries(env).map(([name, value]) => `  ${name}=${value}`),
    ...files.map(
      (file) => `  ${file.path}${'to' in file ? ` -> ${file.to}` : ` (${file.mode.toString(8)})`}`,
    ),
    ...notes.map((note) => `! ${note}`),
  ].join('\n');
}

/** Long prompts are cut. */
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
  return exitOf(child).catch((error: Error) => {
    throw notStarted(agent, command, error);
  });
}
