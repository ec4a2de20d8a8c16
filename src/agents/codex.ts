import { join } from 'node:path';
import type { McpServer } from '../config/settings-table.ts';
import type {
  Access,
  AgentAdapter,
  AgentError,
  AgentEvent,
  AgentRequest,
  Invocation,
} from '../model/agent-and-adapter-types.ts';
import { can } from '../model/agent-and-adapter-types.ts';
import { subtractUsage } from '../model/limits/usage-cost-and-estimate.ts';
import { shellQuote } from '../model/text/quote-values-for-shell.ts';
import {
  asArray,
  asNumber,
  asObject,
  asString,
  type JsonObject,
} from '../model/text/values-of-unknown-type.ts';
import type { Usage } from '../model/ticket.ts';
import {
  flagged,
  options,
  PERMISSION_FLAGS,
  sessionArgs,
  switches,
  takeFlags,
  userArgs,
} from './command-flags.ts';
import {
  type Launcher,
  plannerCommand,
  secretFile,
  withSkillIndex,
} from './planner-launch-and-masked-arguments.ts';
import { classify, type Exit, wasSignalled } from './reading/classify-errors.ts';
import {
  checkedSessionId,
  fingerprintOf,
  StreamReader,
  shortLine,
  toolEnd,
  usageOf,
  warning,
} from './reading/stream-reader.ts';

const SCHEMA_FILE = 'schema.json';
const SANDBOX: Readonly<Record<Exclude<Access, 'full'>, string>> = {
  read: 'read-only',
  write: 'workspace-write',
};

const OWN_FLAGS = [switches('--json --experimental-json --skip-git-repo-check')];
const EXEC_ONLY_FLAGS = [
  switches('--ephemeral'),
  options('--output-schema --output-last-message -o --color'),
];

/**
 * The CLI's own retries belong to a model provider (`model_providers.<id>.request_max_retries`), and the built-in
 * ones cannot be changed. For a custom provider, set them in `defaultArgs` or in Codex's own config.
 */
export const codex: AgentAdapter = {
  name: 'codex',
  program: {
    title: 'Codex',
    package: '@openai/codex',
    minimum: '0.80.0',
    tested: ['0.166.0', '0.166.0'],
    login: {
      files: ['.codex/auth.json'],
      env: ['CODEX_API_KEY', 'OPENAI_API_KEY'],
      status: { args: ['login', 'status'], loggedOut: /^Not logged in/m, isSure: false },
    },
    reportsCost: false,
    capsCost: false,
    limitEnd: 'words',
    access: {
      read: 'its sandbox, read-only',
      write: 'its sandbox, open for the worktree and the git directories that commits go to',
      full: 'no sandbox',
    },
  },
  capabilities: can('native', 'resume', 'model', 'effort'),
  invocation,
  reader: (context) => new CodexReader('codex', context),
  interactive: (agent, sessionId) => {
    const legacy = agent.defaultArgs.includes('--full-auto') || agent.defaultArgs.includes('--approval-mode');
    const rules = [...OWN_FLAGS, ...EXEC_ONLY_FLAGS, ...(legacy ? PERMISSION_FLAGS.codex : [])];
    const { kept } = takeFlags(agent.defaultArgs, rules);
    return [agent.command, 'resume', ...kept, checkedSessionId(sessionId)];
  },
};

function invocation(request: AgentRequest): Invocation {
  const { agent } = request;
  // The CLI refuses a flag that is given twice.
  const kept = userArgs(request, OWN_FLAGS, {
    model: options('--model -m'),
    effort: { ...options('--config -c'), when: /^\s*model_reasoning_effort\s*=/ },
    schema: options('--output-schema'),
  });
  // Options come before `resume`, which refuses some that `exec` takes.
  const argv = [agent.command, 'exec', '--json', '--skip-git-repo-check', ...accessArgs(request)];
  // By default it trusts a repository that it may write to.
  if (request.distrusted) argv.push('-c', `projects={${toml(request.distrusted)}={trust_level="untrusted"}}`);
  argv.push(...flagged('-m', request.model));
  // Not every release knows `max`; all know the one below it.
  const effort = request.effort === 'max' ? 'xhigh' : request.effort;
  if (effort) argv.push('-c', `model_reasoning_effort=${toml(effort)}`);
  if (request.schema) argv.push('--output-schema', `{job}/${SCHEMA_FILE}`);
  argv.push(...kept, ...sessionArgs(request, 'resume', null), '-');
  const files: Record<string, string> = {};
  if (request.schema) files[SCHEMA_FILE] = `${JSON.stringify(strictSchema(request.schema), null, 2)}\n`;
  return { argv, env: { ...agent.env }, stdin: request.prompt, files, stopSignal: 'SIGINT' };
}

function accessArgs({ access, resume, gitDirs }: AgentRequest): string[] {
  if (access === 'full') return ['--dangerously-bypass-approvals-and-sandbox'];
  // A resumed session does not keep its sandbox, and `resume` knows it only as a setting.
  const sandbox = resume ? ['-c', `sandbox_mode=${toml(SANDBOX[access])}`] : ['-s', SANDBOX[access]];
  const args = [...sandbox, '-c', `approval_policy=${toml('never')}`];
  // A worktree's git directory is outside it and read-only in the sandbox: without this nothing can be committed.
  const opened = access === 'write' ? (gitDirs?.() ?? []) : [];
  if (opened.length > 0) args.push('-c', `sandbox_workspace_write.writable_roots=${JSON.stringify(opened)}`);
  return args;
}

/** Arguments are visible to every user of the machine: servers, which may have keys, are started by a private file. */
export const planCodex: Launcher = ({ agent, dir, prompt, skills, mcpServers, writes }) => {
  const servers = Object.entries(mcpServers);
  return {
    argv: [
      ...plannerCommand(agent, [...OWN_FLAGS, ...EXEC_ONLY_FLAGS], '-m'),
      '-c',
      `developer_instructions=${toml(withSkillIndex(prompt, skills))}`,
      ...servers.flatMap(([name]) => [
        '-c',
        `mcp_servers.${name}={command="/bin/sh",args=[${toml(join(dir, `mcp-${name}.sh`))}],startup_timeout_sec=60}`,
      ]),
      ...writes.flatMap((path) => ['--add-dir', path]),
    ],
    env: { ...agent.env },
    files: servers.map(([name, server]) => secretFile(dir, `mcp-${name}.sh`, starter(server))),
    notes: [],
  };
};

function starter({ command, args, env }: McpServer): string {
  const variables = Object.entries(env).map(([name, value]) => `export ${name}=${shellQuote(value)}\n`);
  return `${variables.join('')}exec ${[command, ...args].map(shellQuote).join(' ')}\n`;
}

/** JSON strings are TOML strings, except for DEL, which only TOML escapes. */
function toml(text: string): string {
  return JSON.stringify(text).replaceAll('\u007f', '\\u007f');
}

const LISTS = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
const MAPS = ['$defs', 'definitions'];

/**
 * The same schema in the strict form the provider asks for: closed objects with every property required, and
 * null allowed where one was optional. The check of the result reads such a null as "not given".
 */
export function strictSchema(schema: JsonObject): JsonObject {
  return closed(schema) as JsonObject;
}

function closed(value: unknown): unknown {
  const schema = asObject(value);
  if (!schema) return value;
  const strict: JsonObject = { ...schema };
  for (const key of LISTS) if (Array.isArray(schema[key])) strict[key] = schema[key].map(closed);
  for (const key of MAPS) {
    const map = asObject(schema[key]);
    if (map) strict[key] = mapValues(map, closed);
  }
  if (schema.items !== undefined) strict.items = closed(schema.items);
  const properties = asObject(schema.properties);
  if (properties) {
    const required = asArray(schema.required);
    strict.properties = mapValues(properties, (part, name) =>
      required.includes(name) ? closed(part) : orNull(closed(part)),
    );
    strict.required = Object.keys(properties);
  }
  const isObject = schema.type === 'object' || (Array.isArray(schema.type) && schema.type.includes('object'));
  if (isObject && schema.additionalProperties === undefined) strict.additionalProperties = false;
  return strict;
}

function orNull(value: unknown): unknown {
  const schema = asObject(value);
  const types = Array.isArray(schema?.type) ? schema.type : [schema?.type];
  return types.includes('null') ? value : { anyOf: [value, { type: 'null' }] };
}

function mapValues(map: JsonObject, fn: (value: unknown, name: string) => unknown): JsonObject {
  return Object.fromEntries(Object.entries(map).map(([name, value]) => [name, fn(value, name)]));
}

const STATUS = /status:? (\d{3})/;

class CodexReader extends StreamReader {
  #end: 'completed' | 'failed' | null = null;
  #failure = '';
  /** The last error that the CLI was retrying after. */
  #trouble: string | null = null;
  /** Ids of items under way. */
  readonly #open = new Set<string>();

  protected read(event: JsonObject): AgentEvent[] {
    switch (event.type) {
      case 'thread.started':
        return this.session(event.thread_id);
      case 'turn.started':
        this.#end = null;
        return [];
      case 'item.started':
        return this.#item(asObject(event.item), false);
      case 'item.completed':
        return this.#item(asObject(event.item), true);
      case 'error':
        return this.#error(asString(event.message) ?? 'unknown error');
      case 'turn.completed':
        this.#end = 'completed';
        return this.used(this.#usageOf(asObject(event.usage)));
      case 'turn.failed':
        this.#end = 'failed';
        this.#failure =
          asString(asObject(event.error)?.message) ??
          this.#trouble ??
          'codex reported an error without a message.';
        return [];
      default:
        return [];
    }
  }

  protected failure(exit: Exit): AgentError | null {
    if (this.#end === 'completed') return null;
    const message = this.#end === 'failed' ? this.#failure : this.#trouble;
    if (message === null) return this.unfinished(exit);
    const kind = classify(message, statusIn(message)) ?? 'crash';
    // The CLI waits for a long limit silently until it is stopped: the limit is the reason, not the stop.
    const stopped = this.#end === null && wasSignalled(exit) && kind !== 'limit';
    return stopped ? this.unfinished(exit) : this.error(kind, message);
  }

  #error(message: string): AgentEvent[] {
    this.#trouble = message;
    const warned = warning(shortLine(message, 300));
    if (classify(message, statusIn(message)) !== 'limit') return [warned];
    const { message: text, resetAt = null } = this.error('limit', message);
    return [warned, { type: 'limit', resetAt, sure: false, message: text }];
  }

  #item(item: JsonObject | undefined, done: boolean): AgentEvent[] {
    if (!item) return [];
    if (item.type === 'error') return [warning(shortLine(asString(item.message) ?? 'unknown error', 300))];
    this.#trouble = null;
    const text = asString(item.text);
    if (item.type === 'agent_message' && done && text !== undefined) return this.message(text);
    const tool = toolOf(item);
    if (!tool) return [];
    const id = asString(item.id) ?? '';
    const begun: AgentEvent = { type: 'tool', ...tool, done: false };
    if (!done) {
      this.#open.add(id);
      return [begun];
    }
    // Some items only appear when they have ended: each still gets a start event.
    const fingerprint = fingerprintOf({ ...item, id: null });
    const end = toolEnd({
      failed: item.status === 'failed' || (asNumber(item.exit_code) ?? 0) !== 0,
      output: item.aggregated_output,
    });
    return [...(this.#open.delete(id) ? [] : [begun]), { type: 'tool', ...tool, done, fingerprint, ...end }];
  }

  /** Converts totals of the whole thread, which include cached input, to this run's usage with each token counted once. */
  #usageOf(usage: JsonObject | undefined): Usage | null {
    if (!usage) return null;
    const { cached_input_tokens: cacheRead, cache_write_input_tokens: cacheWrite } = usage;
    const all = asNumber(usage.input_tokens);
    const input =
      all === undefined ? null : Math.max(0, all - (asNumber(cacheRead) ?? 0) - (asNumber(cacheWrite) ?? 0));
    const total = usageOf({ input, output: usage.output_tokens, cacheRead, cacheWrite });
    return subtractUsage(total, this.context.usageBefore);
  }
}

function toolOf(item: JsonObject): { name: string; summary: string } | undefined {
  switch (item.type) {
    case 'command_execution':
      return { name: 'shell', summary: shortLine(asString(item.command) ?? '') };
    case 'file_change': {
      const paths = asArray(item.changes).map((change) => asString(asObject(change)?.path));
      return { name: 'edit', summary: shortLine(paths.join(' ')) };
    }
    case 'mcp_tool_call': {
      const name = [asString(item.server), asString(item.tool)].filter(Boolean).join('.');
      return { name: name || 'mcp', summary: '' };
    }
    case 'web_search':
      return { name: 'web_search', summary: shortLine(asString(item.query) ?? '') };
    default:
      return undefined;
  }
}

/** Not a number when the message names none. */
function statusIn(message: string): number {
  return Number(STATUS.exec(message)?.[1]);
}
