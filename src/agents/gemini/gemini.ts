import type { Access, AgentAdapter, AgentRequest, Invocation } from '../../model/agent.ts';
import { PERMISSION_FLAGS } from '../access.ts';
import { type FlagRule, takeFlags } from '../flags.ts';
import { checkedSessionId } from '../reading/session-id.ts';
import { geminiReader } from './reader.ts';

const POLICY_FILE = 'gemini-policy.toml';

/** Flags that decide how a run goes on, and are ours to set. */
export const OWN_FLAGS: readonly FlagRule[] = [
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

const SHELL_RULE = '[[rule]]\ntoolName = "run_shell_command"\ndecision = "allow"\npriority = 900\n';
const READ_RULE =
  '[[rule]]\ntoolName = ["write_file", "replace", "run_shell_command", "invoke_agent", "exit_plan_mode"]\n' +
  'decision = "deny"\npriority = 999\n';

/**
 * Its retries and a cap of turns are settings of the person (`general.maxAttempts`, `model.maxSessionTurns`), which no
 * flag or variable changes for one run: what it says on stderr while it tries again is read instead.
 */
export const gemini: AgentAdapter = {
  name: 'gemini',
  program: {
    title: 'Gemini CLI',
    package: '@google/gemini-cli',
    tested: ['0.61.0', '0.61.0'],
    version: ['--version'],
    login: {
      files: ['.gemini/oauth_creds.json'],
      env: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
      moved: { GEMINI_CLI_HOME: '' },
    },
    tellsCost: false,
    capsCost: false,
    limitEnd: 'words',
    retriesItself: true,
    access: {
      read: 'a policy that refuses edits and the shell',
      write: 'edits, and a policy that allows the shell',
      full: 'no question is asked',
    },
  },
  capabilities: {
    resume: true,
    schema: 'tagged',
    model: true,
    effort: false,
    maxTurns: false,
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
  return {
    argv,
    env: { GEMINI_CLI_NO_RELAUNCH: 'true', ...agent.env },
    stdin: request.prompt,
    files: access.policy ? { [POLICY_FILE]: access.policy } : {},
    stopSignal: 'SIGTERM',
  };
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
