import { accessSync, constants, existsSync, lstatSync, mkdtempSync, rmdirSync, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Env } from '../../machine/environment.ts';
import { statIfSeen } from '../../machine/files/regular.ts';
import { findExecutable, probe } from '../../machine/programs.ts';
import { messageOf, type SignalboxError } from '../../model/errors.ts';
import { nearest } from '../../model/text/near.ts';
import type { Settings } from '../table.ts';
import { ROWS, variableOf } from '../table.ts';
import {
  agentFinding,
  agentsToCheck,
  type DoctorFinding,
  gitFinding,
  nodeFinding,
  type ProgramOptions,
  toolFinding,
} from './programs.ts';

interface WorkflowReport {
  file: string;
  name: string | null;
  /** The file of the same name that goes before it. */
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

export function configFinding({
  settings,
  configError,
}: Pick<DoctorOptions, 'settings' | 'configError'>): DoctorFinding {
  if (configError)
    return { level: 'bad', what: 'config', detail: configError.message, fix: configError.hint ?? null };
  if (settings.configFile) return { level: 'ok', what: 'config', detail: settings.configFile, fix: null };
  return { level: 'ok', what: 'config', detail: 'no file; defaults are in force', fix: null };
}

/** A misspelt variable would do nothing at all. */
function variableFindings(env: Env): DoctorFinding[] {
  const known = ROWS.map(({ key }) => variableOf(key));
  return Object.keys(env)
    .filter((name) => name.startsWith('SIGNALBOX_') && !known.includes(name))
    .flatMap((name) => {
      const near = nearest(
        name.slice(10),
        known.map((variable) => variable.slice(10)),
      );
      if (near === undefined) return [];
      return [
        {
          level: 'warn',
          what: 'environment',
          detail: `${name} is no setting`,
          fix: `Did you mean SIGNALBOX_${near}?`,
        },
      ];
    });
}

async function workflowFindings({ settings, checkWorkflows }: DoctorOptions): Promise<DoctorFinding[]> {
  let reports: WorkflowReport[];
  try {
    reports = await checkWorkflows(settings);
  } catch (error) {
    return [
      { level: 'bad', what: 'workflows', detail: messageOf(error), fix: 'Run `signalbox workflow check`.' },
    ];
  }
  const bad = reports.filter((report) => report.problems.length > 0);
  const good = reports.filter((report) => !bad.includes(report) && !report.shadowedBy).length;
  const summary: DoctorFinding = { level: 'ok', what: 'workflows', detail: `${good} valid`, fix: null };
  if (reports.length === 0)
    return [
      {
        ...summary,
        level: 'bad',
        detail: 'none found',
        fix: `Looked in ${settings.searchPath.workflows.join(', ')}.`,
      },
    ];
  return [...(good > 0 ? [summary] : []), ...bad.map(badWorkflow)];
}

function badWorkflow({ file, name, problems }: WorkflowReport): DoctorFinding {
  const [first] = problems;
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : '';
  return {
    level: 'bad',
    what: `workflow ${name ?? file}`,
    detail: `${file}:${first?.line}:${first?.column}: ${first?.message}${more}`,
    fix: first?.hint ?? `Run \`signalbox workflow check ${file}\`.`,
  };
}

const MB = 1024 ** 2;
const GB = 1024 ** 3;

function stateFinding(stateDir: string): DoctorFinding {
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

async function diskFinding(stateDir: string): Promise<DoctorFinding> {
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
async function ghFinding(options: ProgramOptions): Promise<DoctorFinding> {
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
async function sandboxFindings({ settings, env, timeoutMs }: ProgramOptions): Promise<DoctorFinding[]> {
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
