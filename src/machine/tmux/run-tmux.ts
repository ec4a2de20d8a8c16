import { SignalboxError } from '../../model/errors.ts';
import type { Env } from '../paths-and-user-home.ts';
import { run } from '../run-process.ts';

export interface TmuxOptions {
  env: Env;
  cwd: string;
  /** A server by its name, as `tmux -L`. Default: the server that this process runs in, else the user's. */
  socketName?: string | undefined;
  /** A server by its path, as `tmux -S`. */
  socketPath?: string | undefined;
  /** Time limit of one call. */
  timeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** Runs tmux and returns what it printed. Throws a TmuxError or the reason of an abort, and ends within the timeout. */
export type Tmux = (...args: string[]) => Promise<string>;

/** `tmux/missing`, `tmux/timeout`, `tmux/gone` (no such server, session or pane), `tmux/taken` or `tmux/failed`. */
export class TmuxError extends SignalboxError {}

/** What tmux answers; undefined where it fails with this code. */
export async function unlessTmux<T>(
  code: 'tmux/gone' | 'tmux/taken',
  work: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TmuxError && error.code === code) return undefined;
    throw error;
  }
}

export const TMUX_TIMEOUT_MS = 10_000;
const GONE =
  /can't find (session|window|pane)|no current target|no server running|server exited|lost server|error connecting to .*\((No such file or directory|Connection refused)\)/;

export function tmuxClient(options: TmuxOptions): Tmux {
  // A new server keeps it, so it is without the user's keys and the mark of a job.
  const env = Object.fromEntries(Object.entries(options.env).filter(([name]) => KEPT.test(name)));
  const socket = socketArgs(options);
  return async (...args) => {
    const { cwd, signal, timeoutMs = TMUX_TIMEOUT_MS } = options;
    const end = await run('tmux', [...socket, ...args], { cwd, env, timeoutMs, signal });
    if (end.stopped === 'abort') signal?.throwIfAborted();
    if (end.error?.code === 'ENOENT')
      throw new TmuxError('tmux/missing', 'tmux is not installed.', { hint: 'Install tmux 3.0 or newer.' });
    if (end.error) throw new TmuxError('tmux/failed', `tmux cannot be started (${end.error.message}).`);
    if (end.stopped === 'timeout') throw tooSlow(timeoutMs);
    if (end.code === 0) return end.stdout.trimEnd();
    const message = end.stderr.trim().split('\n').at(-1) || `it ended with ${end.code ?? 'a signal'}`;
    throw new TmuxError(codeOf(message), `tmux failed: ${message.slice(0, 200)}.`);
  };
}

export function tooSlow(timeoutMs = TMUX_TIMEOUT_MS): TmuxError {
  return new TmuxError('tmux/timeout', `tmux gave no answer in ${timeoutMs / 1000} s.`);
}

function codeOf(message: string): string {
  if (message.startsWith('duplicate session')) return 'tmux/taken';
  return GONE.test(message) ? 'tmux/gone' : 'tmux/failed';
}

export function socketArgs({ env, socketName, socketPath }: TmuxOptions): string[] {
  if (socketName !== undefined) return ['-u', '-L', socketName];
  const path = socketPath ?? socketOf(env);
  return path === undefined ? ['-u'] : ['-u', '-S', path];
}

const KEPT =
  /^(PATH|HOME|USER|LOGNAME|SHELL|TERM|LANG|LC_\w+|TZ|TMPDIR|TMUX_TMPDIR|DISPLAY|SSH_AUTH_SOCK|XDG_\w+)$/;

/** Whether the user wants no tmux, and by which variable. */
export function tmuxOff(env: Env): boolean {
  return /^(1|true|yes|on)$/i.test(env.CODEAGENT_NO_TMUX?.trim() ?? '');
}

/** The socket of the tmux server that this process runs in, so that its user can switch to the session. */
export function socketOf(env: Env): string | undefined {
  return env.TMUX?.replace(/(?:,[^,]*){2}$/, '') || undefined;
}
