import { accessSync, constants, existsSync, lstatSync, mkdtempSync, rmdirSync, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Env } from '../../machine/environment.ts';
import { findExecutable, probe, statIfSeen } from '../../machine/programs.ts';
import { type DoctorFinding, type ProgramOptions, toolFinding } from './programs.ts';

const MB = 1024 ** 2;
const GB = 1024 ** 3;

export function stateFinding(stateDir: string): DoctorFinding {
  const there = existing(stateDir);
  try {
    if (!existsSync(there)) throw new Error('it is a link that leads nowhere');
    if (!statSync(there).isDirectory())
      throw Object.assign(new Error('not a directory'), { code: 'ENOTDIR' });
    accessSync(there, constants.W_OK | constants.X_OK);
    // /proc and /sys report themselves as writable to root and still refuse files.
    rmdirSync(mkdtempSync(join(there, '.signalbox-doctor-')));
    const detail = there === stateDir ? stateDir : `${stateDir} (will be made)`;
    return { level: 'ok', what: 'state', detail, fix: null };
  } catch (error) {
    return {
      level: 'bad',
      what: 'state',
      detail: `${there} cannot be written (${reasonOf(error as NodeJS.ErrnoException)})`,
      fix: 'Make it writable, or set stateDir to another directory.',
    };
  }
}

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  return code === 'ENOENT' ? 'it takes no directories' : (code ?? message);
}

export async function diskFinding(stateDir: string): Promise<DoctorFinding> {
  const { bavail, bsize } = await statfs(existing(stateDir, existsSync));
  const free = bavail * bsize;
  const level = free < 100 * MB ? 'bad' : free < GB ? 'warn' : 'ok';
  return {
    level,
    what: 'disk',
    detail: `${(free / GB).toFixed(1)} GB free at ${stateDir}`,
    fix: level === 'ok' ? null : 'Free some space, lower retention.gigabytes, or move stateDir.',
  };
}

/** Links that lead nowhere count: nothing can be made below them. */
const isThere = (path: string) =>
  existsSync(path) || (existsSync(dirname(path)) && isDirectory(dirname(path)) && isLink(path));
const isDirectory = (path: string) => statSync(path).isDirectory();
const isLink = (path: string) => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

/** The path, or the nearest directory above it that exists. */
function existing(path: string, exists = isThere): string {
  return exists(path) || path === dirname(path) ? path : existing(dirname(path), exists);
}

const VARIABLES = ['GH_TOKEN', 'GITHUB_TOKEN', 'GH_ENTERPRISE_TOKEN', 'GITHUB_ENTERPRISE_TOKEN'];
/** What is left of the file after a logout. */
const NOBODY = '{}\n'.length;

/** Whether gh is installed and seems to be logged in. Reads no login and asks no server. */
export async function ghFinding(options: ProgramOptions): Promise<DoctorFinding> {
  const { env, settings } = options;
  const why = 'Only workflows that open pull requests need it';
  const finding = await toolFinding(options, {
    what: 'gh',
    command: settings.ghCommand,
    args: ['--version'],
    why,
  });
  if (finding.level !== 'ok') return finding;
  const by = VARIABLES.find((name) => env[name]) ?? hostsFile(env);
  if (by !== undefined) return { ...finding, detail: `${finding.detail}, login by ${by}, not tried` };
  return {
    ...finding,
    level: 'warn',
    detail: `${finding.detail}, no sign of a login`,
    fix: `${why}. Log in with: ${settings.ghCommand} auth login, or set GH_TOKEN.`,
  };
}

function hostsFile({ GH_CONFIG_DIR, XDG_CONFIG_HOME, HOME }: Env): string | undefined {
  const dir =
    GH_CONFIG_DIR ||
    (XDG_CONFIG_HOME ? join(XDG_CONFIG_HOME, 'gh') : HOME ? join(HOME, '.config', 'gh') : undefined);
  if (!dir) return undefined;
  const file = join(dir, 'hosts.yml');
  const size = statIfSeen(file)?.size ?? 0;
  return size > NOBODY ? file : undefined;
}

/** Whether agents that are to run in a sandbox can; nothing when there are none. */
export async function sandboxFindings({
  settings,
  env,
  timeoutMs,
}: ProgramOptions): Promise<DoctorFinding[]> {
  const names = Object.values(settings.agents).flatMap(({ name, sandbox }) =>
    sandbox === 'bwrap' ? [name] : [],
  );
  if (names.length === 0) return [];
  const what = 'sandbox';
  const bad = (detail: string, fix: string): DoctorFinding[] => [{ level: 'bad', what, detail, fix }];
  const instead = `or take "sandbox" out of agents.${names.join(', agents.')}`;
  if (process.platform !== 'linux') return bad('bwrap is for Linux alone', `Run them on Linux, ${instead}.`);
  const file = findExecutable('bwrap', env);
  if (!file)
    return bad('bwrap not found on PATH', `Install bubblewrap (apt install bubblewrap), ${instead}.`);
  const tried = await probe(file, ['--ro-bind', '/', '/', '--unshare-pid', 'true'], env, timeoutMs);
  if (tried.ok) return [{ level: 'ok', what, detail: `${file} for ${names.join(', ')}`, fix: null }];
  return bad(
    `${file} ${tried.reason}`,
    `Allow user namespaces (sysctl kernel.unprivileged_userns_clone=1), ${instead}.`,
  );
}
