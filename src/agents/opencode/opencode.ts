import { join } from 'node:path';
import type { AgentAdapter, AgentRequest, Invocation } from '../../model/agent.ts';
import { options, PERMISSION_FLAGS, resumeCommand, switches, takeFlags } from '../flags.ts';
import { type Launcher, ownArgs, secretFile } from '../planning/launch.ts';
import { checkedSessionId } from '../reading/stream-reader.ts';
import { can } from '../supports.ts';
import { opencodeReader } from './reader.ts';

const QUIET = { OPENCODE_DISABLE_AUTOUPDATE: '1' };

const OWN_FLAGS = [
  switches('--continue -c --fork --share --print-logs --interactive -i'),
  options('--format --session -s --log-level --dir --attach'),
];
/** Flags of `run` that the terminal interface does not know. */
const RUN_ONLY_FLAGS = [switches('--auto --thinking'), options('--variant --title --file -f --command')];

/** No shell at all: a command that reads can write by redirection. */
const READ_PERMISSION = { edit: 'deny', bash: 'deny', task: 'deny', external_directory: 'deny' };

/** Its retries cannot be turned down and sleep through a limit in silence; the log on stderr is what tells of it. */
export const opencode: AgentAdapter = {
  name: 'opencode',
  program: {
    title: 'opencode',
    package: 'opencode-ai',
    tested: ['1.18.33', '1.18.33'],
    version: ['--version'],
    login: {
      files: ['.local/share/opencode/auth.json'],
      env: ['OPENCODE_API_KEY', 'ANTHROPIC_API_KEY', 'OPENAI_API_KEY'],
      moved: { XDG_DATA_HOME: '.local/share' },
    },
    tellsCost: true,
    capsCost: false,
    limitEnd: 'words',
    retriesItself: true,
    access: {
      read: 'edits and the shell are refused',
      write: 'edits and any shell command; what it would ask, such as leaving the worktree, is refused',
      full: 'what it would ask is allowed',
    },
  },
  capabilities: can('tagged', 'resume', 'model', 'effort'),
  access: ['read', 'write', 'full'],
  invocation,
  reader: (context) => opencodeReader(context),
  interactive: (agent, sessionId) => resumeCommand(agent, '-s', sessionId, [...OWN_FLAGS, ...RUN_ONLY_FLAGS]),
};

function invocation(request: AgentRequest): Invocation {
  const { agent, access } = request;
  const model = request.model ?? agent.model;
  const { kept } = takeFlags(agent.defaultArgs, [
    ...OWN_FLAGS,
    ...PERMISSION_FLAGS.opencode,
    ...(model ? [options('--model -m')] : []),
    ...(request.effort ? [options('--variant')] : []),
  ]);
  const argv = [agent.command, 'run', '--format', 'json', '--print-logs', '--log-level', 'ERROR', ...kept];
  if (request.resume) argv.push('--session', checkedSessionId(request.resume));
  if (model) argv.push('--model', model);
  if (request.effort) argv.push('--variant', request.effort);
  // Without it, whatever would be asked is refused: leaving the workspace, above all.
  if (access === 'full') argv.push('--auto');
  const limits: Record<string, string> =
    access === 'read' ? { OPENCODE_PERMISSION: JSON.stringify(READ_PERMISSION) } : {};
  const distrust: Record<string, string> = request.distrusted ? { OPENCODE_DISABLE_PROJECT_CONFIG: '1' } : {};
  return {
    argv,
    env: { ...QUIET, ...distrust, ...agent.env, ...limits },
    stdin: request.prompt,
    files: {},
    stopSignal: 'SIGTERM',
  };
}

/** One directory of configuration beside the user's own has prompt, skills and servers. */
export const planOpencode: Launcher = ({ agent, dir, prompt, skills, mcpServers, env }) => {
  const home = join(dir, 'opencode');
  const mcp = Object.fromEntries(
    Object.entries(mcpServers).map(([name, { command, args, env: environment }]) => [
      name,
      { type: 'local', command: [command, ...args], environment, enabled: true },
    ]),
  );
  const config = { instructions: [join(dir, 'planner.md')], mcp };
  const taken = agent.env.OPENCODE_CONFIG_DIR ?? env.OPENCODE_CONFIG_DIR;
  return {
    argv: [
      agent.command,
      ...ownArgs(agent, [...OWN_FLAGS, ...RUN_ONLY_FLAGS]),
      ...(agent.model ? ['--model', agent.model] : []),
    ],
    env: { ...agent.env, OPENCODE_CONFIG_DIR: home },
    files: [
      secretFile(dir, 'planner.md', prompt),
      secretFile(home, 'opencode.json', `${JSON.stringify(config, null, 2)}\n`),
      ...skills.map((skill) => ({ path: join(home, 'skills', skill.name), to: skill.dir })),
    ],
    notes: taken ? [`Your OPENCODE_CONFIG_DIR (${taken}) is not used in this session.`] : [],
  };
};
