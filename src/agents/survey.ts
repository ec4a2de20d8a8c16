import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { unusable } from '../config/doctor/programs.ts';
import type { Settings } from '../config/settings.ts';
import type { Env } from '../machine/environment.ts';
import { findExecutable, probe } from '../machine/programs.ts';
import type { AgentConfig, AgentProgram } from '../model/agent.ts';
import { ADAPTERS, adapterFor } from './index.ts';
import { type Supports, supportsOf } from './supports.ts';
import { standing, versionIn } from './versions.ts';

/** One agent as it is found on this machine. */
export interface SurveyedAgent {
  agent: string;
  adapter: string;
  /** Used where nobody names another one. */
  isDefault: boolean;
  /** Has an entry in the settings. */
  configured: boolean;
  command: string;
  path: string | null;
  version: string | null;
  /** Why a program that is there told no version, or cannot be started. */
  problem: string | null;
  /** How a program that cannot be started is put right. */
  fix: string | null;
  tested: AgentProgram['tested'] | null;
  standing: 'tested' | 'older' | 'newer' | null;
  /** Null for what is no program of its own. */
  login: Login | null;
  supports: Supports;
}

/** `by` is the first sign that was seen: a file or a variable by its name, never what is in it. */
export interface Login {
  seen: boolean;
  by: string | null;
}

export interface SurveyOptions {
  settings: Settings;
  env: Env;
  /** For the version of each program. */
  timeoutMs?: number;
}

const VERSION_MS = 10_000;

/** Looks for the CLI of every agent, and asks all of them for their versions at once. */
export function surveyAgents(options: SurveyOptions): Promise<SurveyedAgent[]> {
  const agents = Object.values(options.settings.agents);
  // An entry may have given the name of a known CLI to something else.
  const missing = Object.values(ADAPTERS).flatMap(({ name, program }) =>
    program === null || agents.some(({ adapter }) => adapter === name) ? [] : [bare(name)],
  );
  return Promise.all([...agents, ...missing].map((agent) => survey(agent, options)));
}

function bare(name: string): AgentConfig {
  return { name, adapter: name, command: name, defaultArgs: [], env: {}, model: null };
}

async function survey(
  agent: AgentConfig,
  { settings, env, timeoutMs = VERSION_MS }: SurveyOptions,
): Promise<SurveyedAgent> {
  const adapter = adapterFor(agent.adapter);
  const { program } = adapter;
  const own = { ...env, ...agent.env };
  const path = findExecutable(agent.command, own) ?? null;
  const trouble = unusable(agent, own);
  const asked = path && program && !trouble ? await probe(path, [...program.version], own, timeoutMs) : null;
  const version = (asked?.ok && versionIn(asked.line)) || null;
  return {
    agent: agent.name,
    adapter: agent.adapter,
    isDefault: agent.name === settings.defaultAgent,
    configured: (settings.origin[`agents.${agent.name}`] ?? 'default') !== 'default',
    command: agent.command,
    path,
    version,
    problem:
      trouble?.detail ?? (asked && version === null ? (asked.ok ? 'told no version' : asked.reason) : null),
    fix: trouble?.fix ?? null,
    tested: program?.tested ?? null,
    standing: program && version !== null ? standing(version, program.tested) : null,
    login: program && loginOf(program, own),
    supports: supportsOf(adapter),
  };
}

/** Whether somebody seems to be logged in. Nothing is read: a file is there or not, a variable is set or not. */
export function loginOf({ login }: AgentProgram, env: Env): Login {
  const variable = login.env.find((name) => env[name]);
  const places = login.files.flatMap((file) => placeOf(file, login.moved, env) ?? []);
  const by = variable ?? places.find(({ path }) => existsSync(path))?.shown ?? null;
  return { seen: by !== null, by };
}

/** Where a file below the home directory is, and how to call that without the user's own paths. */
function placeOf(file: string, moved: Readonly<Record<string, string>>, env: Env) {
  for (const [name, dir] of Object.entries(moved)) {
    const to = env[name];
    const below = dir === '' ? file : file.startsWith(`${dir}/`) ? file.slice(dir.length + 1) : undefined;
    if (to && below !== undefined) return { path: join(to, below), shown: `$${name}/${below}` };
  }
  return env.HOME ? { path: join(env.HOME, file), shown: `~/${file}` } : undefined;
}
