import type { Access, AgentAdapter, AgentRequest, Invocation } from '../model/agent.ts';
import { PERMISSION_FLAGS } from './access.ts';
import { type FlagRule, takeFlags } from './flags.ts';
import { geminiReader } from './gemini-reader.ts';
import { checkedSessionId } from './session-id.ts';

const POLICY_FILE = 'gemini-policy.toml';
const DEFAULTS_FILE = 'gemini-defaults.json';
const CAPS_FILE = 'gemini-caps.json';

const OWN_FLAGS: readonly FlagRule[] = [
  { names: ['--skip-trust', '--acp', '--experimental-acp', '--list-sessions'], takesValue: false },
  {
    names: [
      '--output-format',
      '-o',
      '--prompt',
      '-p',
      '--prompt-interactive',
      '-i',
      '--resume',
      '-r',
      '--session-id',
      '--session-file',
      '--worktree',
      '-w',
    ],
    takesValue: true,
  },
];
const MODEL_FLAGS: readonly FlagRule[] = [{ names: ['--model', '-m'], takesValue: true }];

/** Below everything that a person has set: retrying is the engine's business, and nothing is reported home. */
const DEFAULTS = {
  general: { maxAttempts: 1, retryFetchErrors: false, enableAutoUpdate: false },
  privacy: { usageStatisticsEnabled: false },
};

const SHELL_RULE = '[[rule]]\ntoolName = "run_shell_command"\ndecision = "allow"\npriority = 900\n';
const READ_RULE =
  '[[rule]]\ntoolName = ["write_file", "replace", "run_shell_command", "invoke_agent", "exit_plan_mode"]\n' +
  'decision = "deny"\npriority = 999\n';

export const gemini: AgentAdapter = {
  name: 'gemini',
  capabilities: {
    resume: true,
    schema: 'tagged',
    model: true,
    effort: false,
    maxTurns: true,
    allowedTools: false,
  },
  access: ['read', 'write', 'full'],
  invocation,
  reader: (context) => geminiReader(context),
  interactive: (agent, sessionId) => [
    agent.command,
    '--resume',
    checkedSessionId(sessionId),
    ...takeFlags(agent.defaultArgs, OWN_FLAGS).kept,
  ],
};

function invocation(request: AgentRequest): Invocation {
  const { agent } = request;
  const model = request.model ?? agent.model;
  const { kept } = takeFlags(agent.defaultArgs, [
    ...OWN_FLAGS,
    ...(PERMISSION_FLAGS.gemini ?? []),
    ...(model ? MODEL_FLAGS : []),
  ]);
  const argv = [agent.command, '--output-format', 'stream-json', '--skip-trust', ...kept];
  if (request.resume) argv.push('--resume', checkedSessionId(request.resume));
  else argv.push('--session-id', request.newSessionId);
  if (model) argv.push('--model', model);
  const access = accessOf(request.access);
  argv.push(...access.args);
  const files: Record<string, string> = { [DEFAULTS_FILE]: `${JSON.stringify(DEFAULTS, null, 2)}\n` };
  if (access.policy) files[POLICY_FILE] = access.policy;
  const env: Record<string, string> = {
    GEMINI_CLI_NO_RELAUNCH: 'true',
    GEMINI_CLI_SYSTEM_DEFAULTS_PATH: `{job}/${DEFAULTS_FILE}`,
  };
  if (request.maxTurns !== null) {
    // Above everything that a person has set, because a phase asked for it.
    files[CAPS_FILE] = `${JSON.stringify({ model: { maxSessionTurns: request.maxTurns } })}\n`;
    env.GEMINI_CLI_SYSTEM_SETTINGS_PATH = `{job}/${CAPS_FILE}`;
  }
  return { argv, env: { ...env, ...agent.env }, stdin: request.prompt, files, stopSignal: 'SIGTERM' };
}

/** Without a person to ask, the CLI refuses what its mode does not allow; a policy adds the shell, or takes it away. */
function accessOf(access: Access): { args: string[]; policy: string | null } {
  const policy = ['--policy', `{job}/${POLICY_FILE}`];
  switch (access) {
    case 'full':
      return { args: ['--approval-mode', 'yolo'], policy: null };
    case 'write':
      return { args: ['--approval-mode', 'auto_edit', ...policy], policy: SHELL_RULE };
    case 'read':
      return { args: ['--approval-mode', 'default', ...policy], policy: READ_RULE };
  }
}
