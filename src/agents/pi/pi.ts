import type { AgentAdapter, AgentRequest, Invocation } from '../../model/agent.ts';
import { type FlagRule, takeFlags } from '../flags.ts';
import { checkedSessionId } from '../reading/session-id.ts';
import { PI_EXTENSION } from './extension.ts';
import { piReader } from './reader.ts';

const EXTENSION_FILE = 'signalbox-pi.js';
const QUIET = { PI_SKIP_VERSION_CHECK: '1', PI_TELEMETRY: '0' };

const OWN_FLAGS: readonly FlagRule[] = [
  {
    names: ['--print', '-p', '--continue', '-c', '--resume', '-r', '--no-session'],
    takesValue: false,
  },
  { names: ['--mode', '--session', '--fork', '--export'], takesValue: true },
];
const MODEL_FLAGS: readonly FlagRule[] = [{ names: ['--model'], takesValue: true }];
const EFFORT_FLAGS: readonly FlagRule[] = [{ names: ['--thinking'], takesValue: true }];
const TOOL_FLAGS: readonly FlagRule[] = [
  { names: ['--tools', '-t'], takesValue: true },
  { names: ['--no-tools', '-nt', '--no-builtin-tools', '-nbt'], takesValue: false },
];

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
  capabilities: {
    resume: true,
    schema: 'tagged',
    model: true,
    effort: true,
    maxTurns: true,
    allowedTools: false,
  },
  access: ['read', 'write', 'full'],
  invocation,
  reader: (context) => piReader(context),
  interactive: (agent, sessionId) => [
    agent.command,
    '--session',
    checkedSessionId(sessionId),
    ...takeFlags(agent.defaultArgs, OWN_FLAGS).kept,
  ],
};

function invocation(request: AgentRequest): Invocation {
  const { agent } = request;
  const model = request.model ?? agent.model;
  const reads = request.access === 'read';
  const { kept } = takeFlags(agent.defaultArgs, [
    ...OWN_FLAGS,
    ...(model ? MODEL_FLAGS : []),
    ...(request.effort ? EFFORT_FLAGS : []),
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
