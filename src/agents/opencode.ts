import { join } from 'node:path';
import type {
  AgentAdapter,
  AgentError,
  AgentEvent,
  AgentRequest,
  Invocation,
} from '../model/agent-and-adapter-types.ts';
import { can } from '../model/agent-and-adapter-types.ts';
import { addUsage } from '../model/limits/usage-cost-and-estimate.ts';
import { asNumber, asObject, asString, type JsonObject } from '../model/text/values-of-unknown-type.ts';
import type { Usage } from '../model/ticket.ts';
import { flagged, options, resumeCommand, sessionArgs, switches, userArgs } from './command-flags.ts';
import { type Launcher, plannerCommand, secretFile } from './planner-launch-and-masked-arguments.ts';
import { CUT_OFF, classify, type Exit, troubleEvent, wasSignalled } from './reading/classify-errors.ts';
import { resetFromProse } from './reading/reset-time.ts';
import { StreamReader, usageOf } from './reading/stream-reader.ts';

const QUIET = { OPENCODE_DISABLE_AUTOUPDATE: '1' };

const OWN_FLAGS = [
  switches('--continue -c --fork --share --print-logs --interactive -i'),
  options('--format --session -s --log-level --dir --attach'),
];
/** Flags of `run` that the terminal interface does not know. */
const RUN_ONLY_FLAGS = [switches('--auto --thinking'), options('--variant --title --file -f --command')];

/** No shell at all: a command that reads can write by redirection. */
const READ_PERMISSION = { edit: 'deny', bash: 'deny', task: 'deny', external_directory: 'deny' };

/** Its retries cannot be turned off. They wait for the end of a limit without an event; only the log on stderr shows it. */
export const opencode: AgentAdapter = {
  name: 'opencode',
  program: {
    title: 'opencode',
    package: 'opencode-ai',
    minimum: '1.3.0',
    tested: ['1.18.33', '1.18.33'],
    login: {
      files: ['.local/share/opencode/auth.json'],
      env: ['OPENCODE_API_KEY', 'ANTHROPIC_API_KEY', 'OPENAI_API_KEY'],
    },
    reportsCost: true,
    capsCost: false,
    limitEnd: 'words',
    access: {
      read: 'edits and the shell are refused',
      write: 'edits and any shell command; what it would ask, such as leaving the worktree, is refused',
      full: 'what it would ask is allowed',
    },
  },
  capabilities: can('tagged', 'resume', 'model', 'effort'),
  invocation,
  reader: (context) => new OpencodeReader('opencode', context),
  interactive: (agent, sessionId) => resumeCommand(agent, '-s', sessionId, [...OWN_FLAGS, ...RUN_ONLY_FLAGS]),
};

function invocation(request: AgentRequest): Invocation {
  const { agent, access } = request;
  const set = { model: options('--model -m'), effort: options('--variant') };
  const kept = userArgs(request, OWN_FLAGS, set);
  const argv = [agent.command, 'run', '--format', 'json', '--print-logs', '--log-level', 'ERROR', ...kept];
  argv.push(...sessionArgs(request, '--session', null), ...flagged('--model', request.model));
  argv.push(...flagged('--variant', request.effort));
  // Without it, everything that needs a question is refused, such as leaving the workspace.
  if (access === 'full') argv.push('--auto');
  const env = {
    ...QUIET,
    ...(request.distrusted && { OPENCODE_DISABLE_PROJECT_CONFIG: '1' }),
    ...agent.env,
    ...(access === 'read' && { OPENCODE_PERMISSION: JSON.stringify(READ_PERMISSION) }),
  };
  return { argv, env, stdin: request.prompt, files: {} };
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
    argv: plannerCommand(agent, [...OWN_FLAGS, ...RUN_ONLY_FLAGS]),
    env: { ...agent.env, OPENCODE_CONFIG_DIR: home },
    files: [
      secretFile(dir, 'planner.md', prompt),
      secretFile(home, 'opencode.json', `${JSON.stringify(config, null, 2)}\n`),
      ...skills.map((skill) => ({ path: join(home, 'skills', skill.name), to: skill.dir })),
    ],
    notes: taken ? [`Your OPENCODE_CONFIG_DIR (${taken}) is not used in this session.`] : [],
  };
};

/** A log line about a failed model call; calls of the small model only make titles. */
const STREAM_ERROR = /message="stream error"(?!.* small=true).* error\.error="(?:\w+: )?((?:[^"\\]|\\.)+)"/g;

/** There is no end event: the end is a last step with reason "stop" and then exit code 0. */
class OpencodeReader extends StreamReader {
  /** Why the last step ended; null while one is under way. */
  #stop: string | null = null;
  #reported: JsonObject | null = null;
  /** It continued after an error such as a full context. Its exit code is still that of the error. */
  #recovered = false;
  /** From its log: the limit that it waits for, or the empty account that it keeps asking. */
  #trouble: AgentError | null = null;

  protected read(event: JsonObject): AgentEvent[] {
    // Every line names the session; the first one begins it.
    const begun = this.sessionId === null ? this.session(event.sessionID) : [];
    return [...begun, ...this.#part(event.type, asObject(event.part) ?? {}, event)];
  }

  errorLine(line: string): AgentEvent[] {
    const said = troubleIn(line);
    const kind = said === undefined ? null : classify(said, null);
    if (said === undefined || (kind !== 'limit' && kind !== 'billing')) return [];
    this.#trouble = this.error(kind, said);
    return [troubleEvent(this.#trouble)];
  }

  protected failure(exit: Exit): AgentError | null {
    if (this.#reported) return this.#reportedError(this.#reported);
    const good = exit.code === 0 || (this.#recovered && exit.code === 1);
    if (this.#stop === 'stop' && good) return null;
    // It retries silently until it is stopped: the trouble is the reason, not the stop.
    if (this.#trouble) return this.#trouble;
    const trouble = troubleIn(exit.stderrTail);
    const kind = trouble === undefined ? null : classify(trouble, null);
    if (trouble !== undefined && kind && !wasSignalled(exit)) return this.error(kind, trouble);
    return this.#stop === 'length' ? CUT_OFF : this.unfinished(exit);
  }

  #part(type: unknown, part: JsonObject, event: JsonObject): AgentEvent[] {
    switch (type) {
      case 'step_start':
        this.#stop = null;
        this.#recovered ||= this.#reported !== null;
        this.#reported = null;
        this.#trouble = null;
        return [];
      case 'text': {
        const text = asString(part.text);
        return text === undefined ? [] : this.message(text);
      }
      case 'tool_use': {
        // A tool call only appears when it has ended.
        const { input, output, error, status } = asObject(part.state) ?? {};
        const end = { failed: status === 'error', output: error ?? output };
        return [...this.startTool('', part.tool, input), ...this.endTool('', [output, error], end)];
      }
      case 'step_finish': {
        this.#stop = asString(part.reason) ?? 'unknown';
        const usage = usageIn(part);
        return usage ? this.used(addUsage(this.usage, usage)) : [];
      }
      case 'error':
        this.#reported = asObject(event.error) ?? {};
        return [];
      default:
        return [];
    }
  }

  #reportedError(error: JsonObject): AgentError {
    const data = asObject(error.data) ?? {};
    const name = asString(error.name);
    const message = asString(data.message) || name || 'opencode reported an error without a message.';
    if (name === 'MessageAbortedError') return { class: 'interrupted', message };
    const kind =
      name === 'ContextOverflowError' ? 'context' : classify(message, asNumber(data.statusCode) ?? null);
    const said = this.error(kind ?? (name === 'ProviderAuthError' ? 'auth' : 'crash'), message);
    const after = asString(asObject(data.responseHeaders)?.['retry-after']);
    const isTemporary = said.class === 'limit' || said.class === 'overloaded';
    const resetAt = isTemporary ? resetFromProse(`retry-after: ${after}`, this.context.now) : null;
    return resetAt ? { ...said, resetAt, sure: true } : said;
  }
}

function usageIn(part: JsonObject): Usage | null {
  const tokens = asObject(part.tokens);
  if (!tokens) return null;
  const cache = asObject(tokens.cache);
  const output = asNumber(tokens.output);
  return usageOf({
    input: tokens.input,
    output: output === undefined ? null : output + (asNumber(tokens.reasoning) ?? 0),
    cacheRead: cache?.read,
    cacheWrite: cache?.write,
    cost: part.cost,
  });
}

function troubleIn(log: string): string | undefined {
  return [...log.matchAll(STREAM_ERROR)].at(-1)?.[1];
}
