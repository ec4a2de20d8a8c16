import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { findExecutable } from '../machine/programs.ts';
import { run } from '../machine/run.ts';
import { WorkspaceError } from '../model/errors.ts';
import { createDriverGuard, DRIVER_KEYS } from './drivers.ts';
import { gitEnv, withConfig } from './environment.ts';

const MAX_OUTPUT = 64 * 1024 * 1024;
const TIMEOUT_MS = 10 * 60_000;
/** How long a call may go on after a stop; one that hangs is not waited for. */
const GRACE_MS = 2_000;

/** How long git calls may take. */
export interface Patience {
  /** After an abort, calls have `graceMs` to end. */
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
  graceMs?: number | undefined;
  /** Once aborted, no further call begins. */
  strict?: boolean | undefined;
}

/** Where a call works. Both are named, so that neither discovery nor a planted core.worktree decides. */
export interface Place {
  gitDir: string;
  workTree: string;
}

export interface GitOptions {
  at: Place;
  /** Takes git's optional locks and may refresh the index; reads leave both alone. */
  write?: boolean;
  input?: string;
  /** Exit codes that are answers; default 0 alone. */
  ok?: readonly number[];
  timeoutMs?: number;
  env?: Record<string, string>;
  config?: ReadonlyArray<readonly [string, string]>;
}

export interface GitResult {
  code: number;
  stdout: string;
  stderr: string;
}

/** A git call that failed; `details` has what it was and what it said. */
export class GitError extends WorkspaceError {
  readonly stderr: string;

  constructor(args: readonly string[], result: { code: number | null; stderr: string }, why?: string) {
    const said = why ?? lastLine(result.stderr) ?? `exit code ${result.code}`;
    super('workspace/git', `git ${args[0]} failed: ${said}`, {
      details: { args, code: result.code, stderr: result.stderr.slice(-4000) },
    });
    this.stderr = result.stderr;
  }
}

export interface Git {
  (args: readonly string[], options: GitOptions): Promise<GitResult>;
  /** For the one call that has to find the repository first. */
  discover(args: readonly string[], cwd: string): Promise<GitResult>;
  /** Tells that the user works with a repository; see drivers.ts. */
  adopt(commonDir: string): void;
  /** Finds out what the next call will need to know of the place. */
  prepare(at: Place): Promise<void>;
  /** Ends waits for locks, where no further call may begin. */
  readonly signal: AbortSignal | undefined;
  /** The same with calls that have so much patience. */
  patient(patience: Patience): Git;
}

export interface CreateGit {
  env: Record<string, string | undefined>;
  git?: string;
  /** Directory that remembers which drivers a repository's config had when it was first used. */
  memory?: string;
  /** Some agent works behind walls: git runs no driver for us that such an agent could have written. */
  walls?: boolean;
}

export function createGit(options: CreateGit): Git {
  let found: string | undefined;
  const command = () => {
    if (options.git !== undefined) return options.git;
    // Found once and not again for every call; the bare name where there is none, so that the error is the usual one.
    if (found === undefined || !existsSync(found)) found = findExecutable('git', options.env) ?? 'git';
    return found;
  };
  const writing = gitEnv(options.env);
  const reading = { ...writing, GIT_OPTIONAL_LOCKS: '0' };

  const listDrivers = async (at: Place, patience: Patience) => {
    const args = ['config', '-z', '--show-scope', '--get-regexp', DRIVER_KEYS];
    const env = { ...reading, GIT_DIR: at.gitDir, GIT_WORK_TREE: at.workTree };
    const result = await runGit(command(), args, { cwd: at.workTree, env, patience });
    if (result.code > 1) throw new GitError(args, result);
    return result.stdout;
  };
  const plantedDrivers = createDriverGuard(listDrivers, options);

  const ask = async (args: readonly string[], call: GitOptions, patience: Patience) => {
    let env: Record<string, string> = {
      ...(call.write ? writing : reading),
      GIT_DIR: call.at.gitDir,
      GIT_WORK_TREE: call.at.workTree,
      ...call.env,
    };
    const planted = args[0] === 'config' ? [] : await plantedDrivers(call.at, patience);
    if (call.config || planted.length > 0) env = withConfig(env, [...planted, ...(call.config ?? [])]);
    const result = await runGit(command(), args, {
      cwd: call.at.workTree,
      env,
      input: call.input,
      timeoutMs: call.timeoutMs,
      patience,
    });
    if (!(call.ok ?? [0]).includes(result.code)) throw new GitError(args, result);
    return result;
  };
  const withPatience = (patience: Patience): Git =>
    Object.assign((args: readonly string[], options: GitOptions) => ask(args, options, patience), {
      discover: (args: readonly string[], cwd: string) =>
        runGit(command(), args, { cwd, env: reading, patience }),
      adopt: plantedDrivers.adopt,
      async prepare(at: Place) {
        await plantedDrivers(at, patience);
      },
      signal: patience.strict ? patience.signal : undefined,
      patient: (more: Patience) => withPatience({ ...patience, ...more }),
    });
  return withPatience({});
}

interface CallOptions {
  cwd: string;
  env: Record<string, string>;
  input?: string | undefined;
  timeoutMs?: number | undefined;
  patience: Patience;
}

async function runGit(command: string, args: readonly string[], options: CallOptions): Promise<GitResult> {
  const { cwd, env, input, patience } = options;
  if (patience.strict) patience.signal?.throwIfAborted();
  const timeoutMs = options.timeoutMs ?? patience.timeoutMs ?? TIMEOUT_MS;
  const { signal, graceMs: abortGraceMs = GRACE_MS } = patience;
  const end = await run(command, args, {
    cwd,
    env,
    input,
    timeoutMs,
    signal,
    abortGraceMs,
    maxBytes: MAX_OUTPUT,
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
  return new WorkspaceError(
    'workspace/no-git',
    `The command ${command} cannot be started: ${error.message}.`,
    {
      hint: 'Install git 2.38 or newer and make sure that it is on PATH.',
      cause: error,
    },
  );
}

function lastLine(text: string): string | undefined {
  const lines = text.trim().split('\n');
  const told = lines.filter((line) => /^(fatal|error):/.test(line));
  // Who only passes on that a helper failed says nothing: the first to speak was the one that knew.
  const last = told.findLast((line) => !/\b(?:index-pack|unpack-objects)\b|fsck error in pack/.test(line));
  return (last ?? told.at(-1) ?? lines.at(-1)) || undefined;
}

/** What git says when it trips over another git in the same repository; trying again helps. */
const RACES =
  /failed to read .*(commondir|gitdir|HEAD)|bad object|cannot lock ref(?!.*exists; cannot create)|\.lock': File exists|could not lock config file|unable to create .*\.lock|did not send all necessary objects|No such file or directory.*worktrees/i;

/** Runs a git call again, a few times and ever later, when it lost such a race. */
export async function retryRaces<T>(call: () => Promise<T>): Promise<T> {
  for (let wait = 15; ; wait *= 2) {
    try {
      return await call();
    } catch (error) {
      if (wait > 250 || !(error instanceof GitError) || !RACES.test(error.stderr)) throw error;
      await delay(wait);
    }
  }
}
