import { spawn } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { LaunchFile } from '../../agents/planner-launch-and-masked-arguments.ts';
import { repositoryOf } from '../../config/find-config-and-state.ts';
import { type PlanningSession, planningSession } from '../../features/planning/prepare-planning-session.ts';
import type { Env } from '../../machine/paths-and-user-home.ts';
import { processStart } from '../../machine/process-identity-and-signals.ts';
import { InputError, orError, WorkspaceError } from '../../model/errors.ts';
import { createWorkspaces } from '../../workspaces/workspaces.ts';
import type { OptionsOf } from '../definitions/commands-and-their-options.ts';
import { answer, exitOf, type Io, inherited } from '../io.ts';
import { openSettings, trusted } from '../open-settings-store-and-engine.ts';
import { notStarted } from './list-and-resume-sessions.ts';

type Options = OptionsOf<'interactive'>;

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

/** Signals end this process only after the session's files are deleted. */
function holdSignals(io: Io): Hooks {
  const hooks: Hooks = { pass: () => undefined, end: () => undefined };
  hooks.end = io.signals.on(['SIGINT', 'SIGTERM', 'SIGHUP'], (signal) => hooks.pass(signal));
  return hooks;
}

async function repoOf({ repo }: Options, io: Io): Promise<string | null> {
  if (repo === undefined) return repositoryOf(io.cwd);
  const workspaces = createWorkspaces({ env: io.env });
  const found = await orError(WorkspaceError, () => workspaces.checkRepo(resolve(io.cwd, repo)));
  if (!(found instanceof WorkspaceError)) return found.root;
  const hint = 'Name a directory of a git repository with --repo.';
  throw new InputError(found.code, found.message, { hint, cause: found });
}

function sessionText({ agent, cwd, argv, env, files, notes }: PlanningSession): string[] {
  return [
    `${agent} in ${cwd}`,
    `  ${argv.map(shortened).join(' ')}`,
    ...Object.entries(env).map(([name, value]) => `  ${name}=${value}`),
    ...files.map(
      (file) => `  ${file.path}${'to' in file ? ` -> ${file.to}` : ` (${file.mode.toString(8)})`}`,
    ),
    ...notes.map((note) => `! ${note}`),
  ];
}

/** Cuts long prompts. */
function shortened(arg: string): string {
  if (arg.length > 160)
    return `${JSON.stringify(arg.slice(0, 60)).slice(0, -1)}…" (${arg.length} characters)`;
  return /^[\w./:=@<>-]+$/.test(arg) ? arg : JSON.stringify(arg);
}

/** Runs the agent on this terminal. Ctrl-C is not passed on: the agent already receives it from the terminal. */
async function run({ argv, env, cwd, agent }: PlanningSession, hooks: Hooks, io: Io): Promise<number> {
  const [command = '', ...args] = argv;
  const child = spawn(command, args, { cwd, env: { ...io.env, ...env }, stdio: inherited(io) });
  hooks.pass = (signal) => void (signal === 'SIGINT' || child.kill(signal));
  return exitOf(child).catch((error: Error) => {
    throw notStarted(agent, command, error);
  });
}

/** A directory for one session that only its owner can read, and that is in no repository. */
export function sessionDir(home: string, env: Env): string {
  const own = !isInRepository(home);
  const root = own ? ownDirectory(join(home, 'planner')) : sharedDirectory(env);
  const prefix = own ? '' : 'signalbox-planner-';
  removeKilledSessions(root, prefix);
  // A new directory with an unpredictable name, readable by its owner alone.
  return mkdtempSync(join(root, `${prefix}${process.pid}-`));
}

/** Owned by this user, and closed to others: who can write there could replace the command of the session. */
function ownDirectory(path: string): string {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const { uid, mode } = statSync(path);
  if (uid !== process.getuid?.()) throw unsafeDirectory(path, 'belongs to another user');
  if ((mode & 0o022) !== 0) throw unsafeDirectory(path, 'can be written to by others');
  return path;
}

function unsafeDirectory(path: string, why: string): InputError {
  return new InputError('planner/directory', `The directory ${path} ${why}.`, {
    hint: 'Move it away: a planning session creates its own.',
    details: { path },
  });
}

/** A directory for temporary files that is in no repository. */
function sharedDirectory(env: Env): string {
  const places = [env.TMPDIR || tmpdir(), tmpdir(), '/tmp'];
  return places.find((place) => !isInRepository(place)) ?? tmpdir();
}

/** An empty `.git` does not count: sandboxes create one to keep programs from making a repository, in /tmp for example. */
function isInRepository(dir: string): boolean {
  const root = repositoryOf(dir);
  if (root === null) return false;
  const dotGit = join(root, '.git');
  return !statSync(dotGit, { throwIfNoEntry: false })?.isDirectory() || existsSync(join(dotGit, 'HEAD'));
}

function writeFiles(files: readonly LaunchFile[], directories: readonly string[]): void {
  for (const path of directories) mkdirSync(path, { recursive: true, mode: 0o700 });
  for (const file of files) {
    mkdirSync(dirname(file.path), { recursive: true, mode: 0o700 });
    if ('to' in file) symlinkSync(file.to, file.path);
    else writeFileSync(file.path, file.text, { mode: file.mode, flag: 'wx' });
  }
}

function removeDir(dir: string): void {
  rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
}

/** Removes directories of killed sessions of this user. */
function removeKilledSessions(root: string, prefix: string): void {
  for (const name of readdirSync(root)) {
    if (!name.startsWith(prefix)) continue;
    const pid = /^(\d+)-\w{6,8}$/.exec(name.slice(prefix.length))?.[1];
    if (pid === undefined || processStart(Number(pid)) !== undefined) continue;
    const path = join(root, name);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory() && found.uid === process.getuid?.()) removeDir(path);
  }
}
