import type { AgentAdapter, AgentRequest, Invocation } from '../../model/agent.ts';
import { PERMISSION_FLAGS } from '../access.ts';
import { type FlagRule, takeFlags } from '../flags.ts';
import { checkedSessionId } from '../reading/session-id.ts';
import { opencodeReader } from './reader.ts';

const QUIET = { OPENCODE_DISABLE_AUTOUPDATE: '1' };

const OWN_FLAGS: readonly FlagRule[] = [
  {
    names: ['--continue', '-c', '--fork', '--share', '--print-logs', '--interactive', '-i'],
    takesValue: false,
  },
  { names: ['--format', '--session', '-s', '--log-level', '--dir', '--attach'], takesValue: true },
];
const MODEL_FLAGS: readonly FlagRule[] = [{ names: ['--model', '-m'], takesValue: true }];
const EFFORT_FLAGS: readonly FlagRule[] = [{ names: ['--variant'], takesValue: true }];
/** Flags of `run` that the terminal interface does not know. */
const RUN_ONLY_FLAGS: readonly FlagRule[] = [
  { names: ['--auto', '--thinking'], takesValue: false },
  { names: ['--variant', '--title', '--file', '-f', '--command'], takesValue: true },
];

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
  capabilities: {
    resume: true,
    schema: 'tagged',
    model: true,
    effort: true,
    maxTurns: false,
    allowedTools: false,
  },
  access: ['read', 'write', 'full'],
  invocation,
  reader: (context) => opencodeReader(context),
  interactive: (agent, sessionId) => [
    agent.command,
    '-s',
    checkedSessionId(sessionId),
    ...takeFlags(agent.defaultArgs, [...OWN_FLAGS, ...RUN_ONLY_FLAGS]).kept,
  ],
};

function invocation(request: AgentRequest): Invocation {
  const { agent, access } = request;
  const model = request.model ?? agent.model;
  const { kept } = takeFlags(agent.defaultArgs, [
    ...OWN_FLAGS,
    ...(PERMISSION_FLAGS.opencode ?? []),
    ...(model ? MODEL_FLAGS : []),
    ...(request.effort ? EFFORT_FLAGS : []),
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
