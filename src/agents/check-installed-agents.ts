import { existsSync, realpathSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import {
  type DoctorFinding,
  missingProgram,
  type ProgramOptions,
  unusable,
} from '../config/doctor/check-programs.ts';

import { noteFact, readFacts } from '../machine/files/write-atomic-and-note-facts.ts';
import { findExecutable, probe } from '../machine/find-and-probe-program.ts';
import type { Env } from '../machine/paths-and-user-home.ts';
import { run } from '../machine/run-process.ts';
import type { AgentConfig, AgentProgram } from '../model/agent-and-adapter-types.ts';
import { allowedEnvironment } from '../model/text/allowed-environment.ts';
import { asRecord, asText } from '../model/text/values-of-unknown-type.ts';
import { supportsOf } from './adapter-abilities-table.ts';
import { ADAPTERS, adapterFor } from './adapters-and-agent-problems.ts';
import { ownDirectories, ownVariables } from './directories-and-variables-of-clis.ts';
import { installCommand, outdated, rangeText, standing, versionIn } from './program-versions.ts';

/** One agent as it is found on this machine. */
export type SurveyedAgent = Awaited<ReturnType<typeof survey>>;

const VERSION_ARGS = ['--version'];
const VERSION_MS = 10_000;
/** So many programs have their versions kept. */
const MAX_KEPT_VERSIONS = 50;
/** How long a kept version is believed: an update behind a shim does not change the shim. */
const VERSION_KEPT_MS = 3_600_000;

/** Finds the CLI of every agent and reads all versions in parallel. */
export function surveyAgents(options: ProgramOptions): Promise<SurveyedAgent[]> {
  const agents = Object.values(options.settings.agents);
  // An entry may use the name of a known CLI for another adapter.
  const missing = Object.values(ADAPTERS).flatMap(({ name, program }) =>
    program === null || agents.some(({ adapter }) => adapter === name) ? [] : [bare(name)],
  );
  return Promise.all([...agents, ...missing].map((agent) => survey(agent, options)));
}

function bare(name: string): AgentConfig {
  return { name, adapter: name, command: name, defaultArgs: [], env: {}, model: null };
}

async function survey(agent: AgentConfig, { settings, env, timeoutMs = VERSION_MS }: ProgramOptions) {
  const adapter = adapterFor(agent.adapter);
  const { program } = adapter;
  const own = { ...env, ...agent.env };
  const path = findExecutable(agent.command, own) ?? null;
  const trouble = unusable(agent, own);
  const asked = path && program && !trouble ? await probe(path, VERSION_ARGS, own, timeoutMs) : null;
  const version = (asked?.ok && versionIn(asked.line)) || null;
  return {
    agent: agent.name,
    adapter: agent.adapter,
    /** Used where no other agent is named. */
    isDefault: agent.name === settings.defaultAgent,
    /** Has an entry in the settings. */
    configured: (settings.origin[`agents.${agent.name}`] ?? 'default') !== 'default',
    command: agent.command,
    path,
    version,
    /** Why an installed program printed no version, or cannot be started. */
    problem:
      trouble?.detail ??
      (asked && version === null ? (asked.ok ? 'printed no version' : asked.reason) : null),
    /** How to fix a program that cannot be started. */
    fix: trouble?.fix ?? null,
    tested: program?.tested ?? null,
    standing: program && version !== null ? standing(version, program.tested) : null,
    /** Null for an adapter without a program. */
    login: program && loginOf(agent.adapter, program, own),
    supports: supportsOf(adapter),
  };
}

/**
 * Whether there is a sign of a login. Contents are not read: only whether a file exists or a variable is set. `by` is the first sign
 * that was seen, by its name.
 */
function loginOf(adapter: string, { login }: AgentProgram, env: Env) {
  const variable = login.env.find((name) => env[name]);
  const places = login.files.flatMap((file) => locate(adapter, file, env) ?? []);
  const by = variable ?? places.find(({ path }) => existsSync(path))?.shown ?? null;
  return { seen: by !== null, by };
}

interface ReadinessOptions extends ProgramOptions {
  /** What phases let it have of our environment, in addition to what it gets itself. */
  allow: readonly string[];
  /** The repository: the CLI may have settings there. */
  cwd: string;
  /** Keeps versions: some CLIs need seconds to print theirs. */
  versionsFile: string;
  now: string;
}

/** Why an agent cannot do its work, as far as its program can tell without a network. What is unknown is no reason. */
export async function agentReadiness(
  agent: AgentConfig,
  options: ReadinessOptions,
): Promise<DoctorFinding[]> {
  const what = `agent ${agent.name}`;
  const missing = missingProgram(options, agent);
  if (missing) return [{ level: 'bad', what, ...missing }];
  const { program } = adapterFor(agent.adapter);
  const path = findExecutable(agent.command, { ...options.env, ...agent.env });
  if (!program || !path) return [];
  const answers = await Promise.all([
    tooOld(program, path, agent, options),
    loggedOut(program, path, agent, options),
  ]);
  return answers.flatMap((answer) => (answer ? [{ what, ...answer }] : []));
}

async function tooOld(
  program: AgentProgram,
  path: string,
  agent: AgentConfig,
  { env, timeoutMs = VERSION_MS, versionsFile, now }: ReadinessOptions,
): Promise<Omit<DoctorFinding, 'what'> | undefined> {
  const file = realpathSync(path);
  const { mtimeMs, size } = statSync(file);
  const stamp = `${mtimeMs} ${size}`;
  const known = asRecord(readFacts(versionsFile)[file]);
  const age = Date.parse(now) - Date.parse(asText(known.at));
  const isRecent = known.stamp === stamp && age >= 0 && age < VERSION_KEPT_MS;
  const kept = isRecent ? asText(known.version) : '';
  // Nothing is refused by a kept version: the program may have been updated.
  if (kept !== '' && !outdated(program, path, kept)) return undefined;
  // Settings of a repository must not change the answer, which is kept for all.
  const end = await run(path, VERSION_ARGS, { cwd: '/', env: { ...env, ...agent.env }, timeoutMs });
  const version = versionIn(`${end.stdout} ${end.stderr}`);
  if (version === undefined) return undefined;
  noteFact(versionsFile, file, { stamp, version, at: now }, MAX_KEPT_VERSIONS);
  return outdated(program, path, version);
}

async function loggedOut(
  program: AgentProgram,
  path: string,
  agent: AgentConfig,
  { env, allow, cwd, timeoutMs = VERSION_MS }: ReadinessOptions,
): Promise<Omit<DoctorFinding, 'what'> | undefined> {
  const { status, env: variables } = program.login;
  const given = Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  const asked = [...ownVariables(agent.adapter), ...(agent.envAllow ?? []), ...allow];
  const own = { ...allowedEnvironment(Object.fromEntries(given), asked), ...agent.env };
  // A wrapper may take the question for work.
  const isItself = basename(agent.command) === agent.adapter;
  if (!status || !isItself || loginOf(agent.adapter, program, own).seen) return undefined;
  const end = await run(path, status.args, { cwd, env: own, timeoutMs, leftovers: 'kill' });
  if (!status.loggedOut.test(`${end.stdout}\n${end.stderr}`)) return undefined;
  const fix = `Log in with ${agent.command}, or set ${variables.join(' or ')}.`;
  return { level: status.isSure ? 'bad' : 'warn', detail: `${path} is not logged in`, fix };
}

/** The path of a file below the home directory, and a text for it without the user's own paths. */
function locate(adapter: string, file: string, env: Env): { path: string; shown: string } | undefined {
  for (const { at, moved } of ownDirectories(adapter)) {
    const [name, below] = moved;
    const to = env[name];
    if (!to || !file.startsWith(`${at}/`)) continue;
    const inside = join(below, file.slice(at.length + 1));
    return { path: join(to, inside), shown: `$${name}/${inside}` };
  }
  return env.HOME ? { path: join(env.HOME, file), shown: `~/${file}` } : undefined;
}

/** Findings about the installed agents, and about configured ones that are missing. */
export function agentFindings(surveyed: readonly SurveyedAgent[]): DoctorFinding[] {
  return surveyed.flatMap((one) => {
    const what = `agent ${one.agent}`;
    const program = ADAPTERS[one.adapter]?.program ?? null;
    const askedFor = one.isDefault || one.configured;
    const level = one.isDefault ? 'bad' : 'warn';
    if (one.problem !== null && one.fix !== null && (askedFor || program))
      return [{ level, what, detail: one.problem, fix: one.fix }];
    if (one.path === null) {
      if (!askedFor) return [];
      const install = program ? `Install it (npm install -g ${program.package})` : 'Install it';
      const instead = one.isDefault
        ? 'name another one in defaultAgent'
        : `correct agents.${one.agent}.command`;
      return [{ level, what, detail: `${one.command} not found`, fix: `${install}, or ${instead}.` }];
    }
    const findings: DoctorFinding[] = [];
    const warn = (detail: string, fix: string) => findings.push({ level: 'warn', what, detail, fix });
    if (one.problem !== null && one.fix === null)
      warn(
        `${one.path} ${one.problem}`,
        `Run it by hand to see why: ${[one.path, ...(program ? VERSION_ARGS : [])].join(' ')}`,
      );
    const old = program && one.version !== null ? outdated(program, one.path, one.version) : undefined;
    if (old) findings.push({ ...old, level, what });
    else if (program && (one.standing === 'older' || one.standing === 'newer'))
      warn(
        `version ${one.version} is ${one.standing} than what was tested (${rangeText(program.tested)})`,
        `It may still work. To install a tested one: ${installCommand(program, one.path, program.tested[1])}`,
      );
    if (program && one.login?.seen === false)
      warn(
        'no sign of a login',
        `Log in with ${one.command}, or set ${program.login.env.join(' or ')}. Logins kept elsewhere are not seen.`,
      );
    return findings;
  });
}
