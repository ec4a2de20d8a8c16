import { spawn } from 'node:child_process';
import { WorkspaceError } from '../model/errors.ts';
import { killMarked, markedProcesses, sendSignal } from '../store/processes.ts';
import { killGroup } from './git.ts';
import { cleanEnv } from './git-env.ts';

const TIMEOUT_MS = 10 * 60_000;
const TAIL = 8 * 1024;

/** Carried by every setup command and what it starts: the worktree that it sets up. */
const MARK = 'SIGNALBOX_HOOK';
const markOf = (cwd: string) => `${MARK}=${cwd}`;

export interface HookOptions {
  cwd: string;
  env: Record<string, string | undefined>;
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
}

/** Runs the user's setup commands one after the other; the first that fails is an error with what it printed last. */
export async function runHooks(commands: string[], options: HookOptions): Promise<void> {
  for (const command of commands) {
    if (options.signal?.aborted)
      throw new WorkspaceError('workspace/hook', `The setup of ${options.cwd} was stopped.`, {
        hint: 'It begins again when the ticket goes on.',
      });
    await runHook(command, options);
  }
}

/** Ends the setup commands that an engine which is gone left running in a worktree. Resolves when they are gone. */
export async function endHooks(cwd: string): Promise<void> {
  // Its group first: what was started with a clean environment is found by nothing else.
  for (const pid of await markedProcesses(markOf(cwd))) sendSignal(-pid, 'SIGKILL');
  const [left] = await killMarked(markOf(cwd));
  if (left === undefined) return;
  throw new WorkspaceError('workspace/busy', `A setup command (process ${left}) still runs in ${cwd}.`, {
    hint: 'End it, then retry the ticket.',
    details: { path: cwd, pid: left },
  });
}

async function runHook(command: string, options: HookOptions): Promise<void> {
  const ms = options.timeoutMs ?? TIMEOUT_MS;
  const { end, output, cut } = await runShell(command, options, ms);
  if (cut) await endHooks(options.cwd);
  if (end === 'exit code 0' && !cut) return;
  const tail = output.trim();
  throw new WorkspaceError(
    'workspace/hook',
    `The setup command ${JSON.stringify(command)} ended with ${end}.`,
    {
      hint: `Correct hooks.afterCreate, or what it needs in ${options.cwd}.${tail === '' ? '' : ` It printed:\n${tail}`}`,
      details: { command, path: options.cwd, output: tail },
    },
  );
}

function runShell(
  command: string,
  options: HookOptions,
  ms: number,
): Promise<{ end: string; output: string; cut: boolean }> {
  return new Promise((resolve, reject) => {
    const child = spawn('/bin/sh', ['-c', command], {
      cwd: options.cwd,
      env: { ...cleanEnv(options.env), [MARK]: options.cwd },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let tail = Buffer.alloc(0);
    const keep = (chunk: Buffer) => {
      tail = Buffer.concat([tail, chunk]).subarray(-TAIL);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      killGroup(child);
    }, ms);
    const stop = () => killGroup(child);
    options.signal?.addEventListener('abort', stop);
    if (options.signal?.aborted) stop();
    const settle = () => {
      clearTimeout(timer);
      options.signal?.removeEventListener('abort', stop);
    };
    child.on('error', (error) => {
      settle();
      reject(
        new WorkspaceError('workspace/hook', `A setup command cannot be started: ${error.message}`, {
          cause: error,
        }),
      );
    });
    let end = '';
    const finish = () => {
      child.stdout.destroy();
      child.stderr.destroy();
      resolve({ end, output: tail.toString('utf8'), cut: late || options.signal?.aborted === true });
    };
    child.on('close', finish);
    child.on('exit', (code, signal) => {
      settle();
      end = late ? `no end after ${ms / 1000} s` : signal ? `signal ${signal}` : `exit code ${code}`;
      // What it left in the background may hold the pipes open for ever.
      setTimeout(finish, 500).unref();
    });
  });
}
