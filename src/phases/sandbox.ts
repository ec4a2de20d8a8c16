import { createHash } from 'node:crypto';
import { accessSync, constants, existsSync, realpathSync, statSync } from 'node:fs';
import { basename, delimiter, dirname, isAbsolute, join } from 'node:path';
import { ownPlaces } from '../agents/index.ts';
import { bubblewrap } from '../jobs/bubblewrap.ts';
import { dropPidsGroup, findPidsGroup, makePidsGroup } from '../jobs/pids-group.ts';
import type { AgentConfig } from '../model/agent.ts';
import type { PhaseOf } from '../model/workflow.ts';
import type { PhaseContext } from './context.ts';

type Context = PhaseContext<PhaseOf<'agent'>>;

const PROCESSES = 512;

/** Why an agent cannot be sandboxed here, or undefined. */
export function sandboxProblem(agent: AgentConfig, path: string): string | undefined {
  if (agent.sandbox !== 'bwrap') return undefined;
  if (process.platform !== 'linux') return 'sandbox: bwrap is for Linux alone';
  if (findProgram('bwrap', path)) return undefined;
  return 'sandbox: bwrap needs bubblewrap, which is not installed (apt install bubblewrap, dnf install bubblewrap)';
}

/** Puts walls around a command: it sees its worktree, a git directory of its own, and its CLI's own files. */
export async function enterSandbox(
  context: Context,
  agent: AgentConfig,
  dir: string,
  env: Readonly<Record<string, string>>,
): Promise<{ gitDir: string; wrap(argv: readonly string[]): string[] }> {
  const { place, settings, workspaces } = context;
  const enclave = await workspaces.openEnclave(place.worktree, place.branch);
  const path = env.PATH ?? '';
  const { userHome } = settings;
  const places = ownPlaces(agent.adapter, env).map((each) =>
    isAbsolute(each) ? each : join(userHome, each),
  );
  const most = agent.sandboxProcesses ?? PROCESSES;
  const cgroup = makePidsGroup(groupName(place.worktree), most);
  const prlimit = cgroup === null ? findProgram('prlimit', path) : undefined;
  const wrap = (argv: readonly string[]) =>
    bubblewrap(
      {
        bwrap: findProgram('bwrap', path) ?? 'bwrap',
        cwd: place.worktree,
        network: agent.sandboxNetwork ?? true,
        hidden: hiddenPlaces(context),
        readable: [
          ...tools(argv, env, path),
          ...settingsFiles(userHome, env),
          settings.packageDir,
          dir,
          enclave.objects,
        ],
        writable: [...places, ...(agent.sandboxWritable ?? []), enclave.gitDir],
        over: [[enclave.link, join(place.worktree, '.git')]],
        cgroup,
        prlimit: prlimit ? { command: prlimit, processes: most } : null,
      },
      argv,
    );
  return { gitDir: enclave.gitDir, wrap };
}

/** Brings the branch home once everything inside has ended. */
export async function leaveSandbox(context: Context, agent: AgentConfig): Promise<void> {
  if (agent.sandbox !== 'bwrap') return;
  await dropPidsGroup(findPidsGroup(groupName(context.place.worktree)));
  await context.workspaces.closeEnclave(context.place.worktree, context.place.branch);
}

/** By worktree, in which one agent works at a time: what a killed engine left is used again. */
function groupName(worktree: string): string {
  return createHash('sha256').update(worktree).digest('hex').slice(0, 16);
}

/** Home, state, settings, the user's checkout and the other worktrees. Outer ones first: what lies inside is mounted later. */
function hiddenPlaces({ place, settings }: Context): string[] {
  const suffix = `/${place.branch}`;
  const root = place.worktree.endsWith(suffix)
    ? place.worktree.slice(0, -suffix.length)
    : dirname(place.worktree);
  const config = settings.configFile ? [dirname(settings.configFile)] : [];
  const all = [
    settings.userHome,
    settings.home,
    settings.stateDir,
    settings.logDir,
    place.repo,
    root,
    ...config,
  ];
  const real = all.filter((each) => existsSync(each)).map((each) => realpathSync(each));
  return [...new Set(real)].filter((each) => each !== '/').sort((a, b) => a.length - b.length);
}

/** Programs may be installed in the home directory; of a package its other files are needed, too. */
function tools(argv: readonly string[], env: Readonly<Record<string, string>>, path: string): string[] {
  const dirs = path.split(delimiter).filter((dir) => isAbsolute(dir) && existsSync(dir));
  const prefixes = dirs.filter(
    (dir) => basename(dir) === 'bin' && existsSync(join(dir, '../lib/node_modules')),
  );
  const command = findProgram(argv[0] ?? '', path);
  const files = argv
    .slice(1)
    .filter((arg) => isAbsolute(arg) && statSync(arg, { throwIfNoEntry: false })?.isFile());
  return [
    ...dirs,
    ...prefixes.map((dir) => dirname(dir)),
    ...(command ? [dirname(command), packageOf(realpathSync(command))] : []),
    dirname(env.SIGNALBOX_NODE ?? process.execPath),
    ...files,
  ];
}

/** The nearest directory that is a package; else the one with the file. */
function packageOf(file: string): string {
  for (let dir = dirname(file); dir !== '/'; dir = dirname(dir))
    if (existsSync(join(dir, 'package.json'))) return dir;
  return dirname(file);
}

function settingsFiles(home: string, env: Readonly<Record<string, string>>): string[] {
  const own = env.GIT_CONFIG_GLOBAL && isAbsolute(env.GIT_CONFIG_GLOBAL) ? [env.GIT_CONFIG_GLOBAL] : [];
  return [join(home, '.gitconfig'), join(home, '.config/git'), ...own];
}

function findProgram(command: string, path: string): string | undefined {
  const files = command.includes('/')
    ? [command]
    : path.split(delimiter).map((dir) => join(dir || '.', command));
  return files.find((file) => {
    try {
      accessSync(file, constants.X_OK);
      return statSync(file).isFile();
    } catch {
      return false;
    }
  });
}
