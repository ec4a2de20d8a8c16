import type { ErrorClass, Json, Usage } from './ticket.ts';

/** What an agent may do in the worktree: read it, write in it, or anything. */
export const ACCESS = ['read', 'write', 'full'] as const;
export type Access = (typeof ACCESS)[number];

/** Reasoning efforts, from least to most; adapters take the nearest that their CLI has. */
export const EFFORTS = ['minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

/** One agent as configured: `agents.<name>` of the settings with its adapter decided. */
export interface AgentConfig {
  name: string;
  adapter: string;
  command: string;
  defaultArgs: string[];
  env: Record<string, string>;
  model: string | null;
  /** Variables of the engine's own environment that it gets, by name or pattern. */
  envAllow?: string[] | undefined;
  /** Agents with the same account share a usage limit. Default: the agent's name. */
  account?: string | undefined;
  /** Who takes over while it is under a usage limit. */
  fallback?: string | undefined;
  /** `bwrap`: it sees its worktree and its CLI's own files, and little else. */
  sandbox?: string | undefined;
  sandboxNetwork?: boolean | undefined;
  sandboxReadable?: string[] | undefined;
  sandboxWritable?: string[] | undefined;
  sandboxProcesses?: number | undefined;
}

/** What an attempt asks of an agent. */
export interface AgentRequest {
  agent: AgentConfig;
  /** The whole prompt, already rendered; the engine writes it to `promptFile` too. */
  prompt: string;
  promptFile: string;
  access: Access;
  /** That of the phase, else of the agent's settings. */
  model: string | null;
  effort: string | null;
  maxTurns: number | null;
  /** Most dollars, for CLIs that can watch them themselves. */
  maxUsd?: number | null;
  allowedTools: string[] | null;
  /** JSON Schema of the wanted result, or null. */
  schema: Record<string, unknown> | null;
  /** Continue this session instead of starting one. */
  resume: string | null;
  /** A fresh random UUID, for CLIs that let the caller choose the session id. */
  newSessionId: string;
  /** True when the engine runs as root: some CLIs need a flag for that. */
  root: boolean;
  /**
   * Set to where it works when settings for the CLI in that directory must be ignored: sandboxed agents may have committed
   * them, or they could lift what `read` refuses.
   */
  distrusted?: string | null | undefined;
  /** Git directories outside the workspace that a commit writes to; a sandboxing CLI must open them. */
  gitDirs?: () => string[];
}

/** How to call a CLI. `stdin` is what it reads there; null means an empty, closed stdin. */
export interface Invocation {
  argv: string[];
  env: Record<string, string>;
  stdin: string | null;
  /** Files to write into the job's directory first, by name; argv may name them as `{job}/<name>`. */
  files: Record<string, string>;
  /** Signal for a gentle stop; default: SIGTERM. */
  stopSignal?: 'SIGINT';
}

/** The meaning of an output line, the same for all CLIs. */
export type AgentEvent =
  | { type: 'session'; id: string; model?: string | null }
  | { type: 'text'; text: string }
  /** Of a call that is done: `fingerprint` is equal for the same tool, input and result; `output` is what it printed. */
  | {
      type: 'tool';
      name: string;
      summary: string;
      done: boolean;
      fingerprint?: string;
      failed?: true;
      output?: string;
    }
  | { type: 'usage'; usage: Usage }
  | { type: 'limit'; resetAt: string | null; sure: boolean; message: string }
  /** The CLI keeps retrying what only a person can fix, so it is ended. */
  | { type: 'refused'; message: string }
  | { type: 'warning'; message: string };

export interface AgentError {
  class: ErrorClass;
  message: string;
  /** For `limit` and `overloaded`: when it ends, and whether the CLI said so in a machine-readable way. */
  resetAt?: string | null;
  sure?: boolean;
}

/** How a run ended. Success needs the CLI's own positive end event. */
export interface AgentResult {
  ok: boolean;
  /** The final assistant message. */
  text: string;
  /** The structured result by the CLI's own schema flag, or from a tagged block; undefined when there was none. */
  data: Json | undefined;
  sessionId: string | null;
  /** For this run alone; null members are unknown. */
  usage: Usage | null;
  error: AgentError | null;
}

/** Turns one CLI's output into events and a result. Never throws: an unknown or broken line is skipped. */
export interface AgentReader {
  line(line: string): AgentEvent[];
  /** The same for stderr, for CLIs that print there what their stream leaves out. */
  errorLine?(line: string): AgentEvent[];
  end(exit: AgentExit): AgentResult;
}

export interface AgentExit {
  code: number | null;
  signal: string | null;
  stderrTail: string;
  /** The file with a line that was too long to be read. */
  skippedIn?: string | undefined;
}

/** What a reader needs beside the stream. `usageBefore` is what the session had used before (some CLIs report totals). */
export interface ReadContext {
  now: string;
  usageBefore: Usage | null;
  wantsData: boolean;
  /** Time zone of clock times in messages; default: that of the machine. */
  zone?: string;
}

export interface AgentCapabilities {
  /** Continue a session headlessly. */
  resume: boolean;
  /** `native`: the CLI has a schema flag; `tagged`: the prompt asks for a tagged block. */
  schema: 'native' | 'tagged';
  model: boolean;
  effort: boolean;
  maxTurns: boolean;
  allowedTools: boolean;
}

/** The capabilities of an adapter that has these and no others. */
export function can(
  schema: AgentCapabilities['schema'],
  ...abilities: Exclude<keyof AgentCapabilities, 'schema'>[]
): AgentCapabilities {
  const has = (ability: (typeof abilities)[number]) => abilities.includes(ability);
  return {
    schema,
    resume: has('resume'),
    model: has('model'),
    effort: has('effort'),
    maxTurns: has('maxTurns'),
    allowedTools: has('allowedTools'),
  };
}

/** The program that an adapter is made for, as `doctor` and the docs describe it. */
export interface AgentProgram {
  title: string;
  /** Its npm package. */
  package: string;
  /** The package that older releases are in. */
  formerPackage?: string;
  /** Oldest and newest release that passed the contract suite. */
  tested: readonly [from: string, to: string];
  /** Older releases lack something that the adapter needs. */
  minimum: string;
  login: {
    /** Signs of a login: files below the home directory, or variables. */
    files: readonly string[];
    env: readonly string[];
    /** Arguments with which the CLI itself answers, without a network. Asked only where there is no sign. */
    status?: {
      args: readonly string[];
      /** What it prints without a login. */
      loggedOut: RegExp;
      /** Its answer covers every way to log in; otherwise, a provider of the user's own may need none. */
      isSure: boolean;
    };
  };
  /** Whether it reports dollars. */
  reportsCost: boolean;
  /** Stops by itself at a given sum of dollars. */
  capsCost: boolean;
  /** Where the end of a usage limit comes from. */
  limitEnd: 'stream' | 'headers' | 'words';
  /** How it is held to each access level, for people. */
  access: Readonly<Record<Access, string>>;
}

export interface AgentAdapter {
  name: string;
  /** Null for what is no program of its own. */
  program: AgentProgram | null;
  capabilities: AgentCapabilities;
  /** Access levels that this CLI can be held to; default: all. */
  access?: readonly Access[];
  invocation(request: AgentRequest): Invocation;
  reader(context: ReadContext): AgentReader;
  /** Command line for a person to continue a session in a terminal; null where the CLI cannot. */
  interactive(agent: AgentConfig, sessionId: string): string[] | null;
}
