import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Env, expandPath, userHome } from '../machine/paths-and-user-home.ts';
import { InputError } from '../model/errors.ts';

/** Signalbox's own directory: $SIGNALBOX_HOME, else ~/.signalbox. */
export function homeDir(env: Env, cwd: string): string {
  const given = env.SIGNALBOX_HOME;
  return given ? expandPath(given, cwd, userHome(env)) : join(userHome(env), '.signalbox');
}

export interface ConfigFile {
  file: string;
  text: string;
  /** `project`: found in the working directory, so its author may not be the user. */
  kind: 'given' | 'home' | 'project';
}

interface Where {
  cwd: string;
  env: Env;
  configPath?: string | undefined;
}

/**
 * The places a config file may be, in order. SIGNALBOX_CONFIG works like -C: the engine sets it for
 * commands that run inside a worktree. A SIGNALBOX_HOME without a config.yaml takes the user's own
 * settings; state and logs stay in it all the same.
 */
export function configChain({ cwd, env, configPath }: Where): Pick<ConfigFile, 'file' | 'kind'>[] {
  const given = configPath ?? (env.SIGNALBOX_CONFIG || undefined);
  if (given !== undefined) return [{ file: expandPath(given, cwd, userHome(env)), kind: 'given' }];
  const homes = new Set([homeDir(env, cwd), join(userHome(env), '.signalbox')]);
  return [
    ...[...homes].map((home) => ({ file: join(home, 'config.yaml'), kind: 'home' as const })),
    { file: join(cwd, 'signalbox.yaml'), kind: 'project' },
  ];
}

/** The first config file there is, or null. One that is there but cannot be read is an error. */
export function findConfig(where: Where): ConfigFile | null {
  for (const { file, kind } of configChain(where)) {
    const text = readConfigText(file);
    if (text !== undefined) return { file, kind, text };
    if (kind === 'given' && where.configPath === undefined && where.env.SIGNALBOX_JOB)
      throw new InputError('config/missing', `This job cannot see the config file ${file}.`, {
        hint: 'A job cannot decide about tickets and plans: run this in a terminal of your own, or use the page.',
        details: { file },
      });
    if (kind === 'given')
      throw new InputError('config/missing', `There is no config file ${file}.`, {
        hint: 'Name an existing file with -C (or SIGNALBOX_CONFIG), or none at all; `signalbox init` creates one.',
        details: { file },
      });
  }
  return null;
}

/** `.signalbox/settings.json` of the repository that contains `cwd`. */
export function projectFile(cwd: string, home: string): ConfigFile | null {
  const top = repositoryOf(cwd);
  if (top === null || join(top, '.signalbox') === home) return null;
  const file = join(top, '.signalbox', 'settings.json');
  const text = readConfigText(file);
  return text === undefined ? null : { file, text, kind: 'project' };
}

/** Nothing but comments and the version, as `init` leaves it: saves loading the parser. */
export function setsNothing(text: string): boolean {
  if (/^\s*\{\s*(?:"\$schema"\s*:\s*"[^"\\]*"\s*,\s*)?"version"\s*:\s*1\s*\}\s*$/.test(text)) return true;
  return text.split('\n').every((line) => /^(#.*|version: 1|)\r?$/.test(line));
}

export const DEFAULT_STATE = 'state';

/**
 * The state directory when no setting is made. Undefined means "load the settings", which would take most of the time
 * of a command that only shows something.
 */
export function plainStateDir(where: Where): string | undefined {
  const { cwd, env } = where;
  if (Object.keys(env).some((name) => name.startsWith('SIGNALBOX_') && name !== 'SIGNALBOX_HOME'))
    return undefined;
  const home = homeDir(env, cwd);
  const config = findConfig(where);
  if (config && (config.kind !== 'home' || !setsNothing(config.text))) return undefined;
  const project = projectFile(cwd, home);
  return project && !setsNothing(project.text) ? undefined : join(home, DEFAULT_STATE);
}

/** A file's text, or undefined when there is none. */
export function readConfigText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new InputError('config/unreadable', `${file} cannot be read (${code ?? 'unknown error'}).`, {
      hint:
        code === 'EISDIR' ? 'It is a directory; a file is wanted.' : `Check its permissions: ls -l ${file}`,
      details: { file },
      cause: error,
    });
  }
}

/**
 * The top of the repository that a directory is in, or null. For a linked worktree it is the main one: settings are
 * the user's, not those an agent may have edited in its workspace.
 */
export function repositoryOf(directory: string): string | null {
  for (let dir = directory; ; dir = dirname(dir)) {
    const link = gitLink(join(dir, '.git'));
    if (link !== undefined) return mainWorktree(dir, link);
    if (dir === dirname(dir)) return null;
  }
}

/** What a `.git` file points to (its form is in gitrepository-layout(5)), an empty text for a `.git` directory, undefined if there is neither. */
function gitLink(path: string): string | undefined {
  try {
    return /^gitdir: (.+)/.exec(readFileSync(path, 'utf8'))?.[1] ?? '';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EISDIR' ? '' : undefined;
  }
}

function mainWorktree(top: string, link: string): string {
  const worktrees = dirname(resolve(top, link));
  const git = dirname(worktrees);
  return basename(worktrees) === 'worktrees' && basename(git) === '.git' ? dirname(git) : top;
}

/** Where the package is, from the source tree and from the built one. `src/` has a `workflows` too, `dist/` a package.json. */
export function packageDir(): string {
  let dir = dirname(fileURLToPath(import.meta.url));
  const isPackage = () => ['workflows', 'package.json'].every((name) => existsSync(join(dir, name)));
  while (!isPackage() && dir !== dirname(dir)) dir = dirname(dir);
  return dir;
}

/** Where the shared state of a fleet is. The text may contain a password, so it is never shown. */
export interface StoreAddress {
  text: string;
  /** An argument can be seen by every user of the machine, so it must not contain a password. */
  from: 'argument' | 'variable' | 'file';
}

/** The address of the store, if this is not the state directory: of an argument, the variable, or the file in the home. */
export function findStoreAddress(where: {
  env: Env;
  cwd: string;
  argument?: string | undefined;
}): StoreAddress | undefined {
  const { env, cwd, argument } = where;
  if (argument !== undefined) return { text: argument, from: 'argument' };
  const variable = env.SIGNALBOX_STORE?.trim();
  if (variable) return { text: variable, from: 'variable' };
  const file = join(homeDir(env, cwd), 'store-address');
  if (!existsSync(file)) return undefined;
  const lines = privateText(file).split('\n');
  const text = lines.map((line) => line.trim()).find((line) => line !== '' && !line.startsWith('#'));
  if (text !== undefined) return { text, from: 'file' };
  throw new InputError('store/address', `${file} has no address in it.`, {
    hint: 'Write one line into it, such as postgres://user:password@host/database, or delete it.',
  });
}

/** The text of a file with a password. The file must be readable by its owner alone. */
export function privateText(file: string): string {
  let mode: number;
  let text: string;
  try {
    mode = statSync(file).mode;
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new InputError(
      'store/address',
      `${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`,
    );
  }
  if ((mode & 0o077) !== 0)
    throw new InputError('store/address', `${file} may contain a password, and other users can read it.`, {
      hint: `Remove that permission: chmod 600 ${file}`,
    });
  return text;
}
