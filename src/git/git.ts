import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { WorkspaceError } from '../model/errors.ts';
import { createDriverGuard, DRIVER_KEYS } from './drivers.ts';
import { gitEnv, withConfig } from './environment.ts';
import { afterStop, type Patience } from './patience.ts';

const MAX_OUTPUT = 64 * 1024 * 1024;
const TIMEOUT_MS = 10 * 60_000;

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
    if (found === undefined || !existsSync(found)) found = findGit(options.env.PATH);
    return found;
  };
  const writing = gitEnv(options.env);
  const reading = { ...writing, GIT_OPTIONAL_LOCKS: '0' };

  const listDrivers = async (at: Place, patience: Patience) => {
    const args = ['config', '-z', '--show-scope', '--get-regexp', DRIVER_KEYS];
    const env = { ...reading, GIT_DIR: at.gitDir, GIT_WORK_TREE: at.workTree };
    const result = await run(command(), args, { cwd: at.workTree, env, patience });
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
    const result = await run(command(), args, {
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
        run(command(), args, { cwd, env: reading, patience }),
      adopt: plantedDrivers.adopt,
      async prepare(at: Place) {
        await plantedDrivers(at, patience);
      },
      patient: (more: Patience) => withPatience({ ...patience, ...more }),
    });
  return withPatience({});
}

/** Looked for once, not in every process that is started; by name where that finds nothing, so that the error is the usual one. */
function findGit(path: string | undefined): string {
  const places = (path ?? '').split(delimiter).filter(isAbsolute);
  return places.map((dir) => join(dir, 'git')).find(isProgram) ?? 'git';
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

interface RunOptions {
  cwd: string;
  env: Record<string, string>;
  input?: string | undefined;
  timeoutMs?: number | undefined;
  patience: Patience;
}

function run(command: string, args: readonly string[], options: RunOptions): Promise<GitResult> {
  return new Promise((resolve, reject) => {
    // Its own group, so that a timeout also ends ssh and other helpers.
    const child = spawn(command, args, {
      cwd: options.cwd,
      env: options.env,
      detached: true,
      stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    let why: string | undefined;
    const stop = (reason: string) => {
      why ??= reason;
      killGroup(child);
    };
    const { patience } = options;
    const ms = options.timeoutMs ?? patience.timeoutMs ?? TIMEOUT_MS;
    const timer = setTimeout(() => stop(`no end after ${Math.round(ms / 1000)} s`), ms);
    const forget = afterStop(patience, () => stop('it was stopped'));
    const stdout = collect(child.stdout, () => stop('too much output'));
    const stderr = collect(child.stderr, () => stop('too much output'));
    child.on('error', (error) => {
      clearTimeout(timer);
      forget();
      reject(startError(command, options.cwd, error));
    });
    child.on('close', (code) => {
      clearTimeout(timer);
      forget();
      const result = { code: code ?? -1, stdout: stdout(), stderr: stderr() };
      if (why === undefined) resolve(result);
      else reject(new GitError(args, result, why));
    });
    if (options.input !== undefined && child.stdin) {
      // A child that ends early closes the pipe; its exit code tells the story.
      child.stdin.on('error', (error) => stderr(`${error.message}\n`));
      child.stdin.end(options.input);
    }
  });
}

/** Gathers a stream; the returned function gives the text so far, with an optional addition of ours. */
function collect(stream: NodeJS.ReadableStream | null, tooMuch: () => void): (extra?: string) => string {
  const chunks: Buffer[] = [];
  let size = 0;
  stream?.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > MAX_OUTPUT) tooMuch();
    else chunks.push(chunk);
  });
  return (extra) => {
    if (extra !== undefined) chunks.push(Buffer.from(extra));
    return Buffer.concat(chunks).toString('utf8');
  };
}

export function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
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
