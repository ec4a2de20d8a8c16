import { join } from 'node:path';
import type { AgentAdapter, AgentRequest, Invocation } from '../../model/agent.ts';
import { options, resumeCommand, switches, takeFlags } from '../flags.ts';
import { type Launcher, ownArgs, secretFile } from '../planning/launch.ts';
import { checkedSessionId } from '../reading/stream-reader.ts';
import { can } from '../supports.ts';
import { PI_EXTENSION } from './extension.ts';
import { piReader } from './reader.ts';

const EXTENSION_FILE = 'signalbox-pi.js';
const QUIET = { PI_SKIP_VERSION_CHECK: '1', PI_TELEMETRY: '0' };

const OWN_FLAGS = [
  switches('--print -p --continue -c --resume -r --no-session'),
  options('--mode --session --fork --export'),
];
const TOOL_FLAGS = [options('--tools -t'), switches('--no-tools -nt --no-builtin-tools -nbt')];

/** pi has no permissions: what it may do is which tools it has. */
const READ_TOOLS = 'read,grep,find,ls';

export const pi: AgentAdapter = {
  name: 'pi',
  program: {
    title: 'pi',
    package: '@mariozechner/pi-coding-agent',
    tested: ['0.73.1', '0.73.1'],
    version: ['--version'],
    login: {
      files: ['.pi/agent/auth.json', '.pi/agent/models.json'],
      env: ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'GEMINI_API_KEY'],
      moved: { PI_CODING_AGENT_DIR: '.pi/agent' },
    },
    tellsCost: true,
    capsCost: false,
    limitEnd: 'headers',
    retriesItself: true,
    access: {
      read: 'only the tools that read; no shell',
      write: 'every tool; it has no sandbox',
      full: 'the same as write',
    },
  },
  capabilities: can('tagged', 'resume', 'model', 'effort', 'maxTurns'),
  access: ['read', 'write', 'full'],
  invocation,
  reader: (context) => piReader(context),
  interactive: (agent, sessionId) => resumeCommand(agent, '--session', sessionId, OWN_FLAGS),
};

function invocation(request: AgentRequest): Invocation {
  const { agent } = request;
  const model = request.model ?? agent.model;
  const reads = request.access === 'read';
  const { kept } = takeFlags(agent.defaultArgs, [
    ...OWN_FLAGS,
    ...(model ? [options('--model')] : []),
    ...(request.effort ? [options('--thinking')] : []),
    ...(reads ? TOOL_FLAGS : []),
  ]);
  const argv = [agent.command, '--mode', 'json', '-p', ...kept];
  // Those of the repository are found together with the user's own; these can be named in `defaultArgs`.
  if (request.distrusted) argv.push('--no-extensions');
  argv.push('--extension', `{job}/${EXTENSION_FILE}`);
  if (request.resume) argv.push('--session', checkedSessionId(request.resume));
  if (model) argv.push('--model', model);
  if (request.effort) argv.push('--thinking', effortOf(request.effort));
  if (reads) argv.push('--tools', READ_TOOLS);
  const turns: Record<string, string> =
    request.maxTurns === null ? {} : { SIGNALBOX_PI_TURNS: String(request.maxTurns) };
  return {
    argv,
    env: { ...QUIET, ...agent.env, ...turns },
    stdin: request.prompt,
    files: { [EXTENSION_FILE]: PI_EXTENSION },
    stopSignal: 'SIGTERM',
  };
}

/** The CLI's highest effort is the one below `max`. */
function effortOf(effort: string): string {
  return effort === 'max' ? 'xhigh' : effort;
}

export const planPi: Launcher = ({ agent, dir, prompt, skills, mcpServers }) => {
  const servers = Object.keys(mcpServers);
  return {
    argv: [
      agent.command,
      ...ownArgs(agent, OWN_FLAGS),
      ...(agent.model ? ['--model', agent.model] : []),
      '--append-system-prompt',
      join(dir, 'planner.md'),
      ...skills.flatMap((skill) => ['--skill', skill.dir]),
    ],
    env: { ...agent.env },
    files: [secretFile(dir, 'planner.md', prompt)],
    notes: servers.length > 0 ? [`pi has no MCP, so ${servers.join(', ')} cannot be used in it.`] : [],
  };
};
