import type {
  AgentAdapter,
  AgentReader,
  AgentRequest,
  AgentResult,
  Invocation,
  ReadContext,
} from '../model/agent-and-adapter-types.ts';
import { can } from '../model/agent-and-adapter-types.ts';
import { InputError } from '../model/errors.ts';
import { requestEnv } from './directories-and-variables-of-clis.ts';
import {
  classifyWords,
  errorOf,
  stderrText,
  tooLong,
  unfinished,
  wasSignalled,
} from './reading/classify-errors.ts';
import { extractTagged } from './reading/result-block-and-signal.ts';

const TAIL = 64 * 1024;
/** The longest single argument on Linux, with its closing zero byte. */
const MAX_ARGUMENT = 131_072;
/** Some programs report errors at the end of their output. */
const MAX_STDERR_LINES = 10;
const PLACEHOLDER = /\{(prompt|promptFile|model|session)\}/g;

/** Any command. It gets its input by arguments, stdin and environment; its exit code is the result. */
export const custom: AgentAdapter = {
  name: 'custom',
  program: null,
  capabilities: can('tagged', 'model', 'effort', 'maxTurns', 'allowedTools'),
  invocation,
  reader,
  interactive: () => null,
};

function invocation(request: AgentRequest): Invocation {
  const { agent } = request;
  const values: Record<string, string> = {
    prompt: request.prompt,
    promptFile: request.promptFile,
    model: request.model ?? '',
    session: request.newSessionId,
  };
  const args = agent.defaultArgs.map((arg) =>
    arg.replace(PLACEHOLDER, (_, name: string) => values[name] ?? ''),
  );
  const inArgument = agent.defaultArgs.some((arg) => arg.includes('{prompt}'));
  if (inArgument && args.some((arg) => Buffer.byteLength(arg) >= MAX_ARGUMENT))
    throw new InputError(
      'agent/prompt-too-long',
      `The prompt is too long for an argument of agent ${agent.name}: remove {prompt} from its defaultArgs to pass it on stdin, or use {promptFile}.`,
    );
  return {
    argv: [agent.command, ...args],
    env: { ...requestEnv(request), ...agent.env },
    stdin: inArgument ? null : request.prompt,
    files: {},
  };
}

function reader(context: ReadContext): AgentReader {
  let tail = '';
  return {
    line(line) {
      tail += `${line}\n`;
      if (tail.length > TAIL * 2) tail = tail.slice(-TAIL);
      return [{ type: 'text', text: line }];
    },
    end(exit): AgentResult {
      const text = tail.slice(-TAIL).trim();
      const base = { text, sessionId: null, usage: null };
      if (exit.skippedIn && !wasSignalled(exit))
        return { ...base, ok: false, data: undefined, error: tooLong('the agent', exit.skippedIn) };
      if (exit.code === 0 && exit.signal === null)
        return { ...base, ok: true, data: context.wantsData ? extractTagged(text) : undefined, error: null };
      if (wasSignalled(exit) || exit.code === 126 || exit.code === 127)
        return { ...base, ok: false, data: undefined, error: unfinished('the agent', exit, context.now) };
      const said =
        stderrText(exit.stderrTail) || stderrText(text.split('\n').slice(-MAX_STDERR_LINES).join('\n'));
      const message = `the agent ended with exit code ${exit.code ?? 'unknown'}.${said === '' ? '' : ` It said: ${said}`}`;
      const error = errorOf(classifyWords(said) ?? 'exit', message, context.now, context.zone);
      return { ...base, ok: false, data: undefined, error };
    },
  };
}
