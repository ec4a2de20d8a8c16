import { randomUUID } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { realOf } from '../machine/files/read-and-remove-files.ts';
import { findExecutable } from '../machine/find-and-probe-program.ts';
import { type ProgramResult, run } from '../machine/run-process.ts';
import { shortageIn, shortageOf, WorkspaceError } from '../model/errors.ts';
import {
  CONFIG_KEYS,
  type ConfigEntry,
  gitEnv,
  parseConfigList,
  withConfig,
} from './environment-and-config.ts';
import { createNameResolver } from './find-objects-by-name.ts';
import { type GitLocation, gitDirOf, pipeIn } from './locate-git-directories.ts';
import { createConfigGuard } from './turn-off-drivers-added-by-agents.ts';

/** Keeps a diff from running programs that the repository's config and attributes name. */
export const NO_DIFF_PROGRAMS = ['--no-ext-diff', '--no-textconv'] as const;

const MAX_OUTPUT = 64 * 1024 * 1024;
const TIMEOUT_MS = 10 * 60_000;
/** How long a call may still run after a stop; one that hangs is not waited for. */
const GRACE_MS = 2_000;

interface GitOptions {
  at: GitLocation;
  /** Takes git's optional locks and may refresh the index; reads leave both alone. */
  write?: boolean;
  input?: string;
  /** Exit codes that are answers; default 0 alone. */
  ok?: readonly number[];
  timeoutMs?: number;
  /** As for `run`. */
  encoding?: 'latin1' | undefined;
  env?: Record<string, string>;
  config?: ReadonlyArray<readonly [string, string]>;
}

/** What holds for all calls of one caller. */
export interface CallLimits {
  /** Once aborted, calls have `graceMs` to end. */
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
  graceMs?: number | undefined;
  /** Once aborted, no further call begins. */
  strict?: boolean | undefined;
  env?: Record<string, string> | undefined;
}

/** A git call that failed; `details` has what it was and what it said. */
export class GitError extends WorkspaceError {
  readonly stderr: string;

  constructor(args: readonly string[], result: { code: number | null; stderr: string }, why?: string) {
    const reason = why ?? lastLine(result.stderr) ?? `exit code ${result.code}`;
    super('workspace/git', `git ${args[0]} failed: ${reason}`, {
      details: { args, code: result.code, stderr: result.stderr.slice(-4000) },
    });
    this.stderr = result.stderr;
  }
}

export interface Git {
  (args: readonly string[], options: GitOptions): Promise<ProgramResult>;
  /** Several commands, each after the one before has succeeded, and what each printed; `input` is for the first. */
  sequence(commands: ReadonlyArray<readonly string[]>, options: Omit<GitOptions, 'ok'>): Promise<string[]>;
  /**
   * Returns what a shell script prints that starts git as `"$0"`, with these parameters. A shell starts a process much faster
   * than an engine with its large memory.
   */
  script(text: string, parameters: readonly string[], options: Omit<GitOptions, 'ok'>): Promise<string>;
  /** For the one call that has to find the repository first. */
  discover(args: readonly string[], cwd: string): Promise<ProgramResult>;
  /** The git directories of a checkout; undefined when the directory is none. */
  locate(workTree: string): Promise<GitLocation | undefined>;
  /** Marks a repository as the user's own; see turn-off-drivers-added-by-agents.ts. */
  adopt(commonDir: string): void;
  /** The config, as far as CONFIG_KEYS names it. */
  config(at: GitLocation): Promise<readonly ConfigEntry[]>;
  /** The objects with these names, without a process of its own; undefined when git has to be asked by another command. */
  resolve(at: GitLocation, names: readonly string[]): Promise<(string | undefined)[] | undefined>;
  /** Confirmed checkouts by git directory; see inspect-worktrees.ts. */
  readonly confirmed: Map<string, { checkout: string; madeHead?: string | undefined }>;
  /** Ends waits for locks, where no further call may begin. */
  readonly signal: AbortSignal | undefined;
  /** The same within other limits. */
  limited(limits: CallLimits): Git;
}

export interface CreateGit {
  env: Record<string, string | undefined>;
  git?: string;
  /** Directory that remembers which drivers a repository's config had when it was first used. */
  memory?: string;
  /** Some agent is sandboxed: git must not run a driver that such an agent could have written. */
  protectsGit?: boolean;
}

export function createGit(options: CreateGit): Git {
  let found: string | undefined;
  const command = () => {
    if (options.git !== undefined) return options.git;
    // Searched once, not for every call. If git is missing, the bare name gives the usual error.
    if (found === undefined || !existsSync(found)) found = findExecutable('git', options.env) ?? 'git';
    return found;
  };
  const writing = gitEnv(options.env);
  const reading = { ...writing, GIT_OPTIONAL_LOCKS: '0' };
  const commonDirs = new Map<string, string>();
  const confirmed: Git['confirmed'] = new Map();

  const listConfig = async (at: GitLocation, limits: CallLimits) => {
    const args = ['config', '-z', '--show-scope', '--get-regexp', CONFIG_KEYS];
    const result = await runGit(command(), args, {
      cwd: at.workTree,
      env: { ...reading, ...envOf(at) },
      limits,
    });
    if (result.code > 1) throw new GitError(args, result);
    return parseConfigList(result.stdout);
  };
  const guard = createConfigGuard(listConfig, options);
  const readObjects = createNameResolver(command, reading);

  const optionsOf = async (call: GitOptions, limits: CallLimits, isConfig = false): Promise<RunOptions> => {
    const { at, input, encoding, timeoutMs } = call;
    const env = { ...(call.write ? writing : reading), ...envOf(at), ...limits.env, ...call.env };
    const planted = isConfig ? [] : await guard.overrides(at, limits);
    const config = [...planted, ...(call.config ?? [])];
    return {
      cwd: at.workTree,
      env: config.length > 0 ? withConfig(env, config) : env,
      input,
      encoding,
      timeoutMs,
      limits,
    };
  };
  const ask = async (args: readonly string[], call: GitOptions, limits: CallLimits) => {
    const result = await runGit(command(), args, await optionsOf(call, limits, args[0] === 'config'));
    if (!(call.ok ?? [0]).includes(result.code)) throw new GitError(args, result);
    return result;
  };
  const runScript = async (
    text: string,
    parameters: readonly string[],
    call: GitOptions,
    limits: CallLimits,
  ) => runGit('/bin/sh', ['-c', text, command(), ...parameters], await optionsOf(call, limits));
  const sequence = async (
    commands: ReadonlyArray<readonly string[]>,
    call: GitOptions,
    limits: CallLimits,
  ): Promise<string[]> => {
    const separator = randomUUID();
    const result = await runScript(sequenceScript(commands), [separator, ...commands.flat()], call, limits);
    const printed = result.stdout.split(separator);
    const failed = commands[printed.length - 1] ?? [];
    if (result.code !== 0) throw new GitError(failed, result);
    return printed;
  };

  /** The repository of a linked worktree, by gitrepository-layout(5), where it is one that the user works with. */
  const adoptedAround = (gitDir: string): string | undefined => {
    const commonDir = dirname(dirname(gitDir));
    if (basename(dirname(gitDir)) !== 'worktrees' || !guard.isAdopted(commonDir)) return undefined;
    return existsSync(join(gitDir, 'HEAD')) ? commonDir : undefined;
  };
  const locate = async (workTree: string, limits: CallLimits): Promise<GitLocation | undefined> => {
    const gitDir = gitDirOf(workTree);
    if (gitDir === undefined) return undefined;
    if (statSync(join(workTree, '.git')).isDirectory()) return { workTree, gitDir, commonDir: gitDir };
    const args = ['rev-parse', '--path-format=absolute', '--git-common-dir'];
    const pipe = pipeIn(gitDir);
    if (pipe) throw wouldBlock(args, pipe);
    const known = commonDirs.get(gitDir) ?? adoptedAround(gitDir);
    if (known !== undefined) return { workTree, gitDir, commonDir: known };
    const env = { ...reading, GIT_DIR: gitDir, GIT_WORK_TREE: workTree };
    const { code, stdout } = await runGit(command(), args, { cwd: workTree, env, limits });
    const commonDir = code === 0 ? realOf(stdout.trimEnd()) : undefined;
    if (commonDir === undefined) return undefined;
    commonDirs.set(gitDir, commonDir);
    return { workTree, gitDir, commonDir };
  };

  const within = (limits: CallLimits): Git =>
    Object.assign((args: readonly string[], call: GitOptions) => ask(args, call, limits), {
      sequence: (commands: ReadonlyArray<readonly string[]>, call: GitOptions) =>
        sequence(commands, call, limits),
      async script(text: string, parameters: readonly string[], call: GitOptions) {
        const result = await runScript(text, parameters, call, limits);
        if (result.code !== 0) throw new GitError(parameters, result);
        return result.stdout;
      },
      discover: (args: readonly string[], cwd: string) =>
        runGit(command(), args, { cwd, env: reading, limits }),
      locate: (workTree: string) => locate(workTree, limits),
      adopt: guard.adopt,
      config: (at: GitLocation) => guard.config(at, limits),
      async resolve(at: GitLocation, names: readonly string[]) {
        if (limits.strict) limits.signal?.throwIfAborted();
        // New objects of such a caller are elsewhere.
        return limits.env?.GIT_OBJECT_DIRECTORY ? undefined : readObjects(at.commonDir, names);
      },
      confirmed,
      signal: limits.strict ? limits.signal : undefined,
      limited: (more: CallLimits) => within({ ...limits, ...more }),
    });
  return within({});
}

/** The shell's part of a sequence. It sees the arguments as its parameters, never as text. */
function sequenceScript(commands: ReadonlyArray<readonly string[]>): string {
  let parameter = 1;
  const lines = commands.map((args) => ['"$0"', ...args.map(() => `"\${${++parameter}}"`)].join(' '));
  const last = lines.pop();
  return [...lines, `exec ${last}`].join(` && printf %s "$1" && `);
}

const envOf = ({ gitDir, workTree, commonDir }: GitLocation) => ({
  GIT_DIR: gitDir,
  GIT_WORK_TREE: workTree,
  GIT_COMMON_DIR: commonDir,
});

export function wouldBlock(args: readonly string[], path: string): GitError {
  return new GitError(args, { code: null, stderr: '' }, `${path} is no file, and git would wait for it`);
}

/** Commands that may leave a connection open, with a process of its own. */
const REMOTE = new Set(['fetch', 'push', 'ls-remote']);

interface RunOptions {
  cwd: string;
  env: Record<string, string>;
  input?: string | undefined;
  encoding?: 'latin1' | undefined;
  timeoutMs?: number | undefined;
  limits: CallLimits;
}

async function runGit(command: string, args: readonly string[], options: RunOptions): Promise<ProgramResult> {
  const { cwd, env, input, encoding, limits } = options;
  if (limits.strict) limits.signal?.throwIfAborted();
  const timeoutMs = options.timeoutMs ?? limits.timeoutMs ?? TIMEOUT_MS;
  const { signal, graceMs: abortGraceMs = GRACE_MS } = limits;
  const end = await run(command, args, {
    cwd,
    env,
    input,
    encoding,
    timeoutMs,
    signal,
    abortGraceMs,
    maxBytes: MAX_OUTPUT,
    isFrequent: !REMOTE.has(args[0] ?? ''),
  });
  if (end.error) throw startError(command, cwd, end.error);
  const result = { code: end.code ?? -1, stdout: end.stdout, stderr: end.stderr };
  if (end.stopped === undefined) return result;
  const why = {
    timeout: `no end after ${Math.round(timeoutMs / 1000)} s`,
    abort: 'it was stopped',
    output: 'too much output',
  };
  throw new GitError(args, result, why[end.stopped]);
}

function startError(command: string, cwd: string, error: NodeJS.ErrnoException): WorkspaceError {
  if (error.code === 'ENOENT' && !existsSync(cwd))
    return new WorkspaceError('workspace/missing', `${cwd} does not exist.`, {
      cause: error,
      details: { path: cwd },
    });
  if (shortageOf(error))
    return new WorkspaceError('workspace/shortage', `git cannot be started: ${error.message}.`, {
      cause: error,
    });
  return new WorkspaceError(
    'workspace/no-git',
    `The command ${command} cannot be started: ${error.message}.`,
    { hint: 'Install git 2.38 or newer and make sure that it is on PATH.', cause: error },
  );
}

function lastLine(text: string): string | undefined {
  const lines = text.trim().split('\n');
  const short = shortageIn(text);
  if (short !== undefined) return short;
  const errors = lines.filter((line) => /^(fatal|error):/.test(line));
  // Skips the line that only reports a failed helper: the helper's own line has the reason.
  const last = errors.findLast((line) => !/\b(?:index-pack|unpack-objects)\b|fsck error in pack/.test(line));
  return (last ?? errors.at(-1) ?? lines.at(-1)) || undefined;
}

/** Errors of a git call that collided with another one in the same repository; a retry helps. */
const RACE_MESSAGES =
  /failed to read .*(commondir|gitdir|HEAD)|bad object|cannot lock ref(?!.*exists; cannot create)|\.lock': File exists|could not lock config file|unable to create .*\.lock|did not send all necessary objects|No such file or directory.*worktrees/i;

/** Retries a git call that lost such a race, a few times with growing pauses. */
export async function retryRaces<T>(call: () => Promise<T>): Promise<T> {
  for (let wait = 15; ; wait *= 2) {
    try {
      return await call();
    } catch (error) {
      if (wait > 250 || !(error instanceof GitError) || !RACE_MESSAGES.test(error.stderr)) throw error;
      await delay(wait);
    }
  }
}
