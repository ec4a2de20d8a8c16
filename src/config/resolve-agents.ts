import { basename, join } from 'node:path';
import type { AgentConfig } from '../model/agent-and-adapter-types.ts';
import { InputError } from '../model/errors.ts';
import { nearest } from '../model/text/nearest-word.ts';
import { ADAPTERS, type TABLE } from './settings-table.ts';
import type { ValueOf } from './value-kinds.ts';

/** An entry of `agents` in the settings. */
export type AgentEntry = ValueOf<(typeof TABLE)['agents']['kind']['of']>;

/** Agents that work without an entry; an entry of the same name changes only the fields it has. */
export function builtInAgents(packageDir: string): Record<string, AgentEntry & { command: string }> {
  return {
    claude: { command: 'claude' },
    codex: { command: 'codex' },
    opencode: { command: 'opencode' },
    pi: { command: 'pi' },
    gemini: { command: 'gemini' },
    rehearsal: { command: join(packageDir, 'dist', 'rehearsal.js') },
  };
}

/** Merges an entry over the built-in one of that name; undefined when neither names a command. */
export function resolveAgent(name: string, entry: AgentEntry, packageDir: string): AgentConfig | undefined {
  const builtIns = builtInAgents(packageDir);
  const builtIn = Object.hasOwn(builtIns, name) ? builtIns[name] : undefined;
  const command = entry.command ?? builtIn?.command;
  if (command === undefined) return undefined;
  const adapter = entry.adapter ?? guessAdapter(command);
  // The rehearsal agent is not on PATH.
  const isBuiltIn = command === 'rehearsal' && adapter === 'rehearsal';
  return {
    ...entry,
    name,
    adapter,
    command: isBuiltIn ? (builtIns.rehearsal?.command ?? command) : command,
    defaultArgs: entry.defaultArgs ?? [],
    env: entry.env ?? {},
    model: entry.model ?? null,
  };
}

/** From the command's own name: `/opt/bin/claude` is claude. */
export function guessAdapter(command: string): (typeof ADAPTERS)[number] {
  const name = basename(command)
    .replace(/\.(js|mjs|cjs)$/, '')
    .toLowerCase();
  return ADAPTERS.find((adapter) => adapter === name) ?? 'custom';
}

/** The agent of that name; an unknown one is refused with the known names. */
export function findAgent(agents: Record<string, AgentConfig>, name: string, where?: string): AgentConfig {
  const agent = Object.hasOwn(agents, name) ? agents[name] : undefined;
  if (agent) return agent;
  const near = nearest(name, Object.keys(agents));
  const guess = near === undefined ? '' : `; did you mean ${JSON.stringify(near)}?`;
  throw new InputError(
    'agent/unknown',
    `${where ? `${where}: ` : ''}no agent is called ${JSON.stringify(name)}${guess || '.'}`,
    {
      hint: `Agents: ${Object.keys(agents).join(', ')}. Add one under "agents" in the config file.`,
      details: { name, known: Object.keys(agents) },
    },
  );
}
