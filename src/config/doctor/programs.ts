import { closeSync, openSync, readSync } from 'node:fs';
import type { Env } from '../../machine/environment.ts';
import { statIfSeen } from '../../machine/files/regular.ts';
import { commandFiles, findExecutable, type Probe, probe } from '../../machine/programs.ts';
import type { AgentConfig } from '../../model/agent.ts';
import type { Settings } from '../table.ts';

/** `bad` is something required that is missing; `warn` is worth knowing. */
export interface DoctorFinding {
  level: 'ok' | 'warn' | 'bad';
  what: string;
  detail: string;
  fix: string | null;
}

export interface ProgramOptions {
  settings: Settings;
  env: Env;
  /** For `--version` of each program. */
  timeoutMs?: number;
}

const NODE: Version = [20, 19];
const GIT: Version = [2, 38];

type Version = readonly [major: number, minor: number];

/** The first `1.2` in a text. */
function versionIn(text: string): Version | undefined {
  const match = /(\d+)\.(\d+)/.exec(text);
  return match ? [Number(match[1]), Number(match[2])] : undefined;
}

function atLeast(version: Version, wanted: Version): boolean {
  return version[0] > wanted[0] || (version[0] === wanted[0] && version[1] >= wanted[1]);
}

export function nodeFinding(version: string): DoctorFinding {
  const ok = atLeast(versionIn(version) ?? [0, 0], NODE);
  return {
    level: ok ? 'ok' : 'bad',
    what: 'node',
    detail: version,
    fix: ok ? null : `Install Node ${NODE.join('.')} or newer.`,
  };
}

export async function gitFinding({ env, timeoutMs }: ProgramOptions): Promise<DoctorFinding> {
  const fix = `Install git ${GIT.join('.')} or newer: branches are merged without a checkout (git merge-tree --write-tree).`;
  const file = findExecutable('git', env);
  if (!file) return { level: 'bad', what: 'git', detail: 'not found on PATH', fix };
  const result = await probe(file, ['--version'], env, timeoutMs);
  if (!result.ok) return { level: 'bad', what: 'git', detail: `${file} ${result.reason}`, fix };
  const ok = atLeast(versionIn(result.line) ?? [0, 0], GIT);
  return { level: ok ? 'ok' : 'bad', what: 'git', detail: result.line, fix: ok ? null : fix };
}

export async function toolFinding(
  { env, timeoutMs }: ProgramOptions,
  { what, command, args, why }: { what: string; command: string; args: string[]; why: string },
): Promise<DoctorFinding> {
  const file = findExecutable(command, env);
  if (!file)
    return {
      level: 'warn',
      what,
      detail: `${command} not found`,
      fix: `${why}; install ${what} to have it.`,
    };
  return versionFinding(what, [file, ...args], await probe(file, args, env, timeoutMs));
}

function versionFinding(what: string, argv: string[], result: Probe): DoctorFinding {
  const [file] = argv;
  if (result.ok) return { level: 'ok', what, detail: `${result.line || 'found'} (${file})`, fix: null };
  return {
    level: 'warn',
    what,
    detail: `${file} ${result.reason}`,
    fix: `Run it by hand to see why: ${argv.join(' ')}`,
  };
}

/** The default one, those with an entry, and built-in ones that happen to be installed. */
export function agentsToCheck({ settings, env }: ProgramOptions): AgentConfig[] {
  return Object.values(settings.agents).filter(
    ({ name, command }) =>
      name === settings.defaultAgent ||
      settings.origin[`agents.${name}`] !== 'default' ||
      findExecutable(command, env) !== undefined,
  );
}

export async function agentFinding(
  { settings, env, timeoutMs }: ProgramOptions,
  agent: AgentConfig,
): Promise<DoctorFinding> {
  const isDefault = agent.name === settings.defaultAgent;
  const what = `agent ${agent.name}`;
  // An entry may set its own PATH, and the engine searches that one.
  const own = { ...env, ...agent.env };
  const file = findExecutable(agent.command, own);
  const trouble = unusable(agent, own);
  if (trouble) return { level: isDefault ? 'bad' : 'warn', what, ...trouble };
  if (file) {
    if (agent.adapter === 'rehearsal') return { level: 'ok', what, detail: `bundled (${file})`, fix: null };
    // A custom command may not know `--version` and start to work instead.
    if (agent.adapter === 'custom') return { level: 'ok', what, detail: `found (${file})`, fix: null };
    return versionFinding(what, [file, '--version'], await probe(file, ['--version'], own, timeoutMs));
  }
  return { level: isDefault ? 'bad' : 'warn', what, ...missing(agent, isDefault) };
}

/** Why an agent's program cannot be started; undefined when it can. */
export function missingProgram(
  { settings, env }: Omit<ProgramOptions, 'timeoutMs'>,
  agent: AgentConfig,
): { detail: string; fix: string } | undefined {
  const own = { ...env, ...agent.env };
  const trouble = unusable(agent, own);
  if (trouble) return trouble;
  if (findExecutable(agent.command, own)) return undefined;
  return missing(agent, agent.name === settings.defaultAgent);
}

function missing(agent: AgentConfig, isDefault: boolean): { detail: string; fix: string } {
  const install = Object.hasOwn(INSTALL_COMMANDS, agent.adapter)
    ? `Install it (${INSTALL_COMMANDS[agent.adapter]})`
    : 'Install it';
  const instead = isDefault
    ? ', or name another one in defaultAgent'
    : `, or correct agents.${agent.name}.command`;
  const spaces = /\s/.test(agent.command) ? ' Arguments belong into defaultArgs, not into command.' : '';
  return {
    detail: `${agent.command} not found${agent.command.includes('/') ? '' : ' on PATH'}`,
    fix: `${install}${instead}.${spaces}`,
  };
}

/** How each CLI is installed, by adapter. */
export const INSTALL_COMMANDS: Readonly<Record<string, string>> = {
  pi: 'npm install -g @mariozechner/pi-coding-agent',
  claude: 'npm install -g @anthropic-ai/claude-code',
  codex: 'npm install -g @openai/codex',
  opencode: 'npm install -g opencode-ai',
  gemini: 'npm install -g @google/gemini-cli',
};

/** What is wrong with a program, and how it is put right. */
interface Trouble {
  detail: string;
  fix: string;
}

/** Why an agent's program cannot be started although something of its name is there; undefined otherwise. */
export function unusable({ name, command }: AgentConfig, env: Env): Trouble | undefined {
  const found = findExecutable(command, env);
  if (found) return withoutInterpreter(found, env);
  const there = commandFiles(command, env).flatMap((file) => {
    const stat = statIfSeen(file);
    return stat ? [{ file, stat }] : [];
  });
  const plain = there.find(({ stat }) => stat.isFile());
  if (plain) return { detail: `${plain.file} is not executable`, fix: `Run: chmod +x ${plain.file}` };
  const dir = command.includes('/') && there.find(({ stat }) => stat.isDirectory());
  if (!dir) return undefined;
  return { detail: `${dir.file} is a directory`, fix: `Name the program itself in agents.${name}.command.` };
}

/** A script whose `#!` line names a program that is not there. */
function withoutInterpreter(file: string, env: Env): Trouble | undefined {
  const [, program = '', first = ''] = /^#![ \t]*(\S+)[ \t]*(\S*)/.exec(beginning(file)) ?? [];
  if (program === '') return undefined;
  const isEnv = /(?:^|\/)env$/.test(program) && /^[^-=][^=]*$/.test(first);
  const missing = [program, ...(isEnv ? [first] : [])].find((name) => !findExecutable(name, env));
  if (missing === undefined) return undefined;
  return {
    detail: `${file} cannot be started: its first line names ${missing}, which is not there`,
    fix: `Install ${missing}, or correct the first line.`,
  };
}

function beginning(file: string): string {
  const buffer = Buffer.alloc(256);
  try {
    const fd = openSync(file, 'r');
    try {
      return buffer.toString('utf8', 0, readSync(fd, buffer));
    } finally {
      closeSync(fd);
    }
  } catch {
    // A program may be allowed to be run and not to be read.
    return '';
  }
}
