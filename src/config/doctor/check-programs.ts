import { closeSync, openSync, readSync } from 'node:fs';
import { ifPossible, statIfVisible } from '../../machine/files/read-and-remove-files.ts';
import { commandFiles, findExecutable, type Probe, probe } from '../../machine/find-and-probe-program.ts';
import type { Env } from '../../machine/paths-and-user-home.ts';
import type { AgentConfig } from '../../model/agent-and-adapter-types.ts';
import { shortageOf } from '../../model/errors.ts';
import type { Settings } from '../settings-table.ts';

/** `bad` is something required that is missing; `warn` is worth knowing. */
export interface DoctorFinding {
  level: 'ok' | 'warn' | 'bad';
  what: string;
  detail: string;
  fix: string | null;
}

export function finding(
  level: DoctorFinding['level'],
  what: string,
  detail: string,
  fix: string | null = null,
): DoctorFinding {
  return { level, what, detail, fix };
}

export interface ProgramOptions {
  settings: Settings;
  env: Env;
  /** For `--version` of each program. */
  timeoutMs?: number;
}

const NODE: Version = [20, 19];
const GIT: Version = [2, 38];

const SHORTAGE_FIX = 'End other programs or raise the limits of this user, then run this again.';

type Version = readonly [major: number, minor: number];

/** Whether the first `1.2` in a text is this version or a newer one. */
function isAtLeast(text: string, [wantedMajor, wantedMinor]: Version): boolean {
  const [, major = 0, minor = 0] = /(\d+)\.(\d+)/.exec(text)?.map(Number) ?? [];
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}

export function nodeFinding(version: string): DoctorFinding {
  return isAtLeast(version, NODE)
    ? finding('ok', 'node', version)
    : finding('bad', 'node', version, `Install Node ${NODE.join('.')} or newer.`);
}

export async function gitFinding({ env, timeoutMs }: ProgramOptions): Promise<DoctorFinding> {
  const fix = `Install git ${GIT.join('.')} or newer: branches are merged without a checkout (git merge-tree --write-tree).`;
  const file = findExecutable('git', env);
  if (!file) return finding('bad', 'git', 'not found on PATH', fix);
  const result = await probe(file, ['--version'], env, timeoutMs);
  if (!result.ok) {
    const isShort = shortageOf(new Error(result.reason)) !== undefined;
    return finding('bad', 'git', `${file} ${result.reason}`, isShort ? SHORTAGE_FIX : fix);
  }
  return isAtLeast(result.line, GIT)
    ? finding('ok', 'git', result.line)
    : finding('bad', 'git', result.line, fix);
}

export async function toolFinding(
  { env, timeoutMs }: ProgramOptions,
  { what, command, args, why }: { what: string; command: string; args: string[]; why: string },
): Promise<DoctorFinding> {
  const file = findExecutable(command, env);
  if (!file) return finding('warn', what, `${command} not found`, `${why}; install ${what} to have it.`);
  return versionFinding(what, [file, ...args], await probe(file, args, env, timeoutMs));
}

function versionFinding(what: string, argv: string[], result: Probe): DoctorFinding {
  const [file] = argv;
  if (result.ok) return finding('ok', what, `${result.line || 'found'} (${file})`);
  return finding('warn', what, `${file} ${result.reason}`, `Run it by hand to see why: ${argv.join(' ')}`);
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
  const what = `agent ${agent.name}`;
  const trouble = missingProgram({ settings, env }, agent);
  if (trouble) return { level: agent.name === settings.defaultAgent ? 'bad' : 'warn', what, ...trouble };
  const own = { ...env, ...agent.env };
  const file = findExecutable(agent.command, own) ?? agent.command;
  if (agent.adapter === 'rehearsal') return finding('ok', what, `bundled (${file})`);
  // A custom command may not know `--version` and start to work instead.
  if (agent.adapter === 'custom') return finding('ok', what, `found (${file})`);
  return versionFinding(what, [file, '--version'], await probe(file, ['--version'], own, timeoutMs));
}

/** Why an agent's program cannot be started; undefined when it can. */
export function missingProgram(
  { settings, env }: Omit<ProgramOptions, 'timeoutMs'>,
  agent: AgentConfig,
): Trouble | undefined {
  // An entry may set its own PATH, and the engine searches that one.
  const own = { ...env, ...agent.env };
  const trouble = unusable(agent, own);
  if (trouble || findExecutable(agent.command, own)) return trouble;
  const install = Object.hasOwn(INSTALL_COMMANDS, agent.adapter)
    ? `Install it (${INSTALL_COMMANDS[agent.adapter]})`
    : 'Install it';
  const instead =
    agent.name === settings.defaultAgent
      ? ', or name another one in defaultAgent or with --agent; rehearsal needs no key'
      : `, or correct agents.${agent.name}.command`;
  const spaces = /\s/.test(agent.command) ? ' Arguments belong into defaultArgs, not into command.' : '';
  return {
    detail: `${agent.command} not found${agent.command.includes('/') ? '' : ' on PATH'}`,
    fix: `${install}${instead}.${spaces}`,
  };
}

/** How each CLI is installed, by adapter. */
export const INSTALL_COMMANDS: Readonly<Record<string, string>> = {
  pi: 'npm install -g @earendil-works/pi-coding-agent',
  claude: 'npm install -g @anthropic-ai/claude-code',
  codex: 'npm install -g @openai/codex',
  opencode: 'npm install -g opencode-ai',
  gemini: 'npm install -g @google/gemini-cli',
};

/** What is wrong with a program, and how to fix it. */
interface Trouble {
  detail: string;
  fix: string;
}

/** Why an agent's program cannot be started although a file of its name exists; undefined otherwise. */
export function unusable({ name, command }: AgentConfig, env: Env): Trouble | undefined {
  const found = findExecutable(command, env);
  if (found) return withoutInterpreter(found, env);
  const there = commandFiles(command, env).flatMap((file) => {
    const stat = statIfVisible(file);
    return stat ? [{ file, stat }] : [];
  });
  const plain = there.find(({ stat }) => stat.isFile());
  if (plain) return { detail: `${plain.file} is not executable`, fix: `Run: chmod +x ${plain.file}` };
  const dir = command.includes('/') && there.find(({ stat }) => stat.isDirectory());
  if (!dir) return undefined;
  return { detail: `${dir.file} is a directory`, fix: `Name the program itself in agents.${name}.command.` };
}

/** A script whose `#!` line names a program that does not exist. */
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
  // A program may be allowed to be run and not to be read.
  const fd = ifPossible(() => openSync(file, 'r'));
  if (fd === undefined) return '';
  const count = ifPossible(() => readSync(fd, buffer));
  closeSync(fd);
  return buffer.toString('utf8', 0, count ?? 0);
}
