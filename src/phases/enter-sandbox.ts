import { existsSync, realpathSync, statSync } from 'node:fs';
import { basename, delimiter, dirname, isAbsolute, join } from 'node:path';
import { findExecutable } from '../machine/find-and-probe-program.ts';
import {
  dropPidsGroup,
  findPidsGroup,
  makePidsGroup,
  processLimit,
} from '../machine/limit-processes-of-sandbox.ts';
import { isInside } from '../machine/paths-and-user-home.ts';
import type { AgentConfig } from '../model/agent-and-adapter-types.ts';
import { digest } from '../model/ids-and-branch-names.ts';
import type { PhaseOf } from '../model/workflow.ts';
import { accountHome, gitSettings, keptPrograms, openHome } from '../sandbox/agent-home.ts';
import { bubblewrap, PRIVATE } from '../sandbox/bubblewrap-command-line.ts';
import type { PhaseContext } from './phase-context.ts';

type Context = PhaseContext<PhaseOf<'agent'>>;

const PROCESSES = 512;

/** Why an agent cannot be sandboxed here, or why it has to be because others are; undefined if all is well. */
export function sandboxProblem(context: Context, agent: AgentConfig, path: string): string | undefined {
  if (agent.sandbox !== 'bwrap') return obeyed(context, agent);
  if (process.platform !== 'linux') return 'sandbox: bwrap is for Linux alone';
  if (findExecutable('bwrap', { PATH: path })) return undefined;
  return 'sandbox: bwrap needs bubblewrap, which is not installed (apt install bubblewrap, dnf install bubblewrap)';
}

/** Whether any configured agent is sandboxed. */
export function sandboxesOthers({ settings }: Context): boolean {
  return Object.values(settings.agents).some(({ sandbox }) => sandbox === 'bwrap');
}

/** Files in the repository that a CLI has no option to ignore: settings, and variables for itself and its shell. */
const FILES_CLI_OBEYS: Readonly<Record<string, readonly string[]>> = {
  pi: ['.pi/settings.json'],
  gemini: ['.env', '.gemini/.env'],
};

function obeyed(context: Context, { adapter }: AgentConfig): string | undefined {
  const files = (Object.hasOwn(FILES_CLI_OBEYS, adapter) ? FILES_CLI_OBEYS[adapter] : undefined) ?? [];
  const file = files.find((each) => existsSync(join(context.place.worktree, each)));
  if (!file || !sandboxesOthers(context)) return undefined;
  return `${adapter} would obey ${file} of the repository, where sandboxed agents can write; set sandbox: bwrap for it, too`;
}

/** Sandboxes a command: it sees its worktree, a git directory and a home of its own. */
export async function enterSandbox(
  context: Context,
  agent: AgentConfig,
  dir: string,
  env: Readonly<Record<string, string>>,
): Promise<{
  gitDir: string;
  env: Record<string, string>;
  wrap(argv: readonly string[]): Promise<string[]>;
}> {
  const { place, settings, workspaces } = context;
  const enclave = await workspaces.openEnclave(place.worktree, place.branch);
  const path = env.PATH ?? '';
  const userHome = realOf(settings.userHome);
  const kept = join(dirname(context.jobDir), AGENT_HOME);
  const home = await openHome({ dir: kept, adapter: agent.adapter, userHome, env });
  const git = await gitSettings({ dir: kept, userHome, env });
  const most = agent.sandboxProcesses ?? PROCESSES;
  const cgroup = makePidsGroup(groupName(place.worktree), most);
  // Such limits do not apply to root.
  const prlimit =
    cgroup === null && process.getuid?.() !== 0 ? findExecutable('prlimit', { PATH: path }) : undefined;
  const hidden = await hiddenPlaces(context, env);
  const wrap = async (argv: readonly string[]) => {
    const programs = tools(argv, env, path, [...hidden, ...PRIVATE, ...home.writable.map(([, to]) => to)]);
    const readable = [...programs, ...(agent.sandboxReadable ?? [])];
    return bubblewrap(
      {
        bwrap: findExecutable('bwrap', { PATH: path }) ?? 'bwrap',
        cwd: place.worktree,
        network: agent.sandboxNetwork ?? true,
        hidden,
        readable: withTargets([...readable, settings.packageDir, dir, enclave.objects]),
        places: home.writable,
        writable: [...(agent.sandboxWritable ?? []), enclave.gitDir],
        over: [
          ...(await keptPrograms(home.writable, withTargets(readable))),
          ...home.readable,
          ...git,
          [enclave.link, join(place.worktree, '.git')],
        ],
        cgroup,
        prlimit: prlimit ? { command: prlimit, processes: processLimit(most) } : null,
      },
      argv,
    );
  };
  return { gitDir: enclave.gitDir, env: home.env, wrap };
}

/** A directory beside the ticket's jobs, deleted with them. */
export const AGENT_HOME = 'home';

/** The path with links resolved, also of a job directory that is created later. */
function realOf(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  return dirname(path) === path ? path : join(realOf(dirname(path)), basename(path));
}

/** Fetches the branch back after all processes in the sandbox have ended. */
export async function leaveSandbox(context: Context, agent: AgentConfig): Promise<void> {
  if (agent.sandbox !== 'bwrap') return;
  await dropPidsGroup(findPidsGroup(groupName(context.place.worktree)));
  await context.workspaces.closeEnclave(context.place.worktree, context.place.branch);
}

/** The control group's name by worktree, in which one agent works at a time: the group of a killed engine is used again. */
function groupName(worktree: string): string {
  return digest(worktree);
}

/** Home, state, settings, repositories and the other worktrees. Outer ones first: inner ones are mounted later. */
async function hiddenPlaces(
  { place, settings, workspaces, others }: Context,
  env: Readonly<Record<string, string>>,
): Promise<string[]> {
  const suffix = `/${place.branch}`;
  const root = place.worktree.endsWith(suffix)
    ? place.worktree.slice(0, -suffix.length)
    : dirname(place.worktree);
  const config = settings.configFile ? [dirname(settings.configFile)] : [];
  const all = [
    settings.userHome,
    ...(env.HOME && isAbsolute(env.HOME) ? [env.HOME] : []),
    ...accountHome(),
    settings.home,
    settings.stateDir,
    settings.logDir,
    place.repo,
    ...(await workspaces.gitDirs(place.worktree)),
    root,
    ...config,
    ...((await others?.()) ?? []),
  ];
  const real = all.filter((each) => existsSync(each)).map((each) => realpathSync(each));
  return [...new Set(real)]
    .filter((each) => each !== '/' && each !== place.worktree)
    .sort((a, b) => a.length - b.length);
}

/** Hidden paths are compared with their links resolved; the link itself is needed, too. */
function withTargets(paths: readonly string[]): string[] {
  return [...new Set(paths.flatMap((path) => [realOf(path), path]))];
}

/** Programs may be installed in the home directory; those of a package are beside it. */
function tools(
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
  path: string,
  hidden: readonly string[],
): string[] {
  const dirs = path.split(delimiter).filter((dir) => isAbsolute(dir) && existsSync(dir));
  const modules = dirs
    .map((dir) => join(dirname(dir), 'lib', 'node_modules'))
    .filter((dir) => existsSync(dir));
  const command = findExecutable(argv[0] ?? '', { PATH: path });
  const files = argv
    .slice(1)
    .filter((arg) => isAbsolute(arg) && statSync(arg, { throwIfNoEntry: false })?.isFile());
  return [
    ...dirs,
    ...modules,
    ...(command ? [...packageOf(command, hidden), ...packageOf(realpathSync(command), hidden)] : []),
    dirname(env.SIGNALBOX_NODE ?? process.execPath),
    ...files,
  ];
}

/**
 * The outermost directory of packages; for a program that is in none, the one with the file; the file alone where that
 * directory is hidden, such as the home itself.
 */
function packageOf(file: string, hidden: readonly string[]): string[] {
  const end = file.indexOf('/node_modules/');
  const dir = realOf(dirname(file));
  const own = hidden.some((each) => isInside(each, dir)) ? [join(dir, basename(file))] : [dir];
  return end < 0 ? own : [...own, file.slice(0, end + '/node_modules'.length)];
}
