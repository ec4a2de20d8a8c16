import { join } from 'node:path';
import {
  type AgentAdapter,
  type AgentRequest,
  can,
  type Invocation,
} from '../model/agent-and-adapter-types.ts';
import { ClaudeReader } from './claude-reader.ts';
import { flagged, options, resumeCommand, sessionArgs, switches, userArgs } from './command-flags.ts';
import {
  type Launcher,
  type LaunchFile,
  plannerCommand,
  secretFile,
} from './planner-launch-and-masked-arguments.ts';

/** The engine retries and users update; only the work itself should use the network. */
const QUIET = {
  CLAUDE_CODE_MAX_RETRIES: '0',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  DISABLE_AUTOUPDATER: '1',
  DISABLE_TELEMETRY: '1',
  DISABLE_ERROR_REPORTING: '1',
};

const READ_MEMORY = { CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD: '1' };

/** Flags that this adapter sets itself. */
const OWN_FLAGS = [
  switches('--print -p --verbose --continue -c'),
  options('--output-format --input-format --session-id --resume -r'),
];

/** Tools that change files, leave the workspace or outlive the run; denied with access `read`. */
export const READ_DENIES = [
  'Edit',
  'MultiEdit',
  'Write',
  'NotebookEdit',
  'EnterWorktree',
  'ExitWorktree',
  'Monitor',
  'Workflow',
  'CronCreate',
  'CronDelete',
  'RemoteTrigger',
  'ScheduleWakeup',
] as const;

// No rule allows Bash: the default mode checks each command's flags and lets only reading ones pass, git's included.
// A rule such as `git log:*` would also allow `git log --output=file`, which writes.
const READ_ALLOWS = ['Read', 'Grep', 'Glob'];
const WRITE_ALLOWS = ['Bash', 'Edit', 'MultiEdit', 'Write', 'NotebookEdit', 'Read', 'Grep', 'Glob'];
const WRITE_DENIES = ['EnterWorktree', 'ExitWorktree'];

export const claude: AgentAdapter = {
  name: 'claude',
  program: {
    title: 'Claude Code',
    package: '@anthropic-ai/claude-code',
    minimum: '2.1.41',
    tested: ['2.1.325', '2.1.325'],
    login: {
      files: ['.claude/.credentials.json'],
      env: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN'],
      status: { args: ['auth', 'status'], loggedOut: /"loggedIn":\s*false/, isSure: true },
    },
    reportsCost: true,
    capsCost: true,
    limitEnd: 'stream',
    access: {
      read: 'tools that write are refused; of shell commands, only those that read',
      write: 'edits and any shell command',
      full: 'no question is asked',
    },
  },
  capabilities: can('native', 'resume', 'model', 'effort', 'maxTurns', 'allowedTools'),
  invocation,
  reader: (context) => new ClaudeReader('claude', context),
  interactive: (agent, sessionId) => resumeCommand(agent, '--resume', sessionId, OWN_FLAGS),
};

function invocation(request: AgentRequest): Invocation {
  const { agent } = request;
  const kept = userArgs(request, OWN_FLAGS);
  const argv = [agent.command, '-p', '--output-format', 'stream-json', '--verbose', ...kept];
  // Without the project's settings its CLAUDE.md is not read either, unless the directory is added.
  const distrusts = Boolean(request.distrusted) && !hasFlag(kept, '--setting-sources');
  if (distrusts) argv.push('--setting-sources', 'user', '--add-dir', '.');
  argv.push(...sessionArgs(request, '--resume', '--session-id'), ...flagged('--model', request.model));
  // The CLI's lowest effort is `low`.
  if (request.effort) argv.push('--effort', request.effort === 'minimal' ? 'low' : request.effort);
  if (request.maxTurns !== null) argv.push('--max-turns', String(request.maxTurns));
  // A cap in the user's own arguments wins.
  if (request.maxUsd != null && !hasFlag(kept, '--max-budget-usd'))
    argv.push('--max-budget-usd', dollars(request.maxUsd));
  if (request.schema) argv.push('--json-schema', JSON.stringify(request.schema));
  // Last, because the tool lists take every argument up to the next flag.
  argv.push(...accessArgs(request));
  const root = request.access === 'full' && request.root;
  const env = { ...QUIET, ...(root && { IS_SANDBOX: '1' }), ...(distrusts && READ_MEMORY), ...agent.env };
  return { argv, env, stdin: request.prompt, files: {} };
}

function accessArgs({ access, allowedTools }: AgentRequest): string[] {
  const more = allowedTools ?? [];
  if (access === 'full') return ['--dangerously-skip-permissions', ...list('--allowedTools', more)];
  const [mode, denies, allows] =
    access === 'write' ? ['acceptEdits', WRITE_DENIES, WRITE_ALLOWS] : ['default', READ_DENIES, READ_ALLOWS];
  return [
    ...['--permission-mode', mode],
    ...list('--disallowedTools', denies),
    ...list('--allowedTools', [...allows, ...more]),
  ];
}

function list(flag: string, tools: readonly string[]): string[] {
  return tools.length === 0 ? [] : [flag, ...new Set(tools)];
}

function hasFlag(args: readonly string[], flag: string): boolean {
  return args.some((arg) => arg === flag || arg.startsWith(`${flag}=`));
}

/** The CLI refuses zero. */
function dollars(usd: number): string {
  return String(Math.max(0.0001, Math.round(usd * 10_000) / 10_000));
}

/** Skills come as a plugin of this session alone. */
export const planClaude: Launcher = ({ agent, dir, prompt, skills, mcpServers, writes }) => {
  const plugin = join(dir, 'signalbox');
  const hasServers = Object.keys(mcpServers).length > 0;
  const manifest = { name: 'signalbox', version: '1.0.0', description: 'Plans and tickets of Signalbox' };
  const files: LaunchFile[] = [
    secretFile(plugin, '.claude-plugin/plugin.json', `${JSON.stringify(manifest)}\n`),
    ...skills.map((skill) => ({ path: join(plugin, 'skills', skill.name), to: skill.dir })),
  ];
  if (hasServers) files.push(secretFile(dir, 'mcp.json', `${JSON.stringify({ mcpServers }, null, 2)}\n`));
  return {
    argv: [
      ...plannerCommand(agent, [...OWN_FLAGS, options('--max-turns --json-schema')]),
      '--append-system-prompt',
      prompt,
      '--plugin-dir',
      plugin,
      ...(hasServers ? ['--mcp-config', join(dir, 'mcp.json')] : []),
      // Takes every argument up to the next flag, so it comes last.
      ...(writes.length > 0 ? ['--add-dir', ...writes] : []),
    ],
    env: { ...agent.env },
    files,
    notes: [],
  };
};
