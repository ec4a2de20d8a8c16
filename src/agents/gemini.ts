import { dirname, join, sep } from 'node:path';
import type {
  Access,
  AgentAdapter,
  AgentError,
  AgentEvent,
  AgentRequest,
  Invocation,
} from '../model/agent-and-adapter-types.ts';
import { can } from '../model/agent-and-adapter-types.ts';
import { asNumber, asObject, asString, type JsonObject } from '../model/text/values-of-unknown-type.ts';
import type { ErrorClass, Usage } from '../model/ticket.ts';
import { flagged, options, resumeCommand, sessionArgs, switches, userArgs } from './command-flags.ts';
import {
  type Launcher,
  plannerCommand,
  secretFile,
  withSkillIndex,
} from './planner-launch-and-masked-arguments.ts';
import { classify, type Exit, isEmptied, troubleEvent } from './reading/classify-errors.ts';
import { StreamReader, shortLine, usageOf, warning } from './reading/stream-reader.ts';

const POLICY_FILE = 'gemini-policy.toml';

/** Flags that this adapter sets itself. */
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
 * Its retries and its cap of turns are user settings (`general.maxAttempts`, `model.maxSessionTurns`) that no flag or
 * variable changes for one run. So its messages on stderr about retries are read instead.
 */
export const gemini: AgentAdapter = {
  name: 'gemini',
  program: {
    title: 'Gemini CLI',
    package: '@google/gemini-cli',
    minimum: '0.44.0',
    tested: ['0.61.0', '0.61.0'],
    login: {
      files: ['.gemini/oauth_creds.json'],
      env: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    },
    reportsCost: false,
    capsCost: false,
    limitEnd: 'words',
    access: {
      read: 'a policy that refuses edits and the shell',
      write: 'edits, and a policy that allows the shell',
      full: 'no question is asked',
    },
  },
  capabilities: can('tagged', 'resume', 'model'),
  invocation,
  reader: (context) => new GeminiReader('gemini', context),
  interactive: (agent, sessionId) => resumeCommand(agent, '--resume', sessionId, OWN_FLAGS),
};

function invocation(request: AgentRequest): Invocation {
  const { agent } = request;
  const kept = userArgs(request, OWN_FLAGS, { model: options('--model -m') });
  const argv = [agent.command, '--output-format', 'stream-json', '--skip-trust', ...kept];
  argv.push(...sessionArgs(request, '--resume', '--session-id'), ...flagged('--model', request.model));
  const { mode, policy } = ACCESS[request.access];
  argv.push('--approval-mode', mode, ...(policy ? ['--policy', `{job}/${POLICY_FILE}`] : []));
  const files: Record<string, string> = policy ? { [POLICY_FILE]: policy } : {};
  return { argv, env: { GEMINI_CLI_NO_RELAUNCH: 'true', ...agent.env }, stdin: request.prompt, files };
}

/** Headless, the CLI refuses what its mode does not allow; a policy allows or denies the shell. */
const ACCESS: Readonly<Record<Access, { mode: string; policy: string | null }>> = {
  full: { mode: 'yolo', policy: null },
  write: { mode: 'auto_edit', policy: SHELL_RULE },
  read: { mode: 'default', policy: READ_RULE },
};

const OWN_SERVERS = 'gemini takes MCP servers from its own settings only';

/**
 * The prompt is the context file of an included directory. File tools see only included directories, so skills and
 * state are included, too. It reads servers only from its own settings and from files that root owns.
 */
export const planGemini: Launcher = ({ agent, dir, prompt, skills, mcpServers, writes }) => {
  const context = join(dir, 'context');
  const along = [context, ...outermost(skills.map((skill) => dirname(skill.dir))), ...writes];
  const servers = Object.keys(mcpServers);
  return {
    argv: [
      ...plannerCommand(agent, OWN_FLAGS),
      ...[...new Set(along)].flatMap((path) => ['--include-directories', path]),
    ],
    env: { ...agent.env },
    files: [secretFile(context, 'GEMINI.md', withSkillIndex(prompt, skills))],
    notes: servers.length > 0 ? [`${OWN_SERVERS}; add ${servers.join(', ')} with: gemini mcp add`] : [],
  };
};

/** The CLI asks about each directory, so there should be few. */
function outermost(paths: readonly string[]): string[] {
  const all = [...new Set(paths)];
  return all.filter((path) => !all.some((other) => path.startsWith(other + sep)));
}

const REASONS: Readonly<Record<string, ErrorClass>> = {
  FatalTurnLimitedError: 'turns',
  FatalAuthenticationError: 'auth',
  FatalConfigError: 'config',
  FatalInputError: 'protocol',
  FatalCancellationError: 'interrupted',
};
/** Statuses of providers; the exit code is the low byte of one. */
const STATUSES = [401, 402, 403, 404, 408, 413, 429, 500, 502, 503, 504, 529];
const CODE = /"code": ?(\d{3})/;
const MESSAGE = /"message": ?"((?:[^"\\]|\\.)+)"/;
/** The CLI ends a run that repeats itself, with the status "success". */
const LOOP = /loop detected/i;
const REPORTED: readonly [RegExp, ErrorClass][] = [
  [/session turns/, 'turns'],
  [/token limit/, 'context'],
];
/** On stderr, while it waits for the end of a limit or retries with an empty account. */
const WAITING = /^Attempt \d+ failed(?: with status 429|: (.+))|^(Suggested retry after .+)/;

class GeminiReader extends StreamReader {
  /** The next delta begins a new message. */
  #fresh = true;
  #result: JsonObject | null = null;
  #loop: string | null = null;
  /** From an `error` event. The result after it may have no error of its own, or even be a success. */
  #reported: string | null = null;
  /** The beginning of a line whose rest has not come yet. */
  #line = '';
  #trouble: AgentError | null = null;

  protected read(event: JsonObject): AgentEvent[] {
    switch (event.type) {
      case 'init':
        return this.session(event.session_id, { model: asString(event.model) ?? null });
      case 'message':
        return this.#message(event);
      case 'tool_use':
        return [
          ...this.#endMessage(),
          ...this.startTool(asString(event.tool_id), event.tool_name, event.parameters),
        ];
      case 'tool_result': {
        const result = [event.status, event.output, event.error];
        const end = { failed: event.status === 'error', output: event.error ?? event.output };
        return [...this.#endMessage(), ...this.endTool(asString(event.tool_id), result, end)];
      }
      case 'error': {
        const message = asString(event.message) ?? 'unknown error';
        if (LOOP.test(message)) this.#loop = message;
        else if (event.severity === 'error') this.#reported = message;
        // After a warning, the same message continues.
        const before = event.severity === 'error' ? this.#endMessage() : this.#endLine();
        return [...before, warning(shortLine(message, 300))];
      }
      case 'result': {
        this.#result = event;
        const isEmpty = event.status === 'success' && this.#fresh;
        return [
          ...this.#endMessage(),
          ...(isEmpty ? [warning('The model ended with an empty response.')] : []),
          ...this.used(usageIn(asObject(event.stats))),
        ];
      }
      default:
        return [];
    }
  }

  errorLine(line: string): AgentEvent[] {
    const match = WAITING.exec(line);
    if (!match) return [];
    const [, said, when] = match;
    const answer = MESSAGE.exec(line)?.[1];
    const message =
      when && this.#trouble
        ? `${this.#trouble.message} ${when}`
        : (answer ?? said ?? when ?? 'Too many requests.');
    // A message of several lines may still name a wait; one inside the answer is complete.
    const refused = isEmptied(message) || (answer !== undefined && classify(answer, 429) === 'billing');
    this.#trouble = this.error(refused ? 'billing' : 'limit', message);
    return [troubleEvent(this.#trouble)];
  }

  protected override finalText(): string {
    return this.text.trim();
  }

  protected failure(exit: Exit): AgentError | null {
    if (this.#loop !== null) return { class: 'loop', message: this.#loop };
    const reported = this.#reported;
    if (this.#result?.status === 'success' && reported === null) return null;
    const error = asObject(this.#result?.error);
    if (!error && reported !== null) {
      const own = REPORTED.find(([words]) => words.test(reported))?.[1];
      return this.error(own ?? classify(reported, null) ?? 'protocol', reported);
    }
    if (!error) return this.#trouble ?? this.unfinished(exit);
    const message = asString(error.message) || 'gemini reported an error without a message.';
    const type = asString(error.type) ?? '';
    const kind = Object.hasOwn(REASONS, type) ? REASONS[type] : classify(message, statusOf(message, exit));
    return this.error(kind ?? 'crash', message);
  }

  /** Text comes in pieces. Whole lines are shown, and all text since the last tool is the message. */
  #message(event: JsonObject): AgentEvent[] {
    const text = asString(event.content);
    if (event.role !== 'assistant' || text === undefined) return [];
    this.#result = null;
    this.#trouble = null;
    this.#reported = null;
    const isDelta = event.delta === true;
    const before = isDelta ? [] : this.#endMessage();
    this.text = this.#fresh ? text : this.text + text;
    this.#fresh = false;
    const lines = (this.#line + text).split('\n');
    this.#line = lines.pop() ?? '';
    return [...before, ...lines.map((line) => ({ type: 'text', text: line }) as const)];
  }

  /** What follows is another message; the rest of the last line is shown. */
  #endMessage(): AgentEvent[] {
    this.#fresh = true;
    return this.#endLine();
  }

  #endLine(): AgentEvent[] {
    const text = this.#line;
    this.#line = '';
    return text === '' ? [] : [{ type: 'text', text }];
  }
}

/** `input_tokens` includes cached ones; `input` does not. */
function usageIn(stats: JsonObject | undefined): Usage | null {
  if (!stats) return null;
  const total = asNumber(stats.input_tokens);
  const cached = asNumber(stats.cached);
  const input = asNumber(stats.input) ?? (total === undefined ? undefined : total - (cached ?? 0));
  const fresh = input === undefined ? null : Math.max(0, input);
  return usageOf({ input: fresh, output: stats.output_tokens, cacheRead: cached });
}

function statusOf(message: string, exit: Exit): number | null {
  const said = CODE.exec(message)?.[1];
  if (said) return Number(said);
  return STATUSES.find((status) => (status & 0xff) === exit.code) ?? null;
}
