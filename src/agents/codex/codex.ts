import type { Access, AgentAdapter, AgentRequest, Invocation } from '../../model/agent.ts';
import { PERMISSION_FLAGS } from '../access.ts';
import { type FlagRule, takeFlags } from '../flags.ts';
import { checkedSessionId } from '../reading/session-id.ts';
import { codexReader } from './reader.ts';
import { strictSchema } from './strict-schema.ts';

const SCHEMA_FILE = 'schema.json';
const SANDBOX: Readonly<Record<Exclude<Access, 'full'>, string>> = {
  read: 'read-only',
  write: 'workspace-write',
};

const OWN_FLAGS: readonly FlagRule[] = [
  { names: ['--json', '--experimental-json', '--skip-git-repo-check'], takesValue: false },
];
const EXEC_ONLY_FLAGS: readonly FlagRule[] = [
  { names: ['--ephemeral'], takesValue: false },
  { names: ['--output-schema', '--output-last-message', '-o', '--color'], takesValue: true },
];
const SCHEMA_FLAGS: readonly FlagRule[] = [{ names: ['--output-schema'], takesValue: true }];
const MODEL_FLAGS: readonly FlagRule[] = [{ names: ['--model', '-m'], takesValue: true }];
const EFFORT_FLAGS: readonly FlagRule[] = [
  { names: ['--config', '-c'], takesValue: true, when: /^\s*model_reasoning_effort\s*=/ },
];

/**
 * The CLI's own retries belong to a model provider (`model_providers.<id>.request_max_retries`), and the built-in
 * ones cannot be changed: someone with a provider of their own sets them in `defaultArgs` or Codex's config.
 */
export const codex: AgentAdapter = {
  name: 'codex',
  program: {
    title: 'Codex',
    package: '@openai/codex',
    tested: ['0.166.0', '0.166.0'],
    version: ['--version'],
    login: {
      files: ['.codex/auth.json'],
      env: ['CODEX_API_KEY', 'OPENAI_API_KEY'],
      moved: { CODEX_HOME: '.codex' },
    },
    tellsCost: false,
    capsCost: false,
    limitEnd: 'words',
    retriesItself: true,
    access: {
      read: 'its sandbox, read-only',
      write: 'its sandbox, open for the worktree and the git directories that commits go to',
      full: 'no sandbox',
    },
  },
  capabilities: {
    resume: true,
    schema: 'native',
    model: true,
    effort: true,
    maxTurns: false,
    allowedTools: false,
  },
  access: ['read', 'write', 'full'],
  invocation,
  reader: (context) => codexReader(context),
  interactive: (agent, sessionId) => {
    const legacy = agent.defaultArgs.includes('--full-auto') || agent.defaultArgs.includes('--approval-mode');
    const rules = [...OWN_FLAGS, ...EXEC_ONLY_FLAGS, ...(legacy ? (PERMISSION_FLAGS.codex ?? []) : [])];
    return [
      agent.command,
      'resume',
      ...takeFlags(agent.defaultArgs, rules).kept,
      checkedSessionId(sessionId),
    ];
  },
};

function invocation(request: AgentRequest): Invocation {
  const { agent } = request;
  const model = request.model ?? agent.model;
  const { kept } = takeFlags(agent.defaultArgs, [
    ...OWN_FLAGS,
    ...(PERMISSION_FLAGS.codex ?? []),
    // The CLI refuses a flag that is given twice.
    ...(model ? MODEL_FLAGS : []),
    ...(request.effort ? EFFORT_FLAGS : []),
    ...(request.schema ? SCHEMA_FLAGS : []),
  ]);
  // Options stand before `resume`: it refuses some that `exec` takes.
  const argv = [agent.command, 'exec', '--json', '--skip-git-repo-check', ...accessArgs(request)];
  // By itself it trusts a repository as soon as it may write there.
  if (request.distrusted) argv.push('-c', `projects={${toml(request.distrusted)}={trust_level="untrusted"}}`);
  if (model) argv.push('-m', model);
  if (request.effort) argv.push('-c', `model_reasoning_effort=${toml(effortOf(request.effort))}`);
  if (request.schema) argv.push('--output-schema', `{job}/${SCHEMA_FILE}`);
  argv.push(...kept);
  if (request.resume) argv.push('resume', checkedSessionId(request.resume));
  argv.push('-');
  const files: Record<string, string> = {};
  if (request.schema) files[SCHEMA_FILE] = `${JSON.stringify(strictSchema(request.schema), null, 2)}\n`;
  return { argv, env: { ...agent.env }, stdin: request.prompt, files, stopSignal: 'SIGINT' };
}

function accessArgs({ access, resume, gitDirs }: AgentRequest): string[] {
  if (access === 'full') return ['--dangerously-bypass-approvals-and-sandbox'];
  // A resumed session does not keep its sandbox, and `resume` knows it only as a setting.
  const sandbox = resume ? ['-c', `sandbox_mode=${toml(SANDBOX[access])}`] : ['-s', SANDBOX[access]];
  const args = [...sandbox, '-c', `approval_policy=${toml('never')}`];
  // A worktree's git directory lies outside it and is read-only in the sandbox: without this nothing can be committed.
  const opened = access === 'write' ? (gitDirs?.() ?? []) : [];
  if (opened.length > 0) args.push('-c', `sandbox_workspace_write.writable_roots=${JSON.stringify(opened)}`);
  return args;
}

/** JSON strings are TOML strings. */
function toml(text: string): string {
  return JSON.stringify(text);
}

/** Not every release knows `max`; all know the one below it. */
function effortOf(effort: string): string {
  return effort === 'max' ? 'xhigh' : effort;
}
