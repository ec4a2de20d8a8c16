import { existsSync } from 'node:fs';
import type { Env } from '../../machine/environment.ts';
import { type RunEnd, type RunOptions, run } from '../../machine/run.ts';
import { SignalboxError } from '../../model/errors.ts';

export type GhFailure =
  | 'missing'
  | 'auth'
  | 'not-found'
  | 'forbidden'
  | 'rate-limited'
  | 'network'
  | 'timeout'
  | 'server'
  | 'unknown';

interface GhErrorOptions {
  hint?: string | undefined;
  /** When a rate limit ends (ISO time). */
  resetAt?: string | undefined;
  details?: Record<string, unknown>;
  cause?: unknown;
}

/** A call of the GitHub CLI that gave no answer; `code` is `gh/<failure>`. */
export class GhError extends SignalboxError {
  readonly failure: GhFailure;
  readonly resetAt: string | null;

  constructor(failure: GhFailure, message: string, options: GhErrorOptions = {}) {
    const { resetAt, details, ...rest } = options;
    super(`gh/${failure}`, message, { ...rest, details: { ...details, ...(resetAt ? { resetAt } : {}) } });
    this.failure = failure;
    this.resetAt = resetAt ?? null;
  }
}

export interface GhOptions extends Pick<RunOptions, 'input' | 'maxBytes' | 'signal'> {
  cwd: string;
  env: Env;
  timeoutMs?: number | undefined;
  /** The GitHub CLI: a name on PATH or a path. */
  gh: string;
}

export interface GhResult {
  code: number;
  stdout: string;
  stderr: string;
}

/** gh must neither ask, nor colour, nor page, nor print its own debugging between the lines we read. */
const QUIET = {
  GH_PROMPT_DISABLED: '1',
  GH_NO_UPDATE_NOTIFIER: '1',
  GH_DEBUG: '',
  GH_FORCE_TTY: '',
  GH_PAGER: 'cat',
  NO_COLOR: '1',
  CLICOLOR_FORCE: '0',
};

/** Runs gh to its end, whatever its exit code; throws a GhError when it could not be run or did not end in time. */
export async function runGh(args: readonly string[], options: GhOptions): Promise<GhResult> {
  const end = await run(options.gh, args, { ...options, env: { ...options.env, ...QUIET } });
  if (end.stopped === 'abort') options.signal?.throwIfAborted();
  const { code, stdout, stderr } = end;
  if (code === null) throw notRun(end, options);
  return { code, stdout, stderr };
}

/** For calls that change something or read a lot. */
const SLOW_MS = 60_000;

export function runSlowGh(args: readonly string[], options: GhOptions): Promise<GhResult> {
  return runGh(args, { timeoutMs: SLOW_MS, ...options });
}

/** The same for a change that is looked up afterwards: a call without an answer may have had its effect. */
export async function trySlowGh(args: readonly string[], options: GhOptions): Promise<GhResult | GhError> {
  try {
    return await runSlowGh(args, options);
  } catch (error) {
    if (error instanceof GhError) return error;
    throw error;
  }
}

function notRun({ error, stopped }: RunEnd, { gh, cwd, timeoutMs }: GhOptions): GhError {
  if (stopped === 'timeout') {
    const seconds = Math.round((timeoutMs ?? 30_000) / 100) / 10;
    return new GhError('timeout', `The GitHub CLI (${gh}) gave no answer in ${seconds} s.`, {
      hint: 'Check the network and try again; `gh api rate_limit` shows whether GitHub answers.',
    });
  }
  if (stopped === 'output')
    return new GhError('unknown', `The GitHub CLI (${gh}) printed more than can be read at once.`, {
      hint: 'Ask for fewer issues at once.',
    });
  if (error?.code === 'ENOENT' && existsSync(cwd))
    return new GhError('missing', `The GitHub CLI (${gh}) is not installed or not on PATH.`, {
      hint: 'Install it from https://cli.github.com and run `gh auth login`, or set ghCommand to where it is. Markdown files need no GitHub.',
      cause: error,
    });
  const why = error?.code === 'ENOENT' ? `${cwd} does not exist` : (error?.message ?? 'it was killed');
  return new GhError('missing', `The GitHub CLI (${gh}) cannot be started: ${why}.`, {
    hint: 'Check ghCommand in the settings and the permissions of that file.',
    cause: error,
  });
}
