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
import {
  asArray,
  asNumber,
  asObject,
  asString,
  type JsonObject,
} from '../model/text/values-of-unknown-type.ts';
import { flagged, options, resumeCommand, sessionArgs, switches, userArgs } from './command-flags.ts';
import { PI_EXTENSION } from './pi-extension.ts';
import { type Launcher, plannerCommand, secretFile } from './planner-launch-and-masked-arguments.ts';
import { CUT_OFF, classify, type Exit } from './reading/classify-errors.ts';
import { isoOf, StreamReader, usageOf, warning } from './reading/stream-reader.ts';

const EXTENSION_FILE = 'signalbox-pi.js';
const QUIET = { PI_SKIP_VERSION_CHECK: '1', PI_TELEMETRY: '0' };

const OWN_FLAGS = [
  switches('--print -p --continue -c --resume -r --no-session'),
  options('--mode --session --fork --export'),
];
const TOOL_FLAGS = [options('--tools -t'), switches('--no-tools -nt --no-builtin-tools -nbt')];

/** pi has no permissions: the list of tools decides what it may do. */
const READ_TOOLS = 'read,grep,find,ls';

export const pi: AgentAdapter = {
  name: 'pi',
  program: {
    title: 'pi',
    package: '@earendil-works/pi-coding-agent',
    formerPackage: '@mariozechner/pi-coding-agent',
    minimum: '0.60.0',
    tested: ['0.73.1', '0.87.1'],
    login: {
      files: ['.pi/agent/auth.json', '.pi/agent/models.json'],
      env: ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'GEMINI_API_KEY'],
    },
    reportsCost: true,
    capsCost: false,
    limitEnd: 'headers',
    access: {
      read: 'only the tools that read; no shell',
      write: 'every tool; it has no sandbox',
      full: 'the same as write',
    },
  },
  capabilities: can('tagged', 'resume', 'model', 'effort', 'maxTurns'),
  invocation,
  reader: (context) => new PiReader('pi', context),
  interactive: (agent, sessionId) => resumeCommand(agent, '--session', sessionId, OWN_FLAGS),
};

function invocation(request: AgentRequest): Invocation {
  const { agent } = request;
  const reads = request.access === 'read';
  const set = { model: options('--model'), effort: options('--thinking') };
  const kept = userArgs(request, [...OWN_FLAGS, ...(reads ? TOOL_FLAGS : [])], set);
  const argv = [agent.command, '--mode', 'json', '-p', ...kept];
  // This turns off the user's extensions as well as the repository's; `defaultArgs` can name them.
  if (request.distrusted) argv.push('--no-extensions');
  argv.push('--extension', `{job}/${EXTENSION_FILE}`);
  argv.push(...sessionArgs(request, '--session', null), ...flagged('--model', request.model));
  // The CLI's highest effort is the one below `max`.
  if (request.effort) argv.push('--thinking', request.effort === 'max' ? 'xhigh' : request.effort);
  if (reads) argv.push('--tools', READ_TOOLS);
  const env: Record<string, string> = { ...QUIET, ...agent.env };
  if (request.maxTurns !== null) env.SIGNALBOX_PI_TURNS = String(request.maxTurns);
  return { argv, env, stdin: request.prompt, files: { [EXTENSION_FILE]: PI_EXTENSION } };
}

export const planPi: Launcher = ({ agent, dir, prompt, skills, mcpServers }) => {
  const servers = Object.keys(mcpServers);
  return {
    argv: [
      ...plannerCommand(agent, OWN_FLAGS),
      '--append-system-prompt',
      join(dir, 'planner.md'),
      ...skills.flatMap((skill) => ['--skill', skill.dir]),
    ],
    env: { ...agent.env },
    files: [secretFile(dir, 'planner.md', prompt)],
    notes: servers.length > 0 ? [`pi has no MCP, so ${servers.join(', ')} cannot be used in it.`] : [],
  };
};

/** These events repeat whole messages many times, so they are skipped before parsing. */
const REPEATS = /^\{"type":"(?:message_update|turn_end|agent_end)"/;
const STATUS = /^(\d{3})\b/;

/** The exit code is 0 even after a provider's error: only the last answer shows how the run ended. */
class PiReader extends StreamReader {
  /** How the last answer ended; null while one is under way. */
  #stop: string | null = null;
  #failure = '';
  #limit: { resetAt: string | null } | null = null;
  #turns: number | null = null;

  override line(line: string): AgentEvent[] {
    return REPEATS.test(line) ? [] : super.line(line);
  }

  protected read(event: JsonObject): AgentEvent[] {
    switch (event.type) {
      case 'session':
        return this.session(event.id);
      case 'turn_start':
        this.#stop = null;
        return [];
      case 'message_end':
        return this.#message(asObject(event.message) ?? {});
      case 'tool_execution_start':
        return this.startTool(asString(event.toolCallId), event.toolName, event.args);
      case 'tool_execution_end':
        return this.endTool(asString(event.toolCallId), event.result, {
          failed: event.isError === true,
          output: event.result,
        });
      case 'auto_retry_start': {
        const answer = asString(event.errorMessage) ?? 'an error';
        return [warning(`The provider answered: ${answer}; pi tries again.`)];
      }
      case 'signalbox':
        return this.#own(event);
      default:
        return [];
    }
  }

  protected failure(exit: Exit): AgentError | null {
    if (this.#turns !== null) return { class: 'turns', message: `Reached the cap of ${this.#turns} turns.` };
    if (this.#stop === 'stop' && exit.code === 0) return null;
    if (this.#stop === 'length') return CUT_OFF;
    if (this.#stop === 'aborted' && this.#limit) return limitOf(this.#limit);
    if (this.#stop !== 'error') return this.unfinished(exit);
    const message = this.#failure || 'pi reported an error without a message.';
    const status = Number(STATUS.exec(message)?.[1]);
    const error = this.error(classify(message, status) ?? 'crash', message);
    return error.class === 'limit' && this.#limit?.resetAt
      ? { ...error, resetAt: this.#limit.resetAt, sure: true }
      : error;
  }

  #message(message: JsonObject): AgentEvent[] {
    if (message.role !== 'assistant') return [];
    this.#stop = asString(message.stopReason) ?? null;
    this.#failure = asString(message.errorMessage) ?? '';
    const events: AgentEvent[] = [];
    const text = asArray(message.content)
      .map(asObject)
      .flatMap((block) => (block?.type === 'text' ? [asString(block.text)] : []))
      .join('\n');
    if (this.#stop !== 'error' && this.#stop !== 'aborted') {
      this.#limit = null;
      if (text !== '') events.push(...this.message(text));
    }
    const usage = asObject(message.usage);
    if (!usage) return events;
    const { input, output, cacheRead, cacheWrite } = usage;
    const own = usageOf({ input, output, cacheRead, cacheWrite, cost: asObject(usage.cost)?.total });
    return [...events, ...this.used(addUsage(this.usage, own))];
  }

  /** An event of the extension above. */
  #own(event: JsonObject): AgentEvent[] {
    this.#turns = asNumber(event.turns) ?? this.#turns;
    const limit = asObject(event.limit);
    if (!limit) return [];
    this.#limit = { resetAt: isoOf(limit.resetAt) };
    const { message, resetAt, sure } = limitOf(this.#limit);
    return [{ type: 'limit', resetAt, sure, message }];
  }
}

function limitOf({ resetAt }: { resetAt: string | null }) {
  const message = 'The usage limit is reached.';
  return { class: 'limit' as const, message, resetAt, sure: resetAt !== null };
}
