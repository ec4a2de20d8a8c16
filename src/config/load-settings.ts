import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { type Env, userHome } from '../machine/paths-and-user-home.ts';
import type { AgentConfig } from '../model/agent-and-adapter-types.ts';
import { InputError } from '../model/errors.ts';
import { type ConfigFile, findConfig, homeDir, projectFile, setsNothing } from './find-config-and-state.ts';
import { type Entry, fileLayer, flagLayer, variableLayer } from './read-setting-layers.ts';
import { type AgentEntry, builtInAgents, findAgent, resolveAgent } from './resolve-agents.ts';
import { type Flags, type Key, type McpServer, ROWS, type Settings, TABLE } from './settings-table.ts';
import { isTrusted } from './trusted-directories.ts';
import type { Row } from './value-kinds.ts';

export interface LoadOptions {
  cwd: string;
  env: Env;
  /** From -C: this file and no other; it must exist. */
  configPath?: string | undefined;
  flags?: Flags;
  /** Where the bundled workflows, prompts, scripts and skills are. */
  packageDir: string;
  /** Ignore all config files, to continue when one is broken; state and logs stay where they are. */
  withoutFiles?: boolean;
}

const CONTENT = {
  workflows: 'workflowDir',
  prompts: 'promptDir',
  scripts: 'scriptDir',
  skills: 'skillsDir',
} as const;

/** All settings with where each came from: defaults < config file < .signalbox/settings.json < variables < flags. */
export async function loadSettings(options: LoadOptions): Promise<Settings> {
  const { cwd, env, flags = {}, packageDir } = options;
  const user = userHome(env);
  const home = homeDir(env, cwd);
  const left = options.withoutFiles ? await leftOver(options, user, home) : undefined;
  const config = left ? null : findConfig(options);
  const project = options.withoutFiles ? null : projectFile(cwd, home);
  const entries = [
    ...(left?.entries ?? []),
    ...(config ? await readLayer(config, user, home) : []),
    ...(project ? await readLayer(project, user, home) : []),
    ...variableLayer(env, cwd, user),
    ...flagLayer(flags, cwd, user),
  ];
  const values = combine(entries, bases(left?.config ?? config, home));
  const settings = {
    ...values,
    agents: agents(values.agents as Record<string, AgentEntry>, entries, packageDir),
    mcpServers: mcpServers(values.mcpServers as Record<string, Partial<McpServer>>, entries),
    configFile: config?.file ?? null,
    untrusted: config?.kind === 'project' && !isTrusted(projectOf(config.file), home) ? config.file : null,
    home,
    userHome: user,
    packageDir,
  } as Settings;
  for (const name of Object.keys(settings.agents)) settings.origin[`agents.${name}`] ??= 'default';
  findAgent(settings.agents, settings.defaultAgent, last(entries, 'defaultAgent')?.where);
  for (const { name, fallback } of Object.values(settings.agents))
    if (fallback !== undefined)
      findAgent(settings.agents, fallback, last(entries, 'agents', name)?.where ?? `agents.${name}.fallback`);
  if (settings.run.agent !== null)
    findAgent(settings.agents, settings.run.agent, last(entries, 'run.agent')?.where);
  settings.searchPath = searchPath(settings, packageDir);
  return settings;
}

/** The state and log directories of a config file that is otherwise unusable. */
async function leftOver(
  options: LoadOptions,
  user: string,
  home: string,
): Promise<{ config: ConfigFile | null; entries: Entry[] }> {
  let config: ConfigFile | null = null;
  try {
    config = findConfig(options);
    const entries = config ? await readLayer(config, user, home) : [];
    return { config, entries: entries.filter(({ key }) => key === 'stateDir' || key === 'logDir') };
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return { config, entries: [] };
  }
}

async function readLayer(config: ConfigFile, user: string, home: string): Promise<Entry[]> {
  if (setsNothing(config.text)) return [];
  const { parseSettings } = await import('./parse-yaml-and-place-problems.ts');
  const entries = fileLayer(parseSettings(config.text, config.file), config.file, user);
  if (config.kind !== 'project') return entries;
  for (const { key, value, where } of entries) {
    const row: Row = TABLE[key];
    if (row.runs) requireTrust(config, home, `${where}: "${key}" decides ${row.decides ?? 'what is run'}`);
    // A signalbox.yaml always decides where plans are; `untrusted` marks that they may only be shown.
    if (key === 'stateDir' && config.file.endsWith('settings.json'))
      requireTrust(config, home, `${where}: "${key}" decides where plans come from`);
    const leaves =
      row.kind.is === 'project'
        ? leavesProject(String(value))
        : row.written && typeof value === 'string' && isOutside(value, projectOf(config.file));
    if (leaves) requireTrust(config, home, `${where}: "${key}" leads out of the project`);
  }
  return entries;
}

function leavesProject(path: string): boolean {
  return isAbsolute(path) || path.split('/').includes('..');
}

/** Links are followed. The default directory of worktrees does not count. */
function isOutside(path: string, project: string): boolean {
  let there = path;
  while (!existsSync(there) && there !== dirname(there)) there = dirname(there);
  const real = resolve(realpathSync(there), relative(there, path));
  const root = realpathSync(project);
  if (real === join(dirname(root), 'worktrees')) return false;
  return leavesProject(relative(root, real));
}

function requireTrust(config: ConfigFile, home: string, why: string): void {
  const dir = projectOf(config.file);
  if (isTrusted(dir, home)) return;
  throw new InputError('config/untrusted', `${why}, and you have not trusted ${dir}.`, {
    hint: `Read it first; if you agree with it, run: signalbox config trust ${dir}`,
    details: { file: config.file, dir },
  });
}

function projectOf(file: string): string {
  const dir = dirname(file);
  return file.endsWith('settings.json') ? dirname(dir) : dir;
}

interface Bases {
  /** What default state and logs are relative to. */
  data: string;
  /** What the default directories of the user's own content are relative to. */
  content: string;
}

/**
 * Beside the config file; for a signalbox.yaml in `.signalbox/` beside it, so that it does not take a project's own
 * `scripts/` for its own. An untrusted project's content is never on the search path.
 */
function bases(config: ConfigFile | null, home: string): Bases {
  if (!config) return { data: home, content: home };
  const dir = dirname(config.file);
  if (config.kind === 'home') return { data: home, content: dir };
  if (basename(config.file) !== 'signalbox.yaml') return { data: dir, content: dir };
  const data = join(dir, '.signalbox');
  if (config.kind !== 'project') return { data, content: data };
  const content = Object.keys(CONTENT).find((name) => existsSync(join(data, name)));
  if (content === undefined) return { data, content: isTrusted(dir, home) ? data : home };
  requireTrust(config, home, `${join(data, content)} decides what is run`);
  return { data, content: data };
}

type Values = Record<string, unknown> & { origin: Record<string, string> };

/** The last layer that has a key wins; of records, the last one that has a name. */
function combine(entries: Entry[], base: Bases): Values {
  const content: readonly Key[] = Object.values(CONTENT);
  const values: Values = { origin: {} };
  for (const row of ROWS) {
    const given = entries.filter(({ key }) => key === row.key);
    const record = row.kind.is === 'record';
    const preset =
      row.kind.is === 'path'
        ? resolve(content.includes(row.key) ? base.content : base.data, String(row.default))
        : structuredClone(row.default);
    const value = record
      ? Object.assign({}, ...given.map((entry) => entry.value))
      : given.length > 0
        ? given.at(-1)?.value
        : preset;
    put(values, row.key, value);
    values.origin[row.key] = given.at(-1)?.origin ?? 'default';
    for (const entry of given)
      for (const [name, part] of Object.entries(entry.parts))
        values.origin[`${row.key}.${name}`] = part.origin;
  }
  return values;
}

function put(values: Record<string, unknown>, key: string, value: unknown): void {
  const [name = key, ...below] = key.split('.');
  if (below.length === 0) values[name] = value;
  else {
    const group = { ...(values[name] as Record<string, unknown> | undefined) };
    put(group, below.join('.'), value);
    values[name] = group;
  }
}

function last(entries: Entry[], key: Key, name?: string): { where: string } | undefined {
  const given = entries.filter((entry) => entry.key === key).reverse();
  if (name === undefined) return given[0];
  return given.map((entry) => entry.parts[name]).find((part) => part !== undefined);
}

function agents(
  entries: Record<string, AgentEntry>,
  layers: Entry[],
  packageDir: string,
): Record<string, AgentConfig> {
  const names = [...new Set([...Object.keys(builtInAgents(packageDir)), ...Object.keys(entries)])];
  const all = names.map((name) => {
    const agent = resolveAgent(name, entries[name] ?? {}, packageDir);
    return [name, agent ?? noCommand('agents', name, layers)];
  });
  return Object.fromEntries(all);
}

function mcpServers(entries: Record<string, Partial<McpServer>>, layers: Entry[]): Record<string, McpServer> {
  const all = Object.entries(entries).map(([name, { command, args = [], env = {} }]) => {
    return [name, { command: command ?? noCommand('mcpServers', name, layers), args, env }];
  });
  return Object.fromEntries(all);
}

function noCommand(key: Key, name: string, layers: Entry[]): never {
  const where = last(layers, key, name)?.where ?? last(layers, key)?.where ?? key;
  throw new InputError('config/value', `${where}: ${key}.${name} has no "command".`, {
    hint: 'Say which executable to run: command: <name or path>.',
    details: { key: `${key}.${name}` },
  });
}

function searchPath(settings: Settings, packageDir: string): Settings['searchPath'] {
  const dirs = Object.entries(CONTENT).map(([name, key]) => [
    name,
    [...new Set([settings[key], join(packageDir, name)])],
  ]);
  return Object.fromEntries(dirs) as Settings['searchPath'];
}
