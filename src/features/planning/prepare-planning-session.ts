import { join } from 'node:path';
import { LAUNCHERS, WITH_SERVERS } from '../../agents/adapters-and-agent-problems.ts';
import type { LaunchPlan } from '../../agents/planner-launch-and-masked-arguments.ts';
import { coverArgs, withoutSecrets } from '../../agents/planner-launch-and-masked-arguments.ts';
import { INSTALL_COMMANDS } from '../../config/doctor/check-programs.ts';
import type { McpServer, Settings } from '../../config/settings-table.ts';
import { findExecutable } from '../../machine/find-and-probe-program.ts';
import type { AgentConfig } from '../../model/agent-and-adapter-types.ts';
import { InputError } from '../../model/errors.ts';
import { didYouMean } from '../../model/text/nearest-word.ts';
import { shellQuote } from '../../model/text/quote-values-for-shell.ts';
import { unknownWorkflow } from '../../workflows/find-and-check-workflow.ts';
import { readPrompt } from '../../workflows/find-workflows-prompts-scripts.ts';
import { listSkills } from '../../workflows/install-skills.ts';
import { listWorkflows } from '../../workflows/load-and-list-workflows.ts';
import { readIncluded } from '../../workflows/templates/find-template-variables-and-faults.ts';
import { renderPrompt } from '../../workflows/templates/render-template.ts';

export interface PlanningWish {
  /** A name in `agents`; default: the first installed one. */
  agent?: string | undefined;
  /** Root of the repository that the plan is about; null if unknown. */
  repo: string | null;
  workflow?: string | undefined;
}

export interface PlanningPlace {
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
  /** The session's own directory. */
  dir: string;
  /** The Node that runs our own command in the session. */
  node: string;
}

export interface PlanningSession extends LaunchPlan {
  agent: string;
  cwd: string;
}

/** How to start a planning session: prompt, skills, MCP servers, and `signalbox` on its PATH. */
export async function planningSession(
  settings: Settings,
  wish: PlanningWish,
  place: PlanningPlace,
): Promise<{ session: PlanningSession; shown: PlanningSession }> {
  const agent = plannerAgent(settings, wish.agent, place.env);
  const prompt = await plannerPrompt(settings, wish, agent);
  const skills = await listSkills(settings.searchPath.skills);
  const build = (mcpServers: Readonly<Record<string, McpServer>>, defaultArgs: string[]): PlanningSession => {
    const { cwd, env, dir } = place;
    const launcher = LAUNCHERS[agent.adapter];
    if (!launcher) throw cannotPlan(agent.name);
    const own = { ...agent, defaultArgs };
    const plan = launcher({ agent: own, dir, prompt, skills, mcpServers, writes: [settings.stateDir], env });
    const command = `#!/bin/sh\nexec ${shellQuote(place.node)} ${shellQuote(join(settings.packageDir, 'dist', 'cli.cjs'))} "$@"\n`;
    return {
      ...plan,
      agent: agent.name,
      cwd,
      env: {
        ...plan.env,
        PATH: `${join(dir, 'bin')}:${plan.env.PATH ?? env.PATH ?? ''}`,
        SIGNALBOX_STATE_DIR: settings.stateDir,
        ...(settings.configFile ? { SIGNALBOX_CONFIG: settings.configFile } : {}),
      },
      files: [...plan.files, { path: join(dir, 'bin', 'signalbox'), text: command, mode: 0o700 }],
    };
  };
  const { servers, notes } = filledServers(settings.mcpServers, place.env);
  const shown = build(withoutSecrets(settings.mcpServers), coverArgs(agent.defaultArgs));
  const masked = Object.fromEntries(Object.keys(agent.env).map((name) => [name, '***']));
  const session = build(servers, agent.defaultArgs);
  const allNotes = [...session.notes, ...(WITH_SERVERS.includes(agent.adapter) ? notes : [])];
  return {
    session: { ...session, notes: allNotes },
    shown: { ...shown, env: { ...shown.env, ...masked }, notes: allNotes },
  };
}

/** Replaces `${NAME}` in arguments and variables of servers, so that keys need not be in a file. */
function filledServers(
  servers: Readonly<Record<string, McpServer>>,
  env: PlanningPlace['env'],
): { servers: Record<string, McpServer>; notes: string[] } {
  const notes = new Set<string>();
  const filled = Object.entries(servers).map(([name, server]): [string, McpServer] => {
    const fill = (text: string) =>
      text.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, variable: string) => {
        const value = env[variable];
        if (value === undefined) notes.add(`${variable} is not set, and the MCP server ${name} asks for it.`);
        return value ?? '';
      });
    const { command, args, env: own } = server;
    const variables = Object.entries(own).map(([key, value]) => [key, fill(value)]);
    return [name, { command, args: args.map(fill), env: Object.fromEntries(variables) }];
  });
  return { servers: Object.fromEntries(filled), notes: [...notes] };
}

/** The wanted agent, else the first installed one; pi comes first. */
function plannerAgent(
  settings: Settings,
  wanted: string | undefined,
  env: PlanningPlace['env'],
): AgentConfig {
  const { agents } = settings;
  const isThere = (agent: AgentConfig) =>
    findExecutable(agent.command, { ...env, ...agent.env }) !== undefined;
  if (wanted !== undefined) {
    const agent = Object.hasOwn(agents, wanted) ? agents[wanted] : undefined;
    if (!agent)
      throw new InputError(
        'agent/unknown',
        `No agent is called "${wanted}".${didYouMean(wanted, Object.keys(agents))}`,
        {
          hint: `Agents that can plan: ${planners(agents)
            .map(({ name }) => name)
            .join(', ')}.`,
        },
      );
    if (!Object.hasOwn(LAUNCHERS, agent.adapter)) throw cannotPlan(wanted);
    if (isThere(agent)) return agent;
    throw new InputError(
      'agent/missing',
      `Agent "${wanted}" is not installed: ${agent.command} was not found.`,
      {
        hint: `Install it: ${INSTALL_COMMANDS[agent.adapter]}\nOr correct agents.${wanted}.command in the settings.`,
      },
    );
  }
  const found = planners(agents).find(isThere);
  if (found) return found;
  const ways = Object.keys(LAUNCHERS).map((adapter) => `${adapter.padEnd(9)}${INSTALL_COMMANDS[adapter]}`);
  throw new InputError('agent/missing', 'No agent that can plan is installed.', {
    hint: `Install one of these, then sign in to it:\n${ways.join('\n')}\nWithout a model: signalbox plan new <id> --from <issues, files or a spec>`,
  });
}

/** Built-in agents in their order, then others that use one of these CLIs. */
function planners(agents: Settings['agents']): AgentConfig[] {
  const order = Object.keys(LAUNCHERS);
  const place = ({ name }: AgentConfig) => (order.includes(name) ? order.indexOf(name) : order.length);
  return Object.values(agents)
    .filter(({ adapter }) => Object.hasOwn(LAUNCHERS, adapter))
    .sort((a, b) => place(a) - place(b));
}

function cannotPlan(name: string): InputError {
  return new InputError('agent/planner', `Agent "${name}" has no terminal interface that we can start.`, {
    hint: `Use one of: ${Object.keys(LAUNCHERS).join(', ')}.`,
  });
}

async function plannerPrompt(settings: Settings, wish: PlanningWish, agent: AgentConfig): Promise<string> {
  const workflows = (await listWorkflows(settings.searchPath.workflows))
    .filter(({ shadowedBy, loaded }) => shadowedBy === undefined && loaded.workflow !== undefined)
    .map(({ loaded }) => ({ name: loaded.name, description: loaded.workflow?.description ?? '' }));
  const names = workflows.map(({ name }) => name);
  if (wish.workflow !== undefined && !names.includes(wish.workflow))
    throw unknownWorkflow(wish.workflow, names, settings.searchPath.workflows);
  const { prompts } = settings.searchPath;
  const found = await readPrompt('planner.md', prompts);
  if (!found)
    throw new InputError('prompt/missing', 'There is no prompt planner.md.', {
      hint: 'Reinstall signalbox.',
    });
  return renderPrompt(
    found.text,
    {
      repo: wish.repo ?? '',
      workflow: wish.workflow ?? '',
      default_workflow: settings.defaultWorkflow,
      default_agent: settings.defaultAgent,
      workflows,
      agents: Object.keys(settings.agents).filter((name) => name !== 'rehearsal'),
      mcp_servers: WITH_SERVERS.includes(agent.adapter) ? Object.keys(settings.mcpServers) : [],
      state_dir: settings.stateDir,
    },
    { prompts: await readIncluded(found.text, prompts), name: found.path },
  );
}
