import { dirname, join, sep } from 'node:path';
import type { Access, AgentAdapter, AgentRequest, Invocation } from '../../model/agent.ts';
import { options, PERMISSION_FLAGS, resumeCommand, switches, takeFlags } from '../flags.ts';
import { type Launcher, ownArgs, secretFile, withSkillIndex } from '../planning/launch.ts';
import { checkedSessionId } from '../reading/stream-reader.ts';
import { can } from '../supports.ts';
import { geminiReader } from './reader.ts';

const POLICY_FILE = 'gemini-policy.toml';

/** Flags that decide how a run goes on, and are ours to set. */
const OWN_FLAGS = [
  switches('--skip-trust --acp --experimental-acp --list-sessions'),
  options(
    '--output-format -o --prompt -p --prompt-interactive -i --resume -r --session-id',
    '--session-file --worktree -w',
  ),
];

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
  capabilities: can('tagged', 'resume', 'model'),
  access: ['read', 'write', 'full'],
  invocation,
  reader: (context) => geminiReader(context),
  interactive: (agent, sessionId) => resumeCommand(agent, '--resume', sessionId, OWN_FLAGS),
};

function invocation(request: AgentRequest): Invocation {
  const { agent } = request;
  const model = request.model ?? agent.model;
  const { kept } = takeFlags(agent.defaultArgs, [
    ...OWN_FLAGS,
    ...PERMISSION_FLAGS.gemini,
    ...(model ? [options('--model -m')] : []),
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

/**
 * Its prompt is context of a directory that is taken along. File tools see only directories that were named, so skills
 * and state are among them. Servers it takes from its own settings alone: other files it refuses unless root owns them.
 */
export const planGemini: Launcher = ({ agent, dir, prompt, skills, mcpServers, writes }) => {
  const context = join(dir, 'context');
  const along = [context, ...outermost(skills.map((skill) => dirname(skill.dir))), ...writes];
  const servers = Object.keys(mcpServers);
  return {
    argv: [
      agent.command,
      ...ownArgs(agent, OWN_FLAGS),
      ...(agent.model ? ['--model', agent.model] : []),
      ...[...new Set(along)].flatMap((path) => ['--include-directories', path]),
    ],
    env: { ...agent.env },
    files: [secretFile(context, 'GEMINI.md', withSkillIndex(prompt, skills))],
    notes:
      servers.length > 0
        ? [
            `gemini takes MCP servers from its own settings only; add ${servers.join(', ')} with: gemini mcp add`,
          ]
        : [],
  };
};

/** It asks the person about each directory, so there should be few. */
function outermost(paths: readonly string[]): string[] {
  const all = [...new Set(paths)];
  return all.filter((path) => !all.some((other) => path.startsWith(other + sep)));
}
