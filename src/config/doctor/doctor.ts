import { accessSync, constants, existsSync, lstatSync, mkdtempSync, rmdirSync, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { storageReason } from '../../machine/files/make-directory-and-handle-storage-errors.ts';
import { statIfVisible } from '../../machine/files/read-and-remove-files.ts';
import { findExecutable, type Probe, probe } from '../../machine/find-and-probe-program.ts';
import type { Env } from '../../machine/paths-and-user-home.ts';
import { messageOf, type SignalboxError } from '../../model/errors.ts';
import { nearest } from '../../model/text/nearest-word.ts';
import { ROWS, type Settings, variableOf } from '../settings-table.ts';
import type { DoctorFinding, ProgramOptions } from './check-programs.ts';
import {
  agentFinding,
  agentsToCheck,
  finding,
  gitFinding,
  nodeFinding,
  toolFinding,
} from './check-programs.ts';

interface WorkflowReport {
  file: string;
  name: string | null;
  /** The file of the same name that overrides it. */
  shadowedBy?: string;
  problems: { line: number; column: number; message: string; hint?: string | undefined }[];
}

export interface DoctorOptions extends ProgramOptions {
  /** Why the user's own settings could not be loaded; `settings` are then the defaults. */
  configError: SignalboxError | null;
  /** As in process.versions.node. */
  nodeVersion: string;
  checkWorkflows(settings: Settings): Promise<WorkflowReport[]>;
}

/** Checks everything that a run needs. Changes nothing, and never throws for what it finds. */
export async function examine(options: DoctorOptions): Promise<DoctorFinding[]> {
  const findings = await Promise.all([
    nodeFinding(options.nodeVersion),
    gitFinding(options),
    toolFinding(options, {
      what: 'tmux',
      command: 'tmux',
      args: ['-V'],
      why: 'Jobs run without it; windows that follow them are not shown',
    }),
    ghFinding(options),
    ...agentsToCheck(options).map((agent) => agentFinding(options, agent)),
    sandboxFindings(options),
    configFinding(options),
    ...variableFindings(options.env),
    stateFinding(options.settings.stateDir),
    diskFinding(options.settings.stateDir),
    workflowFindings(options),
  ]);
  return findings.flat();
}

export function isHealthy(findings: DoctorFinding[]): boolean {
  return findings.every((finding) => finding.level !== 'bad');
}

type ConfigState = Pick<DoctorOptions, 'settings' | 'configError'>;

export function configFinding({ settings, configError }: ConfigState): DoctorFinding {
  if (configError) return finding('bad', 'config', configError.message, configError.hint);
  return finding('ok', 'config', settings.configFile ?? 'no file; defaults apply');
}

/** Misspelt variables have no effect. */
function variableFindings(env: Env): DoctorFinding[] {
  const known = ROWS.map(({ key }) => variableOf(key).slice(PREFIX.length));
  return Object.keys(env).flatMap((name) => {
    const setting = name.slice(PREFIX.length);
    const near = name.startsWith(PREFIX) && !known.includes(setting) && nearest(setting, known);
    return near
      ? [finding('warn', 'environment', `${name} is no setting`, `Did you mean ${PREFIX}${near}?`)]
      : [];
  });
}

const PREFIX = 'SIGNALBOX_';

async function workflowFindings({ settings, checkWorkflows }: DoctorOptions): Promise<DoctorFinding[]> {
  let reports: WorkflowReport[];
  try {
    reports = await checkWorkflows(settings);
  } catch (error) {
    return [finding('bad', 'workflows', messageOf(error), 'Run `signalbox workflow check`.')];
  }
  if (reports.length === 0) {
    const fix = `Looked in ${settings.searchPath.workflows.join(', ')}.`;
    return [finding('bad', 'workflows', 'none found', fix)];
  }
  const bad = reports.filter((report) => report.problems.length > 0);
  const good = reports.filter((report) => !bad.includes(report) && !report.shadowedBy).length;
  return [...(good > 0 ? [finding('ok', 'workflows', `${good} valid`)] : []), ...bad.map(badWorkflow)];
}

function badWorkflow({ file, name, problems }: WorkflowReport): DoctorFinding {
  const [first] = problems;
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : '';
  const detail = `${file}:${first?.line}:${first?.column}: ${first?.message}${more}`;
  const fix = first?.hint ?? `Run \`signalbox workflow check ${file}\`.`;
  return finding('bad', `workflow ${name ?? file}`, detail, fix);
}

const MB = 1024 ** 2;
const GB = 1024 ** 3;

function stateFinding(stateDir: string): DoctorFinding {
  const there = existing(stateDir);
  try {
    if (!existsSync(there)) throw new Error('it is a link that leads nowhere');
    if (!statSync(there).isDirectory()) throw new Error('it is no directory');
    accessSync(there, constants.W_OK | constants.X_OK);
    // /proc and /sys report themselves as writable to root and still refuse files.
    rmdirSync(mkdtempSync(join(there, '.signalbox-doctor-')));
    const detail = there === stateDir ? stateDir : `${stateDir} (will be made)`;
    return finding('ok', 'state', detail);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = code === 'ENOENT' ? 'it takes no directories' : (storageReason(error) ?? message);
    const fix = 'Make it writable, or set stateDir to another directory.';
    return finding('bad', 'state', `${there} cannot be written (${reason})`, fix);
  }
}

async function diskFinding(stateDir: string): Promise<DoctorFinding> {
  const { bavail, bsize } = await statfs(existing(stateDir, existsSync));
  const free = bavail * bsize;
  const detail = `${(free / GB).toFixed(1)} GB free at ${stateDir}`;
  if (free >= GB) return finding('ok', 'disk', detail);
  const fix = 'Free some space, lower retention.gigabytes, or move stateDir.';
  return finding(free < 100 * MB ? 'bad' : 'warn', 'disk', detail, fix);
}

/** Broken links count as existing: nothing can be created below them. */
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
const LOGGED_OUT_BYTES = '{}\n'.length;

/** Whether gh is installed and seems to be logged in. Reads no login and asks no server. */
async function ghFinding(options: ProgramOptions): Promise<DoctorFinding> {
  const { env, settings } = options;
  const why = 'Only workflows that open pull requests need it';
  const gh = settings.ghCommand;
  const tool = await toolFinding(options, { what: 'gh', command: gh, args: ['--version'], why });
  if (tool.level !== 'ok') return tool;
  const by = VARIABLES.find((name) => env[name]) ?? hostsFile(env);
  if (by !== undefined) return finding('ok', 'gh', `${tool.detail}, login by ${by}, not tried`);
  const fix = `${why}. Log in with: ${gh} auth login, or set GH_TOKEN.`;
  return finding('warn', 'gh', `${tool.detail}, no sign of a login`, fix);
}

function hostsFile({ GH_CONFIG_DIR, XDG_CONFIG_HOME, HOME }: Env): string | undefined {
  const dir =
    GH_CONFIG_DIR ||
    (XDG_CONFIG_HOME ? join(XDG_CONFIG_HOME, 'gh') : HOME ? join(HOME, '.config', 'gh') : undefined);
  if (!dir) return undefined;
  const file = join(dir, 'hosts.yml');
  const size = statIfVisible(file)?.size ?? 0;
  return size > LOGGED_OUT_BYTES ? file : undefined;
}

/** Tries bubblewrap; user namespaces may be forbidden. */
export function sandboxWorks(bwrap: string, env: Env, timeoutMs?: number): Promise<Probe> {
  return probe(bwrap, ['--ro-bind', '/', '/', '--unshare-pid', 'true'], env, timeoutMs);
}

/** Whether the sandbox works, if agents use it. */
async function sandboxFindings({ settings, env, timeoutMs }: ProgramOptions): Promise<DoctorFinding[]> {
  const names = Object.values(settings.agents).flatMap(({ name, sandbox }) =>
    sandbox === 'bwrap' ? [name] : [],
  );
  const what = 'sandbox';
  if (names.length === 0) {
    const open = agentsToCheck({ settings, env }).filter(({ adapter }) => adapter !== 'rehearsal');
    const there = process.platform === 'linux' && open.length > 0 && findExecutable('bwrap', env);
    if (!there || !(await sandboxWorks(there, env, timeoutMs)).ok) return [];
    const detail =
      'no agent uses it: agents can read your home directory and the environment of your other processes';
    const fix = `bwrap works here, and is recommended: set agents.${open[0]?.name}.sandbox to bwrap. See docs/security.md.`;
    return [finding('warn', what, detail, fix)];
  }
  const bad = (detail: string, fix: string) => [finding('bad', what, detail, fix)];
  const instead = `or take "sandbox" out of agents.${names.join(', agents.')}`;
  if (process.platform !== 'linux') return bad('bwrap is for Linux alone', `Run them on Linux, ${instead}.`);
  const file = findExecutable('bwrap', env);
  if (!file)
    return bad('bwrap not found on PATH', `Install bubblewrap (apt install bubblewrap), ${instead}.`);
  const tried = await sandboxWorks(file, env, timeoutMs);
  if (tried.ok) return [finding('ok', what, `${file} for ${names.join(', ')}`)];
  return bad(
    `${file} ${tried.reason}`,
    `Allow user namespaces (sysctl kernel.unprivileged_userns_clone=1), ${instead}.`,
  );
}
